//! Plans that once lost data or answered wrongly, each in its smallest case.

use super::facts::{facts, remarks};
use crate::diff::StepKind::{
    Backfill, ChangeSetting, CreateIndex, DeleteIndex, DeleteItems, LowerSetting, ReadBoth, SwitchReads,
    Verify, WriteBoth,
};
use crate::diff::*;
use keywright_exchange::of_model::Items;
use keywright_model::parse;

const TABLE: &str = "Shop: {key: {pk: S, sk: S}, indexes: {byMail: {pk: mail, project: keys}}}";
const USER: &str = "User: {count: 50000, size: 1500, key: {pk: \"u#{userId}\", sk: \"u\"}, byMail: {mail: \"{mail}\"}, attrs: {userId: S, mail: S, bio: S}}";
const ORDER: &str = "Order: {count: 400000, size: 700, key: {pk: \"u#{userId}\", sk: \"o#{orderId}\"}, attrs: {userId: S, orderId: {type: S, format: ulid}, total: N, day: {type: S, format: date}, body: S}}";
const QUESTIONS: &str = "  - {id: R1, get: User, given: {userId: eq}, rate: 5}
  - {id: R2, query: User, given: {mail: eq}, uses: byMail, attributes: [userId], rate: 1}
";
const OF_ORDERS: &str = "  - {id: R3, query: Order, given: {userId: eq}, rate: 5}
  - {id: W1, put: Order, if: not-exists, rate: 2}
  - {id: W2, update: Order, set: \"total = :t\", if: exists, rate: 2}
  - {id: W3, delete: Order, if: exists, rate: 1}
";

pub(super) fn subject(tables: &str, entities: &[&str], patterns: &str) -> Subject {
    let text = format!(
        "format: 1\nmodel: m\ntables:\n  {tables}\nentities:\n  {}\npatterns:\n{patterns}",
        entities.join("\n  ")
    );
    let made = parse(&text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    Subject::of_model(&made, &Items::new())
}

fn base() -> Subject {
    subject(TABLE, &[USER, ORDER], &format!("{QUESTIONS}{OF_ORDERS}"))
}

fn with_orders(order: &str) -> Subject {
    subject(TABLE, &[USER, order], &format!("{QUESTIONS}{OF_ORDERS}"))
}

pub(super) fn kinds(plan: &Plan) -> Vec<StepKind> {
    plan.steps.iter().map(|step| step.kind).collect()
}

#[test]
fn renaming_an_entity_or_the_variables_of_its_key_moves_and_deletes_nothing() {
    let patterns = format!("{QUESTIONS}{OF_ORDERS}");
    let member =
        subject(TABLE, &[&USER.replace("User", "Member"), ORDER], &patterns.replace("User", "Member"));
    assert_eq!(diff(&base(), &member).plan.steps, [], "another entity's name");
    assert_eq!(remarks(&diff(&base(), &member).plan), ["renamed: entity=Member, old=User"]);
    let renamed = with_orders(&ORDER.replace("orderId", "ordId"));
    let plan = diff(&base(), &renamed).plan;
    // The attribute is renamed; the items stay.
    assert_eq!(kinds(&plan), [WriteBoth, Backfill, Verify, SwitchReads]);
    assert!(
        facts(&plan, Backfill)[0].contains("items=400000, table=Shop, values=ordId orderId"),
        "{plan:#?}"
    );
}

#[test]
fn items_with_an_open_match_are_reported_and_not_deleted() {
    let generic =
        "Thing: {count: 9, size: 99, key: {pk: \"{pk}\", sk: \"{sk}\"}, attrs: {pk: S, sk: S, mail: S}}";
    let exchanged =
        [USER.replace("sk: \"u\"", "sk: \"o#{userId}\""), ORDER.replace("o#{orderId}", "u#{orderId}")];
    let before = [USER.replace("sk: \"u\"", "sk: \"u#{userId}\""), ORDER.to_owned()];
    let other = USER.replace("User", "Member").replace("sk: \"u\"", "sk: \"m\"");
    let patterns = format!("{QUESTIONS}{OF_ORDERS}");
    let cases = [
        ("a table's own definition", base(), subject(TABLE, &[generic], "  []\n")),
        (
            "a new name and a new key",
            base(),
            subject(TABLE, &[&other, ORDER], &patterns.replace("User", "Member")),
        ),
        (
            "exchanged keys",
            subject(TABLE, &[&before[0], &before[1]], &patterns),
            subject(TABLE, &[&exchanged[0], &exchanged[1]], &patterns),
        ),
    ];
    for (what, before, after) in cases {
        let plan = diff(&before, &after).plan;
        let jobs = plan.steps.iter().filter(|step| step.kind.who() == Who::Job);
        assert_eq!(jobs.count(), 0, "{what}: {plan:#?}");
        let is_open = |remark: &Remark| matches!(remark, Remark::NotPlanned(_));
        assert!(plan.summary.iter().any(is_open), "{what}: {plan:#?}");
    }
}

#[test]
fn a_read_of_the_table_skips_the_other_copy_and_an_update_puts_whole_items() {
    let plan = diff(&base(), &with_orders(&ORDER.replace("o#{orderId}", "o#{day}#{orderId}"))).plan;
    assert_eq!(
        facts(&plan, ReadBoth),
        ["skip-new: pattern=R3, entity=Order, key=u#{userId} o#{day}#{orderId}, place=Shop"]
    );
    let switched = facts(&plan, SwitchReads);
    assert!(
        switched
            .iter()
            .any(|text| text == "skip-old: pattern=R3, entity=Order, key=u#{userId} o#{orderId}, place=Shop"),
        "{switched:?}"
    );
    let written = facts(&plan, WriteBoth);
    assert!(written.iter().any(|text| {
        text.starts_with("put-whole: entity=Order, patterns=W2, old=Shop u#{userId} o#{orderId},")
    }));
    // Where the prefixes of the keys distinguish the copies, no read needs to.
    let plan = diff(&base(), &with_orders(&ORDER.replace("o#{orderId}", "ord#{orderId}"))).plan;
    assert_eq!(facts(&plan, ReadBoth), [""; 0]);
}

#[test]
fn an_index_that_changes_its_meaning_is_read_both_ways_and_written_in_one_write() {
    let model = |indexes: &str, slots: &str, questions: &str| {
        let user = format!(
            "User: {{count: 50000, size: 1500, key: {{pk: \"u#{{userId}}\", sk: \"u\"}}, {slots}, attrs: {{userId: S, mail: S, team: S, bio: S}}}}"
        );
        subject(&format!("Shop: {{key: {{pk: S, sk: S}}, indexes: {{{indexes}}}}}"), &[&user], questions)
    };
    let by_mail = "  - {id: R2, query: User, given: {mail: eq}, uses: gsi1, rate: 1}\n";
    let before = model("gsi1: {pk: g1}", "gsi1: {g1: \"m#{mail}\"}", by_mail);
    let after = model(
        "gsi1: {pk: g1}, gsi2: {pk: g2}",
        "gsi1: {g1: \"t#{team}\"}, gsi2: {g2: \"m#{mail}\"}",
        &format!(
            "{}  - {{id: R5, query: User, given: {{team: eq}}, uses: gsi1, rate: 1}}\n",
            by_mail.replace("gsi1", "gsi2")
        ),
    );
    let difference = diff(&before, &after);
    let plan = &difference.plan;
    assert_eq!(
        remarks(plan),
        ["needs-entries: pattern=R5, table=Shop, index=gsi1, entity=User, key=t#{team}"]
    );
    assert_eq!(
        facts(plan, ReadBoth),
        ["read-both-keys: pattern=R2, entity=User, from=Shop gsi1 m#{mail}, to=Shop gsi2 m#{mail}"]
    );
    assert_eq!(
        facts(plan, WriteBoth),
        ["set-attributes: entity=User, patterns=, values=g2 m#{mail} g1 t#{team}"]
    );
    assert_eq!(
        facts(plan, SwitchReads),
        [
            "read-instead: pattern=R2, place=Shop gsi2, from=Shop gsi1",
            "begin-read: pattern=R5, place=Shop gsi1"
        ]
    );
}

#[test]
fn the_key_of_an_index_gets_another_type_under_another_name() {
    let table = "Shop: {key: {pk: S, sk: S}, indexes: {byTotal: {pk: userId, sk: total, project: all}}}";
    let order = ORDER.to_owned();
    let before = subject(table, &[&order], OF_ORDERS);
    let after = subject(table, &[&order.replace("total: N", "total: S")], OF_ORDERS);
    let difference = diff(&before, &after);
    let plan = &difference.plan;
    assert_eq!(kinds(plan), [CreateIndex, WriteBoth, Backfill, Verify, SwitchReads, DeleteIndex]);
    assert!(facts(plan, CreateIndex)[0].ends_with("renamed=total totalS"), "{plan:#?}");
    // One unit for the item, one for its entry in the old index, which projects all, and one for the new
    // entry.
    let units = plan.steps.iter().find(|step| step.kind == Backfill).and_then(|step| step.units);
    assert_eq!(units.map(Units::writes), Some(3 * 400_000));
    let change = difference.changes.iter().map(ToString::to_string).find(|change| change.contains("byTotal"));
    assert!(change.is_some_and(|change| change.contains("total (N)") && change.contains("total (S)")));
}

#[test]
fn settings_that_add_come_first_those_that_remove_last_and_prices_follow() {
    let with = |settings: &str, sort: &str| {
        let table = TABLE.replace("key: {pk", &format!("{settings}, key: {{pk"));
        let order = ORDER.replace("o#{orderId}", sort).replace("body: S", "body: S, expires: N, till: N");
        subject(&table, &[USER, &order], &format!("{QUESTIONS}{OF_ORDERS}"))
    };
    let rich = "billing: {provisioned: {rcu: 5000, wcu: 5, autoscale: {max: 9}}}, stream: new-and-old, pitr: true, deletionProtection: true, ttl: expires, replicas: [eu-west-1]";
    let poor = "billing: {provisioned: {rcu: 5, wcu: 5000}}, ttl: till, class: infrequent-access";
    let plan = diff(&with(rich, "o#{orderId}"), &with(poor, "ord#{orderId}")).plan;
    assert_eq!(plan.steps.first().map(|step| step.kind), Some(ChangeSetting));
    assert_eq!(plan.steps.last().map(|step| step.kind), Some(LowerSetting));
    let begin = |texts: Vec<String>| -> Vec<String> {
        texts
            .iter()
            .filter_map(|text| {
                Some(text.split_once("setting=")?.1.split_once(", call=")?.0.replace(", value=", " to "))
            })
            .collect()
    };
    assert_eq!(
        begin(facts(&plan, ChangeSetting)),
        ["billing to provisioned 5000 RCU, 5000 WCU", "auto scaling to off", "ttl to off"]
    );
    assert_eq!(
        begin(facts(&plan, LowerSetting)),
        [
            "replicas to none",
            "billing to provisioned 5 RCU, 5000 WCU",
            "ttl to till",
            "stream to off",
            "class to STANDARD_INFREQUENT_ACCESS",
            "point-in-time recovery to off",
            "deletion protection to off",
        ]
    );
    // The jobs run before the settings change: in the old class, and in both regions.
    let delete = plan.steps.iter().find(|step| step.kind == DeleteItems).expect("a step");
    assert_eq!(delete.place, Place { infrequent: false, replicas: 1 });
}

#[test]
fn auto_scaling_is_compared_and_is_not_set_by_the_table() {
    let with = |scale: &str| {
        let billing = format!("billing: {{provisioned: {{rcu: 5, wcu: 5{scale}}}}}, key: {{pk");
        subject(&TABLE.replace("key: {pk", &billing), &[USER], QUESTIONS)
    };
    let wide = with(", autoscale: {min: 5, max: 9000, target: 30}");
    let difference = diff(&with(", autoscale: {min: 5, max: 100, target: 70}"), &wide);
    assert_eq!(
        difference.changes[0].to_string(),
        "~ setting Shop.auto scaling changed: was 5 to 100 at 70 %, is 5 to 9000 at 30 %"
    );
    assert!(facts(&difference.plan, ChangeSetting)[0].ends_with("call=Application Auto Scaling"));
    assert_eq!(diff(&wide, &wide).changes, []);
}

#[test]
fn without_a_count_figures_go_by_examples_and_say_so_or_are_unknown() {
    let thing = |sort: &str| {
        let entity = format!("Mem: {{size: 100, key: {{pk: \"u#{{u}}\", sk: \"{sort}\"}}, attrs: {{u: S}}}}");
        subject("Tab: {key: {pk: S, sk: S}}", &[&entity], "  []\n")
    };
    let mut after = thing("mm");
    after.tables[0].entities[0].count = Count::Shown(0);
    let mut before = thing("m");
    before.tables[0].entities[0].count = Count::Shown(0);
    let plan = diff(&before, &after).plan;
    assert_eq!(plan.units(), None);
    assert!(remarks(&plan).contains(&"estimated: entities=Mem 0".to_owned()));
    assert!(facts(&plan, Backfill)[0].starts_with("copy: entity=Mem, old="), "{plan:#?}");
}

#[test]
fn entries_of_an_index_that_goes_are_paid_until_it_is_gone_and_not_after() {
    let model = |index: &str, key: &str| {
        let user = format!(
            "User: {{count: 50000, size: 1500, key: {{pk: \"u#{{userId}}\", sk: \"u\"}}, {index}: {{{key}: \"m#{{mail}}\"}}, attrs: {{userId: S, mail: S, bio: S}}}}"
        );
        subject(
            &format!("Shop: {{key: {{pk: S, sk: S}}, indexes: {{{index}: {{pk: {key}}}}}}}"),
            &[&user],
            "  []\n",
        )
    };
    let plan = diff(&model("gsi1", "g1"), &model("gsi2", "h1")).plan;
    // Two units each for the item, its entry in the dropped index and its new one.
    assert_eq!(plan.units().map(Units::writes), Some(6 * 50_000));
    // Items that are deleted after an index was dropped have no entry in it.
    let patterns = format!("{QUESTIONS}{OF_ORDERS}");
    let all = TABLE.replace("project: keys", "project: all").replace("}}}", "}, byDay: {pk: day}}}");
    let moved = subject(TABLE, &[USER, &ORDER.replace("o#{orderId}", "ord#{orderId}")], &patterns);
    let plan = diff(&subject(&all, &[USER, ORDER], &patterns), &moved).plan;
    let delete = plan.steps.iter().find(|step| step.kind == DeleteItems).and_then(|step| step.units);
    assert_eq!(delete.map(Units::writes), Some(400_000));
}

#[test]
fn attributes_that_are_copies_or_that_reads_need_are_filled() {
    let copied = ORDER.replace("body: S", "userBio: {type: S, copyOf: User.bio}, body: S");
    let patterns = format!(
        "{QUESTIONS}{OF_ORDERS}  - {{id: R9, query: Order, given: {{userId: eq}}, filter: \"userBio <> :x\", attributes: [orderId, userBio], rate: 5}}\n"
    );
    let plan = diff(&base(), &subject(TABLE, &[USER, &copied], &patterns)).plan;
    assert!(facts(&plan, Backfill)[0].contains("items=400000, table=Shop, values=userBio User.bio"));
    assert!(facts(&plan, WriteBoth).iter().any(|text| {
        text.starts_with(
            "keep-copies: entity=Order, attribute=userBio, source=User, from=bio, patterns=, found=Shop u#",
        )
    }));
    assert_eq!(
        facts(&plan, SwitchReads),
        ["rely-on: pattern=R3, entity=Order, attributes=userBio", "begin-read: pattern=R9, place=Shop"]
    );
    assert_eq!(plan.units().map(Units::writes), Some(400_000));
    let plan = diff(&base(), &with_orders(&ORDER.replace("body", "text"))).plan;
    assert!(facts(&plan, Backfill)[0].contains("items=400000, table=Shop, values=text body"), "{plan:#?}");
}
