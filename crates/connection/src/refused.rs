//! Counts, by cause, what limits have refused or closed, and sums them up in the log.
//!
//! It does not know why a limit exists (`limits`) nor how it is reported to a client.

use std::sync::atomic::{AtomicU64, Ordering};

use keywright_process::environment;

use crate::limits::REFUSED_REPORT_SECONDS;

/// The limit that refused a request or closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No whole head in its time.
    NoRequestInTime,
    /// No memory for a large head.
    HeadBudget,
    /// The client did not read its response.
    AnswerNotRead,
    /// Closed to make room for another client.
    MadeRoom,
    /// Too many connections of one address.
    ConnectionsPerAddress,
    /// Too many requests of one address.
    RequestsPerAddress,
    /// Too many requests of one account in a second.
    RequestsPerSecond,
    /// A body over its limit.
    BodyTooLarge,
    /// A body that did not arrive in its time.
    BodyTooSlow,
    /// No memory for a body.
    BodyBudget,
    /// No memory for a decoded request.
    DecodeBudget,
    /// No memory for a response.
    AnswerBudget,
    /// A compressed body that becomes too large.
    Inflation,
    /// A signature that is not valid.
    FailedSignature,
    /// A handshake that took too long, or one too many.
    TlsHandshake,
    /// A page that is not admitted.
    WebPage,
    /// The store was being opened again.
    StoreReopening,
    /// A limit of branches.
    Branches,
}

impl Cause {
    /// All causes, in the order of their counts.
    const ALL: [Self; 18] = [
        Self::NoRequestInTime,
        Self::HeadBudget,
        Self::AnswerNotRead,
        Self::MadeRoom,
        Self::ConnectionsPerAddress,
        Self::RequestsPerAddress,
        Self::RequestsPerSecond,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::BodyBudget,
        Self::DecodeBudget,
        Self::AnswerBudget,
        Self::Inflation,
        Self::FailedSignature,
        Self::TlsHandshake,
        Self::WebPage,
        Self::StoreReopening,
        Self::Branches,
    ];

    /// A name for metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRequestInTime => "no_request_in_time",
            Self::HeadBudget => "head_budget",
            Self::AnswerNotRead => "answer_not_read",
            Self::MadeRoom => "closed_for_new_client",
            Self::ConnectionsPerAddress => "connections_per_address",
            Self::RequestsPerAddress => "requests_per_address",
            Self::RequestsPerSecond => "requests_per_second",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTooSlow => "body_too_slow",
            Self::BodyBudget => "body_budget",
            Self::DecodeBudget => "decode_budget",
            Self::AnswerBudget => "answer_budget",
            Self::Inflation => "inflation",
            Self::FailedSignature => "failed_signature",
            Self::TlsHandshake => "tls_handshake",
            Self::WebPage => "web_page",
            Self::StoreReopening => "store_reopening",
            Self::Branches => "branches",
        }
    }

    /// Whether it is routine: idle connections end every day.
    const fn is_routine(self) -> bool {
        matches!(self, Self::NoRequestInTime)
    }
}

/// Counts of each limit since the start.
#[derive(Debug, Default)]
pub struct Refused {
    counts: [AtomicU64; Cause::ALL.len()],
    /// The sum of the counts that are not routine at the last report.
    reported: AtomicU64,
    /// Time of the last report, in milliseconds since 1970.
    reported_ms: AtomicU64,
}

impl Refused {
    /// Counts one.
    pub fn count(&self, cause: Cause) {
        let counts = Cause::ALL.iter().zip(&self.counts);
        for (_, count) in counts.filter(|(counted, _)| **counted == cause) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Each cause's name and count, for metrics.
    pub fn snapshot(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Cause::ALL
            .iter()
            .zip(&self.counts)
            .map(|(cause, count)| (cause.name(), count.load(Ordering::Relaxed)))
    }

    /// Writes the counts to the log if they have grown, at most once a minute.
    pub fn report(&self) {
        let now_ms = environment::now().0;
        let due_ms = self.reported_ms.load(Ordering::Relaxed).saturating_add(REFUSED_REPORT_SECONDS * 1_000);
        if now_ms >= due_ms
            && let Some(summary) = self.grown()
        {
            self.reported_ms.store(now_ms, Ordering::Relaxed);
            tracing::warn!("refused or closed by a limit since the start: {summary}");
        }
    }

    /// The counts as text, if one that is not routine has grown since the last report.
    fn grown(&self) -> Option<String> {
        let counts = || Cause::ALL.iter().zip(&self.counts).filter(|(cause, _)| !cause.is_routine());
        let sum = counts().map(|(_, count)| count.load(Ordering::Relaxed)).sum();
        if self.reported.swap(sum, Ordering::Relaxed) == sum {
            return None;
        }
        let shown: Vec<String> = self
            .snapshot()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        Some(shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_reported_once() {
        let refused = Refused::default();
        assert_eq!(refused.grown(), None);
        refused.count(Cause::NoRequestInTime);
        assert_eq!(refused.grown(), None, "idle connections end every day");
        refused.count(Cause::BodyBudget);
        refused.count(Cause::BodyBudget);
        assert_eq!(refused.grown().as_deref(), Some("no_request_in_time 1, body_budget 2"));
        assert_eq!(refused.grown(), None);
        assert_eq!(refused.snapshot().map(|(_, count)| count).sum::<u64>(), 3);
    }
}
