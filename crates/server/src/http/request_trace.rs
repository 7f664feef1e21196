//! What is noted about one request while it is answered, for metrics and the request log.
//!
//! It holds names, numbers and times, never values of items or secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keywright_engine::{Namespace, Observer};
use keywright_semantics::capacity::Usage;
use keywright_semantics::error::{Denied, Error, ErrorKind};
use keywright_semantics::response::{PageOutput, Response};
use keywright_semantics::throttle::{Direction, Limit};
use keywright_semantics::touches::Touches;
use keywright_wire::Operation;

use super::audit_notes::Notes;
use super::request_metrics::{Denials, Finished, RequestMetrics};
use crate::process::{environment, foreign};

/// Tables of one request that are noted.
const NAMED_TABLES: usize = 5;

/// Notes about one request.
#[derive(Debug)]
pub(crate) struct Trace {
    begun: Instant,
    /// Whether it was a request of the API and not, for example, a probe of a load balancer.
    pub(crate) is_call: bool,
    pub(crate) operation: Option<Operation>,
    pub(crate) error: Option<ErrorKind>,
    /// What decided the first denial.
    pub(crate) denied: Option<Box<Denied>>,
    pub(crate) denials: Denials,
    pub(crate) received_bytes: usize,
    /// Only where requests are logged.
    pub(crate) detail: Option<Box<Detail>>,
    /// Only where there is an audit log.
    pub(crate) audit: Option<Box<Notes>>,
}

impl Trace {
    pub(crate) fn begin() -> Self {
        Self {
            begun: environment::instant(),
            is_call: false,
            operation: None,
            error: None,
            denied: None,
            denials: Denials::default(),
            received_bytes: 0,
            detail: None,
            audit: None,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        environment::instant().saturating_duration_since(self.begun)
    }

    /// Ends the request with a response of this size.
    pub(crate) fn finish(&self, sent_bytes: usize) -> Finished {
        let took = self.elapsed();
        let Self { operation, error, denials, received_bytes, .. } = *self;
        Finished { operation, error, denials, took, received_bytes, sent_bytes }
    }

    /// Notes for the audit log what a request touches.
    pub(super) fn note_touches(&mut self, touches: &Touches<'_>) {
        if let Some(notes) = &mut self.audit {
            notes.touch(touches);
        }
    }

    /// Lets a change pass, unless its record in the audit log is required and cannot be written.
    pub(super) fn permit(&mut self, changes: bool) -> Result<(), Error> {
        match &mut self.audit {
            Some(notes) => notes.permit(self.operation, changes),
            None => Ok(()),
        }
    }

    /// Notes that the request's record is in the queue of the audit log, or that it has none.
    pub(super) fn settle(&self) {
        if let Some(notes) = &self.audit {
            notes.is_settled.store(true, Ordering::Release);
        }
    }

    /// Notes the error that answers the request.
    pub(crate) fn note_error(&mut self, error: &Error) {
        self.error = Some(error.kind);
        self.note_denial(error);
    }

    /// Notes that a policy denied the request, or one of its parts, if one did.
    pub(crate) fn note_denial(&mut self, error: &Error) {
        let Some(denied) = error.denied() else { return };
        self.denials.count(denied.is_explicit);
        if self.denied.is_none() {
            self.denied = Some(Box::new(denied.clone()));
        }
    }

    /// Who receives the figures of this request, if they are kept for it alone.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        let detail = self.detail.as_ref()?;
        let own: Arc<dyn Observer> = detail.figures.clone();
        Some(own)
    }
}

/// What the request log says about a request beyond its name and outcome.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) account: String,
    pub(crate) region: String,
    /// The first few, as the client named them, cut at some length.
    pub(crate) tables: Vec<String>,
    pub(crate) index: Option<String>,
    /// Rows evaluated, and rows that passed the filter.
    pub(crate) rows: Option<(u64, u64)>,
    pub(crate) figures: Arc<RequestFigures>,
}

impl Detail {
    pub(crate) fn of(namespace: &Namespace, metrics: &Arc<RequestMetrics>) -> Self {
        Self {
            account: namespace.account.as_str().to_owned(),
            region: namespace.region.as_str().to_owned(),
            tables: Vec::new(),
            index: None,
            rows: None,
            figures: Arc::new(RequestFigures { all: Arc::clone(metrics), ..RequestFigures::default() }),
        }
    }

    /// Notes the tables that a request names, and the index of one that is about a single resource.
    pub(crate) fn note_names(&mut self, touches: &Touches<'_>) {
        for table in touches.as_slice().iter().filter_map(|touch| touch.resource.table_as_sent()) {
            let name = foreign::name(table);
            if self.tables.len() < NAMED_TABLES && !self.tables.iter().any(|known| *known == name) {
                self.tables.push(name.into_owned());
            }
        }
        if let Touches::One(touch) = touches {
            self.index = touch.resource.index().map(|name| foreign::name(name).into_owned());
        }
    }

    /// Notes what a response tells about the work behind it.
    pub(crate) fn note(&mut self, response: &Response) {
        if let Response::Query(PageOutput { scanned_count, count, .. })
        | Response::Scan(PageOutput { scanned_count, count, .. }) = response
        {
            self.rows = Some((*scanned_count, *count));
        }
    }
}

/// The figures of one request; they count for the server too.
#[derive(Debug, Default)]
pub(crate) struct RequestFigures {
    all: Arc<RequestMetrics>,
    pub(crate) read_halves: AtomicU64,
    pub(crate) write_halves: AtomicU64,
    pub(crate) conflicts: AtomicU64,
}

impl Observer for RequestFigures {
    fn charged(&self, usage: Usage) {
        self.read_halves.fetch_add(usage.read.0, Ordering::Relaxed);
        self.write_halves.fetch_add(usage.write.0, Ordering::Relaxed);
        self.all.charged(usage);
    }

    fn conflicted(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        self.all.conflicted();
    }

    fn throttled(&self, limit: Limit, direction: Direction) {
        self.all.throttled(limit, direction);
    }
}

/// A duration in milliseconds with three digits, for people.
pub(crate) fn milliseconds(took: Duration) -> String {
    let us = took.as_micros();
    format!("{}.{:03}", us / 1_000, us % 1_000)
}
