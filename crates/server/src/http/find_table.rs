//! The call `POST /_keywright/find-table`: the regions in which the caller's account has a table of a name.
//!
//! It knows the form of requests and responses. `http` authenticates them as requests to DynamoDB, so that
//! nobody learns anything of another account than their own.

use keywright_engine::{Namespace, Region};
use serde::{Deserialize, Serialize};

pub(crate) const PATH: &str = "/_keywright/find-table";
/// Regions that a response names.
pub(crate) const REGIONS_MAX: usize = 20;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Body {
    table: String,
}

/// What is known of a table of this name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Found {
    /// The caller's account.
    pub(crate) account: String,
    /// The region of the request.
    pub(crate) region: String,
    /// The regions in which the account has such a table, in order.
    pub(crate) regions: Vec<String>,
}

/// The table that a request names.
pub(crate) fn read(body: &[u8]) -> Result<String, String> {
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| format!(r#"the body is not {{"table": "NAME"}}: {error}"#))?;
    Ok(body.table)
}

/// The body of a request.
pub(crate) fn request(table: &str) -> Vec<u8> {
    serde_json::json!({ "table": table }).to_string().into_bytes()
}

/// The body of a response.
pub(crate) fn shown(namespace: &Namespace, regions: &[Region]) -> Vec<u8> {
    let found = Found {
        account: namespace.account.to_string(),
        region: namespace.region.to_string(),
        regions: regions.iter().map(ToString::to_string).collect(),
    };
    serde_json::json!(found).to_string().into_bytes()
}

/// The body of a response to a request that cannot be read.
pub(crate) fn refusal(message: &str) -> Vec<u8> {
    serde_json::json!({ "message": message }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_names_a_table_and_nothing_else() {
        assert_eq!(read(&request("Orders")), Ok("Orders".to_owned()));
        for body in ["", "{}", r#"{"table": 1}"#, r#"{"table": "a", "account": "b"}"#] {
            assert!(read(body.as_bytes()).unwrap_err().contains("table"), "{body}");
        }
    }
}
