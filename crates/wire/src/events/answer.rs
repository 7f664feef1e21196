//! What a function answers about a batch.

use serde_json::Value;

use crate::json::values_max;

/// Values in an answer, each of which takes many times its bytes. The largest state of a window has fewer.
const VALUES_MAX: usize = 1_000_000;

/// What an answer says about the records of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchAnswer {
    /// All are done.
    Done,
    /// Those with these sequence numbers are not.
    Failed(Vec<String>),
    /// It cannot be read: all count as failed.
    Unreadable,
}

/// What an answer says about a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowAnswer {
    /// The state to pass on, as JSON.
    State(String),
    /// There is none.
    Missing,
}

/// Reads `{"batchItemFailures": [{"itemIdentifier": "…"}]}`. An empty answer, and no list or an empty one,
/// mean success; an identifier that is empty or missing means that all have failed.
pub fn batch_answer(body: &[u8]) -> BatchAnswer {
    if body.iter().all(u8::is_ascii_whitespace) {
        return BatchAnswer::Done;
    }
    let Some(answer) = parsed(body) else { return BatchAnswer::Unreadable };
    let failures = match answer {
        Value::Null => return BatchAnswer::Done,
        Value::Object(mut members) => members.remove("batchItemFailures").unwrap_or(Value::Null),
        _ => return BatchAnswer::Unreadable,
    };
    let failures = match failures {
        Value::Null => return BatchAnswer::Done,
        Value::Array(failures) if failures.is_empty() => return BatchAnswer::Done,
        Value::Array(failures) => failures,
        _ => return BatchAnswer::Unreadable,
    };
    let identifier = |failure: &Value| {
        failure.get("itemIdentifier").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned)
    };
    let identifiers: Option<Vec<String>> = failures.iter().map(identifier).collect();
    identifiers.map_or(BatchAnswer::Unreadable, BatchAnswer::Failed)
}

fn parsed(body: &[u8]) -> Option<Value> {
    (values_max(body) <= VALUES_MAX).then(|| serde_json::from_slice(body).ok()).flatten()
}

/// Reads the state of a window.
pub fn window_answer(body: &[u8]) -> WindowAnswer {
    match parsed(body).unwrap_or_default().get("state") {
        Some(state) => WindowAnswer::State(state.to_string()),
        None => WindowAnswer::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_what_failed_or_all_is_done() {
        for body in ["", "null", "{}", r#"{"batchItemFailures":null}"#, r#"{"batchItemFailures":[]}"#] {
            assert_eq!(batch_answer(body.as_bytes()), BatchAnswer::Done, "{body}");
        }
        let body = br#"{"batchItemFailures":[{"itemIdentifier":"2"},{"itemIdentifier":"1"}]}"#;
        assert_eq!(batch_answer(body), BatchAnswer::Failed(vec!["2".to_owned(), "1".to_owned()]));
        let large = format!("[{}0]", "0,".repeat(VALUES_MAX));
        for body in [
            large.as_str(),
            "{",
            "\"text\"",
            r#"{"batchItemFailures":{}}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#,
            r#"{"batchItemFailures":[{"id":"1"}]}"#,
        ] {
            assert_eq!(batch_answer(body.as_bytes()), BatchAnswer::Unreadable, "{body}");
        }
    }

    #[test]
    fn a_state_is_passed_on_as_it_is() {
        let state = WindowAnswer::State("{\"sum\":7}".to_owned());
        assert_eq!(window_answer(br#"{"state": {"sum": 7}, "x": 1}"#), state);
        assert_eq!(window_answer(b"{}"), WindowAnswer::Missing);
        assert_eq!(window_answer(b"not JSON"), WindowAnswer::Missing);
    }
}
