//! Every rule has a model that trips it and one that does not.

use std::collections::BTreeSet;
use std::path::Path;

use keywright_exchange::import::import;
use keywright_model::{Model, Template, parse};
use keywright_workbench::lint::{RULES, Severity};
use keywright_workbench::report::{Checked, text};

use crate::support::{check, checked, model, no_files};

/// A model's findings; `Err` with the faults that keep it from running.
fn found(name: &str) -> Result<Checked, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint").join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
    let messages = |faults: Vec<keywright_model::Fault>| {
        faults.iter().map(|fault| fault.in_file(name)).collect::<Vec<_>>().join("\n")
    };
    let model = parse(&text).map_err(messages)?;
    keywright_workbench::check(&model, &no_files, &mut |_| {}).map_err(messages)
}

/// What is wrong with a rule's two models.
fn complaint(rule: &'static str, bad: &str, good: &str) -> Option<String> {
    match found(bad) {
        Ok(checked) if checked.findings.iter().any(|finding| finding.rule == rule) => {}
        Ok(checked) => return Some(format!("{bad} does not trip its rule:\n{}", text(&checked, bad))),
        Err(fault) => return Some(fault),
    }
    match found(good) {
        Ok(checked) if !checked.passes() || checked.findings.iter().any(|finding| finding.rule == rule) => {
            Some(format!("{good} is not good:\n{}", text(&checked, good)))
        }
        Ok(_) => None,
        Err(fault) => Some(fault),
    }
}

#[test]
fn every_rule_is_tripped_by_its_bad_model_and_its_good_one_passes_without_it() {
    let wrong: Vec<String> = RULES
        .iter()
        .filter_map(|rule| {
            complaint(rule.id, &format!("{}-bad.yaml", rule.id), &format!("{}-good.yaml", rule.id))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rules with several cases have further models: `L056-lock-bad.yaml`, with or without a matching good one.
#[test]
fn every_further_case_of_a_rule_has_its_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint");
    let mut wrong = Vec::new();
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let bad = entry.expect("an entry").file_name().into_string().expect("a name");
        let Some(case) = bad.strip_suffix("-bad.yaml").filter(|case| case.len() > 4) else { continue };
        let rule = RULES.iter().find(|rule| case.starts_with(rule.id)).expect("a rule");
        cases += 1;
        wrong.extend(complaint(rule.id, &bad, &format!("{case}-good.yaml")));
    }
    assert!(cases > 0 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The model with the templates from a fix applied: `` `sk: "~i#{no}"` for Invoice ``.
fn followed(mut model: Model, fix: &str) -> Model {
    let mut written = 0;
    for said in fix.split("` for ") {
        let Some((key, template)) = said.rsplit('`').next().and_then(|field| field.split_once(": \"")) else {
            continue;
        };
        let rest = fix.split_once(&format!("{said}` for ")).expect("an entity").1;
        let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let entity = model.entities.iter_mut().find(|entity| entity.name == name).expect("the entity");
        let slots = std::iter::once(&mut entity.key).chain(entity.slots.iter_mut().map(|(_, slot)| slot));
        for (_, own) in slots.flat_map(|slot| &mut slot.templates).filter(|(own, _)| own == key) {
            *own = Template::parse(template.trim_end_matches('"')).expect("a template");
            written += 1;
        }
    }
    assert!(written > 0, "nothing to write: {fix}");
    model
}

const COLLECTIONS: &str = r#"
format: 1
model: collections
tables: {Tab: {key: {pk: S, sk: S}, pitr: true, deletionProtection: true}}
entities:
  Team: {count: 10, key: {pk: "t#{team}", sk: TEAMKEY}, attrs: {team: S, name: S}}
  Member: {count: 50, parent: Team, key: {pk: "t#{team}", sk: MEMBERKEY}, attrs: {team: S, user: S}}
  Invoice: {count: 50, parent: Team, key: {pk: "t#{team}", sk: INVOICEKEY}, attrs: {team: S, month: {type: S, format: date}, no: N}}
patterns:
PATTERNS
data: {generate: {seed: 3, sample: 100}}
"#;

#[test]
fn keys_that_the_fix_of_a_mixed_or_misplaced_collection_says_to_write_leave_nothing_to_find() {
    let both = "  - {id: Q, query: [Team, Member], given: {team: eq}, returns: {avg: 6, max: 100}, rate: 1}";
    let page = "  - {id: Q, query: [Team, Member], given: {team: eq}, order: desc, returns: {avg: 6, page: 3}, rate: 1}";
    let too =
        "\n  - {id: R, query: [Team, Invoice], given: {team: eq}, returns: {avg: 6, max: 100}, rate: 1}";
    for (case, keys, patterns) in [
        ("a sign", ["#", "m#{user}", "i#{month}#{no:pad(6)}"], both.to_owned()),
        ("words", ["TEAM", "AMEMBER#{user}", "INVOICE#{no:pad(6)}"], both.to_owned()),
        ("behind all", ["~", "a#{user}", "x#{no:pad(6)}"], both.to_owned()),
        ("no word", ["#", "{user}", "0#{no:pad(6)}"], both.to_owned()),
        ("a prefix that another may write", ["#", "MEMBER#{user}", "{month}#{no:pad(6)}"], both.to_owned()),
        // A foreign entity that another pattern reads cannot be moved.
        ("two questions", ["a#", "m#{user}", "i#{no:pad(6)}"], format!("{both}{too}")),
        ("a page from the end", ["a", "m#{user}", "z#{no:pad(6)}"], page.to_owned()),
        ("a page next to another pattern", ["m", "p#{user}", "i#{no:pad(6)}"], format!("{page}{too}")),
    ] {
        let [team, member, invoice] = keys.map(|key| format!("\"{key}\""));
        let text = COLLECTIONS
            .replace("TEAMKEY", &team)
            .replace("MEMBERKEY", &member)
            .replace("INVOICEKEY", &invoice);
        let text = text.replace("PATTERNS", &patterns);
        let found = |model: &Model| -> Vec<(&'static str, String)> {
            let checked = check(model);
            let of_order = checked.findings.iter().filter(|own| matches!(own.rule, "L008" | "L014"));
            of_order.map(|own| (own.rule, own.fix.clone())).collect()
        };
        let mut after = model(&text);
        let mut fixes: Vec<String> = Vec::new();
        while let Some((_, fix)) = found(&after).into_iter().next().filter(|_| fixes.len() < 3) {
            after = followed(after, &fix);
            fixes.push(fix);
        }
        assert!(!fixes.is_empty(), "{case}: nothing is found");
        assert_eq!(found(&after), [], "{case}: {fixes:?}");
    }
}

#[test]
fn a_key_made_of_a_removed_attribute_must_be_removed_with_it() {
    let checked = checked(
        r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}, indexes: {unread: {pk: of}}}}
entities:
  Message: {count: 10, key: {pk: "m#{id}", sk: m}, unread: {pk: "u#{user}"}, attrs: {id: S, user: S}}
patterns: [{id: W, update: Message, remove: user, if: exists, rate: 1}]
data: {generate: {seed: 1, sample: 10}}
"#,
    );
    let found = checked.findings.iter().find(|found| found.rule == "L053").expect("it stays");
    assert!(found.fix.starts_with("remove `of` in the same update"), "{}", found.fix);
}

/// `u#…#follower` and `u#…#following` begin alike but are never equal.
#[test]
fn the_published_documents_trip_no_rule_on_overwriting_items() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/data/workbench");
    let mut documents = 0;
    for group in std::fs::read_dir(folder).expect("the folder") {
        for entry in std::fs::read_dir(group.expect("an entry").path()).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let model = import("document", &text, None).expect("imported").model;
            let checked = keywright_workbench::check(&model, &no_files, &mut |_| {}).expect("runs");
            let wrong: Vec<&str> = checked
                .findings
                .iter()
                .filter(|finding| finding.rule == "L008")
                .map(|finding| finding.text.as_str())
                .collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
            documents += 1;
        }
    }
    assert!(documents > 20, "{documents}");
}

/// Only the most specific rule reports why a pattern has no plan.
#[test]
fn only_one_rule_reports_a_pattern_without_a_plan() {
    for (name, rule) in [
        ("L005-several-bad.yaml", "L005"),
        ("L005-range-bad.yaml", "L005"),
        ("L036-filter-bad.yaml", "L036"),
        ("L050-bad.yaml", "L050"),
        ("L050-chosen-bad.yaml", "L050"),
    ] {
        let checked = found(name).expect(name);
        let errors = checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
        assert_eq!(errors.map(|finding| finding.rule).collect::<Vec<_>>(), [rule], "{name}");
    }
}

/// A fix never advises what the model does already.
#[test]
fn no_fix_advises_what_the_model_does_already() {
    for (name, rule, said, unsaid) in [
        ("L009-bad.yaml", "L009", "such as `#`", "such as `-`"),
        ("L009-hash-bad.yaml", "L009", "such as `|`", "`#`"),
        ("L037-bad.yaml", "L037", "make the index sparse", "however few"),
        ("L037-sparse-bad.yaml", "L037", "keep what changes often out", "sparse"),
        ("L037-data-bad.yaml", "L037", "keep what changes often out", "sparse"),
    ] {
        let checked = found(name).expect(name);
        let own = checked.findings.iter().find(|finding| finding.rule == rule).expect(rule);
        assert!(own.fix.contains(said) && !own.fix.contains(unsaid), "{name}: {}", own.fix);
    }
}

/// A rule with several severities has a model for each of them.
#[test]
fn every_severity_of_a_rule_is_reached_by_one_of_its_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint");
    let mut reached: BTreeSet<(&str, Severity)> = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        if !name.ends_with("-bad.yaml") {
            continue;
        }
        let own = RULES.iter().find(|rule| name.starts_with(rule.id)).expect("a rule");
        for finding in found(&name).expect(&name).findings {
            if finding.rule == own.id {
                reached.insert((own.id, finding.severity));
            }
        }
    }
    let declared: BTreeSet<(&str, Severity)> =
        RULES.iter().flat_map(|rule| rule.severities.iter().map(|severity| (rule.id, *severity))).collect();
    assert_eq!(reached, declared);
}

#[test]
fn rules_are_sorted_and_explained() {
    assert!(RULES.is_sorted_by(|one, next| one.id < next.id));
    for rule in RULES {
        assert!(
            !rule.explanation.is_empty() && !rule.fix.is_empty() && !rule.source.is_empty(),
            "{}",
            rule.id
        );
    }
}

/// The rules that a model trips.
fn tripped(text: &str) -> Vec<&'static str> {
    crate::support::checked(text).findings.iter().map(|finding| finding.rule).collect()
}

/// `id` of five categories says nothing about `id` of orders, nor does a user's about an event's.
#[test]
fn a_namesake_attribute_of_another_entity_trips_no_rule() {
    let orders = tripped(
        r#"
format: 1
model: orders
tables: {Tab: {key: {pk: S, sk: S}, pitr: true, deletionProtection: true}}
entities:
  Cat: {count: 5, size: 300, key: {pk: "c#{id}", sk: "c#"}, attrs: {id: S, name: S}}
  Ord: {count: 5000000, size: 300, key: {pk: "o#{id}", sk: "o#"}, attrs: {id: {type: S, format: uuid}, st: S}}
patterns:
  - {id: W, put: Ord, if: not-exists, rate: {avg: 100, peak: 20000}}
data: {generate: {seed: 3, sample: 50}}
"#,
    );
    let events = tripped(
        r#"
format: 1
model: events
tables: {Tab: {key: {pk: S, sk: S}, pitr: true, deletionProtection: true}}
entities:
  Dev: {count: 1000, size: 300, key: {pk: "d#{dev}", sk: "d#"}, attrs: {dev: S, name: S}}
  User: {count: 1000000, size: 300, key: {pk: "u#{id}", sk: "u#"}, attrs: {id: S, name: S}}
  Evt: {count: 5000000, size: 300, parent: Dev, key: {pk: "d#{dev}", sk: "e#{at}#{id}"}, attrs: {dev: S, at: {type: S, format: iso8601}, id: {type: S, format: ulid}}}
patterns:
  - {id: Q, query: Evt, given: {dev: eq}, returns: {avg: 10, max: 100, page: 50}, rate: 1}
  - {id: W, batch: [{put: Evt, n: 5}], rate: 1}
data: {generate: {seed: 3, sample: 50}}
"#,
    );
    for rule in ["L010", "L020", "L021", "L022"] {
        assert!(!orders.contains(&rule) && !events.contains(&rule), "{orders:?} {events:?}");
    }
}

#[test]
fn a_small_share_is_not_shown_as_zero() {
    let bad = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint/L035-bad.yaml"));
    let text = bad.expect("readable").replace("size: 3000", "size: 300000");
    let checked = keywright_workbench::check(&parse(&text).expect("a model"), &no_files, &mut |_| {});
    let findings = checked.expect("it runs").findings;
    let wide = findings.iter().find(|own| own.rule == "L035").expect("L035");
    assert!(wide.text.ends_with("its patterns read less than 1 % of it"), "{}", wide.text);
}
