//! The wording of plans, in one file. Other tests assert facts.

use std::fmt::Write as _;
use std::path::Path;

use super::derived_items::{ALONE, APP, BOTH, MEMBER, TEAM, USER_TEAM};
use super::plans::subject;
use crate::diff::*;
use keywright_workbench::price::{Prices, TODAY};

const SNAPSHOT: &str = "src/diff/tests/plans.txt";
const ORDER: &str = "Order: {count: 1000, size: 700, key: {pk: \"u#{userId}\", sk: \"o#{orderId}\"}, attrs: {userId: S, orderId: S, day: S, total: N, views: N}}";
const ORDERS: &str = "  - {id: R1, query: Order, given: {userId: eq}, rate: 5}
  - {id: W1, put: Order, rate: 2}
  - {id: W2, update: Order, set: \"day = :d\", if: exists, rate: 2}
  - {id: W3, delete: Order, if: exists, rate: 1}
";
const RICH: &str = "App: {billing: {provisioned: {rcu: 5000, wcu: 5, autoscale: {max: 9}}}, stream: new-and-old, pitr: true, deletionProtection: true, replicas: [eu-west-1], key: {pk: S, sk: S}}";
const POOR: &str =
    "App: {billing: {provisioned: {rcu: 5, wcu: 5000}}, class: infrequent-access, key: {pk: S, sk: S}}";
const LOCAL: &str = "App: {key: {pk: S, sk: S}, indexes: {byDay: {pk: pk, sk: day, local: true}}}";
const INDEX: &str = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g}, byTotal: {pk: userId, sk: total}}}";

fn orders(table: &str, order: &str, more: &str) -> Subject {
    subject(table, &[order], &format!("{ORDERS}{more}"))
}

fn members(entities: &[&str], patterns: &str) -> Subject {
    subject(APP, entities, patterns)
}

/// Pairs of models whose plans have most kinds of operations and remarks.
fn pairs() -> Vec<(&'static str, Subject, Subject)> {
    let plain = || orders(APP, ORDER, "");
    let own = USER_TEAM.replace("attrs: {", "attrs: {theme: S, teamName: {type: S, copyOf: Team.name}, ");
    let own_patterns = format!("{BOTH}  - {{id: W8, update: UserTeam, set: \"theme = :t\", rate: 1}}\n")
        .replace("W1, transact: [{put: Member, if: not-exists}, {put: UserTeam}]", "W1, put: Member");
    let copied = ORDER.replace("day: S", "day: S, bio: {type: S, copyOf: User.bio}");
    let user = "User: {count: 10, size: 90, key: {pk: \"u#{userId}\", sk: u}, attrs: {userId: S, bio: S}}";
    let users = |order: &str| {
        let patterns = format!("{ORDERS}  - {{id: W9, update: User, set: \"bio = :b\", rate: 1}}\n");
        subject(APP, &[user, order], &patterns)
    };
    let indexed = |order: &str, template: &str| {
        let order = order.replace("attrs", &format!("gsi1: {{g: \"{template}\"}}, attrs"));
        orders(INDEX, &order, "  - {id: R2, query: Order, given: {day: eq}, uses: gsi1, rate: 1}\n")
    };
    let by_day = |template: &str| indexed(ORDER, template);
    let typed = |total: &str| indexed(&ORDER.replace("total: N", total), "d#{day}");
    let counted = ORDERS.replace("day = :d", "day = :d, seen = seen + :one");
    let seen = ORDER.replace("views: N", "views: N, seen: N");
    vec![
        ("another sort key", plain(), orders(APP, &ORDER.replace("o#{orderId}", "o#{day}#{orderId}"), "")),
        ("another table", plain(), orders(&APP.replace("App", "Shop"), ORDER, "")),
        ("a table created again", plain(), orders(LOCAL, ORDER, "")),
        ("settings taken away", orders(RICH, ORDER, ""), orders(POOR, ORDER, "")),
        ("settings added", orders(POOR, ORDER, ""), orders(RICH, ORDER, "")),
        ("a new index", plain(), by_day("d#{day}")),
        ("another index key", by_day("d#{day}"), by_day("day#{day}")),
        ("a removed index", by_day("d#{day}"), plain()),
        ("another type", typed("total: N"), typed("total: S")),
        ("derived items", members(&[TEAM, MEMBER], ALONE), members(&[TEAM, MEMBER, USER_TEAM], BOTH)),
        (
            "derived items with own attributes",
            members(&[TEAM, MEMBER], ALONE),
            members(&[TEAM, MEMBER, &own], &own_patterns),
        ),
        ("no derived items", members(&[TEAM, MEMBER, USER_TEAM], BOTH), members(&[TEAM, MEMBER], ALONE)),
        ("a copied attribute", users(ORDER), users(&copied)),
        ("no copied attribute", users(&copied), users(ORDER)),
        ("a new entity", members(&[TEAM], "  []\n"), members(&[TEAM, MEMBER], ALONE)),
        (
            "another name",
            plain(),
            subject(APP, &[&ORDER.replace("Order", "Purchase")], &ORDERS.replace("Order", "Purchase")),
        ),
        ("keys that may be equal", plain(), orders(APP, &ORDER.replace("o#{orderId}", "o#{day}"), "")),
        (
            "a key of missing attributes",
            plain(),
            orders(
                APP,
                &ORDER.replace("u#{userId}", "s#{shopId}").replace("day: S", "day: S, shopId: S"),
                "",
            ),
        ),
        ("a counter", plain(), subject(APP, &[&seen], &counted)),
    ]
}

#[test]
fn plans_read_as_in_the_snapshot() {
    let prices = Prices::built_in(TODAY).expect("built in");
    let mut text = String::new();
    for (name, before, after) in pairs() {
        let shown = diff(&before, &after).text(Terms { prices: &prices, rate: 1000 });
        let _ = writeln!(text, "== {name}\n{shown}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SNAPSHOT);
    if std::env::var_os("KEYWRIGHT_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).expect("the folder is there");
    }
    let kept = std::fs::read_to_string(&path).expect("the snapshot is there");
    let differs = kept.lines().zip(text.lines()).find(|(kept, found)| kept != found);
    assert_eq!(differs, None, "KEYWRIGHT_UPDATE_SNAPSHOTS=1 writes the file");
    assert_eq!(kept.lines().count(), text.lines().count());
}
