//! Faults of data-plane requests: one file for each operation, with its faults in the order of precedence.
//!
//! Every row is tried alone and together with every later row that is compatible: the earlier one must be
//! reported.

#![expect(
    clippy::unnecessary_wraps,
    reason = "helpers make members of parts as they are, which may be absent or wrong"
)]

mod backups;
mod batch_get_item;
mod batch_write_item;
mod delete_item;
mod get_item;
mod get_shard_iterator;
mod imports;
mod put_item;
mod query;
mod scan;
mod transact_get_items;
mod transact_write_items;
mod update_item;

use std::fmt::Debug;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::number::NumberFault;
use keywright_semantics::request::parts::{
    AttributeMapPart, ComparisonOperator, ConditionParts, ExpectedAttributeValueParts, ValuePart,
};
use keywright_semantics::value::{AttributeValue, ValueFault};

/// Which other rows a row is compatible with: the two dialects exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Any,
    Legacy,
    Expression,
}

/// A function that adds a fault to a request, and the message the client reads. It must work on a request
/// that has the faults of later rows.
type Row<P> = (Dialect, fn(&mut P), &'static str);

fn check<P: Clone + Debug, T: Debug>(base: &P, validate: fn(P) -> Result<T, Error>, rows: &[Row<P>]) {
    validate(base.clone()).expect("the base request is right");
    for (position, (dialect, make, message)) in rows.iter().enumerate() {
        let mut alone = base.clone();
        make(&mut alone);
        assert_fails(validate(alone.clone()), message, &alone);
        for (later_dialect, make_later, later_message) in rows.iter().skip(position + 1) {
            let compatible = dialect == later_dialect || [*dialect, *later_dialect].contains(&Dialect::Any);
            if compatible {
                let mut both = base.clone();
                make_later(&mut both);
                make(&mut both);
                assert_fails(validate(both.clone()), message, &(later_message, both));
            }
        }
    }
}

fn assert_fails<T: Debug>(outcome: Result<T, Error>, message: &str, request: &impl Debug) {
    let error = outcome.expect_err(&format!("{message}\n{request:?}"));
    assert_eq!(error.kind, ErrorKind::Validation, "{request:?}");
    assert_eq!(error.message, message, "{request:?}");
}

fn text(value: &str) -> ValuePart {
    Ok(AttributeValue::from(value))
}

fn map(entries: &[(&str, ValuePart)]) -> AttributeMapPart {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn names(entries: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
    Some(entries.iter().map(|(name, stands_for)| ((*name).to_owned(), (*stands_for).to_owned())).collect())
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn not_a_number() -> ValuePart {
    Err(ValueFault::Number { fault: NumberFault::NotNumeric, text: "abc".into() })
}

/// `attribute EQ 'x'` of the legacy filters and key conditions.
fn equals(attribute: &str) -> (String, ConditionParts) {
    compared(attribute, Some(vec![text("x")]))
}

/// `attribute EQ` with these operands.
fn compared(attribute: &str, operands: Option<Vec<ValuePart>>) -> (String, ConditionParts) {
    let parts =
        ConditionParts { attribute_value_list: operands, comparison_operator: ComparisonOperator::Eq };
    (attribute.to_owned(), parts)
}

/// The legacy `Expected` of one attribute and its value. A missing value is a fault.
fn expected(attribute: &str, value: Option<ValuePart>) -> (String, ExpectedAttributeValueParts) {
    let parts = ExpectedAttributeValueParts {
        value,
        exists: None,
        comparison_operator: None,
        attribute_value_list: None,
    };
    (attribute.to_owned(), parts)
}
