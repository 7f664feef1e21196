//! Every rule has a model that trips it and one that does not.

use std::path::Path;

use keywright_workbench::lint::RULES;
use keywright_workbench::model::parse;

/// The rules that find something in a model, `Err` with what keeps it from running.
fn found(name: &str) -> Result<Vec<&'static str>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint").join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
    let told = |faults: Vec<keywright_workbench::model::Fault>| {
        faults.iter().map(|fault| fault.in_file(name)).collect::<Vec<_>>().join("\n")
    };
    let model = parse(&text).map_err(told)?;
    let checked =
        keywright_workbench::check(&model, &|_| Err("no files".to_owned()), &mut |_| {}).map_err(told)?;
    Ok(checked.findings.iter().map(|finding| finding.rule).collect())
}

#[test]
fn every_rule_is_tripped_by_its_bad_model_and_not_by_its_good_one() {
    let mut wrong = Vec::new();
    for rule in RULES {
        match found(&format!("{}-bad.yaml", rule.id)) {
            Ok(rules) if rules.contains(&rule.id) => {}
            Ok(rules) => wrong.push(format!("{}-bad.yaml trips only {rules:?}", rule.id)),
            Err(fault) => wrong.push(fault),
        }
        match found(&format!("{}-good.yaml", rule.id)) {
            Ok(rules) if rules.contains(&rule.id) => {
                wrong.push(format!("{}-good.yaml trips its rule", rule.id));
            }
            Ok(_) => {}
            Err(fault) => wrong.push(fault),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
