//! One value of a condition, read as its operator needs it.
//!
//! It does not know keys, nor how several values combine.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::number::Number;

use super::moment;
use super::operator::{Order, Test};
use crate::arn::Arn;
use crate::arn_pattern::ArnPattern;
use crate::context::Facts;
use crate::network::Network;
use crate::template::{Case, Template, Variable, Variables, Wildcards, pieces};

/// A value that a policy wants.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Text(Template, Case),
    Number(Order, Number),
    Moment(Order, i64),
    Bytes(Vec<u8>),
    Addresses(Network),
    Arn(ArnPattern),
    /// Whether the key is to be absent.
    Null(bool),
}

impl Wanted {
    /// The value of a text; none if the operator cannot read it.
    pub(super) fn parse(test: Test, value: &str, variables: Variables) -> Option<Self> {
        let template = |wildcards, case| {
            let pieces = pieces(value, wildcards, variables).ok()?;
            Some(Self::Text(Template::of(pieces, case), case))
        };
        match test {
            Test::StringEquals => template(Wildcards::Literal, Case::Exact),
            Test::StringEqualsIgnoreCase | Test::Bool => template(Wildcards::Literal, Case::Ignored),
            Test::StringLike => template(Wildcards::Match, Case::Exact),
            Test::Numeric(order) => Number::parse(value).ok().map(|number| Self::Number(order, number)),
            Test::Date(order) => moment::parse(value).map(|moment| Self::Moment(order, moment)),
            Test::Binary => STANDARD.decode(value).ok().map(Self::Bytes),
            Test::IpAddress => Network::parse(value).map(Self::Addresses),
            Test::Arn => ArnPattern::parse(value, variables).ok().map(Self::Arn),
            Test::Null if value.eq_ignore_ascii_case("true") => Some(Self::Null(true)),
            Test::Null if value.eq_ignore_ascii_case("false") => Some(Self::Null(false)),
            Test::Null => None,
        }
    }

    /// Whether it wants a key to be as absent as it is.
    pub(super) fn is_null(&self, is_absent: bool) -> bool {
        matches!(self, Self::Null(wanted) if *wanted == is_absent)
    }

    /// Whether a request's value fits. One that is not of the operator's type fits nothing.
    pub(super) fn fits(&self, value: &str, facts: &Facts<'_>) -> bool {
        match self {
            Self::Text(template, case) => template.matches(value, *case, facts),
            Self::Number(order, wanted) => {
                Number::parse(value).is_ok_and(|given| order.holds(&given, wanted))
            }
            Self::Moment(order, wanted) => {
                moment::parse(value).is_some_and(|given| order.holds(&given, wanted))
            }
            Self::Bytes(wanted) => STANDARD.decode(value).is_ok_and(|given| given == *wanted),
            Self::Addresses(network) => {
                value.parse::<IpAddr>().is_ok_and(|address| network.contains(address))
            }
            Self::Arn(pattern) => Arn::parse(value).is_some_and(|arn| pattern.matches_arn(&arn, facts)),
            Self::Null(_) => false,
        }
    }

    /// The variables in it.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let of_text = match self {
            Self::Text(template, _) => Some(template.variables()),
            _ => None,
        };
        let of_arn = match self {
            Self::Arn(pattern) => Some(pattern.variables()),
            _ => None,
        };
        of_text.into_iter().flatten().chain(of_arn.into_iter().flatten())
    }
}
