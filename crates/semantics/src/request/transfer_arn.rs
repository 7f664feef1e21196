//! An export, an import or a bulk operation as a client names it: by its Amazon Resource Name (ARN).
//!
//! It does not know which of them exist. Each operation has its own answer to an ARN that is none, or that is
//! of another region.

use super::backups::is_id;
use super::table_ref::ArnScope;

/// The parts of such an ARN.
///
/// Invariant: the id is the time of the request in milliseconds since 1970 as 14 digits, a hyphen and eight
/// lower hexadecimal digits. So ids are ordered by time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransferArn {
    /// What the client wrote.
    pub as_given: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The name of the table.
    pub table_name: String,
    /// The id.
    pub id: String,
}

impl TransferArn {
    /// Parses `arn:aws:dynamodb:region:account:table/name/kind/id`; `None` if the text is no such ARN.
    pub(super) fn parse(as_given: &str, kind: &str) -> Option<Self> {
        let parts: Vec<&str> = as_given.splitn(6, ':').collect();
        let &["arn", "aws", "dynamodb", region, account, resource] = parts.as_slice() else { return None };
        let (table_name, rest) = resource.strip_prefix("table/")?.split_once('/')?;
        let id = rest.strip_prefix(kind)?.strip_prefix('/')?;
        (!table_name.is_empty() && is_id(id)).then(|| Self {
            as_given: as_given.to_owned(),
            scope: ArnScope { region: region.to_owned(), account: account.to_owned() },
            table_name: table_name.to_owned(),
            id: id.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_arn_of_the_kind_is_parsed() {
        let arn = "arn:aws:dynamodb:eu-west-1:1:table/Shop/export/01768385930622-9ab1c2d3";
        let parsed = TransferArn::parse(arn, "export").unwrap();
        assert_eq!((parsed.table_name.as_str(), parsed.id.as_str()), ("Shop", "01768385930622-9ab1c2d3"));
        assert_eq!(parsed.scope, ArnScope { region: "eu-west-1".to_owned(), account: "1".to_owned() });
        for (text, kind) in [
            (arn, "import"),
            ("arn:aws:dynamodb:eu-west-1:1:table/Shop", "export"),
            ("arn:aws:dynamodb:eu-west-1:1:table/Shop/export/1-2", "export"),
            ("arn:aws:s3:eu-west-1:1:table/Shop/export/01768385930622-9ab1c2d3", "export"),
            ("Shop", "export"),
        ] {
            assert_eq!(TransferArn::parse(text, kind), None, "{text}");
        }
    }
}
