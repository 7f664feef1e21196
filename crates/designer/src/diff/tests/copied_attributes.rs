//! Copied attributes: which writers keep them, and how the copies are found.

use super::derived_items::APP;
use super::facts::facts;
use super::plans::subject;
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
    let found = facts(plan, WriteBoth).into_iter().find(|text| text.starts_with(begin));
    found.unwrap_or_else(|| panic!("{begin}: {plan:#?}"))
}

#[test]
fn a_put_over_an_item_changes_its_copied_attributes_as_an_update_does() {
    let cases = [
        (WRITES.to_owned(), "patterns=W2 W5,"),
        (WRITES.replace("put: Film", "put: Film, if: not-exists"), "patterns=W5,"),
    ];
    for (writes, expected) in cases {
        // The first comparison adds other items, the second another attribute.
        let plan = diff(&films(ROLE, &[], &writes), &films(ROLE, &[CAST], &writes)).plan;
        let text = about(&plan, "keep-copies: entity=Cast, attribute=title, source=Film, from=title,");
        assert!(text.contains(expected), "{text}");
        let bare = CAST.replace(", title: {type: S, copyOf: Film.title}", "");
        let asked = format!("{writes}  - {{id: Q3, query: Cast, given: {{actorId: eq}}, rate: 5}}\n");
        let plan = diff(&films(ROLE, &[&bare], &asked), &films(ROLE, &[CAST], &asked)).plan;
        let text = about(&plan, "keep-copies: entity=Cast, attribute=title, source=Film, from=title,");
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
    let name = about(&plan, "keep-copies: entity=Note, attribute=name,");
    assert!(!facts(&plan, WriteBoth).iter().any(|text| text.contains("attribute=by,")), "{plan:#?}");
    assert!(name.contains("patterns=W1,"), "{name}");
}

#[test]
fn an_added_copied_attribute_is_checked_in_the_same_transaction_as_in_a_derived_item() {
    let named = ROLE.replace("part: S", "part: S, name: {type: S, copyOf: Actor.name}");
    let plan = diff(&films(ROLE, &[], WRITES), &films(&named, &[], WRITES)).plan;
    let written = facts(&plan, WriteBoth);
    assert_eq!(written[0], "set-attributes: entity=Role, patterns=W3, values=name Actor.name, added=true");
    assert_eq!(
        written[1],
        "keep-copies: entity=Role, attribute=name, source=Actor, from=name, patterns=W1 W7, found=App 1172"
    );
    assert!(facts(&plan, Backfill)[0].contains("items=30000, table=App, values=name Actor.name"));
    assert!(facts(&plan, Verify)[0].contains("values=name Actor.name"));
    assert_eq!(facts(&plan, SwitchReads), ["rely-on: pattern=Q1, entity=Role, attributes=name"]);
}

#[test]
fn copies_are_found_by_a_key_or_an_index_or_through_their_source() {
    let text = |table: &str, role: &str| {
        let model = |role: &str| subject(table, &[ACTOR, FILM, role], &format!("{QUESTIONS}{WRITES}"));
        let named = role.replace("part: S", "part: S, name: {type: S, copyOf: Actor.name}");
        about(
            &diff(&model(role), &model(&named)).plan,
            "keep-copies: entity=Role, attribute=name, source=Actor, from=name,",
        )
    };
    let indexed = "App: {key: {pk: S, sk: S}, indexes: {gsi1: {pk: g, sk: h}}}";
    let slot = ROLE.replace("attrs", "gsi1: {g: \"a#{actorId}\", h: \"f#{filmId}\"}, attrs");
    assert!(text(indexed, &slot).ends_with(", found=App gsi1 a#{actorId} f#{filmId}"));
    let other = ROLE.replace("attrs", "gsi1: {g: \"f#{filmId}#{actorId}\", h: \"f#{filmId}\"}, attrs");
    assert!(text(indexed, &other).ends_with(", found=App 1172"));
    let plan = diff(&films(ROLE, &[], WRITES), &films(ROLE, &[CAST], WRITES)).plan;
    let cast = about(&plan, "keep-copies: entity=Cast, attribute=title, source=Film, from=title,");
    assert!(cast.ends_with(", found=App f#{filmId} r#{actorId} Role"), "{cast}");
    // Also if it is only a further copied entity.
    let bare = CAST.replace(", title: {type: S, copyOf: Film.title}", "");
    let asked = format!("{WRITES}  - {{id: Q3, query: Cast, given: {{actorId: eq}}, rate: 5}}\n");
    let plan = diff(&films(ROLE, &[&bare], &asked), &films(ROLE, &[CAST], &asked)).plan;
    let cast = about(&plan, "keep-copies: entity=Cast, attribute=title, source=Film, from=title,");
    assert!(cast.ends_with(", found=App f#{filmId} r#{actorId} Role"), "{cast}");
}

#[test]
fn deletes_of_a_source_that_leave_its_copies_are_reported() {
    let writes = format!("{WRITES}  - {{id: W9, delete: Film, rate: 1}}\n");
    let plan = diff(&films(ROLE, &[], &writes), &films(ROLE, &[CAST], &writes)).plan;
    assert_eq!(
        about(&plan, "leave-copies"),
        "leave-copies: entity=Cast, attribute=title, source=Film, patterns=W9"
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
    let filled = |after: &Subject| -> Vec<Value> {
        let plan = diff(&model(ROLE, ""), after).plan;
        let actions = plan.steps.iter().flat_map(|step| &step.operations).map(|one| one.action.clone());
        let values = actions.filter_map(|action| match action {
            Action::Job(Job::Fill { values, .. }) => Some(values),
            _ => None,
        });
        values.flatten().collect()
    };
    let undefined = Value { attribute: "shard".to_owned(), source: Source::Undefined };
    assert!(filled(&model(&sharded, asked)).contains(&undefined));
    // A copy, or an attribute with the values of a removed one, has a known source.
    let renamed = ROLE.replace("part: S", "piece: S");
    let filled = filled(&model(&renamed, ""));
    let known = Value { attribute: "piece".to_owned(), source: Source::OldName("part".to_owned()) };
    assert_eq!(filled, [known]);
}
