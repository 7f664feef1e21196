//! A stream as a client names it: by its Amazon Resource Name (ARN).
//!
//! It does not know which streams exist or which tables the caller may see.

use super::table_ref::ArnScope;
use crate::error::Error;
use crate::messages::stream;

/// The parts of a stream's ARN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamRef {
    /// What the client wrote.
    pub arn: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The name of the stream's table.
    pub table_name: String,
    /// The label that tells the streams of one table apart: the time of creation.
    pub label: String,
}

impl StreamRef {
    /// Parses `arn:aws:dynamodb:region:account:table/name/stream/label`.
    pub fn parse(arn: &str) -> Result<Self, Error> {
        Self::read(arn).ok_or_else(|| Error::validation(stream::INVALID_ARN))
    }

    /// Like [`Self::parse`]; `None` for an ARN that is not well-formed.
    pub fn read(arn: &str) -> Option<Self> {
        let rest = arn.strip_prefix("arn:aws:dynamodb:")?;
        let (region, rest) = rest.split_once(':')?;
        let (account, resource) = rest.split_once(':')?;
        let (table_name, label) = resource.strip_prefix("table/")?.split_once("/stream/")?;
        let named = !region.is_empty() && !account.is_empty() && !table_name.is_empty() && !label.is_empty();
        (named && !table_name.contains('/')).then(|| Self {
            arn: arn.to_owned(),
            scope: ArnScope { region: region.to_owned(), account: account.to_owned() },
            table_name: table_name.to_owned(),
            label: label.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streams_arn_is_parsed() {
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/stream/2026-01-02T03:04:05.678";
        let stream = StreamRef::parse(arn).unwrap();
        assert_eq!((stream.table_name.as_str(), stream.label.as_str()), ("Shop", "2026-01-02T03:04:05.678"));
        assert_eq!(stream.scope.region, "eu-west-1");
    }

    #[test]
    fn arns_of_other_resources_are_refused() {
        for arn in [
            "sdfadfsdfnlfkajakfgjalksfgklasjklasdjfklasdfasdfgasf",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/stream/",
            "arn:aws:kinesis:eu-west-1:123456789012:stream/Shop/stream/label",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/index/i/stream/label",
        ] {
            assert_eq!(StreamRef::parse(arn).unwrap_err().message, stream::INVALID_ARN, "{arn}");
        }
    }
}
