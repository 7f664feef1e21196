//! Derived items that are added or removed, indexes that they share with others, keys that updates change,
//! and reads without an answer.

use std::collections::BTreeSet;

use super::facts::{facts, remarks};
use super::plans::{kinds, subject};
use crate::diff::StepKind::{
    Backfill, ChangeSetting, CreateIndex, DeleteItems, DeleteTable, LoadItems, LowerSetting, ReadBoth,
    StopWrites, SwitchReads, Verify, WriteBoth,
};
use crate::diff::*;

pub(super) const TEAM: &str =
    "Team: {count: 500, size: 400, key: {pk: \"t#{teamId}\", sk: \"t\"}, attrs: {teamId: S, name: S}}";
pub(super) const MEMBER: &str = "Member: {count: 20000, size: 900, key: {pk: \"t#{teamId}\", sk: \"m#{userId}\"}, attrs: {teamId: S, userId: S, role: S}}";
pub(super) const USER_TEAM: &str = "UserTeam: {count: 20000, size: 900, key: {pk: \"u#{userId}\", sk: \"t#{teamId}\"}, attrs: {teamId: {type: S, copyOf: Member.teamId}, userId: {type: S, copyOf: Member.userId}, role: {type: S, copyOf: Member.role}}}";
pub(super) const ALONE: &str = "  - {id: R1, query: [Team, Member], given: {teamId: eq}, rate: 5}
  - {id: W1, put: Member, if: not-exists, rate: 2}
  - {id: W2, update: Member, set: \"role = :t\", if: exists, rate: 2}
  - {id: W3, delete: Member, if: exists, rate: 1}
";
pub(super) const BOTH: &str = "  - {id: R1, query: [Team, Member], given: {teamId: eq}, rate: 5}
  - {id: W1, transact: [{put: Member, if: not-exists}, {put: UserTeam}], rate: 2}
  - {id: W2, transact: [{update: Member, set: \"role = :t\", if: exists}, {update: UserTeam, set: \"role = :t\"}], rate: 2}
  - {id: W3, transact: [{delete: Member, if: exists}, {delete: UserTeam}], rate: 1}
  - {id: R2, query: UserTeam, given: {userId: eq}, rate: 5}
";
pub(super) const APP: &str = "App: {key: {pk: S, sk: S}}";

#[test]
fn derived_items_are_dual_written_before_they_are_loaded_verified_and_read() {
    let before = subject(APP, &[TEAM, MEMBER], ALONE);
    let after = subject(APP, &[TEAM, MEMBER, USER_TEAM], BOTH);
    let plan = diff(&before, &after).plan;
    assert_eq!(kinds(&plan), [WriteBoth, LoadItems, Verify, SwitchReads]);
    let written = facts(&plan, WriteBoth);
    assert_eq!(
        written[0],
        "keep-derived: entity=UserTeam, source=Member, patterns=W1 W2 W3, table=App, key=u#{userId} t#{teamId}, apart="
    );
    assert!(written.contains(&"put-derived-whole: entity=UserTeam, source=Member, patterns=W2".to_owned()));
    assert_eq!(
        facts(&plan, LoadItems),
        [
            "load-derived: entity=UserTeam, source=Member, items=20000, from=App, table=App, key=u#{userId} t#{teamId}, values=, apart=, condition=attribute_not_exists(pk)"
        ]
    );
    // The scan reads 500 × 400 and 20,000 × 900 bytes, and the items that the job puts itself.
    let load = plan.steps.iter().find(|step| step.kind == LoadItems).and_then(|step| step.units);
    assert_eq!(load, Some(Units { reads: 4419, table_writes: 20_000, index_writes: 0 }));
    let switched = facts(&plan, SwitchReads);
    assert!(switched.contains(&"begin-read: pattern=R2, place=App".to_owned()), "{switched:?}");
}

#[test]
fn other_entries_in_the_range_of_a_read_are_skipped_and_paid_for() {
    let loan = "Loan: {count: 2000000, size: 120, key: {pk: \"m#{memberId}\", sk: \"l#{loanId}\"}, attrs: {loanId: S, memberId: S, bookId: S, lentAt: S}}";
    let second = "LoanByBook: {count: 2000000, size: 120, key: {pk: \"b#{bookId}\", sk: \"l#{loanId}\"}, attrs: {loanId: {type: S, copyOf: Loan.loanId}, memberId: {type: S, copyOf: Loan.memberId}, bookId: {type: S, copyOf: Loan.bookId}, lentAt: {type: S, copyOf: Loan.lentAt}}}";
    let asked = |entity: &str, uses: &str| {
        format!("  - {{id: Q4, query: {entity}, given: {{bookId: eq}}{uses}, rate: 2}}\n")
    };
    let indexed = subject(
        "Lib: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: bookId, sk: lentAt}}}",
        &[loan],
        &asked("Loan", ", uses: gsi1"),
    );
    let copied = subject("Lib: {key: {pk: S, sk: S}}", &[loan, second], &asked("LoanByBook", ""));
    let plan = diff(&indexed, &copied).plan;
    assert_eq!(
        facts(&plan, ReadBoth),
        ["skip-new: pattern=Q4, entity=LoanByBook, key=b#{bookId} l#{loanId}, place=Lib gsi1"]
    );
    let plan = diff(&copied, &indexed).plan;
    let create = plan.steps.iter().find(|step| step.kind == CreateIndex).and_then(|step| step.units);
    assert_eq!(create.map(Units::writes), Some(4_000_000), "both kinds enter it");
    assert!(
        facts(&plan, SwitchReads).contains(
            &"skip-old: pattern=Q4, entity=LoanByBook, key=b#{bookId} l#{loanId}, place=Lib gsi1".to_owned()
        ),
        "{plan:#?}"
    );
    let delete = plan.steps.iter().find(|step| step.kind == DeleteItems).and_then(|step| step.units);
    assert_eq!(delete.map(Units::writes), Some(4_000_000));
}

fn orders(sort: &str, put: &str) -> Subject {
    let order = format!(
        "Order: {{count: 100000, size: 700, key: {{pk: \"u#{{userId}}\", sk: \"{sort}\"}}, attrs: {{userId: S, orderId: S, st: S}}}}"
    );
    let patterns = format!(
        "  - {{id: R3, query: Order, given: {{userId: eq}}, rate: 5}}\n  - {{id: W1, put: Order{put}, rate: 2}}\n  - {{id: W2, update: Order, set: \"st = :t\", rate: 2}}\n  - {{id: W3, delete: Order, rate: 1}}\n"
    );
    subject(APP, &[&order], &patterns)
}

#[test]
fn a_copy_under_a_changing_key_is_deleted_by_writers_that_change_replace_or_delete_the_item() {
    let (fixed, moving) = ("o#{orderId}", "o#{st}#{orderId}");
    let cases = [(", if: not-exists", "W2 W3"), ("", "W1 W2 W3")];
    for (put, who) in cases {
        let plan = diff(&orders(fixed, put), &orders(moving, put)).plan;
        let deleted = format!(
            "delete-stale-copy: entity=Order, patterns={who}, known=u#{{userId}} o#{{orderId}}, stale=u#{{userId}} o#{{st}}#{{orderId}}, undetermined=st"
        );
        let written = facts(&plan, WriteBoth);
        assert!(written.contains(&deleted), "{written:?}");
        let stopped = facts(&plan, StopWrites);
        assert!(
            stopped
                .iter()
                .any(|text| text.starts_with("find-by-attributes") && text.contains("attributes=st,")),
            "{stopped:?}"
        );
    }
    // The way back: the old copies have the key that changes, after the reads have moved.
    let plan = diff(&orders(moving, ""), &orders(fixed, "")).plan;
    let switched = facts(&plan, SwitchReads);
    assert!(
        switched
            .iter()
            .any(|text| text.starts_with("delete-stale-copy") && text.ends_with("undetermined=st")),
        "{switched:?}"
    );
}

#[test]
fn nothing_is_planned_while_a_read_would_have_no_answer() {
    let user =
        "User: {count: 10, size: 100, key: {pk: \"u#{userId}\", sk: \"p\"}, attrs: {userId: S, mail: S}}";
    let asked = |uses: &str| format!("  - {{id: R2, query: User, given: {{mail: eq}}{uses}, rate: 1}}\n");
    let before =
        subject("App: {key: {pk: S, sk: S}, indexes: {gmail: {pk: mail}}}", &[user], &asked(", uses: gmail"));
    let after = subject(APP, &[user], &asked("")).unanswered(&BTreeSet::from(["R2".to_owned()]));
    let plan = diff(&before, &after).plan;
    assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None));
    assert!(remarks(&plan).contains(&"unanswered: pattern=R2".to_owned()));
    // A removed read releases its index.
    let plan = diff(&before, &subject(APP, &[user], "  []\n")).plan;
    assert_eq!((plan.steps.len(), plan.extent), (2, Extent::Whole));
}

#[test]
fn replicas_go_before_the_stream_that_feeds_them_and_before_their_table() {
    let table = |settings: &str| {
        subject(&APP.replace("key: {pk", &format!("{settings}key: {{pk")), &[TEAM], "  []\n")
    };
    let plan = diff(&table("stream: new-and-old, replicas: [eu-west-1], "), &table("")).plan;
    let lowered = facts(&plan, LowerSetting);
    assert!(lowered[0].contains("setting=replicas, value=none,"), "{lowered:?}");
    assert!(lowered[1].contains("setting=stream, value=off,"), "{lowered:?}");
    let plan = diff(&table(""), &table("stream: new-and-old, replicas: [eu-west-1], ")).plan;
    let raised = facts(&plan, ChangeSetting);
    assert!(raised[0].contains("setting=stream,"), "{raised:?}");
    let other = subject("Other: {key: {pk: S, sk: S}}", &[TEAM], "  []\n");
    let plan = diff(&table("replicas: [eu-west-1], deletionProtection: true, "), &other).plan;
    let deleted = facts(&plan, DeleteTable);
    assert_eq!(deleted, ["delete-table: table=App, replicas=eu-west-1, protected=true"]);
}

#[test]
fn where_models_do_not_tell_no_plan_is_said_to_be_one() {
    let entity = |name: &str, sort: &str| {
        format!(
            "{name}: {{count: 30, size: 300, key: {{pk: \"u#{{userId}}\", sk: \"{sort}#{{nid}}\"}}, attrs: {{userId: S, nid: S, text: S}}}}"
        )
    };
    let (mail, sms, note) = (entity("Email", "e"), entity("Sms", "s"), entity("Note", "n"));
    let split = subject(APP, &[&mail, &sms], "  []\n");
    let merged = subject(APP, &[&note], "  []\n");
    for (before, after) in [(&split, &merged), (&merged, &split)] {
        let plan = diff(before, after).plan;
        assert_eq!((plan.steps.len(), plan.extent), (0, Extent::None), "{plan:#?}");
        let told = remarks(&plan).join("\n");
        assert!(["Email", "Sms", "Note"].iter().all(|name| told.contains(name)), "{told}");
    }
}

#[test]
fn figures_end_at_the_largest_number() {
    let huge = |sort: &str| {
        let many = "1000000000000000";
        let first = MEMBER.replace("20000", many).replace("m#{userId}", sort);
        subject(APP, &[&first.replace("900", "18446744073709551615"), &TEAM.replace("500", many)], ALONE)
    };
    let plan = diff(&huge("m#{userId}"), &huge("x#{userId}")).plan;
    assert!(plan.units().is_some_and(|units| units.reads > 0 && units.table_writes == u64::MAX));
}

#[test]
fn jobs_mention_provisioned_capacity_only_while_the_table_is_provisioned() {
    let table = |billing: &str, sort: &str| {
        let team = TEAM.replace("sk: \"t\"", &format!("sk: \"{sort}\""));
        subject(&APP.replace("key: {pk", &format!("billing: {billing}, key: {{pk")), &[&team], "  []\n")
    };
    let provisioned = "{provisioned: {rcu: 5, wcu: 10}}";
    let warned = |before: &str, after: &str| {
        let plan = diff(&table(before, "t"), &table(after, "u")).plan;
        facts(&plan, Backfill).iter().any(|text| text == "add-capacity: table=App, provisioned=10")
    };
    assert!(warned(provisioned, provisioned));
    assert!(!warned(provisioned, "on-demand"), "it becomes on demand first");
    assert!(!warned("on-demand", provisioned), "it becomes provisioned last");
}

/// No writer would update it there any more, and a reader that still used it would get stale values.
#[test]
fn obsolete_copied_attributes_are_first_not_read_then_not_written_then_removed() {
    let noted = USER_TEAM.replace(
        "role: {type: S, copyOf: Member.role}",
        "role: {type: S, copyOf: Member.role}, name: {type: S, copyOf: Member.name}",
    );
    let member = MEMBER.replace("role: S", "role: S, name: S");
    let named = "  - {id: W4, transact: [{update: Member, set: \"name = :n\", if: exists}, {update: UserTeam, set: \"name = :n\"}], rate: 2}\n";
    let alone = "  - {id: W4, update: Member, set: \"name = :n\", if: exists, rate: 2}\n";
    let before = subject(APP, &[TEAM, &member, &noted], &format!("{BOTH}{named}"));
    let after = subject(APP, &[TEAM, &member, USER_TEAM], &format!("{BOTH}{alone}"));
    let plan = diff(&before, &after).plan;
    assert_eq!(kinds(&plan), [SwitchReads, StopWrites, DeleteItems]);
    assert_eq!(facts(&plan, SwitchReads), ["stop-reading: entity=UserTeam, patterns=R2, attributes=name"]);
    assert_eq!(facts(&plan, StopWrites), ["stop-setting: entity=UserTeam, patterns=W1 W4, attributes=name"]);
    assert_eq!(
        facts(&plan, DeleteItems),
        ["remove-attributes: entity=UserTeam, items=20000, table=App, attributes=name"]
    );
    let units = plan.steps.iter().find(|step| step.kind == DeleteItems).and_then(|step| step.units);
    assert_eq!(units.map(|units| units.table_writes), Some(20_000));
}
