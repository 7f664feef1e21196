//! Operators of conditions by their names.
//!
//! Source: IAM user guide, condition operators. It does not know values.

/// How the values of a key are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    /// The key has one value.
    Single,
    /// Every value of the request.
    ForAllValues,
    /// At least one value of the request.
    ForAnyValue,
}

/// What one value is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    StringEquals,
    StringEqualsIgnoreCase,
    StringLike,
    Numeric(Order),
    Date(Order),
    Bool,
    Binary,
    IpAddress,
    Arn,
    Null,
}

/// How two ordered values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    /// Whether a request's value stands so to the policy's.
    pub(crate) fn holds<T: Ord>(self, given: &T, wanted: &T) -> bool {
        match self {
            Self::Equal => given == wanted,
            Self::Less => given < wanted,
            Self::LessOrEqual => given <= wanted,
            Self::Greater => given > wanted,
            Self::GreaterOrEqual => given >= wanted,
        }
    }
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    pub(crate) quantifier: Quantifier,
    pub(crate) test: Test,
    /// Whether none of the policy's values may match.
    pub(crate) is_negated: bool,
    /// Whether an absent key matches.
    pub(crate) if_exists: bool,
}

impl Operator {
    /// The operator of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (quantifier, rest) = match name.split_once(':') {
            Some(("ForAllValues", rest)) => (Quantifier::ForAllValues, rest),
            Some(("ForAnyValue", rest)) => (Quantifier::ForAnyValue, rest),
            Some(_) => return None,
            None => (Quantifier::Single, name),
        };
        let (rest, if_exists) = match rest.strip_suffix("IfExists") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (test, is_negated) = test(rest)?;
        if test == Test::Null && (if_exists || quantifier != Quantifier::Single) {
            return None;
        }
        Some(Self { quantifier, test, is_negated, if_exists })
    }
}

fn test(name: &str) -> Option<(Test, bool)> {
    let test = match name {
        "StringEquals" => Test::StringEquals,
        "StringNotEquals" => return Some((Test::StringEquals, true)),
        "StringEqualsIgnoreCase" => Test::StringEqualsIgnoreCase,
        "StringNotEqualsIgnoreCase" => return Some((Test::StringEqualsIgnoreCase, true)),
        "StringLike" => Test::StringLike,
        "StringNotLike" => return Some((Test::StringLike, true)),
        "Bool" => Test::Bool,
        "BinaryEquals" => Test::Binary,
        "IpAddress" => Test::IpAddress,
        "NotIpAddress" => return Some((Test::IpAddress, true)),
        "ArnEquals" | "ArnLike" => Test::Arn,
        "ArnNotEquals" | "ArnNotLike" => return Some((Test::Arn, true)),
        "Null" => Test::Null,
        _ => {
            let (of, rest): (fn(Order) -> Test, &str) = match name.strip_prefix("Numeric") {
                Some(rest) => (Test::Numeric, rest),
                None => (Test::Date, name.strip_prefix("Date")?),
            };
            if rest == "NotEquals" {
                return Some((of(Order::Equal), true));
            }
            of(order(rest)?)
        }
    };
    Some((test, false))
}

fn order(name: &str) -> Option<Order> {
    Some(match name {
        "Equals" => Order::Equal,
        "LessThan" => Order::Less,
        "LessThanEquals" => Order::LessOrEqual,
        "GreaterThan" => Order::Greater,
        "GreaterThanEquals" => Order::GreaterOrEqual,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_found_by_their_exact_names() {
        for name in
            ["StringNotLike", "ForAllValues:StringEqualsIfExists", "DateNotEquals", "NumericLessThanEquals"]
        {
            assert!(Operator::parse(name).is_some(), "{name}");
        }
        for name in
            ["stringEquals", "NullIfExists", "ForAllValues:Null", "ForSome:Bool", "Numeric", "", "DateLike"]
        {
            assert_eq!(Operator::parse(name), None, "{name}");
        }
    }
}
