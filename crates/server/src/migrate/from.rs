//! What `--from` names: a file, a table at an endpoint, or a folder of exports.

use std::path::PathBuf;
use std::str::FromStr;

use crate::client::endpoint::Endpoint;

const FORM: &str = "write FILE.db, https://ENDPOINT/TABLE or aws://TABLE?export=PLACE/ID";
const EXPORT_SCHEME: &str = "aws://";
const EXPORT_PARAMETER: &str = "?export=";

/// The source of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// A database file of DynamoDB Local or dynoxide.
    File(PathBuf),
    /// A table at an endpoint.
    Table { endpoint: Endpoint, table: String },
    /// Exports of the service.
    Exports(ExportPlace),
}

/// Where exports of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportPlace {
    /// The table that they are of.
    pub(crate) table: String,
    /// What holds their folders: a local folder, or `s3://BUCKET/PREFIX`.
    pub(crate) root: String,
    /// Their ids, the full export first.
    pub(crate) ids: Vec<String>,
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix(EXPORT_SCHEME) {
            return exports(rest).map(Self::Exports);
        }
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

fn exports(rest: &str) -> Result<ExportPlace, String> {
    let form = "write aws://TABLE?export=s3://BUCKET/PREFIX/AWSDynamoDB/ID, or a folder in place of s3://, with the \
                ids of increments after commas";
    let (table, place) = rest.split_once(EXPORT_PARAMETER).ok_or(form)?;
    let mut parts = place.split(',');
    let first = parts.next().unwrap_or_default().trim_end_matches('/');
    let (root, id) = first.rsplit_once('/').unwrap_or((".", first));
    let ids: Vec<String> = std::iter::once(id).chain(parts).map(str::to_owned).collect();
    if table.is_empty() || ids.iter().any(|id| id.is_empty() || id.contains('/')) {
        return Err(form.to_owned());
    }
    Ok(ExportPlace { table: table.to_owned(), root: root.to_owned(), ids })
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
        let exports = |root: &str, ids: &[&str]| {
            From::Exports(ExportPlace {
                table: "T".to_owned(),
                root: root.to_owned(),
                ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            })
        };
        assert_eq!(
            "aws://T?export=s3://b/p/AWSDynamoDB/1,2".parse(),
            Ok(exports("s3://b/p/AWSDynamoDB", &["1", "2"]))
        );
        assert_eq!("aws://T?export=x/AWSDynamoDB/1/".parse(), Ok(exports("x/AWSDynamoDB", &["1"])));
        for text in [
            "",
            "http://localhost:8000",
            "http://localhost:8000/",
            "ftp://x/T",
            "aws://T",
            "aws://?export=a/b",
            "aws://T?export=a/1,",
        ] {
            assert!(text.parse::<From>().is_err(), "{text}");
        }
    }
}
