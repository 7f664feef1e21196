//! Tables as the command line names them: a name, with or without account and region.

use std::str::FromStr;

use keywright_archive::BackupPath;

use crate::http::sets::NamedTable;

/// A table, or all of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableArgument(pub(super) NamedTable);

impl FromStr for TableArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (place, name) = match parts[..] {
            [name] => (None, name),
            [account, region, name] => (Some((account.to_owned(), region.to_owned())), name),
            _ => return Err("write NAME, or ACCOUNT/REGION/NAME".to_owned()),
        };
        Ok(Self(NamedTable { place, name: name.to_owned() }))
    }
}

impl TableArgument {
    /// Whether a backup is one of this table.
    pub(super) fn names(&self, path: &BackupPath) -> bool {
        let Self(NamedTable { place, name }) = self;
        let is_there = |(account, region): &(String, String)| {
            account == path.scope().account() && region == path.scope().region()
        };
        name == path.table() && place.as_ref().is_none_or(is_there)
    }
}

impl std::fmt::Display for TableArgument {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(NamedTable { place, name }) = self;
        match place {
            None => formatter.write_str(name),
            Some((account, region)) => write!(formatter, "{account}/{region}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_archive::Scope;

    use super::*;

    #[test]
    fn a_table_has_a_name_or_also_its_account_and_region() {
        let path = Scope::new("000000000001", "eu-west-1").unwrap().backup("Orders", "1-a").unwrap();
        let names = |text: &str| text.parse::<TableArgument>().unwrap().names(&path);
        assert!(names("Orders") && names("000000000001/eu-west-1/Orders"));
        assert!(!names("orders") && !names("000000000001/eu-west-2/Orders"));
        assert!("eu-west-1/Orders".parse::<TableArgument>().unwrap_err().contains("ACCOUNT/REGION/NAME"));
    }
}
