//! Copied attributes: which writers keep them, and how the copies are found.

use super::derived_items::APP;
use super::plans::{clauses, subject};
use crate::diff::StepKind::{Backfill, SwitchReads, Verify, WriteBoth};
use crate::diff::*;

const ACTOR: &str =
    "Actor: {count: 5000, size: 400, key: {pk: \"a#{actorId}\", sk: a}, attrs: {actorId: S, name: S}}";
const FILM: &str =
    "Film: {count: 2000, size: 800, key: {pk: \"f#{filmId}\", sk: f}, attrs: {filmId: S, title: S}}";
const ROLE: &str = "Role: {count: 30000, size: 200, key: {pk: \"f#{filmId}\", sk: \"r#{actorId}\"}, attrs: {filmId: S, actorId: S, part: S}}";
const CAST: &str = "Cast: {count: 30000, size: 300, key: {pk: \"a#{actorId}\", sk: \"f#{filmId}\"}, attrs: {actorId: S, filmId: S, part: {type: S, copyOf: Role.part}, title: {type: S, copyOf: Film.title}}}";
const QUESTIONS: &str = "  - {id: Q1, query: [Film, Role], given: {filmId: eq}, rate: 5}
  - {id: Q2, get: Actor, given: {actorId: eq}, rate: 5}
";
const WRITES: &str = "  - {id: W1, put: Actor, rate: 1}
  - {id: W2, put: Film, rate: 1}
  - {id: W3, put: Role, rate: 1}
  - {id: W5, update: Film, set: \"title = :t\", rate: 1}
  - {id: W7, update: Actor, set: \"name = :t\", rate: 1}
";

fn films(role: &str, more: &[&str], writes: &str) -> Subject {
    let mut entities = vec![ACTOR, FILM, role];
    entities.extend(more);
    subject(APP, &entities, &format!("{QUESTIONS}{writes}"))
}

fn about(plan: &Plan, begin: &str) -> String {
    let found = clauses(plan, WriteBoth).into_iter().find(|text| text.starts_with(begin));
    found.unwrap_or_else(|| panic!("{begin}: {plan:#?}"))
}

#[test]
fn a_put_over_an_item_changes_its_copied_attributes_as_an_update_does() {
    let cases = [
        (WRITES.to_owned(), "and W2 and W5 set it in each Cast that is there"),
        (
            WRITES.replace("put: Film", "put: Film, if: not-exists"),
            "and W5 sets it in each Cast that is there",
        ),
    ];
    for (writes, expected) in cases {
        // The first comparison adds other items, the second another attribute.
        let plan = diff(&films(ROLE, &[], &writes), &films(ROLE, &[CAST], &writes)).plan;
        let text = about(&plan, "title of Cast is title of its Film: ");
        assert!(text.contains(expected), "{text}");
        let bare = CAST.replace(", title: {type: S, copyOf: Film.title}", "");
        let asked = format!("{writes}  - {{id: Q3, query: Cast, given: {{actorId: eq}}, rate: 5}}\n");
        let plan = diff(&films(ROLE, &[&bare], &asked), &films(ROLE, &[CAST], &asked)).plan;
        let text = about(&plan, "title of Cast is title of its Film: ");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_put_does_not_change_the_variables_of_its_items_key() {
    let user = "User: {count: 9, size: 90, key: {pk: \"u#{userId}\", sk: u}, attrs: {userId: S, name: S}}";
    let own = "Note: {count: 9, size: 90, key: {pk: \"n#{noteId}\", sk: n}, attrs: {noteId: S, by: {type: S, copyOf: User.userId}, name: {type: S, copyOf: User.name}}}";
    let writes = "  - {id: W1, put: User, rate: 1}\n  - {id: W2, put: Note, rate: 1}\n";
    let first = writes.split_inclusive('\n').next().unwrap_or_default();
    let plan = diff(&subject(APP, &[user], first), &subject(APP, &[user, own], writes)).plan;
    let name = about(&plan, "name of Note is ");
    assert!(!clauses(&plan, WriteBoth).iter().any(|text| text.starts_with("by of Note is ")), "{plan:#?}");
    assert!(name.contains("and W1 sets it in each Note"), "{name}");
}

#[test]
fn an_added_copied_attribute_is_checked_in_the_same_transaction_as_in_a_derived_item() {
    let named = ROLE.replace("part: S", "part: S, name: {type: S, copyOf: Actor.name}");
    let plan = diff(&films(ROLE, &[], WRITES), &films(&named, &[], WRITES)).plan;
    let written = clauses(&plan, WriteBoth);
    assert_eq!(written[0], "W3 also sets name of Role from name of Actor");
    assert_eq!(
        written[1],
        "name of Role is name of its Actor: whatever puts a Role reads that too and checks in the same transaction that it is still so, and W1 and W7 set it in each Role that is there; no key or index leads from Actor to its Role, so each time that is a Scan of App, 1172 read units: an index by what tells the Actor would find them"
    );
    assert!(clauses(&plan, Backfill)[0].contains("set name of the 30000 items of Role from name of Actor"));
    assert!(clauses(&plan, Verify)[0].contains("read and checked in the same transaction"));
    assert_eq!(clauses(&plan, SwitchReads), ["Q1 counts on name of Role"]);
}

#[test]
fn copies_are_found_by_a_key_or_an_index_or_through_their_source() {
    let text = |table: &str, role: &str| {
        let model = |role: &str| subject(table, &[ACTOR, FILM, role], &format!("{QUESTIONS}{WRITES}"));
        let named = role.replace("part: S", "part: S, name: {type: S, copyOf: Actor.name}");
        about(&diff(&model(role), &model(&named)).plan, "name of Role is name of its Actor")
    };
    let indexed = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g, sk: h}}}";
    let slot = ROLE.replace("attrs", "gsi1: {g: \"a#{actorId}\", h: \"f#{filmId}\"}, attrs");
    assert!(text(indexed, &slot).ends_with(", found in index gsi1 of App by a#{actorId}, f#{filmId}"));
    let other = ROLE.replace("attrs", "gsi1: {g: \"f#{filmId}#{actorId}\", h: \"f#{filmId}\"}, attrs");
    assert!(text(indexed, &other).contains("no key or index leads from Actor to its Role"));
    let plan = diff(&films(ROLE, &[], WRITES), &films(ROLE, &[CAST], WRITES)).plan;
    let cast = about(&plan, "title of Cast is title of its Film: ");
    assert!(cast.ends_with(", found by way of each Role in table App by f#{filmId}, r#{actorId}"), "{cast}");
    // Also if it is only a further copied entity.
    let bare = CAST.replace(", title: {type: S, copyOf: Film.title}", "");
    let asked = format!("{WRITES}  - {{id: Q3, query: Cast, given: {{actorId: eq}}, rate: 5}}\n");
    let plan = diff(&films(ROLE, &[&bare], &asked), &films(ROLE, &[CAST], &asked)).plan;
    let cast = about(&plan, "title of Cast is title of its Film: ");
    assert!(cast.contains(", found by way of each Role in table App"), "{cast}");
}

#[test]
fn deletes_of_a_source_that_leave_its_copies_are_reported() {
    let writes = format!("{WRITES}  - {{id: W9, delete: Film, rate: 1}}\n");
    let plan = diff(&films(ROLE, &[], &writes), &films(ROLE, &[CAST], &writes)).plan;
    assert_eq!(
        about(&plan, "W9 deletes"),
        "W9 deletes Film and no Cast of it: title stays there as it was, and the comparison leaves it"
    );
    let both = writes.replace("delete: Film", "transact: [{delete: Film}, {delete: Cast}]");
    let plan = diff(&films(ROLE, &[CAST], &both), &films(ROLE, &[CAST], &both)).plan;
    assert_eq!(plan.steps, []);
}

#[test]
fn a_job_that_fills_attributes_of_unknown_source_says_so() {
    let indexed = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g}}}";
    let asked = "  - {id: Q5, query: Role, given: {actorId: eq, shard: eq}, uses: gsi1, rate: 1}\n";
    let model = |role: &str, asked: &str| {
        let table = if asked.is_empty() { APP } else { indexed };
        subject(table, &[ACTOR, FILM, role], &format!("{QUESTIONS}{asked}{WRITES}"))
    };
    let sharded = ROLE.replace("attrs: {", "gsi1: {g: \"a#{actorId}#{shard}\"}, attrs: {shard: S, ");
    let filled = clauses(&diff(&model(ROLE, ""), &model(&sharded, asked)).plan, Backfill);
    let expected =
        "set shard and g of the 30000 items of Role, shard to what neither model tells, each on condition";
    assert!(
        filled[0].contains(expected) || filled[0].contains(&expected.replace("shard and g", "g and shard")),
        "{filled:?}"
    );
    // A copy, or an attribute with the values of a removed one, has a known source.
    let renamed = ROLE.replace("part: S", "piece: S");
    let filled = clauses(&diff(&model(ROLE, ""), &model(&renamed, "")).plan, Backfill);
    assert!(!filled[0].contains("neither model tells"), "{filled:?}");
}
