//! The call `POST /_keywright/table-changes`: who changed a table, from the audit log of this server.
//!
//! It knows the form of requests and responses; `audit` finds the records.

use keywright_engine::Namespace;
use keywright_model::json::Json;
use serde::Deserialize;
use serde_json::Value;

use crate::audit::{self, Newest, Wanted};

pub(super) const PATH: &str = "/_keywright/table-changes";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    table: String,
}

/// Whose changes a request asks for.
pub(super) fn read(namespace: &Namespace, body: &[u8]) -> Result<Wanted, String> {
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| format!(r#"the body is not {{"table": "NAME"}}: {error}"#))?;
    let Namespace { account, region } = namespace;
    let arn = format!("arn:aws:dynamodb:{region}:{account}:table/{}", body.table);
    Ok(Wanted { arn, account: account.to_string() })
}

/// The body of a response; without an audit log nothing is known.
pub(super) fn shown(newest: Option<&Newest>) -> Json {
    let changes = newest.map_or(&[][..], |newest| &newest.records).iter().map(change).collect();
    let mut shown =
        Json::object([("logged", Json::Bool(newest.is_some())), ("changes", Json::List(changes))]);
    if let Some(newest) = newest {
        shown.set("complete", Json::Bool(newest.is_whole));
        if let Some(since) = &newest.since {
            shown.set("since", Json::text(since));
        }
    }
    shown
}

/// A record of a change, or of records that are missing.
fn change(record: &Value) -> Json {
    let text = |path: &str| record.pointer(path).and_then(Value::as_str);
    let given = |path: &str| Json::text(text(path).unwrap_or_default());
    let mut shown = Json::object([("at", given("/eventTime")), ("event", given("/eventName"))]);
    if let Some(missing) = audit::missing_in(record) {
        shown.set("missing", Json::number(missing));
        return shown;
    }
    for (name, path) in [
        ("who", "/userIdentity/arn"),
        ("from", "/sourceIPAddress"),
        ("error", "/errorCode"),
        ("message", "/errorMessage"),
    ] {
        if let Some(text) = text(path) {
            shown.set(name, Json::text(text));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use keywright_engine::{AccountId, Region};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_names_a_table_of_the_callers_account_and_region() {
        let namespace = Namespace { account: AccountId::from("1"), region: Region::stored("r") };
        let wanted = read(&namespace, br#"{"table": "Orders"}"#).unwrap();
        assert_eq!((&*wanted.arn, &*wanted.account), ("arn:aws:dynamodb:r:1:table/Orders", "1"));
        for body in ["", "{}", r#"{"table": "a", "account": "b"}"#] {
            assert!(read(&namespace, body.as_bytes()).unwrap_err().contains("table"), "{body}");
        }
    }

    #[test]
    fn an_answer_has_who_changed_what_or_says_that_there_is_no_log() {
        assert_eq!(shown(None).compact(), r#"{"logged":false,"changes":[]}"#);
        let denied = json!({"eventTime": "T", "eventName": "DeleteTable", "errorCode": "AccessDeniedException",
            "userIdentity": {"arn": "arn:aws:iam::1:user/Ann"}, "sourceIPAddress": "10.0.0.7"});
        let gap = json!({"eventTime": "U", "eventName": "RecordsMissing", "eventSource": "keywright",
            "sourceIPAddress": "keywright", "serviceEventDetails": {"records": 7}});
        let newest = Newest { records: vec![denied, gap], is_whole: false, since: Some("S".to_owned()) };
        assert_eq!(
            shown(Some(&newest)).compact(),
            r#"{"logged":true,"changes":[{"at":"T","event":"DeleteTable","who":"arn:aws:iam::1:user/Ann","from":"10.0.0.7","error":"AccessDeniedException"},{"at":"U","event":"RecordsMissing","missing":7}],"complete":false,"since":"S"}"#
        );
    }
}
