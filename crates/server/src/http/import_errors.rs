//! The call `POST /_keywright/import-errors`: the error log of an import.
//!
//! It knows the form of requests and responses, for the server and for `keywright import errors`.

use keywright_engine::{ImportErrors, SourceError};
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_wire::files::{ItemPointer, push_import_error};

pub(crate) const PATH: &str = "/_keywright/import-errors";
/// Bytes of a response at most: the errors that are kept, with their keys.
pub(super) const ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Reads a request's body: the import's ARN.
pub(super) fn read(body: &[u8]) -> Result<String, Error> {
    let fault = || Error::validation(r#"The body is not {"arn": "ARN"}"#);
    let body = std::str::from_utf8(body).ok().and_then(|text| Json::parse(text).ok()).ok_or_else(fault)?;
    match &body {
        Json::Object(members) => match members.as_slice() {
            [(name, arn)] if name == "arn" => arn.as_str().map(str::to_owned).ok_or_else(fault),
            _ => Err(fault()),
        },
        _ => Err(fault()),
    }
}

/// The body of a request.
pub(crate) fn request(arn: &str) -> Json {
    Json::object([("arn", Json::text(arn))])
}

/// The body of a response: how many errors there are, and the lines of those that are kept.
pub(super) fn shown(errors: &ImportErrors) -> Json {
    let lines = errors.kept.iter().map(|error| Json::text(line(errors, error)));
    Json::object([("count", Json::number(errors.count)), ("lines", Json::List(lines.collect()))])
}

/// A line of the log, without its end.
pub(crate) fn line(errors: &ImportErrors, error: &SourceError) -> String {
    let pointer = ItemPointer { bucket: &errors.bucket, key: &error.key, item_index: error.record };
    let mut line = Vec::new();
    push_import_error(&mut line, &pointer, &errors.arn, std::slice::from_ref(&error.text));
    String::from_utf8_lossy(&line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_the_lines_of_the_service_s_log() {
        let error = |record| SourceError { key: "in/1.json".to_owned(), record, text: "no".to_owned() };
        let errors = ImportErrors {
            arn: "arn".to_owned(),
            bucket: "b".to_owned(),
            count: 7,
            kept: vec![error(Some(6)), error(None)],
        };
        let shown = shown(&errors);
        assert_eq!(shown.get("count").and_then(Json::as_u64), Some(7));
        let lines: Vec<&str> = shown
            .get("lines")
            .map(Json::elements)
            .unwrap_or_default()
            .iter()
            .filter_map(Json::as_str)
            .collect();
        assert_eq!(
            lines,
            [
                r#"{"itemS3Pointer":{"bucket":"b","key":"in/1.json","itemIndex":6},"importArn":"arn","errorMessages":["no"]}"#,
                r#"{"itemS3Pointer":{"bucket":"b","key":"in/1.json"},"importArn":"arn","errorMessages":["no"]}"#,
            ]
        );
        assert_eq!(read(request("arn").compact().as_bytes()).ok().as_deref(), Some("arn"));
        assert!(read(b"{}").is_err());
    }
}
