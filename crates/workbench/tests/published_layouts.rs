//! Live tables as published mappers and guides lay them out: what is imported has sensible entities and keys, passes its
//! check, and questions of it read what they should.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod support;

use keywright_workbench::exchange::json::Json;
use keywright_workbench::exchange::live::{LiveTable, draft};
use keywright_workbench::exchange::to_model::to_model;
use keywright_workbench::model::{parse, write};
use keywright_workbench::run::Outcome;

use support::no_files;

/// An item in short: `name=text`, `name=n:1` for a number.
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
    LiveTable {
        description: Json::parse(&text).expect("JSON"),
        time_to_live: None,
        backups: None,
        besides: Vec::new(),
        unanswered: Vec::new(),
        items,
    }
}

/// What was imported.
struct Imported {
    text: String,
    notes: Vec<String>,
}

fn imported(tables: &[LiveTable]) -> Imported {
    let made = to_model(&draft("app", tables).expect("a draft"));
    let text = write(&made.model);
    let model = parse(&text).unwrap_or_else(|faults| panic!("{}\n{text}", support::told(&faults)));
    let checked = keywright_workbench::check(&model, &no_files, &mut |_| {}).expect("it runs");
    assert!(checked.passes(), "{:?}\n{text}", checked.findings);
    if std::env::var("SHOW").is_ok() {
        let shown = text.split("\ndata:").next().unwrap_or_default();
        println!("{shown}\n--\n{}", made.notes.join("\n"));
    }
    Imported { text, notes: made.notes }
}

impl Imported {
    /// Entities with their keys, and the indexes that they are in.
    fn entities(&self) -> Vec<String> {
        let model = parse(&self.text).expect("a model");
        let shown = model.entities.iter().map(|entity| {
            let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
            let keys = slots.map(|slot| {
                let templates = slot.templates.iter().map(|(_, template)| template.to_string());
                templates.collect::<Vec<_>>().join(" / ")
            });
            format!("{}: {}", entity.name, keys.collect::<Vec<_>>().join(" | "))
        });
        shown.collect()
    }

    /// Asks questions of the imported items: how many come back of how many that are read.
    fn asked(&self, patterns: &[(&str, u64)]) {
        let lines: Vec<String> = patterns
            .iter()
            .enumerate()
            .map(|(at, (pattern, _))| format!("  - {{id: Q{at}, {pattern}, rate: 1}}\n"))
            .collect();
        let text = format!("{}\npatterns:\n{}", self.text, lines.concat());
        let model = parse(&text).unwrap_or_else(|faults| panic!("{}\n{text}", support::told(&faults)));
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

/// Employees and their tasks in one collection, as `ElectroDB`'s guide has them; keys are in lower case.
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
            "task: $taskapp#employeeid_{employeeId} / $task_1#taskid_{taskId} | $taskapp#projectid_{projectId} / $task_1#status_{status}#taskid_{taskId}",
        ]
    );
    assert!(
        found.notes.iter().any(|note| note.contains("officeLower is office in other letters")),
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

/// Stores by country, state, city and number: the guide's key of a hierarchy.
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

/// A time between colons is one value, that of the attribute that holds it.
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
                format!("msg: room:{{roomId}} / msg:{{{time}}}:{{msgId}}")
            ]
        );
        let since = format!(
            "query: msg, given: {{roomId: eq, {time}: ge}}, example: {{roomId: \"2\", {time}: \"2026-01-03T15:00:00Z\"}}"
        );
        found.asked(&[(&since, 5), ("query: [room, msg], given: {roomId: eq}", 11)]);
    }
}

/// Every key begins with the type's name; the items say their type, but for those that keep a mail unique.
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
        let doubted =
            found.notes.iter().any(|note| note.contains("`user` is taken for a word, though role has it"));
        assert_eq!(doubted, !typed, "{:?}", found.notes);
        found.asked(&[(&format!("query: {user}, given: {{email: eq}}"), 1)]);
    }
}
