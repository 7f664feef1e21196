//! Bodies of responses: whole, or line by line while a job runs.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use keywright_connection::idle_timeout::{Activity, Phase};
use keywright_model::json::Json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::cancel::Cancel;
use super::refusal::Refusal;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

/// The body of a response.
pub enum Reply {
    /// In one piece.
    Whole(Full<Bytes>),
    /// As its lines are made.
    Lines(Lines),
}

/// The lines of a job. Dropping them, as a closed connection does, cancels it.
pub struct Lines {
    pub(super) receiver: mpsc::Receiver<Bytes>,
    pub(super) cancel: Arc<Cancel>,
    /// The connection's: it is busy while the job runs, and not idle.
    pub(super) activity: Arc<Activity>,
    pub(super) has_begun: bool,
    /// Counts the call for its account until this is dropped.
    pub(super) counted: Option<OwnedSemaphorePermit>,
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context),
            Self::Lines(lines) => {
                if !lines.has_begun {
                    lines.has_begun = true;
                    lines.activity.enter(Phase::Executing);
                }
                let line = std::task::ready!(lines.receiver.poll_recv(context));
                if line.is_none() {
                    lines.activity.enter(Phase::AwaitingHead);
                }
                Poll::Ready(line.map(|line| Ok(Frame::data(line))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Lines(_) => false,
        }
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Lines(_) => hyper::body::SizeHint::default(),
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.cancel.set();
    }
}

pub(super) fn whole(status: StatusCode, media_type: HeaderValue, body: impl Into<Bytes>) -> Response<Reply> {
    let mut response = Response::new(Reply::Whole(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

pub(super) fn json(json: &Json) -> Response<Reply> {
    whole_json(json.compact())
}

/// The text of a JSON document.
pub(super) fn whole_json(text: impl Into<Bytes>) -> Response<Reply> {
    whole(StatusCode::OK, JSON, text)
}

/// The text of a refusal.
pub(super) fn refused_as(status: StatusCode, text: impl Into<Bytes>) -> Response<Reply> {
    whole(status, JSON, text)
}

pub(super) fn refused(refusal: &Refusal) -> Response<Reply> {
    refused_as(refusal.kind.status(), refusal.json().compact())
}

pub(super) fn stream(lines: Lines) -> Response<Reply> {
    let mut response = Response::new(Reply::Lines(lines));
    response.headers_mut().insert(CONTENT_TYPE, LINES);
    response
}
