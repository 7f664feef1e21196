//! Derived items with some attributes: for reads that need no more; only writes that change these write them.

use keywright_designer::design::{Design, Projected, Proof, Slot, verify, verify_writes};
use keywright_model::expression::Section;
use keywright_model::{Condition, Model, Write, WriteKind};
use keywright_workbench::lint::Severity;

use crate::support::{check, designed, model, problem};

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

/// The sentinel that keeps the email unique contains the owner: an index for that read would be one too many.
#[test]
fn a_sentinel_answers_which_item_has_the_unique_value() {
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

/// A writer that changes nothing of a derived item need not know its key, and pays for no transaction.
#[test]
fn a_write_that_changes_nothing_of_a_derived_item_leaves_it_alone() {
    let (found, written) = designed(&of(DRUG, &drugs("drug, issued, scriptId", "set: \"active = :a\"")));
    assert_eq!(found.gsis, 0);
    assert!(matches!(copies(&found).as_slice(), [Projected::Only(_)]));
    assert_eq!(written.pattern("W2").map(|own| own.steps().len()), Some(1));
    assert_eq!(steps(&written, "W1", "ScriptByDrug").len(), 1);
    let second = written.entity("ScriptByDrug").expect("written");
    assert!(second.attribute("active").is_none() && second.attribute("note").is_none());
    proved(&written);
}

/// A writer that changes its attributes must know its key.
#[test]
fn attributes_of_a_derived_item_are_changed_by_writers_that_know_its_key() {
    let held = "active, drug, issued, scriptId";
    let unknowing = model(&of(DRUG, &drugs(held, "set: \"active = :a, note = :n\"")));
    let faults = keywright_designer::design::solve(&problem(&unknowing), &crate::support::prices());
    assert!(faults.is_err_and(|faults| faults.iter().any(|own| own.to_string().contains("W2 knew drug"))));

    let knowing = drugs(held, "set: \"active = :a, note = :n\"")
        .replace("if: exists, rate: 9", "if: \"drug = :d and issued = :i\", rate: 9");
    let (found, written) = designed(&of(DRUG, &knowing));
    assert!(matches!(copies(&found).as_slice(), [Projected::Only(_)]));
    let changed = steps(&written, "W2", "ScriptByDrug");
    let set: Vec<String> = changed.iter().filter_map(|own| own.section_text(Section::Set)).collect();
    assert_eq!(set, ["active = :a"]);
    proved(&written);
}

/// From the derived item alone it could not be computed.
#[test]
fn a_computed_attribute_is_held_with_its_inputs_or_not_at_all() {
    let sums = |attributes: &str| {
        let text = drugs(attributes, "set: \"total = part + :n\", example: {n: 1}")
            .replace("if: exists, rate: 9", "if: \"drug = :d and issued = :i\", rate: 9");
        let text = of(&DRUG.replace("note: S", "total: N, part: N"), &text);
        keywright_designer::design::solve(&problem(&model(&text)), &crate::support::prices())
    };
    let held = |attributes: &str| copies(&sums(attributes).expect("designed")).into_iter().next().cloned();
    let names = |of: Option<Projected>| match of {
        Some(Projected::Only(names)) => names.into_iter().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert!(names(held("drug, issued, part, total")).contains(&"part".to_owned()));
    // With all attributes it has both inputs.
    assert_eq!(held("drug, issued, total"), Some(Projected::All));
}

/// Two entities whose reads need different attributes of the same names share an index that projects all of
/// these for both.
#[test]
fn an_index_of_two_entities_projects_what_reads_of_either_need() {
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

/// A read of a whole collection that declares its size lets a local index replace a global one.
#[test]
fn a_read_of_a_whole_collection_declares_its_size() {
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

/// Copies must expire with their item: otherwise a session is listed but gone, or a seat is never free again.
#[test]
fn copies_of_an_item_expire_with_it() {
    let timed = |entities: &str, patterns: &str| {
        of(entities, patterns).replace("key: {pk: S, sk: S}}", "key: {pk: S, sk: S}, ttl: until}")
    };
    let holds = "  Hold: {count: 30000, size: 600, unique: [[holdId], [seat]], attrs: {holdId: {type: S, format: uuid}, seat: S, until: N, who: S}}";
    let patterns = "  - {id: Q1, get: Hold, given: {holdId: eq}, consistency: strong, rate: 10}
  - {id: W1, put: Hold, if: not-exists, rate: 2}";
    let (found, written) = designed(&timed(holds, patterns));
    assert_eq!(found.sentinels.len(), 1);
    assert!(written.entity("SeatOfHold").is_some_and(|own| own.attribute("until").is_some()));
    proved(&written);

    let asked = format!(
        "{patterns}\n  - {{id: Q2, query: Hold, given: {{who: eq}}, consistency: strong, attributes: [seat], returns: {{avg: 2, max: 9}}, rate: 5}}"
    );
    let (_, written) = designed(&timed(holds, &asked));
    assert!(written.entity("HoldByWho").is_some_and(|own| own.attribute("until").is_some()));
    proved(&written);
    // A writer that postpones the expiry must know all the copies.
    let later = format!("{asked}\n  - {{id: W2, update: Hold, set: \"until = :u\", if: exists, rate: 1}}");
    let faults =
        keywright_designer::design::solve(&problem(&model(&timed(holds, &later))), &crate::support::prices());
    assert!(faults.is_err_and(|faults| faults.iter().any(|own| own.to_string().contains("W2 knew who"))));
}

/// The derived item of a replaced item would stay under its key.
#[test]
fn items_that_puts_replace_have_no_derived_items_under_changing_attributes() {
    let text = |second: &str| {
        of(
            "  Order: {count: 400000, size: 1800, unique: [[orderId]], attrs: {orderId: {type: S, format: ulid}, customer: {type: S, distinct: 30000}, total: N}}",
            &format!(
                "  - {{id: Q1, get: Order, given: {{orderId: eq}}, rate: 10}}
  - {{id: Q2, query: Order, given: {{customer: eq}}, consistency: strong, returns: {{avg: 6, max: 200}}, rate: 5}}
  - {{id: W1, put: Order, if: not-exists, rate: 1}}
  - {{id: W2, {second}, rate: 0.5}}"
            ),
        )
    };
    let solved = |second: &str| {
        keywright_designer::design::solve(&problem(&model(&text(second))), &crate::support::prices())
    };
    assert!(solved("put: Order, if: \"customer = :c\", example: {c: x}").is_err());
    assert!(solved("update: Order, set: \"total = :n\", if: \"customer = :c\"").is_ok());
}

/// An item that loses its key only loses its derived item, of which nothing else need be known.
#[test]
fn a_write_that_takes_the_key_away_need_know_no_more_than_the_key() {
    let entities = "  Player: {count: 100000, size: 300, unique: [[playerId]], attrs: {playerId: {type: S, format: uuid}, club: {type: S, distinct: 900, present: 0.5}, rank: N, nick: S}}";
    let patterns = "  - {id: Q1, get: Player, given: {playerId: eq}, rate: 10}
  - {id: Q2, query: Player, given: {club: eq}, attributes: [playerId, rank, nick], consistency: strong, returns: {avg: 60, max: 90}, rate: 5}
  - {id: W1, put: Player, if: not-exists, rate: 1}
  - {id: W2, update: Player, remove: club, if: \"club = :c\", rate: 1}";
    let (found, written) = designed(&of(entities, patterns));
    assert_eq!(found.gsis, 0);
    let kinds: Vec<WriteKind> = steps(&written, "W2", "PlayerByClub").iter().map(|own| own.kind).collect();
    assert_eq!(kinds, [WriteKind::Delete]);
    proved(&written);
}

#[test]
fn the_attributes_of_a_filter_are_projected_too() {
    for consistency in ["eventual", "strong"] {
        let patterns = format!(
            "  - {{id: Q1, get: Script, given: {{scriptId: eq}}, rate: 20}}
  - {{id: Q2, query: Script, given: {{drug: eq}}, attributes: [scriptId], filter: \"active = :a\", consistency: {consistency}, example: {{a: yes}}, returns: {{avg: 20, max: 60}}, rate: 2}}
  - {{id: W1, put: Script, if: not-exists, rate: 1}}"
        );
        let (_, written) = designed(&of(DRUG, &patterns));
        proved(&written);
    }
}

/// A transaction has at most a hundred steps.
#[test]
fn derived_items_that_do_not_fit_into_a_transaction_are_not_offered() {
    let patterns = |many: u64| {
        format!(
            "  - {{id: Q1, get: Script, given: {{scriptId: eq}}, consistency: strong, rate: 20}}
  - {{id: Q2, query: Script, given: {{drug: eq}}, attributes: [scriptId], consistency: strong, returns: {{avg: 20, max: 60}}, rate: 2}}
  - {{id: W1, transact: [{{put: Script, n: {many}, if: not-exists}}], rate: 1}}"
        )
    };
    let solved = |many: u64| {
        let model = model(&of(DRUG, &patterns(many)));
        keywright_designer::design::solve(&problem(&model), &crate::support::prices())
    };
    assert!(solved(50).is_ok());
    assert!(solved(51).is_err());
}

/// The first twenty of a room do not bound its size, nor does a number below what the counts imply.
#[test]
fn a_page_bounds_no_collection() {
    let rooms = |returns: &str| {
        of(
            "  Msg: {count: 5000000, size: 500, unique: [[room, msg]], attrs: {room: {type: S, format: uuid}, msg: {type: S, format: ulid}, stars: N}}",
            &format!(
                "  - {{id: Q1, query: Msg, given: {{room: eq}}, {returns}, rate: 10}}
  - {{id: Q2, query: Msg, given: {{room: eq}}, order: {{by: stars, direction: desc}}, {returns}, rate: 10}}
  - {{id: W1, put: Msg, if: not-exists, rate: 1}}
  - {{id: W2, update: Msg, add: \"stars :n\", example: {{n: 1}}, rate: 1}}"
            ),
        )
    };
    let (paged, _) = designed(&rooms("limit: 20, returns: {avg: 20, max: 20}"));
    assert_eq!(paged.gsis, 1);
}
