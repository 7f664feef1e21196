//! What clients read when an attribute value is wrong.
//!
//! Source: the service's answers as public compatibility suites recorded them.

use crate::number::NumberFault;
use crate::value::{ValueFault, ValueType};

/// The text of a value's fault.
pub fn fault(fault: &ValueFault) -> String {
    match fault {
        ValueFault::Empty => {
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes".to_owned()
        }
        ValueFault::SeveralTypes => {
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
                .to_owned()
        }
        ValueFault::NullNotTrue => {
            "One or more parameter values were invalid: Null attribute value types must have the value of true".to_owned()
        }
        ValueFault::Number { fault, text } => number(*fault, text),
        ValueFault::EmptySet(set_type) => match set_type {
            ValueType::Ss => {
                "One or more parameter values were invalid: An string set  may not be empty".to_owned()
            }
            ValueType::Ns => {
                "One or more parameter values were invalid: An number set  may not be empty".to_owned()
            }
            _ => "One or more parameter values were invalid: Binary sets should not be empty".to_owned(),
        },
        ValueFault::DuplicateInSet { set_type, rendered } => duplicate_in_set(*set_type, rendered),
        ValueFault::EmptyStringInSet => {
            "One or more parameter values were invalid: An string set may not have a null string as a member".to_owned()
        }
        ValueFault::EmptyBinaryInSet => {
            "One or more parameter values were invalid: Binary sets may not contain null or empty values".to_owned()
        }
        ValueFault::TooDeep => "Nesting Levels have exceeded supported limits: \
             Attributes in the item have nested levels beyond supported limit"
            .to_owned(),
    }
}

/// Observed: a binary set lacks a space, and a set of numbers the introduction, the members and the full stop.
fn duplicate_in_set(set_type: ValueType, rendered: &str) -> String {
    match set_type {
        ValueType::Ns => "Input collection contains duplicates".to_owned(),
        ValueType::Bs => format!(
            "One or more parameter values were invalid: Input collection [{rendered}]of type BS contains duplicates."
        ),
        _ => format!(
            "One or more parameter values were invalid: Input collection [{rendered}] contains duplicates."
        ),
    }
}

/// The text of a number's fault.
pub fn number(fault: NumberFault, text: &str) -> String {
    match fault {
        NumberFault::NotNumeric if text.is_empty() => {
            "The parameter cannot be converted to a numeric value".to_owned()
        }
        NumberFault::NotNumeric => format!("The parameter cannot be converted to a numeric value: {text}"),
        NumberFault::TooManyDigits => {
            "Attempting to store more than 38 significant digits in a Number".to_owned()
        }
        NumberFault::Overflow => {
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
                .to_owned()
        }
        NumberFault::Underflow => {
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;
    use crate::value::AttributeValue;

    #[test]
    fn members_of_a_set_are_told_as_they_were_sent() {
        let text = |value: Result<AttributeValue, ValueFault>| fault(&value.unwrap_err());
        let strings = AttributeValue::string_set(vec!["b".to_owned(), "a".to_owned(), "b".to_owned()]);
        assert_eq!(
            text(strings),
            "One or more parameter values were invalid: Input collection [b, a, b] contains duplicates."
        );
        let binaries = AttributeValue::binary_set(vec![vec![0xff], vec![0], vec![0]]);
        assert_eq!(
            text(binaries),
            "One or more parameter values were invalid: Input collection [/w==, AA==, AA==]of type BS contains duplicates."
        );
        let numbers = AttributeValue::number_set([2_i64, 1, 2].map(Number::from).to_vec());
        assert_eq!(text(numbers), "Input collection contains duplicates");
    }
}
