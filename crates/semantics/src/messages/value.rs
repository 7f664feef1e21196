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
        ValueFault::DuplicateInSet { rendered } => {
            format!("One or more parameter values were invalid: Input collection [{rendered}] contains duplicates.")
        }
        ValueFault::EmptyStringInSet => {
            "One or more parameter values were invalid: An string set may not have a empty string as a member".to_owned()
        }
        ValueFault::EmptyBinaryInSet => {
            "One or more parameter values were invalid: Binary sets may not contain null or empty values".to_owned()
        }
        ValueFault::TooDeep => "Nesting Levels have exceeded supported limits: \
             Attributes in the item have nested levels beyond supported limit"
            .to_owned(),
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
