//! Messages about attribute values.
//!
//! Source: messages of the service that public compatibility suites recorded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Wording;
use crate::number::NumberFault;
use crate::value::{ValueFault, ValueType};

const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: \
     Attributes in the item have nested levels beyond supported limit";

/// The message of a value's fault.
pub fn fault(fault: &ValueFault, wording: Wording) -> String {
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
        ValueFault::Number { fault: NumberFault::NotNumeric, text } if text.is_empty() => empty_number(wording),
        ValueFault::Number { fault, text } => match wording {
            Wording::Present => number(*fault, text),
            Wording::Legacy => number(legacy_fault(*fault, text), text),
        },
        ValueFault::EmptySet(set_type) => match set_type {
            ValueType::Ss => {
                "One or more parameter values were invalid: An string set  may not be empty".to_owned()
            }
            ValueType::Ns => {
                "One or more parameter values were invalid: An number set  may not be empty".to_owned()
            }
            _ => "One or more parameter values were invalid: Binary sets should not be empty".to_owned(),
        },
        ValueFault::DuplicateInSet { set_type, members } => match wording {
            Wording::Present => duplicate_in_set(*set_type, members),
            Wording::Legacy => legacy_duplicate_in_set(*set_type, members),
        },
        ValueFault::EmptyStringInSet => {
            "One or more parameter values were invalid: An string set may not have a null string as a member".to_owned()
        }
        ValueFault::EmptyBinaryInSet => {
            "One or more parameter values were invalid: Binary sets may not contain null or empty values".to_owned()
        }
        ValueFault::TooDeep | ValueFault::TooDeepByOne(_) | ValueFault::TooDeepToRead => {
            TOO_DEEP.to_owned()
        }
    }
}

/// The legacy validator's fault of a number out of range. It parses numbers as Java's `BigDecimal`, whose
/// scale has 32 bits: a magnitude beyond them counts as tiny (observed: 1e2147483647), and an exponent beyond
/// them is not numeric.
fn legacy_fault(fault: NumberFault, text: &str) -> NumberFault {
    let exponent = text.split_once(['e', 'E']).and_then(|(_, exponent)| exponent.parse::<i64>().ok());
    match (fault, exponent) {
        (NumberFault::Overflow, Some(exponent)) if exponent == i64::from(i32::MAX) => NumberFault::Underflow,
        (NumberFault::Overflow | NumberFault::Underflow, Some(exponent))
            if i32::try_from(exponent).is_err() =>
        {
            NumberFault::NotNumeric
        }
        _ => fault,
    }
}

fn empty_number(wording: Wording) -> String {
    let colon = match wording {
        Wording::Present => ": ",
        Wording::Legacy => "",
    };
    format!("The parameter cannot be converted to a numeric value{colon}")
}

/// Observed: the members before the first repeated one are sorted, the others stay in the client's order, and
/// all are quoted. The message of a binary set lacks spaces, and that of a number set lacks the members.
fn duplicate_in_set(set_type: ValueType, members: &[String]) -> String {
    let repeated = members
        .iter()
        .enumerate()
        .find(|(place, member)| members.iter().take(*place).any(|other| other == *member));
    let sorted = repeated.map_or(0, |(place, _)| place);
    let (start, rest) = members.split_at_checked(sorted).unwrap_or((members, &[]));
    let mut start: Vec<&String> = start.iter().collect();
    // Binary members are base64 here and sort by their bytes.
    start.sort_by_cached_key(|member| match set_type {
        ValueType::Bs => BASE64.decode(member.as_bytes()).unwrap_or_default(),
        _ => member.as_bytes().to_vec(),
    });
    let quoted: Vec<String> = start.into_iter().chain(rest).map(|member| format!("\"{member}\"")).collect();
    let collection = match set_type {
        ValueType::Ns => "Input collection contains duplicates.".to_owned(),
        ValueType::Bs => format!("Input collection [{}]of type BS contains duplicates.", quoted.join(",")),
        _ => format!("Input collection [{}] contains duplicates.", quoted.join(", ")),
    };
    format!("One or more parameter values were invalid: {collection}")
}

/// Observed: the message of a binary set lacks a space, and that of a number set the prefix, the members and
/// the full stop.
fn legacy_duplicate_in_set(set_type: ValueType, members: &[String]) -> String {
    let rendered = members.join(", ");
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

/// The message of a number's fault; `text` is the number as the client wrote it.
pub fn number(fault: NumberFault, text: &str) -> String {
    match fault {
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

    type Make = fn() -> Result<AttributeValue, ValueFault>;

    #[test]
    fn the_legacy_validator_reads_exponents_of_32_bits() {
        for (number, present, legacy) in [
            ("1e126", NumberFault::Overflow, NumberFault::Overflow),
            ("1e2147483647", NumberFault::Overflow, NumberFault::Underflow),
            ("1e2147483648", NumberFault::Overflow, NumberFault::NotNumeric),
            ("1e-99999999999", NumberFault::Underflow, NumberFault::NotNumeric),
        ] {
            let message = |wording| fault(&AttributeValue::number(number).unwrap_err(), wording);
            assert_eq!(message(Wording::Present), super::number(present, number), "{number}");
            assert_eq!(message(Wording::Legacy), super::number(legacy, number), "{number}");
        }
    }

    #[test]
    fn messages_list_the_members_of_a_set_as_they_were_sent() {
        let text = |value: Result<AttributeValue, ValueFault>, wording| fault(&value.unwrap_err(), wording);
        let strings = || AttributeValue::string_set(vec!["b".to_owned(), "a".to_owned(), "b".to_owned()]);
        let binaries = || AttributeValue::binary_set(vec![vec![0xff], vec![0], vec![0]]);
        let numbers = || AttributeValue::number_set([2_i64, 1, 2].map(Number::from).to_vec());
        let rows: [(Make, &str, &str); 3] = [
            (
                strings,
                r#"One or more parameter values were invalid: Input collection ["a", "b", "b"] contains duplicates."#,
                "One or more parameter values were invalid: Input collection [b, a, b] contains duplicates.",
            ),
            (
                binaries,
                r#"One or more parameter values were invalid: Input collection ["AA==","/w==","AA=="]of type BS contains duplicates."#,
                "One or more parameter values were invalid: Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
            ),
            (
                numbers,
                "One or more parameter values were invalid: Input collection contains duplicates.",
                "Input collection contains duplicates",
            ),
        ];
        for (value, present, legacy) in rows {
            assert_eq!(text(value(), Wording::Present), present);
            assert_eq!(text(value(), Wording::Legacy), legacy);
        }
    }
}
