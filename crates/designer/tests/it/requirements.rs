//! Requirements of the workbench by their whole sentences, where the unit tests cover a part of one.

use keywright_designer::design::{self, explain};
use keywright_designer::diff::{Note, Remark, StepKind, Subject, diff};
use keywright_exchange::of_model::stored_items;
use keywright_model::data::load;
use keywright_model::{HalfUnits, Model, Pattern, ReadKind, parse, write};
use keywright_workbench::cost::{self, Costing, Settings};
use keywright_workbench::heat;
use keywright_workbench::price::{Money, Prices, TODAY};
use keywright_workbench::report::text;
use keywright_workbench::run::measure;
use keywright_workbench::views::{Looked, View};

use crate::support::{billed, check, checked, example, examples, model, no_files, prices, problem};

/// A table with as many indexes as articles advise, an order that is in all of them, a customer that is in
/// none.
const FIVE: &str = r#"
format: 1
model: five
tables:
  Tab:
    key: {pk: S, sk: S}
    indexes:
      gsi1: {pk: a1, project: all}
      gsi2: {pk: a2, project: all}
      gsi3: {pk: a3, project: all}
      gsi4: {pk: a4, project: all}
      gsi5: {pk: a5, project: all}
entities:
  Customer: {count: 100, size: 500, key: {pk: "c#{c}", sk: "c#"}, attrs: {c: S, name: S}}
  Order: {count: 1000, size: 900, key: {pk: "o#{o}", sk: "o#"}, attrs: {o: S, a1: S, a2: S, a3: S, a4: S, a5: S}}
patterns:
PATTERNS
data: {generate: {seed: 1, sample: 20}}
"#;

fn five(patterns: &[&str]) -> Model {
    let lines: Vec<String> = patterns.iter().map(|pattern| format!("  - {{{pattern}}}")).collect();
    model(&FIVE.replace("PATTERNS", &lines.join("\n")))
}

fn bill_text(model: &Model, price_file: &str) -> String {
    let samples = load(model, &no_files).expect("its data");
    let measured = measure(model, &samples).expect("it runs");
    let prices = Prices::built_in(price_file).expect("built in");
    let costing = Costing { prices: &prices, settings: Settings::default() };
    cost::text(&cost::bill(model, &measured, &costing).expect("priced"), &costing)
}

fn shown(model: &Model, view: View) -> String {
    Looked::at(model, &no_files, &mut |_| {}).expect("it runs").show(view, None).text()
}

#[test]
fn r66_a_pattern_is_of_a_kind_and_one_without_a_rate_is_left_out_of_the_bill_by_name() {
    let kinds = |text: &str| five(&[text]).patterns.first().and_then(Pattern::read).map(|read| read.kind);
    assert_eq!(kinds("id: Q, get: Order, given: {o: eq}"), Some(ReadKind::Get));
    assert_eq!(kinds("id: Q, query: Order, given: {a1: eq}"), Some(ReadKind::Query));
    assert_eq!(kinds("id: Q, scan: Order, admin: true"), Some(ReadKind::Scan));
    assert_eq!(kinds("id: Q, scatter-gather: Order, given: {a1: eq}"), Some(ReadKind::ScatterGather));

    let rated = "id: Q1, get: Order, given: {o: eq}, rate: 5";
    let silent = five(&[rated, "id: Q2, get: Customer, given: {c: eq}"]);
    let zero = five(&[rated, "id: Q2, get: Customer, given: {c: eq}, rate: 0"]);
    let bill = billed(&silent);
    assert_eq!((bill.without_rate.as_slice(), bill.is_whole()), (["Q2".to_owned()].as_slice(), false));
    assert!(bill.lines.iter().all(|line| line.pattern != "Q2"), "it has no line, not one of zero");
    let bill = billed(&zero);
    assert_eq!((bill.without_rate.len(), bill.is_whole()), (0, true), "a rate of zero is declared");
    assert!(bill_text(&silent, TODAY).contains("Q2 has no rate and is not in the total"));
    assert!(shown(&silent, View::Patterns).contains("No rate is given for Q2"));
}

#[test]
fn a_read_is_metered_by_its_average_independent_of_its_examples_range() {
    let entries = |example: &str| {
        model(&format!(
            r#"
format: 1
model: m
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  Account: {{count: 500000, size: 300, key: {{pk: "a#{{id}}", sk: a}}, attrs: {{id: {{type: S, format: uuid}}}}}}
  Entry: {{count: 400000000, size: 400, parent: Account, key: {{pk: "a#{{id}}", sk: "e#{{at}}#{{no}}"}}, attrs: {{id: {{type: S, format: uuid}}, at: {{type: S, format: iso8601}}, no: {{type: S, format: ulid}}}}}}
patterns:
  - {{id: Q, query: Entry, given: {{id: eq, at: between}}, returns: {{avg: 80, max: 5000}}{example}, rate: 1}}
data: {{generate: {{seed: 5, sample: 200}}}}
"#
        ))
    };
    // 80 items of 400 bytes are 8 blocks of 4 KB.
    for example in ["", ", example: {at: [\"2000-01-01T00:00:00.000Z\", \"2100-01-01T00:00:00.000Z\"]}"] {
        let bill = billed(&entries(example));
        let line = bill.lines.iter().find(|line| line.pattern == "Q").expect("a line");
        assert_eq!(line.read.0, 8, "half units, {example}");
        assert!(bill.notes.is_empty(), "{:?}", bill.notes);
    }
}

#[test]
fn an_average_may_be_a_fraction_which_is_kept_and_metered_as_the_next_whole_item() {
    let lines = |average: &str| {
        model(&format!(
            r#"
format: 1
model: m
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  Order: {{count: 1000, size: 4096, key: {{pk: "o#{{id}}", sk: o}}, attrs: {{id: S}}}}
  Line: {{count: 2200, size: 4096, parent: Order, key: {{pk: "o#{{id}}", sk: "l#{{no:pad(3)}}"}}, attrs: {{id: S, no: N}}}}
patterns:
  - {{id: Q, query: Line, given: {{id: eq}}, returns: {{avg: {average}, max: 3}}, rate: 1}}
data: {{generate: {{seed: 5, sample: 20}}}}
"#
        ))
    };
    for (average, written, blocks) in
        [("2.2", "avg: 2.2,", 3), ("2.000", "avg: 2,", 2), ("0.25", "avg: 0.25,", 1)]
    {
        let model = lines(average);
        assert!(write(&model).contains(written), "{}", write(&model));
        assert_eq!(
            billed(&model).lines.first().map(|line| line.read.0),
            Some(blocks),
            "half units of {average}"
        );
    }
    assert!(parse(&write(&lines("2")).replace("avg: 2", "avg: 3.001")).is_err(), "more than at most");
}

#[test]
fn r67_every_cardinality_is_drawn_in_the_diagram_that_browsers_show() {
    let school = r#"
format: 1
model: school
tables: {School: {key: {PK: S, SK: S}}}
entities:
  Student: {count: 1000, key: {PK: "s#{studentId}", SK: "student"}, attrs: {studentId: S}}
  Profile: {count: 1000, parent: Student, key: {PK: "s#{studentId}", SK: "profile"}, attrs: {studentId: S}}
  Course: {count: 50, key: {PK: "c#{courseId}", SK: "course"}, attrs: {courseId: S}}
  Enrolment: {count: 10000, parent: [Student, Course], key: {PK: "s#{studentId}", SK: "c#{courseId}"}, attrs: {studentId: S, courseId: S}}
patterns: [{id: P, get: Student, given: {studentId: eq}, rate: 1}]
data: {generate: {seed: 1, sample: 20}}
"#;
    let school = model(school);
    let page =
        Looked::at(&school, &no_files, &mut |_| {}).expect("it runs").show(View::Entities, None).markdown();
    for line in ["Student ||--o| Profile", "Student ||--o{ Enrolment", "Course ||--o{ Enrolment"] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

#[test]
fn r68_every_template_of_every_example_stands_in_the_one_table() {
    for (name, model) in examples() {
        let page = shown(model, View::Keys);
        for entity in &model.entities {
            let row = page.lines().find(|line| line.split_whitespace().next() == Some(entity.name.as_str()));
            let row = row.unwrap_or_else(|| panic!("{name}: no row for {}\n{page}", entity.name));
            let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
            for (key, template) in slots.flat_map(|slot| &slot.templates) {
                assert!(row.contains(&template.to_string()), "{name} {} {key}: {row}", entity.name);
            }
        }
    }
}

#[test]
fn r70_the_check_prints_of_each_pattern_its_operation_and_its_one_path() {
    for (pattern, wanted) in [
        ("id: P, get: Order, given: {o: eq}, rate: 1", ["P", "GetItem", "Tab"]),
        (
            "id: P, query: Order, given: {a3: eq}, returns: {max: 9}, rate: 1, admin: true",
            ["P", "Query", "gsi3"],
        ),
        ("id: P, put: Order, if: not-exists, rate: 1", ["P", "PutItem", "Tab"]),
    ] {
        let checked = check(&five(&[pattern]));
        let shown = text(&checked, "five.yaml");
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some("P")).expect("a line");
        assert!(wanted.iter().all(|word| line.contains(word)), "{line}");
        assert_eq!(checked.report.pattern("P").map(|own| own.requests), Some(1), "{pattern}");
    }
    // Neither a page that takes a second request nor a read that no key answers is one.
    let none = check(&five(&["id: P, query: Customer, given: {name: eq}, rate: 1"]));
    assert!(!none.passes(), "{}", text(&none, "five.yaml"));
}

#[test]
fn r73_an_added_pattern_is_named() {
    let (before, after) = (
        five(&["id: Q1, get: Order, given: {o: eq}, rate: 5"]),
        five(&[
            "id: Q1, get: Order, given: {o: eq}, rate: 5",
            "id: Q2, query: Order, given: {a1: eq}, rate: 5",
        ]),
    );
    let subject = |model: &Model| Subject::of_model(model, &stored_items(model));
    let changes = diff(&subject(&before), &subject(&after)).changes;
    let told: Vec<String> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("+ pattern Q2 added")), "{told:?}");
}

#[test]
fn r74_five_indexes_are_metered_as_six_writes_and_transactions_as_two_in_the_table_alone() {
    let units = |pattern: &str, target: Option<&str>| {
        let bill = billed(&five(&[pattern]));
        let here = |line: &&cost::Line| line.target.index.as_deref() == target;
        bill.lines.iter().find(here).map(|line| (line.read, line.write))
    };
    let put = "id: W, put: Order, if: not-exists, rate: 1";
    let bill = billed(&five(&[put]));
    assert_eq!(bill.lines.len(), 6, "the table and five indexes");
    assert!(bill.lines.iter().all(|line| line.write == HalfUnits(2)), "a unit each");
    assert_eq!(bill.written.first().and_then(cost::Written::percent), Some(600));
    assert!(
        bill_text(&five(&[put]), TODAY)
            .contains("A write of Order is 6 writes: one to its table, 5 to indexes.")
    );
    let both = "id: W, transact: [{put: Order, if: not-exists}, {put: Customer, if: not-exists}], rate: 1";
    assert_eq!(units(both, None), Some((HalfUnits(0), HalfUnits(8))), "two items, twice each");
    assert_eq!(units(both, Some("gsi4")), Some((HalfUnits(0), HalfUnits(2))), "once");
    let read = |more: &str| units(&format!("id: Q, get: Order, given: {{o: eq}}{more}, rate: 1"), None);
    assert_eq!(read(""), Some((HalfUnits(1), HalfUnits(0))));
    assert_eq!(read(", consistency: strong"), Some((HalfUnits(2), HalfUnits(0))));
    let gets = "id: Q, transact: [{get: Order}, {get: Customer}], rate: 1";
    assert_eq!(units(gets, None), Some((HalfUnits(8), HalfUnits(0))), "two items, twice a strong read each");
}

#[test]
fn r74_each_table_index_and_pattern_has_its_sum_and_the_sums_are_the_total() {
    let model = five(&[
        "id: W, put: Order, if: not-exists, rate: 10",
        "id: Q, query: Order, given: {a2: eq}, returns: {avg: 3, max: 9}, rate: 50",
    ]);
    let bill = billed(&model);
    let targets = bill.targets();
    assert_eq!(targets.len(), 6);
    assert_eq!(targets.iter().map(|(_, sum)| *sum).sum::<Money>(), bill.total());
    let of = |index: Option<&str>| {
        let found = targets.iter().find(|(target, _)| target.index.as_deref() == index);
        found.map(|(_, sum)| *sum).expect("a sum")
    };
    assert!(of(Some("gsi2")) > of(Some("gsi1")), "only one is asked");
    let writes: Money =
        bill.lines.iter().filter(|own| own.pattern == "W").map(|own| own.monthly.total()).sum();
    assert_eq!(bill.patterns(), [("W".to_owned(), writes)], "the other stands in one line");
    let shown = bill_text(&model, TODAY);
    for wanted in ["  of it Tab ", "  of it Tab.gsi2 ", "  of it W, in all "] {
        assert!(shown.contains(wanted), "no `{wanted}`:\n{shown}");
    }
}

#[test]
fn r75_the_bill_compares_every_way_to_pay_and_the_check_advises_the_cheaper_with_its_saving() {
    let steady = five(&["id: Q1, get: Order, given: {o: eq}, rate: 20000"]);
    let shown = bill_text(&steady, TODAY);
    let ways: Vec<&str> =
        shown.lines().skip_while(|line| !line.contains("from the cheapest")).skip(1).collect();
    let way = |name: &str| ways.iter().position(|line| line.trim().starts_with(name) && line.contains('$'));
    for class in ["Standard", "Standard-IA"] {
        for mode in ["on-demand", "provisioned with auto scaling", "provisioned "] {
            assert!(way(&format!("{class}, {mode}")).is_some(), "{class}, {mode}:\n{shown}");
        }
    }
    assert!(way("Standard, reserved for 3 years") < way("Standard, reserved for 1 year"), "{shown}");
    assert!(way("Standard, reserved for 1 year") < way("Standard, on-demand"), "a steady load:\n{shown}");
    assert!(shown.contains("Provisioned capacity is cheaper once more than 28.9 % of it is used"), "{shown}");
    let advice = |model: &Model| {
        let found = check(model).findings.into_iter().find(|own| own.rule == "L040");
        found.map(|own| own.text).unwrap_or_default()
    };
    let told = advice(&steady);
    assert!(told.contains("a month as Standard, on-demand") && told.contains(" less"), "{told}");
    assert!(told.contains("reserved for 3 years costs $"), "{told}");
    let archive = checked(
        r#"
format: 1
model: archive
tables: {Tab: {key: {pk: S}}}
entities: {Old: {count: 1000000000, size: 900, key: {pk: "o#{o}"}, attrs: {o: S}}}
patterns: [{id: Q1, get: Old, given: {o: eq}, rate: 1}]
data: {generate: {seed: 1, sample: 5}}
"#,
    );
    let told = archive.findings.iter().find(|own| own.rule == "L040").expect("L040");
    assert!(told.text.contains("Standard-IA, on-demand costs $"), "{}", told.text);
}

#[test]
fn r76_a_bill_at_the_older_prices_is_twice_that_at_todays() {
    let model =
        five(&["id: W, put: Order, if: not-exists, rate: 10", "id: Q, get: Order, given: {o: eq}, rate: 10"]);
    let samples = load(&model, &no_files).expect("its data");
    let measured = measure(&model, &samples).expect("it runs");
    let requests = |name: &str| {
        let prices = Prices::built_in(name).expect("built in");
        let costing = Costing { prices: &prices, settings: Settings::default() };
        let bill = cost::bill(&model, &measured, &costing).expect("priced");
        bill.lines.iter().map(|line| line.monthly.total()).sum::<Money>()
    };
    let today = requests(TODAY);
    assert_eq!(requests("us-east-1@2024-10"), today + today);
    assert!(
        bill_text(&model, "us-east-1@2024-10")
            .starts_with("Monthly cost in US dollars at us-east-1@2024-10.")
    );
}

#[test]
fn r77_the_calculator_is_the_ceiling_of_writes_over_a_thousand() {
    for units in [1, 999, 1000, 1001, 19_999, 20_000, 20_001, 123_456] {
        assert_eq!(heat::shards_for_writes(units), units.div_ceil(1000), "{units}");
    }
    assert!(heat::of_writes(20_000).contains("20 shards"), "{}", heat::of_writes(20_000));
}

const BUSY: &str = r#"
format: 1
model: busy
tables: {Tab: {key: {PK: S, SK: S}, billing: on-demand}}
entities:
  Vote: {count: 1000000, size: 100, key: {PK: "v#{candidate}", SK: "{voter}"}, skew: {candidate: hottest(0.5)}, attrs: {candidate: {type: S, distinct: 500}, voter: S}}
  Page: {count: 1000, size: SIZE, key: {PK: "p#{pageId}", SK: "page"}, attrs: {pageId: S, html: S, views: N}}
patterns:
  - {id: W1, put: Vote, if: not-exists, rate: {avg: 10, peak: PEAK}}
  - {id: W2, update: Page, add: "views :one", if: exists, rate: 50, example: {one: 1}}
  - {id: Q1, get: Page, given: {pageId: eq}, rate: 10}
  - {id: Q2, query: Vote, given: {candidate: eq}, limit: 10, rate: 1}
data: {generate: {seed: 1, sample: 20}}
"#;

#[test]
fn r80_advice_comes_where_the_numbers_justify_it_and_only_there() {
    let advice = |size: &str, peak: &str| {
        shown(&model(&BUSY.replace("SIZE", size).replace("PEAK", peak)), View::Advice)
    };
    let (large, small) = (advice("20000", "20000"), advice("300", "100"));
    // Half of 20,000 writes a second go to one key.
    assert!(
        large.contains("10000 write units a second") && large.contains("spread it over 20 shards"),
        "{large}"
    );
    assert!(large.contains("split the item"), "{large}");
    for absent in ["shards", "split the item"] {
        assert!(!small.contains(absent), "`{absent}`:\n{small}");
    }
    assert!(small.contains("No key is over half of what a partition sustains"), "{small}");
}

#[test]
fn r81_several_tables_are_advised_for_each_of_the_five_reasons() {
    type Change = fn(String) -> String;
    let text = |change: Change| {
        let plain = r#"
format: 1
model: two
tables: {Tab: {key: {PK: S, SK: S}, billing: on-demand, ttl: gone}}
entities:
  User: {count: 1000, size: 300, key: {PK: "u#{u}", SK: "u"}, attrs: {u: S, name: S}}
  Event: {count: 1000, size: 300, key: {PK: "e#{e}", SK: "e"}, attrs: {e: S, name: S}}
patterns:
  - {id: Q1, get: User, given: {u: eq}, rate: 10}
  - {id: Q2, get: Event, given: {e: eq}, rate: 10}
data: {generate: {seed: 1, sample: 20}}
"#;
        shown(&model(&change(plain.to_owned())), View::Advice)
    };
    let alike = text(|plain| plain);
    assert!(alike.contains("they do not differ in load, consistency or time to live"), "{alike}");
    let reasons: [(Change, &str); 3] = [
        (
            |plain| plain.replace("{e: eq}, rate: 10", "{e: eq}, consistency: strong, rate: 10"),
            "consistency: Event is read strongly, User eventually",
        ),
        (
            |plain| plain.replace("data:", "  - {id: W, put: Event, if: not-exists, rate: 500}\ndata:"),
            "load: Event is mostly written, User mostly read",
        ),
        (
            |plain| {
                plain.replace("{e: S, name: S}", "{e: S, name: S, gone: {type: N, format: epoch-seconds}}")
            },
            "time to live: Event expires, User stays",
        ),
    ];
    for (change, reason) in reasons {
        let told = text(change);
        assert!(told.contains(reason), "no `{reason}`:\n{told}");
        assert!(
            told.contains("backups and their retention, class, stream") && told.contains("two services"),
            "{told}"
        );
    }
}

#[test]
fn r82_a_pattern_added_to_a_model_gets_its_index_and_a_plan_while_the_keys_stay() {
    let after = example("ecommerce.yaml");
    let mut before = after.clone();
    let uses = |model: &Model, id: &str| {
        let report = check(model).report;
        report.pattern(id).and_then(|own| own.index.clone())
    };
    let removed: Vec<String> = after
        .patterns
        .iter()
        .filter(|pattern| uses(&after, &pattern.id).as_deref() == Some("GSI2"))
        .map(|pattern| pattern.id.clone())
        .collect();
    assert!(!removed.is_empty());
    before.patterns.retain(|pattern| !removed.contains(&pattern.id));
    for entity in &mut before.entities {
        entity.slots.retain(|(index, _)| index != "GSI2");
    }
    for table in &mut before.tables {
        table.indexes.retain(|index| index.name != "GSI2");
    }
    for item in before.data.items.iter_mut().flat_map(|raw| &mut raw.items) {
        if let keywright_model::NodeKind::Map(members) = &mut item.kind {
            members.retain(|(name, _)| !name.scalar().unwrap_or_default().starts_with("GSI2"));
        }
    }
    let before = model(&keywright_model::write(&before));
    assert!(check(&before).passes());
    // With its own keys kept, the designer adds one index for the new pattern.
    let mut asked = before.clone();
    asked.patterns.clone_from(&after.patterns);
    let table = asked.tables.first().expect("a table").clone();
    let mut problem = design::from_model(&asked, &table).expect("a problem");
    design::keep(&mut problem, &asked, &table);
    let found = design::solve(&problem, &prices()).expect("a design");
    let designed = design::to_model(&asked, &table.name, &found).expect("templates");
    let names = |model: &Model| {
        model.tables.iter().flat_map(|own| &own.indexes).map(|own| own.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!((names(&before).len(), names(&designed).len()), (1, 2));
    for (old, new) in before.entities.iter().zip(&designed.entities) {
        assert_eq!(old.key.templates, new.key.templates, "{}", old.name);
    }
    // The plan from one to the other says so.
    let subject = |model: &Model| Subject::of_model(model, &stored_items(model));
    let plan = diff(&subject(&before), &subject(&designed)).plan;
    for id in &removed {
        let needs = |remark: &Remark| matches!(remark, Remark::Note(Note::NeedsIndex { pattern, .. }) if pattern == id);
        assert!(plan.summary.iter().any(needs), "{id}: {:?}", plan.summary);
    }
    let kinds: Vec<StepKind> = plan.steps.iter().map(|step| step.kind).collect();
    for kind in [StepKind::CreateIndex, StepKind::WriteBoth, StepKind::Backfill] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[test]
fn r83_each_pattern_is_solved_alone_the_keys_are_grouped_and_simplified_and_both_measures_are_reported() {
    let model = model(include_str!("../../../model/tests/models/ten-patterns.yaml"));
    let steps = explain(&problem(&model), &prices()).expect("an explanation").steps;
    let ids: Vec<&str> = steps.alone.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"], "each alone");
    assert!(steps.alone.iter().all(|(_, keys)| !keys.is_empty()), "each has its own key");
    let all: usize = steps.alone.iter().map(|(_, keys)| keys.len()).sum();
    assert!(steps.grouped < all, "what several want is one: {} of {all}", steps.grouped);
    assert!(
        steps.slots < steps.grouped,
        "and several lie in one index: {} of {}",
        steps.slots,
        steps.grouped
    );
    assert_eq!((steps.all_indexed, steps.simplest, steps.slots), (true, true, 3));
    // A design that keeps existing keys is not asked for the simplest one, and the report does not claim it.
    let kept = example("ecommerce.yaml");
    let table = kept.tables.first().expect("a table");
    let mut problem = design::from_model(&kept, table).expect("a problem");
    design::keep(&mut problem, &kept, table);
    let steps = explain(&problem, &prices()).expect("an explanation").steps;
    assert_eq!((steps.all_indexed, steps.simplest), (true, false));
}

#[test]
fn r84_each_kind_of_work_for_others_is_flagged_by_what_makes_it_so() {
    let advice = |pattern: &str| {
        let text = format!(
            r#"
format: 1
model: other
tables: {{Tab: {{key: {{PK: S, SK: S}}, billing: on-demand}}}}
entities:
  Note: {{count: 1000000, size: 400, key: {{PK: "n#{{owner}}", SK: "{{at}}"}}, attrs: {{owner: {{type: S, distinct: 1000}}, at: S, body: S}}}}
patterns:
  - {{id: Q1, query: Note, given: {{owner: eq}}, {pattern}}}
data: {{generate: {{seed: 1, sample: 50}}}}
"#
        );
        shown(&model(&text), View::Advice)
    };
    let plain = advice("returns: {avg: 10, page: 20}, rate: 1");
    assert!(
        plain.contains("No pattern asks for analytics or full text") && !plain.contains("A cache:"),
        "{plain}"
    );
    let analytics = advice("returns: {avg: 400000}, rate: 0.01");
    assert!(analytics.contains("Q1: it returns 400000 of 1000000 items."), "{analytics}");
    let search =
        advice("filter: \"contains(body, :t)\", returns: {avg: 1, page: 20}, rate: 1, example: {t: x}");
    assert!(search.contains("Q1: it looks for a part of a text"), "{search}");
    let cached = advice("returns: {avg: 10, page: 20}, rate: 20000");
    assert!(cached.contains("A cache: eventually consistent reads cost $"), "{cached}");
    let strong = advice("returns: {avg: 10, page: 20}, consistency: strong, rate: 20000");
    assert!(
        !strong.contains("A cache: eventually consistent reads cost $"),
        "no cache serves these:\n{strong}"
    );
}

#[test]
fn r85_each_line_of_the_checklist_follows_the_model() {
    let state = |what: &str, table: &str, attributes: &str, pattern: &str| {
        let text = format!(
            r#"
format: 1
model: list
tables: {{Tab: {{key: {{pk: S}}{table}}}}}
entities: {{Note: {{count: 10, key: {{pk: "n#{{n}}"}}, attrs: {{n: S, body: S{attributes}}}}}}}
patterns: [{{id: P1, {pattern}, rate: 1}}]
data: {{generate: {{seed: 1, sample: 5}}}}
"#
        );
        let page = shown(&model(&text), View::Checklist);
        let row =
            page.lines().find(|line| line.starts_with(what)).unwrap_or_else(|| panic!("no {what}\n{page}"));
        let rest = row.strip_prefix(what).unwrap_or_default().trim();
        ["yes", "NO", "not needed", "in your program"]
            .into_iter()
            .find(|state| rest.starts_with(state))
            .unwrap_or("?")
    };
    let (get, put) = ("get: Note, given: {n: eq}", "put: Note");
    assert_eq!(state("point-in-time recovery", "", "", get), "NO");
    assert_eq!(state("point-in-time recovery", ", pitr: true", "", get), "yes");
    assert_eq!(state("deletion protection", ", deletionProtection: true", "", get), "yes");
    assert_eq!(state("conditional writes", "", "", get), "not needed");
    assert_eq!(state("conditional writes", "", "", put), "NO");
    assert_eq!(state("conditional writes", "", "", "put: Note, if: not-exists"), "yes");
    let expires = ", expiresAt: {type: N, format: epoch-seconds}";
    assert_eq!(state("time to live", "", "", get), "not needed");
    assert_eq!(state("time to live", ", ttl: expiresAt", expires, get), "yes");
    for elsewhere in ["backups", "retries", "monitoring"] {
        assert_eq!(state(elsewhere, "", "", get), "in your program");
    }
    assert_eq!(state("encryption at rest", "", "", get), "yes");
}
