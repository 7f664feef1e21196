//! Any text as a statement: none panics, what is read survives being written and read again, and its WHERE clause can be
//! asked for keys and ranges.

#![no_main]

use keywright_semantics::partiql::{KeyForms, Statement, canonical, prepare};
use keywright_semantics::schema::{KeyAttribute, KeyType};
use keywright_semantics::value::AttributeValue;
use libfuzzer_sys::fuzz_target;

fn key(name: &str, key_type: KeyType) -> KeyAttribute {
    KeyAttribute { name: name.to_owned(), key_type }
}

fn check(statement: &Statement) {
    let condition = match statement {
        Statement::Select(select) | Statement::Exists(select) => select.condition.as_ref(),
        Statement::Update { condition, update, .. } => {
            let _ = update.apply(None, &std::collections::BTreeMap::new());
            condition.as_ref()
        }
        Statement::Delete { condition, .. } => condition.as_ref(),
        Statement::Insert { .. } => None,
    };
    if let Some(condition) = condition {
        let _ = condition.key_match(&["pk", "sk"], KeyForms::EqualOrIn);
        let _ = condition.access(&key("pk", KeyType::S), Some(&key("sk", KeyType::N)));
        let _ = condition.condition().evaluate(None);
    }
}

fuzz_target!(|text: &str| {
    if let Ok(written) = canonical(text) {
        let again = canonical(&written).unwrap_or_else(|fault| panic!("{written}: {}", fault.text()));
        assert_eq!(again, written);
    }
    let parameters = [AttributeValue::from("x"), AttributeValue::from(1)];
    for count in 0..=parameters.len() {
        if let Ok(statement) = prepare(text, parameters.get(..count).unwrap_or_default()) {
            check(&statement);
        }
    }
});
