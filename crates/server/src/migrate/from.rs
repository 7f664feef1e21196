//! What `--from` names: a file, or a table at an endpoint.

use std::path::PathBuf;
use std::str::FromStr;

use crate::client::endpoint::Endpoint;

const FORM: &str = "write FILE.db, or https://ENDPOINT/TABLE";

/// The source of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A database file of DynamoDB Local or dynoxide.
    File(PathBuf),
    /// A table at an endpoint.
    Table { endpoint: Endpoint, table: String },
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("http://") || text.starts_with("https://") {
            let parts = text.rsplit_once('/').filter(|(endpoint, _)| endpoint.contains("://"));
            let (endpoint, table) = parts
                .filter(|(_, table)| !table.is_empty())
                .ok_or("name the table too: https://ENDPOINT/TABLE")?;
            // Of `https://host` alone, the last part is the host.
            if endpoint.ends_with('/') {
                return Err("name the table too: https://ENDPOINT/TABLE".to_owned());
            }
            return Ok(Self::Table { endpoint: endpoint.parse()?, table: table.to_owned() });
        }
        if text.is_empty() || text.contains("://") {
            return Err(FORM.to_owned());
        }
        Ok(Self::File(PathBuf::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_source_has_its_form() {
        assert_eq!("data/x.db".parse(), Ok(From::File(PathBuf::from("data/x.db"))));
        let table =
            From::Table { endpoint: "http://localhost:8000".parse().unwrap(), table: "Orders".to_owned() };
        assert_eq!("http://localhost:8000/Orders".parse(), Ok(table));
        for text in ["", "http://localhost:8000", "http://localhost:8000/", "ftp://x/T"] {
            assert!(text.parse::<From>().is_err(), "{text}");
        }
    }
}
