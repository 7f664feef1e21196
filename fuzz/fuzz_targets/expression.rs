//! Any text through every parser of expressions: none panics, and what parses survives printing and parsing
//! again.

#![no_main]

use keywright_semantics::expression::{
    CanonicalText, Condition, ConditionKind, KeyCondition, Placeholders, Projection, Update, parse_condition,
    parse_projection, parse_update,
};
use keywright_semantics::messages::Wording;
use keywright_semantics::number::Number;
use keywright_semantics::request::parts::AttributeMapPart;
use keywright_semantics::value::AttributeValue;
use libfuzzer_sys::fuzz_target;

fn names() -> Vec<(String, String)> {
    vec![("#a".to_owned(), "a".to_owned()), ("#s".to_owned(), "status".to_owned())]
}

fn values() -> AttributeMapPart {
    let list = AttributeValue::L(vec![AttributeValue::Null]);
    vec![
        (":n".to_owned(), Ok(AttributeValue::N(Number::from(1_u64)))),
        (":s".to_owned(), Ok(AttributeValue::S("SS".to_owned()))),
        (":l".to_owned(), Ok(list)),
        (":t".to_owned(), Ok(AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()]))),
    ]
}

/// Parses a canonical text with the placeholders it came with, all of which it must use.
fn again<T>(canonical: &CanonicalText, parse: impl FnOnce(&str, &mut Placeholders<'_>) -> T) -> T {
    let names = (!canonical.names.is_empty()).then_some(canonical.names.as_slice());
    let values = (!canonical.values.is_empty()).then_some(&canonical.values);
    let mut placeholders = Placeholders::new(names, values, Wording::Present)
        .expect("canonical placeholders are well-formed");
    let parsed = parse(&canonical.text, &mut placeholders);
    placeholders.finish().expect("a canonical text uses its placeholders");
    parsed
}

fn check_condition(condition: &Condition) {
    let _ = KeyCondition::from_condition(condition.clone());
    let _ = condition.evaluate(None);
    let canonical = condition.canonical();
    // Spelling out names and values can make a text too long to be read again.
    if canonical.text.len() <= 4096 {
        let again = again(&canonical, |text, placeholders| {
            parse_condition(text, ConditionKind::Condition, placeholders)
        });
        assert_eq!(&again.expect("a canonical text parses"), condition);
    }
}

fn check_update(update: &Update) {
    let _ = update.apply(None, &keywright_semantics::value::Item::new());
    let canonical = update.canonical();
    if canonical.text.len() <= 4096 {
        assert_eq!(&again(&canonical, parse_update).expect("a canonical text parses"), update);
    }
}

fn check_projection(projection: &Projection) {
    let canonical = projection.canonical();
    if canonical.text.len() <= 4096 {
        assert_eq!(&again(&canonical, parse_projection).expect("a canonical text parses"), projection);
    }
}

fuzz_target!(|text: &str| {
    let (names, values) = (names(), values());
    let placeholders = || Placeholders::new(Some(&names), Some(&values), Wording::Present).expect("they are well-formed");
    if let Ok(condition) = parse_condition(text, ConditionKind::Condition, &mut placeholders()) {
        check_condition(&condition);
    }
    if let Ok(update) = parse_update(text, &mut placeholders()) {
        check_update(&update);
    }
    if let Ok(projection) = parse_projection(text, &mut placeholders()) {
        check_projection(&projection);
    }
});
