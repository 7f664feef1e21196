//! Any text as a statement: none panics, a parsed statement survives printing and parsing again, and its
//! WHERE clause yields keys and ranges.

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
            let _ = update.apply(None, &keywright_semantics::value::Item::new());
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

/// Half of what the parser reads.
const NESTING_SURELY_READ: usize = 32;

fn nesting(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fuzz_target!(|text: &str| {
    if let Ok(written) = canonical(text) {
        // The printed form has more parentheses: a statement nested nearly as deep as allowed cannot be
        // parsed again.
        let again = canonical(&written);
        let is_deep = nesting(&written) >= NESTING_SURELY_READ;
        assert!(again.as_ref().is_ok_and(|again| *again == written) || is_deep, "{written}");
    }
    let parameters = [AttributeValue::from("x"), AttributeValue::from(1)];
    for count in 0..=parameters.len() {
        if let Ok(statement) = prepare(text, parameters.get(..count).unwrap_or_default()) {
            check(&statement);
        }
    }
});
