//! Unique values besides the identity: a put that is refused if the item exists is also refused if another
//! item has its unique values.

use keywright_designer::design::{self, Slot, unguarded, verify, verify_writes};
use keywright_model::{Condition, Model, Write, WriteKind};

use crate::support::{check, designed, model, problem};

const USER: &str = "  User: {count: 200000, size: 250, unique: [[userId], [email]], attrs: {userId: {type: S, format: uuid}, email: S, name: S}}";
const READS: &str = "  - {id: Q1, get: User, given: {userId: eq}, rate: 20}
  - {id: Q2, query: User, given: {email: eq}, returns: {avg: 1, max: 1}, rate: 5}
  - {id: W1, put: User, if: not-exists, rate: 0.2}";

fn of(entities: &str, patterns: &str) -> String {
    format!(
        "format: 1\nmodel: users\ntables: {{Tab: {{key: {{pk: S, sk: S}}}}}}\nentities:\n{entities}\npatterns:\n{patterns}\ndata: {{generate: {{seed: 9, sample: 60}}}}\n"
    )
}

/// The written model runs as predicted, and unique values stay unique.
fn proved(written: &Model) {
    for own in verify(written).expect("it runs") {
        assert!(own.agrees(), "{own:?}");
    }
    for own in verify_writes(written).expect("they run") {
        assert!(own.agrees() && !own.refused, "{own:?}");
    }
    let found = check(written).findings;
    let said: Vec<_> =
        found.iter().filter(|own| ["L008", "L052", "L055", "L057"].contains(&own.rule)).collect();
    assert!(said.is_empty(), "{said:#?}");
}

fn steps<'a>(written: &'a Model, pattern: &str, entity: &str) -> Vec<&'a Write> {
    let steps = written.pattern(pattern).expect("it is there").steps();
    steps.iter().filter(|step| step.entity == entity).collect()
}

#[test]
fn an_entity_that_is_only_put_has_the_unique_attribute_as_its_key() {
    let (found, written) = designed(&of(USER, READS));
    assert_eq!((found.gsis, found.sentinels.len()), (1, 0));
    proved(&written);
}

/// With frequent updates a whole derived item would be expensive.
#[test]
fn a_put_puts_a_sentinel_that_no_update_touches_and_a_delete_that_knows_its_key_deletes() {
    let more = "  - {id: W2, update: User, set: \"name = :n\", if: exists, rate: 50}
  - {id: W3, delete: User, if: \"email = :email\", rate: 0.1}";
    let (found, written) = designed(&of(USER, &format!("{READS}\n{more}")));
    assert_eq!((found.gsis, found.sentinels.len()), (1, 1));
    let put = steps(&written, "W1", "EmailOfUser");
    assert!(put.iter().all(|own| own.condition == Some(Condition::NotExists)) && put.len() == 1);
    assert!(steps(&written, "W2", "EmailOfUser").is_empty());
    assert_eq!(steps(&written, "W3", "EmailOfUser").first().map(|own| own.kind), Some(WriteKind::Delete));
    proved(&written);
}

#[test]
fn an_update_that_knows_the_old_value_moves_the_sentinel() {
    let more = "  - {id: W2, update: User, set: \"email = :new\", if: \"email = :old\", rate: 0.01}
  - {id: W3, update: User, set: \"name = :n\", if: exists, rate: 50}";
    let (_, written) = designed(&of(USER, &format!("{READS}\n{more}")));
    let kinds: Vec<WriteKind> = steps(&written, "W2", "EmailOfUser").iter().map(|own| own.kind).collect();
    assert_eq!(kinds, [WriteKind::Delete, WriteKind::Put]);
    proved(&written);
}

#[test]
fn the_missing_knowledge_of_a_writer_is_reported() {
    let more = "  - {id: W2, update: User, set: \"name = :n\", if: exists, rate: 50}
  - {id: W3, delete: User, rate: 0.1}";
    let original = model(&of(USER, &format!("{READS}\n{more}")));
    let found = design::solve(&problem(&original), &crate::support::prices()).expect("a design");
    assert!(found.sentinels.is_empty() && found.placed.iter().all(|own| own.slot != Slot::Copy));
    assert_eq!(
        unguarded(&original, &found),
        [
            "Nothing keeps email of User unique. A uniqueness guard would, but W3 does not know the old email. State it with \
          `example: {email: …}`."
        ]
    );
}

/// One is the item's key, the other that of a whole derived item, which is read: neither may be a stored
/// user's.
#[test]
fn an_item_with_three_unique_attributes_is_put_with_new_values_and_found_by_each() {
    let three = USER.replace("[email]]", "[email], [name]]");
    let reads = "  - {id: Q1, query: User, given: {name: eq}, returns: {avg: 1, max: 1}, rate: 30}
  - {id: Q2, query: User, given: {email: eq}, returns: {avg: 1, max: 1}, rate: 1}
  - {id: W1, put: User, if: not-exists, rate: 0.5}";
    let (found, written) = designed(&of(&three, reads));
    assert_eq!((found.gsis, found.sentinels.len()), (0, 0));
    proved(&written);
}
