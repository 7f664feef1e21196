//! The call `POST /_keywright/jobs`: the jobs of the caller's account and region.
//!
//! It knows the form of requests and responses, for the server and for `keywright jobs`.

use keywright_engine::{JobState, JobView};
use keywright_model::json::Json;
use keywright_semantics::error::Error;

use super::rollbacks;

pub(crate) const PATH: &str = "/_keywright/jobs";
/// Jobs of one response, if the request does not ask for fewer.
const JOBS_MAX: usize = 1_000;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    One(String),
    /// The newest, at most so many.
    Newest(usize),
}

/// Reads a request's body.
pub(super) fn read(body: &[u8]) -> Result<Question, Error> {
    let fault = || Error::validation(r#"The body is neither {"id": "ID"} nor {"limit": NUMBER} nor {}"#);
    let body = std::str::from_utf8(body).ok().and_then(|text| Json::parse(text).ok()).ok_or_else(fault)?;
    let Json::Object(members) = &body else { return Err(fault()) };
    match members.as_slice() {
        [] => Ok(Question::Newest(JOBS_MAX)),
        [(name, id)] if name == "id" => id.as_str().map(|id| Question::One(id.to_owned())).ok_or_else(fault),
        [(name, limit)] if name == "limit" => {
            let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok()).ok_or_else(fault)?;
            Ok(Question::Newest(limit.min(JOBS_MAX)))
        }
        _ => Err(fault()),
    }
}

/// The body of a request.
pub(crate) fn request(question: &Question) -> Json {
    match question {
        Question::One(id) => Json::object([("id", Json::text(id))]),
        Question::Newest(limit) => Json::object([("limit", Json::number(limit))]),
    }
}

/// The body of a response.
pub(super) fn shown(jobs: &[JobView]) -> Json {
    Json::object([("jobs", Json::List(jobs.iter().map(job).collect()))])
}

/// A job. Times are milliseconds since 1970.
pub(super) fn job(job: &JobView) -> Json {
    let mut shown = Json::object([
        ("id", Json::text(&job.id)),
        ("kind", Json::text(job.kind.name())),
        ("table", Json::text(&job.table)),
        ("state", Json::text(state_name(&job.state))),
        ("items", Json::number(job.items)),
        ("bytes", Json::number(job.bytes)),
        ("created", Json::number(job.created_ms)),
    ]);
    if let Some(errors) = job.errors {
        shown.set("errors", Json::number(errors));
    }
    if let Some(backup) = &job.backup {
        shown.set("backup", Json::text(backup));
    }
    if let Some(reason) = &job.waits_for {
        shown.set("waits-for", Json::text(reason));
    }
    if let JobState::Failed { code, message } = &job.state {
        let error = Json::object([("code", Json::text(code)), ("message", Json::text(message))]);
        shown.set("error", error);
    }
    for (name, time) in [("started", job.started_ms), ("ended", job.ended_ms)] {
        if let Some(ms) = time {
            shown.set(name, Json::number(ms));
        }
    }
    if let Some(counts) = &job.rollback {
        shown.set("rollback", rollbacks::counts(counts));
    }
    shown
}

const fn state_name(state: &JobState) -> &'static str {
    match state {
        JobState::Waiting => "waiting",
        JobState::Running => "running",
        JobState::Completed => "completed",
        JobState::Failed { .. } => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_asks_for_one_job_or_for_the_newest() {
        for question in [Question::One("00017-ab".to_owned()), Question::Newest(7)] {
            assert_eq!(read(request(&question).compact().as_bytes()).ok(), Some(question));
        }
        assert_eq!(read(b"{}").ok(), Some(Question::Newest(JOBS_MAX)));
        for body in ["", "[]", r#"{"id": 7}"#, r#"{"limit": "x"}"#, r#"{"id": "a", "limit": 1}"#] {
            assert!(read(body.as_bytes()).expect_err(body).message.contains("limit"), "{body}");
        }
    }
}
