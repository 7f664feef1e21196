//! A table as a client names it: by name or by Amazon Resource Name (ARN).
//!
//! It does not know which tables exist or who the caller is. The lookup of the table compares the region and
//! account of an ARN with the caller's.

use crate::error::Error;
use crate::limits::TABLE_NAME_BYTES_MAX;
use crate::messages::table;

const ARN_START: &str = "arn:";
const PARTITION: &str = "aws";
const SERVICE: &str = "dynamodb";
const RESOURCE_TYPE: &str = "table";

/// The region and account of an ARN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArnScope {
    /// The region's code, such as `eu-west-1`.
    pub region: String,
    /// The account's id.
    pub account: String,
}

/// A table as a client names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableRef {
    /// The name alone.
    pub name: String,
    /// Absent if the client wrote a name; boxed, as that is rare.
    arn: Option<Box<TableArn>>,
}

/// The ARN that a client wrote, as a text and read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TableArn {
    text: String,
    scope: ArnScope,
}

impl TableRef {
    /// The table of this name.
    pub const fn named(name: String) -> Self {
        Self { name, arn: None }
    }

    /// Like [`Self::parse`], of a text that nobody else needs.
    pub fn of(as_given: String) -> Result<Self, Error> {
        if as_given.starts_with(ARN_START) {
            return Self::parse(&as_given);
        }
        Ok(Self::named(as_given))
    }

    /// What the client wrote.
    pub fn as_given(&self) -> &str {
        self.arn.as_ref().map_or(&self.name, |arn| &arn.text)
    }

    /// The region and account in the ARN; absent if the client wrote a name.
    pub fn arn_scope(&self) -> Option<&ArnScope> {
        self.arn.as_ref().map(|arn| &arn.scope)
    }

    /// Parses an ARN; takes any other text as a name. The name's bounds are checked with the request's shape.
    pub fn parse(as_given: &str) -> Result<Self, Error> {
        if !as_given.starts_with(ARN_START) {
            return Ok(Self::named(as_given.to_owned()));
        }
        let parts: Vec<&str> = as_given.splitn(6, ':').collect();
        let &[_, partition, service, region, account, resource] = parts.as_slice() else {
            return Err(Error::validation(table::malformed_arn(as_given)));
        };
        if partition != PARTITION {
            return Err(Error::validation(table::wrong_arn_partition(as_given)));
        }
        let Some((resource_type, name)) = resource.split_once('/') else {
            return Err(Error::validation(table::malformed_arn(as_given)));
        };
        if service != SERVICE || !is_name(name) || account.is_empty() {
            return Err(Error::validation(table::malformed_arn(as_given)));
        }
        if resource_type != RESOURCE_TYPE {
            return Err(Error::validation(table::wrong_arn_resource_type(as_given)));
        }
        let scope = ArnScope { region: region.to_owned(), account: account.to_owned() };
        Ok(Self { name: name.to_owned(), arn: Some(Box::new(TableArn { text: as_given.to_owned(), scope })) })
    }
}

/// The rules of a table's name in an ARN; the message about a malformed ARN quotes them.
fn is_name(name: &str) -> bool {
    (1..=TABLE_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name_and_an_arn_is_parsed() {
        let name = TableRef::parse("Shop.v1").unwrap();
        assert_eq!((name.name.as_str(), name.as_given(), name.arn_scope()), ("Shop.v1", "Shop.v1", None));
        let arn = TableRef::parse("arn:aws:dynamodb:eu-west-1:123456789012:table/Shop").unwrap();
        assert_eq!(arn.name, "Shop");
        assert_eq!(arn.as_given(), "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop");
        assert_eq!(
            arn.arn_scope(),
            Some(&ArnScope { region: "eu-west-1".to_owned(), account: "123456789012".to_owned() })
        );
    }

    #[test]
    fn arns_of_other_resources_are_refused() {
        for (arn, start) in [
            ("arn:aws:dynamodb", "1 validation error detected: Value 'arn:aws:dynamodb' at 'tableName'"),
            ("arn:aws:s3:eu-west-1:1:table/x", "1 validation error detected: Value"),
            ("arn:aws:dynamodb:eu-west-1:1:table/x/index/y", "1 validation error detected: Value"),
            (
                "arn:aws-cn:dynamodb:cn-north-1:1:table/x",
                "1 validation error detected: Invalid AWS partition in",
            ),
            (
                "arn:aws:dynamodb:eu-west-1:1:backup/x",
                "1 validation error detected: Invalid resource type in",
            ),
        ] {
            let message = TableRef::parse(arn).unwrap_err().message;
            assert!(message.starts_with(start), "{message}");
        }
    }
}
