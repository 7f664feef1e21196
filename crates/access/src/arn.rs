//! Amazon Resource Names in their six fields, and what an action is done to: one of them, or everything.
//!
//! It does not know which resources exist, nor patterns.

use std::borrow::Cow;
use std::fmt;

/// The partition of every resource that is served here.
pub const PARTITION: &str = "aws";

/// Fields of an ARN, the word `arn` included.
const FIELDS: usize = 6;

/// An ARN. The resource is all that follows the fifth colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arn<'a> {
    /// `aws`, `aws-cn`, …
    pub partition: Cow<'a, str>,
    /// The service's prefix, as in actions.
    pub service: Cow<'a, str>,
    /// Empty for global resources.
    pub region: Cow<'a, str>,
    /// The account that owns the resource.
    pub account: Cow<'a, str>,
    /// The kind and name of the resource, such as `table/Music`.
    pub resource: Cow<'a, str>,
}

impl<'a> Arn<'a> {
    /// The ARN of a text; none if it does not have six fields or does not begin with `arn`.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.splitn(FIELDS, ':');
        if fields.next() != Some("arn") {
            return None;
        }
        let mut next = || fields.next().map(Cow::Borrowed);
        let (partition, service, region) = (next()?, next()?, next()?);
        Some(Self { partition, service, region, account: next()?, resource: next()? })
    }

    /// The five fields after the word `arn`, in their order.
    pub(crate) fn fields(&self) -> [&str; FIELDS - 1] {
        [&self.partition, &self.service, &self.region, &self.account, &self.resource]
    }
}

impl fmt::Display for Arn<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [partition, service, region, account, resource] = self.fields();
        write!(formatter, "arn:{partition}:{service}:{region}:{account}:{resource}")
    }
}

/// What an action is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target<'r> {
    /// No single resource. A policy allows it by `*` alone.
    Everything,
    /// One resource.
    One(Arn<'r>),
}

impl<'r> Target<'r> {
    /// The target of a text: `*` or an ARN.
    pub fn parse(text: &'r str) -> Option<Self> {
        if text == "*" { Some(Self::Everything) } else { Arn::parse(text).map(Self::One) }
    }

    /// The account that owns it; none for everything.
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Everything => None,
            Self::One(arn) => Some(&arn.account),
        }
    }
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => formatter.write_str("*"),
            Self::One(arn) => arn.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_has_six_fields_and_its_last_may_have_colons() {
        let text = "arn:aws:dynamodb:eu-west-1:123456789012:table/T/stream/2026-01-01T00:00:00.000";
        let arn = Arn::parse(text).unwrap();
        assert_eq!(arn.resource, "table/T/stream/2026-01-01T00:00:00.000");
        assert_eq!(arn.to_string(), text);
        for text in ["", "arn", "arn:aws:s3::", "ARN:aws:s3:::b", "table/T", "*"] {
            assert_eq!(Arn::parse(text), None, "{text}");
        }
        assert_eq!(Target::parse("*"), Some(Target::Everything));
    }
}
