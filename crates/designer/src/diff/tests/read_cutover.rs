//! Reads that drop or gain an entity, or change their meaning, while its keys change; and indexes that
//! entities leave.

use super::facts::{facts, facts_of, remarks};
use super::plans::subject;
use crate::diff::StepKind::{ChangeSetting, LowerSetting, ReadBoth, StopWrites, SwitchReads};
use crate::diff::*;

const TABLE: &str = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g, sk: h}}}";
const PAY: &str = "Pay: {count: 50000, size: 300, key: {pk: \"u#{userId}\", sk: \"p#{payId}\"}, gsi1: {g: \"d#{day}\", h: \"p#{payId}\"}, attrs: {userId: S, payId: S, day: S}}";
const WRITES: &str = "  - {id: W1, put: Order, if: not-exists, rate: 2}
  - {id: W2, update: Order, set: \"status = :t\", if: exists, rate: 2}
";
const BOTH: &str = "  - {id: Q4, query: [Order, Pay], given: {day: eq}, uses: gsi1, rate: 1}\n";
const PAYS: &str = "  - {id: Q4, query: Pay, given: {day: eq}, uses: gsi1, rate: 1}\n";
const ORDERS: &str = "  - {id: Q4, query: Order, given: {day: eq}, uses: gsi1, rate: 1}\n";

fn order(sort: &str, slot: &str) -> String {
    let slot = if slot.is_empty() {
        String::new()
    } else {
        format!(" gsi1: {{g: \"{slot}\", h: \"o#{{orderId}}\"}},")
    };
    format!(
        "Order: {{count: 100000, size: 700, key: {{pk: \"u#{{userId}}\", sk: \"{sort}\"}},{slot} attrs: {{userId: S, orderId: S, day: S, status: S}}}}"
    )
}

fn model(order: &str, questions: &str) -> Subject {
    subject(TABLE, &[order, PAY], &format!("{questions}{WRITES}"))
}

#[test]
fn a_read_stops_asking_for_a_dropped_entity_before_that_is_re_keyed() {
    let before = model(&order("o#{orderId}", "d#{day}"), BOTH);
    let plan = diff(&before, &model(&order("o#{orderId}", "s#{status}"), PAYS)).plan;
    assert_eq!(
        facts(&plan, ReadBoth),
        ["leave-out: pattern=Q4, entity=Order, from=App gsi1 d#{day} o#{orderId}"]
    );
    assert!(!format!("{plan:?}").contains("ReadByNewKey"), "{plan:#?}");
    // It continues to read the other entities unchanged.
    assert_eq!(facts(&plan, SwitchReads), [""; 0]);
}

#[test]
fn a_read_drops_an_entity_that_leaves_its_index_when_the_reads_move() {
    let before = model(&order("o#{orderId}", "d#{day}"), BOTH);
    let moved = model(&order("ord#{orderId}", ""), PAYS);
    let switched = facts(&diff(&before, &moved).plan, SwitchReads);
    assert!(
        switched.contains(&"read-less: pattern=Q4, entity=Order, place=App gsi1".to_owned()),
        "{switched:?}"
    );
    assert!(!switched.iter().any(|text| text.starts_with("read-by-new-key: pattern=Q4")), "{switched:?}");
}

#[test]
fn a_read_asks_for_an_added_entity_when_all_of_its_items_exist() {
    let after = model(&order("o#{orderId}", "d#{day}"), BOTH);
    let asks = "read-more: pattern=Q4, entity=Order, from=App gsi1 d#{day} o#{orderId}";
    for before in [order("o#{orderId}", ""), order("ord#{orderId}", ""), order("o#{orderId}", "s#{status}")] {
        let switched = facts(&diff(&model(&before, PAYS), &after).plan, SwitchReads);
        assert!(switched.contains(&asks.to_owned()), "{before}: {switched:?}");
    }
    // Items that exist all the time can be read at any time.
    let same = order("o#{orderId}", "d#{day}");
    assert_eq!(diff(&model(&same, PAYS), &model(&same, BOTH)).plan.steps, []);
}

#[test]
fn a_read_whose_old_place_is_removed_before_the_new_one_is_ready_gets_no_plan() {
    let second = "OrderOf: {count: 100000, size: 700, key: {pk: \"d#{day}\", sk: \"o#{orderId}\"}, attrs: {userId: {type: S, copyOf: Order.userId}, orderId: {type: S, copyOf: Order.orderId}, day: {type: S, copyOf: Order.day}}}";
    let asked = "  - {id: Q4, query: OrderOf, given: {day: eq}, rate: 1}\n";
    let whole = |order: &str, questions: &str, second: &[&str]| {
        let mut entities = vec![order];
        entities.extend(second);
        subject(TABLE, &entities, &format!("{questions}{WRITES}"))
    };
    let (day, status) = (order("o#{orderId}", "d#{day}"), order("o#{orderId}", "s#{status}"));
    let (before, after) = (whole(&day, ORDERS, &[]), whole(&status, asked, &[second]));
    let plan = diff(&before, &after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    assert!(
        remarks(&plan)
            .iter()
            .any(|line| line.starts_with("read-gap: pattern=Q4, entity=Order, from=App gsi1 d#{day} "))
    );
    // The advice of the message leads to a plan.
    let between = whole(&day, asked, &[second]);
    for (one, other) in [(&before, &between), (&between, &after)] {
        assert_eq!(diff(one, other).plan.extent, Extent::Whole);
    }
}

#[test]
fn a_read_by_another_key_gets_no_plan_while_that_key_changes() {
    let asked =
        |given: &str| format!("  - {{id: Q4, query: Order, given: {{{given}}}, uses: gsi1, rate: 1}}\n");
    let slots = [
        ("d#{day}", "day: eq"),
        ("s#{status}", "status: eq"),
        ("u#{userId}", "userId: eq, day: between"),
        ("v#{userId}", "userId: eq, day: eq"),
        ("d#{day}#{status}", "day: eq, status: eq"),
    ];
    for (one, before) in slots {
        for (other, after) in slots.into_iter().filter(|(other, _)| *other != one) {
            let model = |slot: &str, given: &str| model(&order("o#{orderId}", slot), &asked(given));
            let plan = diff(&model(one, before), &model(other, after)).plan;
            assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
            assert!(
                remarks(&plan).iter().any(|line| line.starts_with("read-changes-with-key: pattern=Q4,")),
                "{plan:#?}"
            );
        }
    }
    // The advice of the message leads to a plan.
    let two = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g, sk: h}, gsi2: {pk: k, sk: l}}}";
    let one = "App: {key: {pk: S, sk: S}, indexes: {gsi2: {pk: k, sk: l}}}";
    let day = order("o#{orderId}", "d#{day}");
    let second = "gsi2: {k: \"s#{status}\", l: \"o#{orderId}\"}, attrs";
    let both = day.replace("attrs", second);
    let last = order("o#{orderId}", "").replace("attrs", second);
    let status = "  - {id: Q5, query: Order, given: {status: eq}, uses: gsi2, rate: 1}\n";
    let writes = WRITES.replace("set: \"status = :t\"", "set: \"status = :t, k = :k\"");
    let before = subject(TABLE, &[&day], &format!("{}{WRITES}", asked("day: eq")));
    let between = subject(two, &[&both], &format!("{}{status}{writes}", asked("day: eq")));
    let after = subject(one, &[&last], &format!("{status}{writes}"));
    for (one, other) in [(&before, &between), (&between, &after)] {
        assert_eq!(diff(one, other).plan.extent, Extent::Whole);
    }
}

#[test]
fn a_read_by_another_key_of_other_entities_is_not_left_without_an_answer_either() {
    let second = "OrderOf: {count: 100000, size: 700, key: {pk: \"w#{userId}\", sk: \"d#{day}#{orderId}\"}, attrs: {userId: {type: S, copyOf: Order.userId}, orderId: {type: S, copyOf: Order.orderId}, day: {type: S, copyOf: Order.day}}}";
    let asked = "  - {id: Q4, query: OrderOf, given: {userId: eq, day: eq}, rate: 1}\n";
    let after = [&order("o#{orderId}", "s#{status}"), PAY, second];
    let after = subject(TABLE, &after, &format!("{asked}{WRITES}"));
    let plan = diff(&model(&order("o#{orderId}", "d#{day}"), ORDERS), &after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    assert!(
        remarks(&plan)
            .iter()
            .any(|line| line.starts_with("read-gap: pattern=Q4, entity=Order, from=App gsi1 d#{day} "))
    );
}

#[test]
fn a_read_that_replaces_all_its_sources_switches_in_the_release_that_drops_them() {
    for given in ["day: eq", "day: eq, payId: eq"] {
        let pays = PAYS.replace("day: eq", given);
        let (before, after) = (order("o#{orderId}", "d#{day}"), order("o#{orderId}", "s#{status}"));
        let plan = diff(&model(&before, ORDERS), &model(&after, &pays)).plan;
        assert_eq!(
            facts(&plan, ReadBoth),
            [
                "leave-out: pattern=Q4, entity=Order, from=App gsi1 d#{day} o#{orderId}",
                "read-more: pattern=Q4, entity=Pay, from=App gsi1 d#{day} p#{payId}",
            ]
        );
        assert_eq!(facts(&plan, SwitchReads), [""; 0], "it asks that already");
        assert_eq!(plan.extent, Extent::Whole);
    }
}

#[test]
fn a_full_scan_of_an_index_does_not_depend_on_the_keys_of_its_entries() {
    let scan = "  - {id: Q4, scan: Order, uses: gsi1, admin: true, rate: 1}\n";
    let day = ORDERS;
    let model = |slot: &str, asked: &str| model(&order("o#{orderId}", slot), asked);
    for asked in [scan, day] {
        let after = model("s#{status}", &asked.replace("day: eq", "status: eq"));
        let plan = diff(&model("d#{day}", scan), &after).plan;
        assert_eq!(plan.extent, Extent::Whole, "{plan:#?}");
        assert!(!facts(&plan, ReadBoth).iter().any(|text| text.contains("pattern=Q4")), "{plan:#?}");
        assert!(!facts(&plan, SwitchReads).iter().any(|text| text.starts_with("read-by-new-key")));
    }
    let plan = diff(&model("d#{day}", day), &model("s#{status}", scan)).plan;
    assert!(remarks(&plan).iter().any(|line| line.ends_with("was=day , becomes= ")), "{plan:#?}");
}

#[test]
fn a_plan_leads_to_no_model_that_fails_its_check_where_the_old_one_does_not() {
    let judged = |project: &str, rate: &str| {
        let text = format!(
            "format: 1\nmodel: m\ntables:\n  App: {{key: {{pk: S, sk: S}}, indexes: {{gsi1: {{pk: g, sk: h, project: {project}}}}}}}\nentities:\n  {}\npatterns:\n  - {{id: Q4, query: Order, given: {{day: eq}}, uses: gsi1, rate: {rate}}}\ndata: {{generate: {{seed: 1, sample: 9}}}}\n",
            order("o#{orderId}", "d#{day}")
        );
        let model = keywright_model::parse(&text).expect("a model");
        let report =
            keywright_workbench::run::run(&model, &|_| Err(String::new()), &mut |_| {}).expect("it runs");
        let findings = keywright_workbench::lint::lint(&model, &report);
        Subject::of_model(&model, &keywright_exchange::of_model::Items::new()).judged(&findings)
    };
    let (all, few) = (judged("all", "1"), judged("[userId]", "1"));
    let plan = diff(&all, &few).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
    let expected = "fails-check: subject=Q4, rule=L036,";
    assert!(remarks(&plan).iter().any(|line| line.starts_with(expected)), "{:?}", plan.summary);
    // A repaired fault has a plan, and so has an unchanged one.
    assert_eq!(diff(&few, &all).plan.extent, Extent::Whole);
    assert_eq!(diff(&few, &judged("[orderId]", "2")).plan.extent, Extent::Whole);
    let mut stopped = few.clone();
    stopped.faults.clear();
    let stopped =
        stopped.stopped(&[keywright_model::Fault::new(keywright_model::At::default(), "it does not run")]);
    assert_eq!(diff(&all, &stopped).plan.extent, Extent::None);
    assert_eq!(diff(&stopped, &stopped.clone()).plan.extent, Extent::Whole);
}

#[test]
fn replicas_come_to_a_table_that_scales_or_is_paid_by_request_and_to_no_other() {
    let text = |settings: &str| {
        format!(
            "format: 1\nmodel: m\ntables:\n  App: {{{settings}key: {{pk: S, sk: S}}}}\nentities:\n  {}\npatterns:\n{WRITES}",
            order("o#{orderId}", "")
        )
    };
    let (fixed, scaled) = (
        "billing: {provisioned: {rcu: 20, wcu: 10}}, ",
        "billing: {provisioned: {rcu: 20, wcu: 10, autoscale: {min: 5, max: MAX}}}, ",
    );
    let replicas = "stream: new-and-old, replicas: [eu-west-1], ";
    let faults = keywright_model::parse(&text(&format!("{fixed}{replicas}"))).err().unwrap_or_default();
    assert!(faults.iter().any(|fault| fault.text.contains("`autoscale: ")), "{faults:?}");
    let table = |settings: &str| {
        subject(&format!("App: {{{settings}key: {{pk: S, sk: S}}}}"), &[&order("o#{orderId}", "")], WRITES)
    };
    let begin = |plan: &Plan| -> Vec<String> {
        let calls = plan.steps.iter().flat_map(facts_of);
        calls.filter_map(|text| Some(text.split_once("setting=")?.1.split(", ").next()?.to_owned())).collect()
    };
    // More capacity comes at once, less when all else is done; the scaling settings come first.
    for (before, most, expected) in [
        (fixed, "100", ["auto scaling", "stream", "replicas"].as_slice()),
        (fixed, "9", &["stream", "auto scaling", "replicas"]),
        ("", "100", &["stream", "billing", "auto scaling", "replicas"]),
    ] {
        let after = table(&format!("{}{replicas}", scaled.replace("MAX", most)));
        assert_eq!(begin(&diff(&table(before), &after).plan), expected);
    }
    assert_eq!(begin(&diff(&table(fixed), &table(replicas)).plan), ["billing", "stream", "replicas"]);
    // An imported document may state what a model cannot.
    let mut other = table(&format!("pitr: true, {}{replicas}", scaled.replace("MAX", "100")));
    let kept = other.clone();
    other.tables[0].definition.billing = table(fixed).tables[0].definition.billing.clone();
    for before in [table(fixed), kept] {
        let plan = diff(&before, &other).plan;
        let refused = "fixed-units-with-replicas: table=App, regions=eu-west-1";
        assert_eq!(remarks(&plan)[0], refused, "{plan:#?}");
        assert!(!begin(&plan).iter().any(|text| text == "replicas" || text == "billing"), "{plan:#?}");
    }
    assert_eq!(diff(&other, &other.clone()).plan.extent, Extent::Whole);
}

#[test]
fn a_read_both_ways_of_some_entities_skips_no_old_copies_of_others_before_the_reads_move() {
    let pay = PAY.replace("d#{day}", "e#{day}");
    let both = |order: &str, pay: &str| subject(TABLE, &[order, pay], &format!("{BOTH}{WRITES}"));
    let before = both(&order("o#{orderId}", "d#{day}"), PAY);
    let plan = diff(&before, &both(&order("ord#{orderId}", "d#{day}"), &pay)).plan;
    let read = facts(&plan, ReadBoth);
    assert_eq!(
        read.iter().filter(|text| text.starts_with("skip-")).collect::<Vec<_>>(),
        ["skip-new: pattern=Q4, entity=Order, key=u#{userId} ord#{orderId}, place=App gsi1"]
    );
    assert!(read.iter().any(|text| text.starts_with("read-both-keys")), "{read:?}");
    let expected = "skip-old: pattern=Q4, entity=Order, key=u#{userId} o#{orderId}, place=App gsi1";
    assert!(facts(&plan, SwitchReads).iter().any(|text| text == expected), "{plan:#?}");
}

#[test]
fn a_read_uses_an_attribute_when_all_items_have_it() {
    let asked = |filter: &str| {
        format!(
            "  - {{id: R3, query: Order, given: {{userId: eq}}, {filter}attributes: [orderId], rate: 5}}\n"
        )
    };
    let own = order("o#{orderId}", "");
    let copied = own.replace("status: S", "status: S, payDay: {type: S, copyOf: Pay.day}");
    let plan = diff(&model(&own, &asked("")), &model(&copied, &asked("filter: \"payDay <> :x\", "))).plan;
    assert_eq!(facts(&plan, SwitchReads), ["rely-on: pattern=R3, entity=Order, attributes=payDay"]);
    let verified = facts(&plan, StepKind::Verify);
    assert!(verified[0].contains("values=payDay Pay.day"), "{verified:?}");
}

#[test]
fn writers_stop_setting_an_index_key_when_the_entity_leaves_the_index() {
    let plan = diff(
        &model(&order("o#{orderId}", "s#{status}"), "  []\n".trim_start_matches("  []\n")),
        &model(&order("o#{orderId}", ""), ""),
    )
    .plan;
    assert_eq!(facts(&plan, StopWrites), ["stop-setting: entity=Order, patterns=W1 W2, attributes=g h"]);
}

#[test]
fn a_stream_of_both_images_comes_before_replicas_and_stays_as_long_as_they_do() {
    let table = |settings: &str| {
        subject(&format!("App: {{{settings}key: {{pk: S, sk: S}}}}"), &[&order("o#{orderId}", "")], WRITES)
    };
    let (keys, both) = (table("stream: keys-only, "), table("stream: new-and-old, replicas: [eu-west-1], "));
    let raised = facts(&diff(&keys, &both).plan, ChangeSetting);
    assert!(raised[0].contains("setting=stream, value=NEW_AND_OLD_IMAGES,"), "{raised:?}");
    assert!(raised[1].contains("setting=replicas, value=eu-west-1,"), "{raised:?}");
    assert_eq!(facts(&diff(&keys, &both).plan, LowerSetting), [""; 0]);
    let lowered = facts(&diff(&both, &keys).plan, LowerSetting);
    assert!(lowered[0].contains("setting=replicas, value=none,"), "{lowered:?}");
    assert!(lowered[1].contains("setting=stream, value=KEYS_ONLY,"), "{lowered:?}");
    // A model states what a table can be; an imported document may state more.
    for (stream, is_reported) in [("new", true), ("none", true), ("new-and-old", false)] {
        let text = format!(
            "format: 1\nmodel: m\ntables:\n  App: {{stream: {stream}, replicas: [eu-west-1], key: {{pk: S}}}}\nentities:\n  E: {{key: {{pk: \"{{id}}\"}}, attrs: {{id: S}}}}\npatterns: []\n"
        );
        let faults = keywright_model::parse(&text).err().unwrap_or_default();
        let reported =
            faults.iter().any(|fault| fault.text.starts_with("replicas need a stream of new and old"));
        assert_eq!(reported, is_reported, "{stream}: {faults:?}");
    }
    let mut other = both.clone();
    other.tables[0].definition.stream = Some(keywright_semantics::request::parts::StreamViewType::NewImage);
    let plan = diff(&both, &other).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None));
    assert_eq!(remarks(&plan), ["stream-of-replicas: table=App, view=NEW_IMAGE"]);
}
