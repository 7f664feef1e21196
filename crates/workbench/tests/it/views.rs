//! The views of a model, by the requirements that ask for them.

use std::path::Path;

use keywright_model::Model;
use keywright_workbench::views::{Cardinality, Looked, STEPS, VIEWS, View, relations};

use crate::support::{example, model, no_files};

fn shown(model: &Model, view: View, pattern: Option<&str>) -> String {
    let looked = Looked::at(model, &no_files, &mut |_| {});
    looked.unwrap_or_else(|faults| panic!("{faults:?}")).show(view, pattern).text()
}

/// A page's lines, each with single spaces, without those that are empty.
fn lines(page: &str) -> Vec<String> {
    let tidy = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    page.lines().map(tidy).filter(|line| !line.is_empty()).collect()
}

/// Asserts that a page has these lines, in this order.
fn has(page: &str, wanted: &[&str]) {
    let found = lines(page);
    let mut rest = found.iter();
    for line in wanted {
        assert!(rest.any(|known| known == line), "no line `{line}`, or not there:\n{page}");
    }
}

/// Customers with one profile each, students and courses, a copied name that changes.
const SCHOOL: &str = r#"
format: 1
model: school
tables:
  School: {key: {PK: S, SK: S}, billing: on-demand}
entities:
  Student: {count: 1000, key: {PK: "s#{studentId}", SK: "student"}, attrs: {studentId: S, name: S}}
  Profile: {count: 1000, parent: Student, key: {PK: "s#{studentId}", SK: "profile"}, attrs: {studentId: S, about: S}}
  Course: {count: 50, key: {PK: "c#{courseId}", SK: "course"}, attrs: {courseId: S, title: S, room: S}}
  Enrolment:
    count: 10000
    parent: [Student, Course]
    key: {PK: "s#{studentId}", SK: "c#{courseId}"}
    attrs:
      studentId: S
      courseId: S
      courseTitle: {type: S, copyOf: Course.title}
      courseRoom: {type: S, copyOf: Course.room}
      studentName: {type: S, copyOf: Student.name}
patterns:
  - {id: P1, text: A student's courses, query: Enrolment, given: {studentId: eq}, returns: {avg: 10, page: 50}, rate: 5, example: {studentId: s1}, expect: {count: 1}}
  - {id: P2, text: A student, get: Student, given: {studentId: eq}, example: {studentId: s1}}
  - {id: W1, text: A course moves, update: Course, set: "room = :room", if: exists, rate: 3, example: {courseId: c1, room: R2}}
  - id: W2
    text: A student is renamed with one enrolment
    transact: [{update: Student, set: "name = :name", if: exists}, {update: Enrolment, set: "studentName = :name", if: exists}]
    rate: 0.01
    example: {studentId: s1, courseId: c1, name: Ida}
data:
  inline:
    Student: [{studentId: s1, name: Ada}]
    Course: [{courseId: c1, title: Logic, room: R1}]
    Enrolment: [{studentId: s1, courseId: c1, courseTitle: Logic, courseRoom: R1, studentName: Ada}]
"#;

#[test]
fn r66_patterns_are_listed_with_rate_size_and_consistency_and_a_missing_rate_is_reported() {
    let page = shown(&model(SCHOOL), View::Patterns, None);
    has(
        &page,
        &[
            "id text kind of given, order, filter returns rate size consistency",
            "P1 A student's courses query Enrolment studentId = avg 10, page 50 5/s 75 B eventual",
            "P2 A student get Student studentId = 1 missing 33 B eventual",
            "W1 A course moves update Course 1 of 1 conditional 1 written 3/s 40 B -",
            "No rate is given for P2: their cost and heat are unknown.",
        ],
    );
}

#[test]
fn r67_one_to_one_one_to_many_and_many_to_many_are_declared_and_drawn() {
    let school = model(SCHOOL);
    let found: Vec<(String, String, Cardinality, Option<String>)> = relations(&school)
        .into_iter()
        .map(|relation| (relation.from, relation.to, relation.cardinality, relation.through))
        .collect();
    let named = |from: &str, to: &str, cardinality, through: Option<&str>| {
        (from.to_owned(), to.to_owned(), cardinality, through.map(str::to_owned))
    };
    assert_eq!(
        found,
        [
            named("Student", "Profile", Cardinality::OneToOne, None),
            named("Student", "Course", Cardinality::ManyToMany, Some("Enrolment")),
        ]
    );
    let page = shown(&school, View::Entities, None);
    assert!(page.contains(
        "+---------+           +---------+\n| Student | 1 ----- 1 | Profile |\n+---------+           +---------+\n"
    ));
    has(&page, &["| Student | 1 ----- N | Enrolment | N ----- 1 | Course | many to many"]);

    let shop = example("ecommerce.yaml");
    let looked = Looked::at(&shop, &no_files, &mut |_| {}).expect("it runs");
    let markdown = looked.show(View::Entities, None).markdown();
    for line in
        ["```mermaid\nerDiagram", "    Customer ||--o{ Order : has", "    Product ||--o{ OrderItem : has"]
    {
        assert!(markdown.contains(line), "{markdown}");
    }
    has(&looked.show(View::Entities, None).text(), &["| Customer | 1 ----- N | Order |"]);
}

#[test]
fn r68_the_template_of_every_entity_in_every_index_stands_in_one_table() {
    has(
        &shown(&example("ecommerce.yaml"), View::Keys, None),
        &[
            "entity PK SK GSI1PK GSI1SK GSI2PK GSI2SK",
            "Customer c#{customerId} c#{customerId} - - - -",
            "Product p#{productId} p#{productId} - - - -",
            "Order o#{orderId} c#{customerId} - - - -",
            "OrderItem o#{orderId} p#{productId} p#{productId} {orderDate} c#{customerId} p#{orderDate}",
            "Invoice o#{orderId} i#{invoiceId} i#{invoiceId} i#{invoiceId} c#{customerId} i#{invoiceDate}",
        ],
    );
}

#[test]
fn r69_the_six_steps_are_views_in_their_order() {
    let names: Vec<&str> = VIEWS.iter().take(STEPS).map(|view| view.name()).collect();
    assert_eq!(names, ["patterns", "entities", "keys", "indexes", "denormalisation", "validation"]);
    let orders = example("orders.yaml");
    has(
        &shown(&orders, View::Indexes, None),
        &["index kind key projection entities in it entries in the sample patterns"],
    );
    let validation = shown(&orders, View::Validation, None);
    has(&validation, &["pattern operation index key read, returned units result", "The check passes."]);
    for (name, model) in crate::support::examples() {
        let looked = Looked::at(model, &no_files, &mut |_| {}).expect("it runs");
        for view in VIEWS {
            let page = looked.show(view, None);
            for text in [page.text(), page.markdown()] {
                assert!(text.lines().count() > 3, "{name} {}: {text}", view.name());
            }
        }
        for pattern in &model.patterns {
            let page = looked.show(View::Collections, Some(&pattern.id)).text();
            let returned = looked.checked.report.pattern(&pattern.id).map_or(0, |run| run.returned.len());
            assert_eq!(page.matches("\n  > ").count(), returned, "{name} {}: {page}", pattern.id);
        }
    }
}

#[test]
fn r70_a_model_that_fails_its_check_is_shown_with_its_faults() {
    let page = shown(&example("complaints.yaml"), View::Validation, None);
    assert!(page.contains("L002: ") && page.contains("The check fails."), "{page}");
}

#[test]
fn r78_item_collections_are_drawn_for_the_table_and_every_index() {
    has(
        &shown(&example("ecommerce.yaml"), View::Collections, None),
        &[
            "Table ECommerce: PK → SK",
            "6 partitions, 9 items.",
            "[o#12345]",
            "c#12345 Order",
            "i#55443 Invoice",
            "p#12345 OrderItem",
            "p#99887 OrderItem",
            "Index ECommerce.GSI1: GSI1PK → GSI1SK",
            "3 partitions, 3 items.",
            "Index ECommerce.GSI2: GSI2PK → GSI2SK",
            "[c#12345]",
        ],
    );
}

#[test]
fn r78_running_a_pattern_marks_the_items_read_and_returned() {
    let page = shown(&example("ecommerce.yaml"), View::Collections, Some("P4"));
    has(
        &page,
        &["[o#12345]", "c#12345 Order", "i#55443 Invoice", "> p#12345 OrderItem", "> p#99887 OrderItem"],
    );
    assert!(!page.contains("GSI1"), "only the pattern's own path is drawn: {page}");

    let filtered = shown(&example("building-blocks.yaml"), View::Collections, Some("P4"));
    has(
        &filtered,
        &[
            "P4: Query PK = \"INBOX#u1\" AND begins_with(SK, \"MESSAGE#\") — 2 items read, 1 returned.",
            "[INBOX#u1]",
            "> MESSAGE#m1 Message",
            "x MESSAGE#m2 Message",
        ],
    );
    // Pages of one item: the items on later pages were read as well.
    let source = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models/building-blocks.yaml"),
    );
    let paged = source
        .expect("the example is there")
        .replace("returns: {avg: 10, page: 50}", "returns: {avg: 10, page: 1}");
    has(
        &shown(&model(&paged), View::Collections, Some("P4")),
        &["> MESSAGE#m1 Message", "x MESSAGE#m2 Message"],
    );
    let scan = shown(&example("complaints.yaml"), View::Collections, Some("P5"));
    assert_eq!(scan.matches("  > ").count(), 1);
    assert_eq!(scan.matches("  x ").count(), 8, "{scan}");
    let unknown = shown(&example("orders.yaml"), View::Collections, Some("P99"));
    has(&unknown, &["There is no pattern P99; there are P1, P2, P3, P4, P5, P6, P7."]);
}

#[test]
fn r79_the_ledger_names_each_copy_with_source_updaters_and_writes_and_warns_of_volatile_ones() {
    let page = shown(&model(SCHOOL), View::Denormalisation, None);
    has(
        &page,
        &[
            "copy source copies of one source changes copies written verdict",
            "Enrolment.courseTitle Course.title 200 no pattern - never changes; read 5/s",
            "Enrolment.courseRoom Course.room 200 W1 leaves it (3/s) 600/s volatile; read 5/s",
            "Enrolment.studentName Student.name 10 W2 in one transaction (0.01/s) 0.1/s kept; read 5/s",
        ],
    );
    assert!(page.contains("- warning: Enrolment.courseRoom is volatile: "), "{page}");
}

/// One pattern of each kind that the advice covers.
const BUSY: &str = r#"
format: 1
model: busy
tables:
  Tab: {key: {PK: S, SK: S}, billing: on-demand, ttl: gone}
entities:
  Ticket:
    count: 100000
    key: {PK: "t#{owner}", SK: "{ticketId}"}
    attrs: {owner: S, ticketId: S, state: {type: S, values: [open, closed]}, note: S}
  Vote:
    count: 1000000
    key: {PK: "v#{candidate}", SK: "{voter}"}
    skew: {candidate: hottest(0.9)}
    attrs: {candidate: {type: S, distinct: 500}, voter: S}
  Page:
    count: 1000
    size: 20000
    key: {PK: "p#{pageId}", SK: "page"}
    attrs: {pageId: S, html: S, css: S, script: S, title: S, views: N}
  Login:
    count: 1000000
    key: {PK: "l#{user}", SK: "{at}"}
    attrs: {user: S, at: {type: S, format: iso8601}, device: S}
  Session:
    count: 1000
    key: {PK: "s#{user}", SK: "session"}
    attrs: {user: S, gone: {type: N, format: epoch-seconds}}
patterns:
  - {id: P1, text: Open tickets of an owner, query: Ticket, given: {owner: eq}, filter: "state = :state", returns: {avg: 2, page: 100}, rate: 1, example: {owner: o1, state: open}}
  - {id: P2, text: Search the notes, query: Ticket, given: {owner: eq}, filter: "contains(note, :text)", returns: {page: 100}, rate: 1, example: {owner: o1, text: printer}}
  - {id: P3, text: The monthly report of logins, query: Login, given: {user: eq}, returns: {avg: 200000, page: 100}, rate: 0.001, example: {user: u1}}
  - {id: P4, text: A session, get: Session, given: {user: eq}, consistency: strong, rate: 10, example: {user: u1}}
  - {id: P5, text: A page, get: Page, given: {pageId: eq}, rate: {avg: 5000, peak: 9000}, example: {pageId: p1}}
  - {id: W1, text: Vote, put: Vote, if: not-exists, rate: {avg: 5000, peak: 20000}, example: {candidate: c1, voter: v9}}
  - {id: W2, text: A page was seen, update: Page, add: "views :one", if: exists, rate: 50, example: {pageId: p1, one: 1}}
  - {id: W3, text: Somebody logged in, put: Login, if: not-exists, rate: 20, example: {user: u1, at: "2026-01-02T00:00:00.000Z", device: d}}
data:
  inline:
    Ticket:
      - {owner: o1, ticketId: t1, state: open, note: the printer}
      - {owner: o1, ticketId: t2, state: closed, note: x}
      - {owner: o1, ticketId: t3, state: closed, note: x}
      - {owner: o1, ticketId: t4, state: closed, note: x}
      - {owner: o1, ticketId: t5, state: closed, note: x}
      - {owner: o1, ticketId: t6, state: closed, note: x}
    Vote: [{candidate: c1, voter: v1}]
    Page: [{pageId: p1, html: h, css: c, script: s, title: t, views: 1}]
    Login: [{user: u1, at: "2026-01-01T00:00:00.000Z", device: d}]
    Session: [{user: u1, gone: 1800000000}]
"#;

#[test]
fn r80_sparse_indexes_splits_shards_and_time_to_live_are_advised_with_their_numbers() {
    let page = shown(&model(BUSY), View::Advice, None);
    for wanted in [
        "P1 selects 16 % by `state`: a sparse index would hold only those (L038, note)",
        "W2 changes views of Page, and pays for all 20000 bytes each time (L032, warning)",
        "(L021, error)",
        "Login: 20 new items a second and none deleted: 630720000 items",
        "the table `ttl: gone`: those deletes cost nothing.",
    ] {
        assert!(page.contains(wanted), "no `{wanted}`:\n{page}");
    }
    assert!(!page.contains("Session: "), "what expires needs no advice:\n{page}");
    let calm = shown(&example("orders.yaml"), View::Advice, None);
    for wanted in [
        "No pattern selects a few items out of many by a flag.",
        "No item is large and often changed in part.",
        "No key is over half of what a partition sustains, at the rates given.",
    ] {
        assert!(calm.contains(wanted), "no `{wanted}`:\n{calm}");
    }
}

#[test]
fn r81_several_tables_are_advised_where_nothing_joins_entities_that_differ() {
    let page = shown(&model(BUSY), View::Advice, None);
    for wanted in [
        "Tab: several tables are better. Nothing joins Login; Page; Session; Ticket; Vote, and they differ:",
        "consistency: Session is read strongly, Login; Page; Ticket; Vote eventually",
        "load: Login; Vote is mostly written, Page; Session; Ticket mostly read",
        "time to live: Session expires, Login; Page; Ticket; Vote stays",
    ] {
        assert!(page.contains(wanted), "no `{wanted}`:\n{page}");
    }
    let joined = shown(&example("ecommerce.yaml"), View::Advice, None);
    assert!(joined.contains("Invoice, Order, OrderItem, Product belong together"), "{joined}");
}

#[test]
fn r84_analytics_full_text_and_reads_for_a_cache_are_flagged() {
    let page = shown(&model(BUSY), View::Advice, None);
    for wanted in [
        "P2: it looks for a part of a text (`contains(note, :text)`). Send changes by a stream to a search service",
        "P3: it returns 200000 of 1000000 items. Export the table to an object store",
        "A cache: eventually consistent reads cost $",
    ] {
        assert!(page.contains(wanted), "no `{wanted}`:\n{page}");
    }
    let scan = shown(&example("complaints.yaml"), View::Advice, None);
    assert!(scan.contains("P5: it reads all 100000 items to answer."), "{scan}");
    let none = shown(&example("ecommerce.yaml"), View::Advice, None);
    assert!(none.contains("No pattern asks for analytics or full text"), "{none}");
}

#[test]
fn r85_the_checklist_shows_covered_and_open_points() {
    let page = shown(&model(SCHOOL), View::Checklist, None);
    let rows: Vec<String> = lines(&page);
    for (what, state) in [
        ("point-in-time recovery", "NO"),
        ("backups", "in your program"),
        ("deletion protection", "NO"),
        ("encryption at rest", "yes"),
        ("conditional writes", "yes"),
        ("retries", "in your program"),
        ("time to live", "not needed"),
        ("monitoring", "in your program"),
    ] {
        let wanted = format!("{what} {state} ");
        assert!(rows.iter().any(|row| row.starts_with(&wanted)), "no `{wanted}`:\n{page}");
    }
    assert!(
        page.contains("transactions carry a client token, so that a repetition counts once: W2"),
        "{page}"
    );
    assert!(page.contains("2 open."), "{page}");
    assert!(shown(&example("storefront.yaml"), View::Checklist, None).contains("Nothing is open."));
}
