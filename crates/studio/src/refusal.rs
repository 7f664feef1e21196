//! Errors of the studio itself. Those of the database pass through as the API renders them.

use hyper::StatusCode;
use keywright_model::json::Json;
use keywright_model::{At, Fault};

use super::Unpermitted;

/// The kinds of errors; pages decide by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not a request of the studio's own page, or not of this account.
    Foreign,
    SignedOut,
    /// The visitor's policies do not allow it.
    Denied,
    ReadOnly,
    /// The page is of another build of the server.
    StaleBuild,
    /// Somebody else changed it meanwhile.
    Changed,
    NotFound,
    TooLarge,
    /// Something in the request is wrong.
    Faults,
    Busy,
    Cancelled,
    Internal,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::SignedOut => "signed-out",
            Self::Denied => "denied",
            Self::ReadOnly => "read-only",
            Self::StaleBuild => "stale-build",
            Self::Changed => "changed",
            Self::NotFound => "not-found",
            Self::TooLarge => "too-large",
            Self::Faults => "faults",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }

    pub(super) fn status(self) -> StatusCode {
        let code = match self {
            Self::Foreign | Self::Denied | Self::ReadOnly => 403,
            Self::SignedOut => 401,
            Self::StaleBuild | Self::Changed => 409,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::Faults => 422,
            Self::Busy => 429,
            Self::Cancelled => 499,
            Self::Internal => 500,
        };
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// An error for the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub(super) kind: Kind,
    /// What is wrong, and what to do.
    pub text: String,
    faults: Vec<Fault>,
    /// Further members, such as the text that somebody else saved.
    more: Vec<(&'static str, Json)>,
}

impl Refusal {
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), faults: Vec::new(), more: Vec::new() }
    }

    /// A fault of the request as a whole.
    pub(super) fn fault(text: impl Into<String>) -> Self {
        Self::new(Kind::Faults, text)
    }

    /// The faults of a text that the request has.
    pub(super) fn faults(faults: Vec<Fault>) -> Self {
        let text = match faults.as_slice() {
            [one] => one.text.clone(),
            several => format!("{} faults", several.len()),
        };
        Self { faults, ..Self::new(Kind::Faults, text) }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: Json) -> Self {
        self.more.push((name, value));
        self
    }

    /// `{"error": …}`
    pub(super) fn json(&self) -> Json {
        let mut error =
            Json::object([("kind", Json::text(self.kind.name())), ("text", Json::text(&self.text))]);
        if !self.faults.is_empty() {
            error.set("faults", Json::List(self.faults.iter().map(fault_json).collect()));
        }
        for (name, value) in &self.more {
            error.set(name, value.clone());
        }
        Json::object([("error", error)])
    }
}

/// The member of an error that says which statements decided.
pub(super) const EXPLANATION: &str = "explanation";

impl From<Unpermitted> for Refusal {
    fn from(reason: Unpermitted) -> Self {
        match reason {
            Unpermitted::SignedOut(text) => Self::new(Kind::SignedOut, text),
            Unpermitted::Denied { text, explanation } => {
                let denied = Self::new(Kind::Denied, text);
                match explanation {
                    Some(explanation) => denied.with(EXPLANATION, explanation),
                    None => denied,
                }
            }
            Unpermitted::Failed(error) => Self::new(Kind::Internal, error.message),
        }
    }
}

/// A fault with its place, counted from one.
pub(super) fn fault_json(Fault { at: At { line, column }, text }: &Fault) -> Json {
    Json::object([("line", Json::number(line)), ("column", Json::number(column)), ("text", Json::text(text))])
}

/// The call was ended: its page went away, or a newer call took its place.
pub(super) fn cancelled() -> Refusal {
    Refusal::new(Kind::Cancelled, "the call was cancelled")
}

/// A fault of ours, whose cause is in the log.
pub(super) fn internal() -> Refusal {
    Refusal::new(Kind::Internal, "something went wrong in the server: its log says more")
}
