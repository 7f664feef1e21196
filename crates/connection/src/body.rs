//! A request's body, as hyper still reads it or as it came with its head. Reads bodies within their limits of
//! size and memory, and discards bodies that are not needed.
//!
//! It does not know how long a body may take in all (`http`) nor what it contains.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::poll_immediate;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use keywright_process::environment;
use keywright_semantics::limits::REQUEST_BYTES_MAX;

use super::budget::{Budget, Exhausted, Share, guarded};
use crate::limits::{
    BODY_BYTES_PER_SECOND_MIN, BODY_FREE_BYTES, BODY_GRACE, BODY_STEPS_BYTES_MAX, Limits,
    UNVERIFIED_BODIES_SHARE,
};

/// A request's body.
#[derive(Debug)]
pub enum RequestBody {
    /// It came with its head.
    Whole(Bytes),
    /// hyper reads it.
    Incoming(Incoming),
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Incoming(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Incoming(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Self::Incoming(body) => body.size_hint(),
        }
    }
}

/// Why a body was not read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// Larger than the limit. The rest of it has not been read.
    TooLarge,
    /// It did not arrive in its time.
    TooSlow,
    /// The connection ended in it.
    Broken,
    /// There was no memory for it in time.
    Exhausted,
}

/// Memory for all bodies.
#[derive(Debug)]
pub struct BodyBudgets {
    all: Arc<Budget>,
    /// The part of it for connections without a verified request.
    unverified: Arc<Budget>,
}

/// The memory that one request holds.
#[derive(Debug)]
pub struct Hold<'b> {
    budgets: &'b BodyBudgets,
    /// The part of the memory that the request shares with others of its kind.
    part: Option<&'b Arc<Budget>>,
    of_all: Option<Share>,
    of_part: Option<Share>,
}

impl BodyBudgets {
    /// Budgets of the size that the settings give.
    pub fn new(limits: &Limits) -> Self {
        let wait = Duration::from_millis(limits.budget_wait_ms);
        let bytes = limits.body_budget_bytes;
        Self { all: Budget::new(bytes, wait), unverified: Budget::new(bytes / UNVERIFIED_BODIES_SHARE, wait) }
    }

    /// The budget for unfinished heads. Where signatures are verified, no head counts as verified yet.
    pub const fn for_heads(&self, verifies: bool) -> &Arc<Budget> {
        if verifies { &self.unverified } else { &self.all }
    }

    /// The budget of all bodies, and its part for connections without a verified request.
    pub const fn both(&self) -> (&Arc<Budget>, &Arc<Budget>) {
        (&self.all, &self.unverified)
    }

    /// An empty hold for one request. Unverified requests share a part of the memory.
    pub const fn hold(&self, verified: bool) -> Hold<'_> {
        let part = if verified { None } else { Some(&self.unverified) };
        Hold { budgets: self, part, of_all: None, of_part: None }
    }

    /// An empty hold for one request of those that share this part of the memory.
    pub const fn hold_within<'b>(&'b self, part: &'b Arc<Budget>) -> Hold<'b> {
        Hold { budgets: self, part: Some(part), of_all: None, of_part: None }
    }
}

impl Hold<'_> {
    /// Takes memory until the request holds `bytes`; the first `BODY_FREE_BYTES` are free.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        if bytes <= BODY_FREE_BYTES {
            return Ok(());
        }
        let budgets = self.budgets;
        if let Some(part) = self.part {
            Box::pin(self.of_part.get_or_insert_with(|| part.empty_share()).grow_to(bytes)).await?;
        }
        Box::pin(self.of_all.get_or_insert_with(|| budgets.all.empty_share()).grow_to(bytes)).await
    }

    /// Notes that the signature is valid: the request no longer counts against the unverified part.
    pub fn verify(&mut self) {
        self.part = None;
        self.of_part = None;
    }

    /// The body with what it holds: the memory comes back when the last reader of the bytes has dropped them.
    pub fn over(self, body: Bytes) -> Bytes {
        match (self.of_all, self.of_part) {
            (None, None) => body,
            shares => guarded(body, shares),
        }
    }
}

/// A body's length, if the head declares it.
pub fn declared_bytes(body: &RequestBody) -> Option<usize> {
    body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Reads a body of at most `bytes_max` bytes.
pub async fn read(body: &mut RequestBody, bytes_max: usize, hold: &mut Hold<'_>) -> Result<Bytes, BodyFault> {
    let most = declared_bytes(body).unwrap_or(bytes_max);
    if most > bytes_max {
        return Err(BodyFault::TooLarge);
    }
    if let RequestBody::Whole(bytes) = body {
        hold.grow_to(bytes.len()).await.map_err(|Exhausted| BodyFault::Exhausted)?;
        return Ok(std::mem::take(bytes));
    }
    // Most bodies come in one piece.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    let mut waited = Duration::ZERO;
    while let Some(frame) = next_frame(body, first.len().max(all.len()), &mut waited).await? {
        let Ok(data) = frame.map_err(|_broken| BodyFault::Broken)?.into_data() else { continue };
        let length = first.len().max(all.len()).saturating_add(data.len());
        if length > bytes_max {
            return Err(BodyFault::TooLarge);
        }
        if first.is_empty() {
            hold.grow_to(length).await.map_err(|Exhausted| BodyFault::Exhausted)?;
            first = data;
            if body.is_end_stream() {
                break;
            }
            continue;
        }
        if all.capacity() < length {
            let capacity = capacity_for(length, most);
            hold.grow_to(capacity).await.map_err(|Exhausted| BodyFault::Exhausted)?;
            all.reserve_exact(capacity.saturating_sub(all.len()));
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { Bytes::from(all) })
}

/// The next part of a body of which so much has come. The time that it waits for the client is added up; time
/// in which the server has no memory for the body is the server's.
async fn next_frame(
    body: &mut RequestBody,
    received_bytes: usize,
    waited: &mut Duration,
) -> Result<Option<Result<Frame<Bytes>, hyper::Error>>, BodyFault> {
    let mut frame = body.frame();
    // Most bodies come with their head: then no clock is read.
    if let Some(come) = poll_immediate(&mut frame).await {
        return Ok(come);
    }
    let begun = environment::instant();
    let left = wait_max(received_bytes).saturating_sub(*waited);
    let come = Box::pin(tokio::time::timeout(left, frame)).await.map_err(|_elapsed| BodyFault::TooSlow)?;
    *waited = waited.saturating_add(environment::instant().saturating_duration_since(begun));
    Ok(come)
}

/// How long the server waits in all for the part after the first so many bytes.
fn wait_max(received_bytes: usize) -> Duration {
    let seconds = u64::try_from(received_bytes).unwrap_or(u64::MAX) / BODY_BYTES_PER_SECOND_MIN;
    BODY_GRACE.max(Duration::from_secs(seconds))
}

/// The capacity to reserve when `length` bytes of at most `most` have arrived: a little, then
/// `BODY_STEPS_BYTES_MAX`, then `most`. Two bodies that each wait for the other's memory would both fail, and
/// each step leaves a copy that the allocator keeps for a while.
fn capacity_for(length: usize, most: usize) -> usize {
    let most = most.max(length);
    if length > BODY_STEPS_BYTES_MAX {
        return most;
    }
    let first = 4 * BODY_FREE_BYTES;
    if length > first { BODY_STEPS_BYTES_MAX.min(most) } else { first.min(most) }
}

/// Reads and discards the rest of a body, so that its connection can be used again. A rest longer than
/// `bytes_max` is left unread and ends the connection.
pub async fn discard(body: &mut RequestBody, bytes_max: usize) {
    let too_long = |bytes: usize| bytes > bytes_max;
    if declared_bytes(body).is_some_and(too_long) {
        return;
    }
    let mut length = 0_usize;
    while let Some(Ok(frame)) = body.frame().await {
        length = length.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if too_long(length) {
            return;
        }
    }
}

/// The largest body that is read.
pub const BYTES_MAX: usize = REQUEST_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_in_three_steps_to_what_was_declared() {
        let declared = 10_000_000;
        for (length, capacity) in [
            (20_000, 65_536),
            (65_537, 1_048_576),
            (1_048_576, 1_048_576),
            (1_048_577, declared),
            (declared, declared),
        ] {
            assert_eq!(capacity_for(length, declared), capacity, "{length}");
        }
        assert_eq!(capacity_for(20_000, 30_000), 30_000);
    }

    #[test]
    fn a_body_has_its_grace_time_and_then_a_second_for_each_kibibyte() {
        for (bytes, seconds) in [(0, 5), (1, 5), (5 * 1024, 5), (6 * 1024, 6), (60 * 1024, 60)] {
            assert_eq!(wait_max(bytes), Duration::from_secs(seconds), "{bytes}");
        }
    }

    #[tokio::test]
    async fn bodies_of_clients_without_a_verified_request_share_a_quarter() {
        let wait = Duration::from_millis(10);
        let budgets = BodyBudgets { all: Budget::new(400_000, wait), unverified: Budget::new(100_000, wait) };
        let mut stranger = budgets.hold(false);
        assert_eq!(stranger.grow_to(100_000).await, Ok(()));
        assert_eq!(budgets.hold(false).grow_to(20_000).await, Err(Exhausted));
        assert_eq!(budgets.hold(false).grow_to(BODY_FREE_BYTES).await, Ok(()));
        let mut known = budgets.hold(true);
        assert_eq!(known.grow_to(300_000).await, Ok(()));
        stranger.verify();
        assert_eq!(budgets.hold(false).grow_to(20_000).await, Err(Exhausted), "nothing is left of all");
        drop(known);
        assert_eq!(budgets.hold(false).grow_to(20_000).await, Ok(()));
    }

    #[tokio::test]
    async fn a_body_holds_its_memory_as_long_as_any_of_its_bytes_are_kept() {
        let wait = Duration::from_millis(10);
        let (all, part) = (Budget::new(100_000, wait), Budget::new(50_000, wait));
        let budgets = BodyBudgets { all, unverified: Budget::new(0, wait) };
        let mut hold = budgets.hold_within(&part);
        assert_eq!(hold.grow_to(40_000).await, Ok(()));
        assert_eq!(budgets.hold_within(&part).grow_to(20_000).await, Err(Exhausted), "a part is a bound");
        let body = hold.over(Bytes::from(vec![b'x'; 40_000]));
        let some = body.slice(10..20);
        drop(body);
        assert_eq!(budgets.hold(true).grow_to(70_000).await, Err(Exhausted));
        assert_eq!(&*some, b"xxxxxxxxxx");
        drop(some);
        assert_eq!(budgets.hold_within(&part).grow_to(50_000).await, Ok(()));
    }
}
