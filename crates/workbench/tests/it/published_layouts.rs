//! Live tables in the layouts of published mappers and guides: the imported model has sensible entities and
//! keys, passes its check, and its patterns read the right items.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use keywright_exchange::create_table::write_request;
use keywright_exchange::live::{LiveTable, draft};
use keywright_exchange::of_model::{definition, stored_items};
use keywright_exchange::to_model::to_model;
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_model::{parse, write};
use keywright_workbench::run::Outcome;

use crate::support::{examples, live_table, no_files};

/// An item in short form: `name=text`, `name=n:1` for a number.
fn item(attributes: &[String]) -> Json {
    Json::object(attributes.iter().map(|attribute| {
        let (name, text) = attribute.split_once('=').expect("name=value");
        let value = match text.strip_prefix("n:") {
            Some(number) => Json::object([("N", Json::text(number))]),
            None => Json::object([("S", Json::text(text))]),
        };
        (name, value)
    }))
}

macro_rules! item {
    ($($attribute:literal),+ $(,)?) => { item(&[$(format!($attribute)),+]) };
}

/// A live table: its key, its indexes with their keys, its items. `ts:N` is a number.
fn table(name: &str, key: &[&str], indexes: &[(&str, &[&str])], items: Vec<Json>) -> LiveTable {
    let mut defined: Vec<(&str, &str)> = Vec::new();
    let parts = |key: &[&str]| -> String {
        let parts = key.iter().zip(["HASH", "RANGE"]).map(|(part, kind)| {
            let (name, _) = part.split_once(':').unwrap_or((part, "S"));
            format!(r#"{{"AttributeName":"{name}","KeyType":"{kind}"}}"#)
        });
        parts.collect::<Vec<_>>().join(",")
    };
    for part in key.iter().chain(indexes.iter().flat_map(|(_, key)| *key)) {
        let known = part.split_once(':').unwrap_or((part, "S"));
        if !defined.contains(&known) {
            defined.push(known);
        }
    }
    let defined: Vec<String> = defined
        .into_iter()
        .map(|(name, kind)| format!(r#"{{"AttributeName":"{name}","AttributeType":"{kind}"}}"#))
        .collect();
    let indexes: Vec<String> = indexes
        .iter()
        .map(|(name, key)| {
            format!(
                r#"{{"IndexName":"{name}","KeySchema":[{}],"Projection":{{"ProjectionType":"ALL"}}}}"#,
                parts(key)
            )
        })
        .collect();
    let indexes = if indexes.is_empty() {
        String::new()
    } else {
        format!(r#","GlobalSecondaryIndexes":[{}]"#, indexes.join(","))
    };
    let count = items.len() * 1000;
    let text = format!(
        r#"{{"TableName":"{name}","AttributeDefinitions":[{}],"KeySchema":[{}],"BillingModeSummary":{{"BillingMode":"PAY_PER_REQUEST"}},"ItemCount":{count},"TableSizeBytes":{}{indexes}}}"#,
        defined.join(","),
        parts(key),
        count * 100
    );
    live_table(&text, items)
}

/// An imported model as text, and the notes of the import.
struct Imported {
    text: String,
    notes: Vec<String>,
}

fn imported(tables: &[LiveTable]) -> Imported {
    let made = to_model(&draft("app", tables).0);
    let text = write(&made.model);
    let model =
        parse(&text).unwrap_or_else(|faults| panic!("{}\n{text}", crate::support::fault_lines(&faults)));
    let checked = keywright_workbench::check(&model, &no_files, &mut |_| {}).expect("it runs");
    assert!(checked.passes(), "{:?}\n{text}", checked.findings);
    Imported { text, notes: made.notes }
}

impl Imported {
    /// Entities with their keys, and the indexes that hold them.
    fn entities(&self) -> Vec<String> {
        let model = parse(&self.text).expect("a model");
        let shown = model.entities.iter().map(|entity| {
            let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
            let keys = slots.map(|slot| {
                let templates = slot.templates.iter().map(|(_, template)| template.to_string());
                templates.collect::<Vec<_>>().join(" / ")
            });
            let parents: String = entity.parents.iter().flat_map(|parent| [" < ", parent.as_str()]).collect();
            format!("{}{parents}: {}", entity.name, keys.collect::<Vec<_>>().join(" | "))
        });
        shown.collect()
    }

    /// Runs patterns on the imported items and checks the numbers of items returned and read.
    fn asked(&self, patterns: &[(&str, u64)]) {
        let lines: Vec<String> = patterns
            .iter()
            .enumerate()
            .map(|(at, (pattern, _))| format!("  - {{id: Q{at}, {pattern}, rate: 1}}\n"))
            .collect();
        let text = format!("{}\npatterns:\n{}", self.text, lines.concat());
        let model =
            parse(&text).unwrap_or_else(|faults| panic!("{}\n{text}", crate::support::fault_lines(&faults)));
        let checked = keywright_workbench::check(&model, &no_files, &mut |_| {}).expect("it runs");
        for (at, (pattern, wanted)) in patterns.iter().enumerate() {
            let ran = checked.report.pattern(&format!("Q{at}")).expect("it ran");
            assert!(
                matches!(ran.outcome, Outcome::Ran | Outcome::Met),
                "{pattern}: {:?}\n{}",
                ran.outcome,
                head(&text)
            );
            assert_eq!(
                (ran.items_read, ran.items_returned),
                (*wanted, *wanted),
                "{pattern}\n{}",
                head(&text)
            );
        }
    }
}

/// A model without its items.
fn head(text: &str) -> &str {
    text.split("\ndata:").next().unwrap_or_default()
}

const NAMES: [&str; 12] =
    ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "ken", "laura"];

/// Employees and their tasks in one collection, as in `ElectroDB`'s guide; keys are in lower case.
#[test]
fn electrodb_names_the_attributes_of_its_keys_itself() {
    let mut items = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let office = ["Mobile Branch", "Head Office"][at % 2];
        let lower = office.to_lowercase();
        items.push(item!(
            "pk=$taskapp#employeeid_{name}",
            "sk=$employee_1",
            "gsi1pk=$taskapp#office_{lower}",
            "gsi1sk=$workplaces#employee_1#employeeid_{name}",
            "employeeId={name}",
            "office={office}",
            "team=t{at}",
            "__edb_e__=employee",
            "__edb_v__=1"
        ));
        for task in 0..4 {
            let (project, status) = (task % 3, ["open", "closed"][task % 2]);
            items.push(item!(
                "pk=$taskapp#employeeid_{name}",
                "sk=$task_1#taskid_{at}{task}",
                "gsi1pk=$taskapp#projectid_{project}",
                "gsi1sk=$task_1#status_{status}#taskid_{at}{task}",
                "employeeId={name}",
                "taskId={at}{task}",
                "projectId={project}",
                "status={status}",
                "__edb_e__=task",
                "__edb_v__=1"
            ));
        }
    }
    let found = imported(&[table("app", &["pk", "sk"], &[("gsi1", &["gsi1pk", "gsi1sk"])], items)]);
    assert_eq!(
        found.entities(),
        [
            "employee: $taskapp#employeeid_{employeeId} / $employee_1 | $taskapp#office_{officeLower} / $workplaces#employee_1#employeeid_{employeeId}",
            "task < employee: $taskapp#employeeid_{employeeId} / $task_1#taskid_{taskId} | $taskapp#projectid_{projectId} / $task_1#status_{status}#taskid_{taskId}",
        ]
    );
    assert!(
        found.notes.iter().any(|note| note.contains("`officeLower` is `office` in lower case")),
        "{:?}",
        found.notes
    );
    found.asked(&[
        ("get: employee, given: {employeeId: eq}", 1),
        ("query: task, given: {employeeId: eq}", 4),
        ("query: [employee, task], given: {employeeId: eq}", 5),
        ("query: task, given: {projectId: eq, status: eq}, example: {projectId: \"0\", status: open}", 12),
        ("query: employee, given: {officeLower: eq}", 6),
    ]);
}

/// Stores by country, state, city and number: the guide's hierarchical key.
#[test]
fn the_levels_of_a_hierarchy_are_values() {
    for word in [true, false] {
        let mut items = Vec::new();
        for (country, states) in [("USA", ["NY", "CA", "WA"].as_slice()), ("Canada", &["ON", "BC"])] {
            for (place, state) in states.iter().enumerate() {
                for at in 0..4 {
                    let city = if word {
                        "CITY"
                    } else {
                        ["SPRINGFIELD", "LONDON", "PARIS", "DOVER"][(at + place) % 4]
                    };
                    items.push(item!(
                        "Country={country}",
                        "Location={state}#{city}#1000{at}#0{place}",
                        "name=store {at}",
                        "phone=1{at}"
                    ));
                }
            }
        }
        let found = imported(&[table("Stores", &["Country", "Location"], &[], items)]);
        let (name, key) = if word {
            ("CITY", "{id}#CITY#{cityId}#{cityId2}")
        } else {
            ("Stores", "{id}#{id2}#{id3}#{id4}")
        };
        assert_eq!(found.entities(), [format!("{name}: {{Country}} / {key}")]);
        found.asked(&[
            (&format!("query: {name}, given: {{Country: eq}}, example: {{Country: USA}}"), 12),
            (&format!("query: {name}, given: {{Country: eq, id: eq}}, example: {{Country: USA, id: NY}}"), 4),
        ]);
    }
}

/// A time between colons is one value: that of the attribute that holds it.
#[test]
fn a_time_in_a_key_that_colons_delimit_is_one_value() {
    for held in [true, false] {
        let mut items = Vec::new();
        for room in 0..6 {
            items.push(item!("pk=room:{room}", "sk=meta", "topic=x{room}"));
            for at in 0..10 {
                let (time, id) = (format!("2026-01-0{}T1{at}:20:30Z", room + 1), format!("01H{room}{at}"));
                let (attribute, end) = if held { ("sentAt", "") } else { ("text", "!") };
                items.push(item!("pk=room:{room}", "sk=msg:{time}:{id}", "{attribute}={time}{end}"));
            }
        }
        let found = imported(&[table("chat", &["pk", "sk"], &[], items)]);
        let time = if held { "sentAt" } else { "date" };
        assert_eq!(
            found.entities(),
            [
                "room: room:{roomId} / meta".to_owned(),
                format!("msg < room: room:{{roomId}} / msg:{{{time}}}:{{msgId}}")
            ]
        );
        let since = format!(
            "query: msg, given: {{roomId: eq, {time}: ge}}, example: {{roomId: \"2\", {time}: \"2026-01-03T15:00:00Z\"}}"
        );
        found.asked(&[(&since, 5), ("query: [room, msg], given: {roomId: eq}", 11)]);
    }
}

/// Every key begins with the type's name; items have a type attribute, except the uniqueness guards of mail
/// addresses.
#[test]
fn onetable_begins_its_keys_with_the_type_that_its_items_have() {
    for typed in [true, false] {
        let kind = |name: &str| if typed { format!("_type={name}") } else { "made=x".to_owned() };
        let mut items = Vec::new();
        for (at, name) in NAMES.iter().enumerate() {
            let mail = format!("{name}@example.com");
            let mut user = vec![
                format!("pk=user#{at}"),
                "sk=user#".to_owned(),
                format!("gs1pk=user#{mail}"),
                "gs1sk=user#".to_owned(),
                format!("email={mail}"),
                format!("id={at}"),
                "role=user".to_owned(),
            ];
            user.push(kind("User"));
            items.push(item(&user));
            if typed {
                items.push(item!("pk=_unique#User#email#{mail}", "sk=_unique#"));
            }
            for order in 0..2 {
                let mut own =
                    vec![format!("pk=user#{at}"), format!("sk=order#{at}{order}"), "total=n:5".to_owned()];
                own.push(kind("Order"));
                own.push(format!("userId={at}"));
                items.push(item(&own));
            }
        }
        let found = imported(&[table("app", &["pk", "sk"], &[("gs1", &["gs1pk", "gs1sk"])], items)]);
        let entities = found.entities();
        let user = if typed { "User" } else { "user" };
        assert!(entities[0].starts_with(&format!("{user}: user#{{")), "{entities:?}");
        assert!(entities[0].ends_with(" / user# | user#{email} / user#"), "{entities:?}");
        assert_eq!(entities.len(), if typed { 3 } else { 2 }, "{entities:?}");
        let doubted = found
            .notes
            .iter()
            .any(|note| note.contains("`user` is read as literal text, though role has this value"));
        assert_eq!(doubted, !typed, "{:?}", found.notes);
        found.asked(&[(&format!("query: {user}, given: {{email: eq}}"), 1)]);
    }
}

/// The mapper's own attributes next to keys of the author's choice.
#[test]
fn dynamodb_toolbox_says_the_entity_in_an_attribute() {
    let mut items = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        items.push(item!(
            "pk=ORG#{name}",
            "sk=METADATA",
            "_et=Organization",
            "_ct=2026-01-01T00:00:00.000Z",
            "_md=2026-01-01T00:00:00.000Z",
            "orgId={name}",
            "plan=free"
        ));
        for member in 0..3 {
            let id = NAMES[(at + member) % 12];
            items.push(item!(
                "pk=ORG#{name}",
                "sk=MEMBER#{id}",
                "gsi1pk=MEMBER#{id}",
                "gsi1sk=ORG#{name}",
                "_et=Member",
                "_ct=2026-01-01T00:00:00.000Z",
                "_md=2026-01-01T00:00:00.000Z",
                "orgId={name}",
                "memberId={id}",
                "entity=x"
            ));
        }
    }
    let found = imported(&[table("app", &["pk", "sk"], &[("gsi1", &["gsi1pk", "gsi1sk"])], items)]);
    assert_eq!(
        found.entities(),
        [
            "Organization: ORG#{orgId} / METADATA",
            "Member < Organization: ORG#{orgId} / MEMBER#{memberId} | MEMBER#{memberId} / ORG#{orgId}"
        ]
    );
    found.asked(&[
        ("get: Organization, given: {orgId: eq}", 1),
        ("get: Member, given: {orgId: eq, memberId: eq}", 1),
        ("query: Member, given: {memberId: eq}", 3),
        ("query: [Organization, Member], given: {orgId: eq}", 4),
    ]);
}

/// Customers, their orders and order lines, as in the books on single-table design; uniqueness guards protect
/// mail addresses.
#[test]
fn single_tables_have_customers_orders_and_their_items() {
    for typed in [true, false] {
        let kind = |name: &str| if typed { format!("Type={name}") } else { "v=1".to_owned() };
        let mut items = Vec::new();
        for (at, name) in NAMES.iter().enumerate() {
            let customer = format!("PK=CUSTOMER#{name}");
            items.push(item(&[
                customer.clone(),
                format!("SK=CUSTOMER#{name}"),
                format!("Username={name}"),
                "Name=x".to_owned(),
                kind("Customer"),
            ]));
            let mail = format!("CUSTOMEREMAIL#{name}@example.com");
            items.push(item(&[
                format!("PK={mail}"),
                format!("SK={mail}"),
                format!("Username={name}"),
                "Taken=y".to_owned(),
                kind("CustomerEmail"),
            ]));
            for order in 0..2 {
                let id = format!("1VrgXBQ0VCshuQUnh1HrDIHQNw{at:x}{order}");
                items.push(item(&[
                    customer.clone(),
                    format!("SK=#ORDER#{id}"),
                    format!("GSI1PK=ORDER#{id}"),
                    format!("GSI1SK=ORDER#{id}"),
                    format!("OrderId={id}"),
                    "Status=PLACED".to_owned(),
                    "Total=n:5".to_owned(),
                    kind("Order"),
                ]));
                for line in 0..3 {
                    items.push(item(&[
                        format!("PK=ORDER#{id}#ITEM#{line}"),
                        format!("SK=ORDER#{id}#ITEM#{line}"),
                        format!("GSI1PK=ORDER#{id}"),
                        format!("GSI1SK=ITEM#{line}"),
                        format!("OrderId={id}"),
                        format!("ItemId={line}"),
                        "Price=n:5".to_owned(),
                        kind("OrderItem"),
                    ]));
                }
            }
        }
        let found = imported(&[table("app", &["PK", "SK"], &[("GSI1", &["GSI1PK", "GSI1SK"])], items)]);
        let names = if typed {
            ["Customer", "CustomerEmail", "Order", "OrderItem"]
        } else {
            ["CUSTOMER", "CUSTOMEREMAIL", "ORDER", "ITEM"]
        };
        let [customer, mail, order, line] = names;
        let mail_key = found.entities()[1].clone();
        assert_eq!(
            found.entities(),
            [
                format!("{customer}: CUSTOMER#{{Username}} / CUSTOMER#{{Username}}"),
                mail_key.clone(),
                format!(
                    "{order} < {customer}: CUSTOMER#{{Username}} / #ORDER#{{OrderId}} | ORDER#{{OrderId}} / ORDER#{{OrderId}}"
                ),
                format!(
                    "{line}: ORDER#{{OrderId}}#ITEM#{{ItemId}} / ORDER#{{OrderId}}#ITEM#{{ItemId}} | ORDER#{{OrderId}} / ITEM#{{ItemId}}"
                ),
            ]
        );
        assert!(mail_key.starts_with(&format!("{mail}: CUSTOMEREMAIL#{{")), "{mail_key}");
        found.asked(&[
            (&format!("query: [{customer}, {order}], given: {{Username: eq}}"), 3),
            (&format!("query: [{order}, {line}], given: {{OrderId: eq}}"), 4),
        ]);
    }
}

/// One table per type, plain ids as keys, and indexes by owner.
#[test]
fn amplify_has_a_table_for_each_type() {
    let (mut users, mut posts) = (Vec::new(), Vec::new());
    for (at, name) in NAMES.iter().enumerate() {
        let times = "2026-01-01T00:00:00.000Z";
        users.push(item!(
            "id=8c3f{at:04}-aaaa-4bbb-8ccc-ddddeeeeffff",
            "__typename=User",
            "name={name}",
            "createdAt={times}",
            "updatedAt={times}",
            "_version=n:1",
            "_lastChangedAt=n:176722560000{at}"
        ));
        for post in 0..4 {
            let (status, day) =
                (["DRAFT", "PUBLISHED"][post % 2], format!("2026-02-0{}T10:00:00.000Z", post + 1));
            posts.push(item!(
                "id=9d40{at:04}-aaaa-4bbb-8ccc-ddddeeee000{post}",
                "__typename=Post",
                "userId=8c3f{at:04}-aaaa-4bbb-8ccc-ddddeeeeffff",
                "status={status}",
                "createdAt={day}",
                "updatedAt={times}",
                "status#createdAt={status}#{day}",
                "title=x",
                "_version=n:1"
            ));
        }
    }
    let found = imported(&[
        table("User-abcdefg-main", &["id"], &[], users),
        table(
            "Post-abcdefg-main",
            &["id"],
            &[("byUser", &["userId", "createdAt"]), ("byStatus", &["userId", "status#createdAt"])],
            posts,
        ),
    ]);
    assert_eq!(
        found.entities(),
        ["User: {id}", "Post: {id} | {userId} / {status}#{createdAt}"],
        "the other index has attributes for keys"
    );
    found.asked(&[
        ("get: User, given: {id: eq}", 1),
        ("get: Post, given: {id: eq}", 1),
        ("query: Post, given: {userId: eq}, uses: byUser", 4),
        ("query: Post, given: {userId: eq, createdAt: ge}, uses: byUser, example: {createdAt: \"2026-02-03\"}", 2),
        ("query: Post, given: {userId: eq, status: eq}, example: {status: DRAFT}", 2),
    ]);
}

/// Plain tables of object mappers: keys are attributes, one type per table.
#[test]
fn plain_tables_have_their_attributes_for_keys() {
    let (mut threads, mut notes) = (Vec::new(), Vec::new());
    for forum in ["dynamo", "s3", "lambda", "ecs"] {
        for at in 0..6 {
            threads.push(item!(
                "forum_name={forum}",
                "subject=how {at} about {forum}",
                "views=n:{at}",
                "last_post_datetime=2026-01-0{at}T10:00:00.000000+0000",
                "cls=Thread"
            ));
        }
    }
    for (at, name) in NAMES.iter().enumerate() {
        for note in 0..3 {
            notes.push(item!(
                "userId=us-east-1:{name}-{at}",
                "noteId=578eb840-f70f-11e6-9d1a-1359b3b2294{note}",
                "content=x",
                "createdAt=n:148780095062{at}"
            ));
        }
    }
    let found = imported(&[
        table(
            "Thread",
            &["forum_name", "subject"],
            &[("view_index", &["views:N", "last_post_datetime"])],
            threads,
        ),
        table("notes", &["userId", "noteId"], &[("byTime", &["userId", "createdAt:N"])], notes),
    ]);
    assert_eq!(found.entities(), ["Thread: {forum_name} / {subject}", "notes: {userId} / {noteId}"]);
    found.asked(&[
        ("query: Thread, given: {forum_name: eq}", 6),
        ("query: Thread, given: {views: eq}, uses: view_index", 4),
        ("get: notes, given: {userId: eq, noteId: eq}", 1),
        ("query: notes, given: {userId: eq, createdAt: ge}, uses: byTime", 3),
    ]);
}

/// Every item names its entity; uniqueness guards do not.
#[test]
fn typedorm_says_the_entity_and_keeps_unique_values_apart() {
    let mut items = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        let id = format!("0000{at:04}-aaaa-4bbb-8ccc-ddddeeeeffff");
        let status = ["active", "inactive"][at % 2];
        items.push(item!(
            "PK=USER#{id}",
            "SK=USER#{id}",
            "GSI1PK=USER#STATUS#{status}",
            "GSI1SK=USER#{name}@example.com",
            "id={id}",
            "email={name}@example.com",
            "status={status}",
            "__en=user"
        ));
        items.push(item!(
            "PK=DRM_GEN_USER.EMAIL#{name}@example.com",
            "SK=DRM_GEN_USER.EMAIL#{name}@example.com"
        ));
        for photo in 0..3 {
            items.push(item!(
                "PK=USER#{id}",
                "SK=PHOTO#{photo}{at:04}",
                "id={photo}{at:04}",
                "category=pets",
                "userId={id}",
                "__en=photo"
            ));
        }
    }
    let found = imported(&[table("app", &["PK", "SK"], &[("GSI1", &["GSI1PK", "GSI1SK"])], items)]);
    let entities = found.entities();
    assert_eq!(entities.len(), 3, "{entities:?}");
    // Photos have an `id` of their own, so their collection is keyed by `userId`.
    assert_eq!(entities[0], "user: USER#{userId} / USER#{userId} | USER#STATUS#{status} / USER#{email}");
    assert!(entities.contains(&"photo < user: USER#{userId} / PHOTO#{id}".to_owned()), "{entities:?}");
    let expected = "access patterns of user give `userId`, not its attribute id, which has the same values";
    assert!(found.notes.iter().any(|note| note.contains(expected)), "{:?}", found.notes);
    assert!(entities.iter().any(|own| own.contains(": DRM_GEN_USER.EMAIL#{")), "{entities:?}");
    found.asked(&[
        ("query: user, given: {status: eq}, example: {status: active}", 6),
        ("query: [user, photo], given: {userId: eq}", 4),
    ]);
}

/// A number that a key pads is the attribute that holds it.
#[test]
fn numbers_that_keys_pad_are_their_attributes() {
    let mut items = Vec::new();
    for name in NAMES {
        for number in [1, 7, 12, 130] {
            items.push(item!(
                "pk=customer#{name}",
                "sk=invoice#{number:06}",
                "customer={name}",
                "invoiceNo=n:{number}",
                "total=n:5"
            ));
        }
    }
    let found = imported(&[table("app", &["pk", "sk"], &[], items)]);
    assert_eq!(found.entities(), ["invoice: customer#{customer} / invoice#{invoiceNo:pad(6)}"]);
    found.asked(&[
        ("get: invoice, given: {customer: eq, invoiceNo: eq}", 1),
        ("query: invoice, given: {customer: eq, invoiceNo: ge}, example: {customer: bob, invoiceNo: 10}", 2),
    ]);
}

/// A few items of each example, with a description that claims only that many: an illustration of a design,
/// not a sample.
#[test]
fn the_examples_come_back_from_live_tables_as_models_that_pass() {
    for (name, model) in examples() {
        let stored = stored_items(model);
        let tables: Vec<LiveTable> = model
            .tables
            .iter()
            .map(|own| {
                let items: Vec<Json> =
                    stored.get(&own.name).into_iter().flatten().map(|item| write_item(item, &[])).collect();
                let Json::Object(mut description) = write_request(&definition(own)) else {
                    panic!("{name}: no request")
                };
                let bytes = items.len() * 100;
                description
                    .push(("ItemCount".to_owned(), Json::number(u64::try_from(items.len()).expect("few"))));
                description
                    .push(("TableSizeBytes".to_owned(), Json::number(u64::try_from(bytes).expect("few"))));
                LiveTable { description: Json::Object(description), ..table(&own.name, &["x"], &[], items) }
            })
            .collect();
        imported(&tables);
    }
}

/// One of two orders is in the sample completely, the other only as an entry under its customer.
#[test]
fn a_value_repeated_by_some_items_only_does_not_make_a_parent() {
    let items = vec![
        item!("PK=USER#u1", "SK=~PROFILE", "userId=u1", "name=Ada"),
        item!("PK=USER#u1", "SK=ORDER#o100", "userId=u1", "orderId=o100", "total=n:5", "day=1"),
        item!("PK=USER#u1", "SK=ORDER#o200", "userId=u1", "orderId=o200", "total=n:6", "day=2"),
        item!("PK=ORDER#o100", "SK=META", "orderId=o100", "shipTo=x", "paidBy=y"),
        item!("PK=ORDER#o100", "SK=ITEM#p100", "orderId=o100", "productId=p100", "quantity=n:1"),
        item!("PK=ORDER#o100", "SK=ITEM#p200", "orderId=o100", "productId=p200", "quantity=n:2"),
        item!("PK=ORDER#o100", "SK=ITEM#p300", "orderId=o100", "productId=p300", "quantity=n:3"),
        item!("PK=USER#u1", "SK=ORDER#o300", "userId=u1", "orderId=o300", "total=n:7", "day=3"),
        item!("PK=PRODUCT#p100", "SK=DETAILS", "productId=p100", "price=n:5", "title=x"),
    ];
    let found = imported(&[table("Shop", &["PK", "SK"], &[], items)]);
    let entities = found.entities();
    for wanted in ["< USER: USER#{userId} / ORDER#{orderId}", "< ORDER: ORDER#{orderId} / ITEM#{productId}"] {
        assert!(entities.iter().any(|own| own.contains(wanted)), "{wanted}: {entities:?}");
    }
}

/// The only country's name is not a word of the design, and a word may end with a hyphen.
#[test]
fn keys_named_after_their_attribute_hold_values_and_constants_may_end_with_a_hyphen() {
    let stores = ["NY", "CA", "WA"].into_iter().flat_map(|state| {
        (0..4).map(move |at| item!("Country=USA", "Location={state}#CITY{at}#1000{at}", "name=store {at}"))
    });
    let found = imported(&[table("Stores", &["Country", "Location"], &[], stores.collect())]);
    assert_eq!(found.entities(), ["Stores: {Country} / {id}#{id2}#{id3}"]);
    let mut items = Vec::new();
    for name in NAMES {
        items.push(item!("pk={name}", "sk=root", "entity=Customer", "name={name}", "plan=gold"));
        for order in 10..13 {
            items.push(item!(
                "pk={name}",
                "sk=order-{order}",
                "entity=Order",
                "orderId={order}",
                "total=n:5"
            ));
        }
    }
    let found = imported(&[table("app", &["pk", "sk"], &[], items)]);
    assert_eq!(found.entities(), ["Customer: {name} / root", "Order < Customer: {name} / order-{orderId}"]);
    found.asked(&[
        ("get: Order, given: {name: eq, orderId: eq}", 1),
        ("query: [Customer, Order], given: {name: eq}", 4),
    ]);
}
