//! Requests to the database from a thread that may block, as calls on models send them.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use keywright_engine::Caller;
use keywright_model::json::Json;
use keywright_wire::Operation;
use tokio::runtime::Handle;

use super::refusal::{Kind, Refusal};
use super::{Access, Api, Call, Called, jobs};
use crate::request_head::RequestHead;
use crate::response::ResponsePrefs;

/// The database as one caller sees it.
pub(super) struct Tables {
    pub(super) api: Arc<dyn Api>,
    pub(super) caller: Caller,
    pub(super) access: Access,
}

/// An error of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    /// Without the namespace.
    pub(super) kind: String,
    pub(super) text: String,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::new(Kind::Faults, format!("{}: {}", error.kind, error.text))
    }
}

/// A served operation by its name.
pub(super) fn operation(name: &str) -> Option<Operation> {
    Operation::ALL.iter().copied().find(|operation| operation.name() == name && operation.is_served())
}

impl Tables {
    /// Sends a request and waits for its answer. For threads that may block.
    pub(super) fn ask(&self, name: &str, request: &Json) -> Result<Result<Json, ApiError>, Refusal> {
        let operation = operation(name).ok_or_else(jobs::internal)?;
        let body = Bytes::from(request.compact());
        let call = Call { operation, caller: self.caller.clone(), body, access: self.access };
        let head = RequestHead::default();
        let called = Handle::current().block_on(self.api.call(call, ResponsePrefs::read(&head, false)));
        let Called::Answered { response, .. } = called else {
            return Err(Refusal::new(Kind::ReadOnly, "the studio is read-only"));
        };
        let is_good = response.status().is_success();
        let body = Handle::current().block_on(response.into_body().collect());
        let body = body.map_err(|_| jobs::internal())?.to_bytes();
        let text = std::str::from_utf8(&body).map_err(|_| jobs::internal())?;
        let json = Json::parse(text).map_err(|_| jobs::internal())?;
        if is_good {
            return Ok(Ok(json));
        }
        let kind = json.str_at("__type").unwrap_or_default();
        let text = json.str_at("message").or_else(|| json.str_at("Message")).unwrap_or_default();
        let kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
        Ok(Err(ApiError { kind, text: text.to_owned() }))
    }
}
