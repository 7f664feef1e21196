//! Requests to the database, as calls on models send them.

use std::sync::mpsc::Receiver;

use keywright_model::json::Json;
use keywright_wire::{Operation, is_served};

use super::frames::{CHANGES, OK};
use super::refusal::{self, Kind, Refusal};
use super::worker;

/// The database as one caller sees it, from a process that executes calls.
pub(super) struct Tables {
    /// None where there is no database.
    pub(super) answers: Option<Receiver<(String, Vec<u8>)>>,
}

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    /// Without the namespace.
    pub(super) kind: String,
    pub(super) text: String,
    /// Which statements denied the request.
    explanation: Option<Json>,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        let refusal = Self::new(Kind::Faults, format!("{}: {}", error.kind, error.text));
        match error.explanation {
            Some(explanation) => refusal.with(refusal::EXPLANATION, explanation),
            None => refusal,
        }
    }
}

/// A served operation by its name.
pub(super) fn operation(name: &str) -> Option<Operation> {
    Operation::from_name(name).filter(|operation| is_served(*operation))
}

impl Tables {
    /// Sends a request and waits for its answer.
    pub(super) fn ask(&self, name: &str, request: &Json) -> Result<Result<Json, ApiError>, Refusal> {
        let answers = self.answers.as_ref().ok_or_else(|| Refusal::fault("there is no database here"))?;
        let (answer, body) = worker::ask(answers, name, request);
        if answer == CHANGES {
            return Err(Refusal::new(Kind::ReadOnly, "the studio is read-only"));
        }
        let text = std::str::from_utf8(&body).map_err(|_| refusal::internal())?;
        let json = Json::parse(text).map_err(|_| refusal::internal())?;
        if answer == OK {
            return Ok(Ok(json));
        }
        let kind = json.str_at("__type").unwrap_or_default();
        let text = json.str_at("message").or_else(|| json.str_at("Message")).unwrap_or_default();
        let kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
        let explanation = json.get(refusal::EXPLANATION).cloned();
        Ok(Err(ApiError { kind, text: text.to_owned(), explanation }))
    }
}
