//! What the management port answers: paths, methods, and the refusal of browsers' pages.
//!
//! Figures about a database are nothing that a page of another machine may read, so its requests are judged
//! as those of the API are, and no answer permits a page to read it. Everyone who reaches the port may ask
//! for health; the server says who may read metrics.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use keywright_semantics::error::{Error, ErrorKind};

use super::exposition::{Exposition, MEDIA_TYPE};
use super::listener::Subject;
use crate::connection::hosts::AdmittedHost;
use crate::connection::request_head::RequestHead;
use crate::http::web_guard::WebGuard;
use crate::storage::health::Health;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const INDEX: &str = "Keywright: management\n/metrics       figures for Prometheus\n\
                     /health/live   200 while the process works\n/health/ready  200 while it takes requests\n";

pub(super) struct Routes {
    guard: WebGuard,
    subject: Subject,
}

impl Routes {
    pub(super) fn new(guard: WebGuard, subject: Subject) -> Self {
        Self { guard, subject }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>, ip: IpAddr) -> Response<Full<Bytes>> {
        let (head, _body) = request.into_parts();
        if let Err(refusal) = self.guard.check(&RequestHead::read(&head.headers), &AdmittedHost::default()) {
            return response(StatusCode::FORBIDDEN, TEXT, format!("{}\n", refusal.message()));
        }
        if !matches!(head.method, Method::GET | Method::HEAD) {
            let text = "only GET and HEAD are served here\n".to_owned();
            let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, text);
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match head.uri.path() {
            "/" => response(StatusCode::OK, TEXT, INDEX.to_owned()),
            "/metrics" => match self.admit(&head, ip).await {
                Ok(()) => response(StatusCode::OK, MEDIA_TYPE, self.metrics()),
                Err(error) => refused(&error),
            },
            "/health/live" => self.live(),
            "/health/ready" => {
                let health = self.health();
                let status = if health.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                response(status, JSON, health.json())
            }
            _ => response(StatusCode::NOT_FOUND, TEXT, format!("there is nothing here\n{INDEX}")),
        }
    }

    /// A server that is still opening its store has no figures yet that anybody must not read.
    async fn admit(&self, head: &Parts, ip: IpAddr) -> Result<(), Error> {
        match self.subject.get() {
            Some(watched) => watched.admit(head, ip).await,
            None => Ok(()),
        }
    }

    fn health(&self) -> Health {
        self.subject.get().map_or(Health::Starting, |watched| watched.health())
    }

    fn metrics(&self) -> String {
        let mut exposition = Exposition::default();
        if let Some(watched) = self.subject.get() {
            watched.describe(&mut exposition);
        }
        exposition.into_text()
    }

    /// A server that is still opening its store is alive: opening can take long, and must not be cut off.
    fn live(&self) -> Response<Full<Bytes>> {
        if self.subject.get().is_none_or(|watched| watched.is_alive()) {
            return response(StatusCode::OK, JSON, "{\"state\":\"alive\"}\n".to_owned());
        }
        let report = serde_json::json!({
            "state": "stuck",
            "reason": "the threads that serve the API have made no progress for a while",
            "advice": "restart the server, and report it with its log",
        });
        response(StatusCode::SERVICE_UNAVAILABLE, JSON, format!("{report}\n"))
    }
}

/// The answer to a reader without the right.
fn refused(error: &Error) -> Response<Full<Bytes>> {
    let status = match error.kind {
        ErrorKind::AccessDenied => StatusCode::FORBIDDEN,
        ErrorKind::ServiceUnavailable | ErrorKind::InternalServerError => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNAUTHORIZED,
    };
    let advice = "send id and secret of an access key that may keywright:GetMetrics as user and password \
                  (HTTP Basic), or sign the request";
    let mut refused = response(status, TEXT, format!("{}\n{advice}\n", error.message));
    if status == StatusCode::UNAUTHORIZED {
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"keywright\""));
    }
    refused
}

fn response(status: StatusCode, media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}
