//! Second items of some attributes: for questions that need no more, written by nothing but what changes these.

mod support;

use keywright_workbench::design::{Design, Projected, Proof, Slot, verify, verify_writes};
use keywright_workbench::lint::Severity;
use keywright_workbench::model::{Condition, Model, Write};

use support::{check, designed, model, problem};

fn of(entities: &str, patterns: &str) -> String {
    format!(
        "format: 1\nmodel: parts\ntables: {{Tab: {{key: {{pk: S, sk: S}}}}}}\nentities:\n{entities}\npatterns:\n{patterns}\ndata: {{generate: {{seed: 9, sample: 60}}}}\n"
    )
}

/// The written model runs as predicted, and its check finds no error.
fn proved(written: &Model) {
    for own in verify(written).expect("it runs") {
        assert!(own.agrees(), "{own:?}");
    }
    for own in verify_writes(written).expect("they run") {
        assert!(own.agrees() && !own.refused, "{own:?}");
    }
    let checked = check(written);
    let errors: Vec<_> = checked.findings.iter().filter(|own| own.severity == Severity::Error).collect();
    assert!(checked.passes() && errors.is_empty(), "{errors:#?}");
}

fn steps<'a>(written: &'a Model, pattern: &str, entity: &str) -> Vec<&'a Write> {
    let steps = written.pattern(pattern).expect("it is there").steps();
    steps.iter().filter(|step| step.entity == entity).collect()
}

fn copies(found: &Design) -> Vec<&Projected> {
    found.placed.iter().filter(|own| own.slot == Slot::Copy).map(|own| &own.projected).collect()
}

const USER: &str = "  User: {count: 200000, size: 250, unique: [[userId], [email]], attrs: {userId: {type: S, format: uuid}, email: S, name: S}}
  Post: {count: 2000000, size: 500, unique: [[postId]], parent: User, attrs: {postId: {type: S, format: ulid}, userId: {type: S, format: uuid}, body: S}}";
const USERS: &str = "  - {id: Q1, get: User, given: {userId: eq}, rate: 20}
  - {id: Q3, query: [User, Post], given: {userId: eq}, returns: {avg: 11, max: 1000, page: 50}, rate: 2}
  - {id: W1, put: Post, if: not-exists, rate: 2}
  - {id: W2, put: User, if: not-exists, rate: 0.2}
  - {id: W3, update: User, set: \"name = :n\", if: exists, rate: 1}";

/// What keeps the email unique knows whose it is: an index for that question would be one too many.
#[test]
fn what_keeps_something_unique_answers_who_has_it() {
    for consistency in ["eventual", "strong"] {
        let asked = format!(
            "  - {{id: Q2, query: User, given: {{email: eq}}, attributes: [userId, email], consistency: {consistency}, returns: {{avg: 1, max: 1}}, rate: 5}}\n{USERS}"
        );
        let (found, written) = designed(&of(USER, &asked));
        assert_eq!((found.gsis, found.sentinels.len()), (0, 0));
        let put = steps(&written, "W2", "UserByEmail");
        assert!(put.len() == 1 && put.iter().all(|own| own.condition == Some(Condition::NotExists)));
        assert!(steps(&written, "W3", "UserByEmail").is_empty());
        proved(&written);
    }
}

const DRUG: &str = "  Script: {count: 40000, size: 600, unique: [[scriptId]], attrs: {scriptId: {type: S, format: ulid}, drug: {type: S, distinct: 900}, issued: {type: S, format: iso8601}, active: {type: S, values: [yes, no]}, note: S}}";

fn drugs(attributes: &str, change: &str) -> String {
    format!(
        "  - {{id: Q1, get: Script, given: {{scriptId: eq}}, rate: 20}}
  - {{id: Q2, query: Script, given: {{drug: eq}}, order: {{by: issued, direction: desc}}, attributes: [{attributes}], consistency: strong, returns: {{avg: 20, max: 60}}, rate: 2}}
  - {{id: W1, put: Script, if: not-exists, rate: 1}}
  - {{id: W2, update: Script, {change}, if: exists, rate: 9}}"
    )
}

/// Who changes nothing that a second item holds need not know its key, and pays for no transaction.
#[test]
fn a_write_that_changes_nothing_of_a_second_item_leaves_it_alone() {
    let (found, written) = designed(&of(DRUG, &drugs("drug, issued, scriptId", "set: \"active = :a\"")));
    assert_eq!(found.gsis, 0);
    assert!(matches!(copies(&found).as_slice(), [Projected::Only(_)]));
    assert_eq!(written.pattern("W2").map(|own| own.steps().len()), Some(1));
    assert_eq!(steps(&written, "W1", "ScriptByDrug").len(), 1);
    let second = written.entity("ScriptByDrug").expect("written");
    assert!(second.attribute("active").is_none() && second.attribute("note").is_none());
    proved(&written);
}

/// Whoever changes what it holds must know where it is.
#[test]
fn what_a_second_item_holds_is_changed_by_those_who_know_its_key() {
    let held = "active, drug, issued, scriptId";
    let unknowing = model(&of(DRUG, &drugs(held, "set: \"active = :a, note = :n\"")));
    let faults = keywright_workbench::design::solve(&problem(&unknowing), &support::prices());
    assert!(faults.is_err_and(|faults| faults.iter().any(|own| own.to_string().contains("W2 knew drug"))));

    let knowing = drugs(held, "set: \"active = :a, note = :n\"")
        .replace("if: exists, rate: 9", "if: \"drug = :d and issued = :i\", rate: 9");
    let (found, written) = designed(&of(DRUG, &knowing));
    assert!(matches!(copies(&found).as_slice(), [Projected::Only(_)]));
    let changed = steps(&written, "W2", "ScriptByDrug");
    assert_eq!(changed.iter().filter_map(|own| own.set.as_deref()).collect::<Vec<_>>(), ["active = :a"]);
    proved(&written);
}

/// Of the second item alone nobody could compute it.
#[test]
fn what_is_computed_from_something_else_is_held_with_that_or_not_at_all() {
    let sums = |attributes: &str| {
        let text = drugs(attributes, "set: \"total = part + :n\", example: {n: 1}")
            .replace("if: exists, rate: 9", "if: \"drug = :d and issued = :i\", rate: 9");
        let text = of(&DRUG.replace("note: S", "total: N, part: N"), &text);
        keywright_workbench::design::solve(&problem(&model(&text)), &support::prices())
    };
    let held = |attributes: &str| copies(&sums(attributes).expect("designed")).into_iter().next().cloned();
    let names = |of: Option<Projected>| match of {
        Some(Projected::Only(names)) => names.into_iter().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert!(names(held("drug, issued, part, total")).contains(&"part".to_owned()));
    // All of it has both.
    assert_eq!(held("drug, issued, total"), Some(Projected::All));
}

/// Two kinds whose questions read different attributes of the same names share an index that holds them all of both.
#[test]
fn an_index_of_two_kinds_holds_what_either_is_asked_for() {
    let entities = "  Show: {count: 5000, size: 900, unique: [[showId]], attrs: {showId: S, title: S, day: {type: S, distinct: 300}, left: N}}
  Sale: {count: 300000, size: 250, unique: [[saleId]], attrs: {saleId: {type: S, format: ulid}, showId: S, title: S, buyer: {type: S, distinct: 90000}, paid: N}}";
    let patterns = "  - {id: Q1, get: Show, given: {showId: eq}, rate: 9}
  - {id: Q2, query: Show, given: {day: eq}, attributes: [showId, title], returns: {avg: 16, max: 60}, rate: 9}
  - {id: Q3, get: Sale, given: {saleId: eq}, rate: 9}
  - {id: Q4, query: Sale, given: {buyer: eq}, attributes: [saleId, showId, paid], returns: {avg: 3, max: 60}, rate: 9}
  - {id: W1, put: Sale, if: not-exists, rate: 1}
  - {id: W2, update: Show, add: \"left :m\", if: exists, example: {m: -1}, rate: 30}
  - {id: W3, update: Show, set: \"title = :t\", if: exists, rate: 1}";
    let (found, written) = designed(&of(entities, patterns));
    assert_eq!(found.gsis, 1, "{:?}", found.proof);
    let held: Vec<&Projected> =
        found.tables.iter().flat_map(|own| own.projections.iter().map(|(_, held)| held)).collect();
    let [Projected::Only(held)] = held.as_slice() else { panic!("{held:?}") };
    assert!(
        ["showId", "title", "paid"].iter().all(|name| held.contains(*name)) && !held.contains("left"),
        "{held:?}"
    );
    proved(&written);
}

/// A question for a whole collection that says how many there are lets a local index stand in for a global one.
#[test]
fn a_collection_is_as_large_as_a_question_for_all_of_it_says() {
    let entities = "  House: {count: 10000, size: 300, unique: [[houseId]], attrs: {houseId: {type: S, format: uuid}, name: S}}
  Lamp: {count: 200000, size: 250, parent: House, unique: [[houseId, lampId]], attrs: {houseId: {type: S, format: uuid}, lampId: {type: S, format: uuid}, state: {type: S, values: [lit, dark]}}}";
    let patterns = |most: &str| {
        format!(
            "  - {{id: Q1, query: [House, Lamp], given: {{houseId: eq}}, returns: {{avg: 21{most}}}, rate: 10}}
  - {{id: Q2, query: Lamp, given: {{houseId: eq, state: eq}}, returns: {{avg: 10, max: 60}}, rate: 5}}
  - {{id: W1, update: Lamp, set: \"state = :s\", if: exists, rate: 20}}"
        )
    };
    let (bounded, written) = designed(&of(entities, &patterns(", max: 60")));
    assert_eq!((bounded.gsis, &bounded.proof), (0, &Proof::NoIndexes));
    proved(&written);
    let (open, _) = designed(&of(entities, &patterns("")));
    assert_eq!(open.gsis, 1);
}
