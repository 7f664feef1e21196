//! Tracks each connection's activity and finds those that are idle or whose clients read too slowly.
//!
//! hyper can time heads itself, with a timer per head. Each timer is allocated, put into a list that all
//! threads share, and removed again with each request. Here a connection publishes counters, and a periodic
//! check reads those of all connections. This module does not know how a connection is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::refused::Cause;
use crate::limits::CheckPolicy;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The TLS handshake is under way.
    Handshake,
    /// Waiting for a complete request head.
    AwaitingHead,
    /// Waiting for a request's body. Nothing has been executed yet.
    AwaitingBody,
    /// A request is being executed.
    Executing,
}

impl Phase {
    const fn number(self) -> u8 {
        match self {
            Self::Handshake => 0,
            Self::AwaitingHead => 1,
            Self::AwaitingBody => 2,
            Self::Executing => 3,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Handshake,
            1 => Self::AwaitingHead,
            2 => Self::AwaitingBody,
            _ => Self::Executing,
        }
    }
}

/// How the server asks a connection to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseRequest {
    /// After the current request.
    AfterRequest,
    /// At once, unless a request is being executed.
    UnlessExecuting,
    /// At once.
    Immediately,
}

impl CloseRequest {
    const fn number(self) -> u8 {
        match self {
            Self::AfterRequest => 1,
            Self::UnlessExecuting => 2,
            Self::Immediately => 3,
        }
    }
}

/// A connection's published state. Only the connection's own task writes it, except for `close_request`.
#[derive(Debug)]
pub struct Activity {
    /// Incremented with each change of phase and when a blocked write completes.
    epoch: AtomicU32,
    phase: AtomicU8,
    /// Whether a write waits for the client to read.
    write_blocked: AtomicBool,
    /// What the socket has taken so far.
    sent_bytes: AtomicU64,
    /// Whether a request was admitted; with credentials, whether its signature was valid.
    admitted: AtomicBool,
    /// The pending `CloseRequest` of the server; 0 for none.
    close_request: AtomicU8,
    waker: AtomicWaker,
}

impl Default for Activity {
    fn default() -> Self {
        Self::new()
    }
}

impl Activity {
    /// A connection before its TLS handshake.
    pub const fn new() -> Self {
        Self {
            epoch: AtomicU32::new(0),
            phase: AtomicU8::new(Phase::Handshake.number()),
            write_blocked: AtomicBool::new(false),
            sent_bytes: AtomicU64::new(0),
            admitted: AtomicBool::new(false),
            close_request: AtomicU8::new(0),
            waker: AtomicWaker::new(),
        }
    }

    /// Notes that the connection is in this phase from now on.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase.number(), Ordering::Relaxed);
        self.epoch.store(self.epoch.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The phase that it is in.
    pub fn phase(&self) -> Phase {
        Phase::from_number(self.phase.load(Ordering::Relaxed))
    }

    /// How often the phase has changed.
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Whether the client does not read what was sent.
    pub fn is_write_blocked(&self) -> bool {
        self.write_blocked.load(Ordering::Relaxed)
    }

    /// What the socket has taken so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }

    /// Notes that a request was admitted. True for the first one.
    pub fn admit(&self) -> bool {
        let first = !self.admitted.load(Ordering::Relaxed);
        if first {
            self.admitted.store(true, Ordering::Relaxed);
        }
        first
    }

    /// Whether a request was admitted.
    pub fn was_admitted(&self) -> bool {
        self.admitted.load(Ordering::Relaxed)
    }

    fn set_write_blocked(&self, write_blocked: bool) {
        self.write_blocked.store(write_blocked, Ordering::Relaxed);
        if !write_blocked {
            // The timeout of the next head begins here.
            self.epoch.store(self.epoch.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Resolves once the socket has taken all earlier responses. hyper parses the next pipelined request
    /// without waiting for that; its response would pile up behind those that the client does not read.
    pub async fn answers_sent(&self) {
        // The writing side belongs to the same task and wakes it.
        std::future::poll_fn(|_| if self.is_write_blocked() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    /// Asks the connection to close.
    pub fn request_close(&self, request: CloseRequest) {
        self.close_request.store(request.number(), Ordering::Release);
        self.waker.wake();
    }

    /// Whether a close request is pending.
    pub fn has_close_request(&self) -> bool {
        self.close_request.load(Ordering::Relaxed) != 0
    }

    /// Resolves when the connection must close: true if it may finish the current request first.
    pub async fn close_requested(&self) -> bool {
        std::future::poll_fn(|context| {
            self.waker.register(context.waker());
            if self.close_request.load(Ordering::Acquire) == 0 {
                return Poll::Pending;
            }
            let request = self.close_request.swap(0, Ordering::Acquire);
            let executing = self.phase() == Phase::Executing;
            match request {
                request if request == CloseRequest::AfterRequest.number() => Poll::Ready(true),
                request if request == CloseRequest::UnlessExecuting.number() && executing => Poll::Pending,
                _ => Poll::Ready(false),
            }
        })
        .await
    }
}

/// The state of the checks of one connection.
#[derive(Debug)]
pub struct Watch {
    /// The epoch at the last check.
    last_epoch: u32,
    /// Number of consecutive checks that found it idle.
    idle_checks: u32,
    /// Number of checks since the rate window opened; 0 while no write is blocked.
    window_checks: u32,
    /// Bytes sent before that window.
    window_sent_bytes: u64,
}

impl Watch {
    /// A watch that has seen nothing yet.
    pub(crate) const fn new() -> Self {
        Self { last_epoch: 0, idle_checks: 0, window_checks: 0, window_sent_bytes: 0 }
    }

    /// Checks the connection. Returns the cause if it must be closed.
    pub fn check(&mut self, activity: &Activity, policy: &CheckPolicy) -> Option<Cause> {
        let epoch = activity.epoch();
        let write_blocked = activity.is_write_blocked();
        let idle = epoch == self.last_epoch && activity.phase() == Phase::AwaitingHead && !write_blocked;
        self.idle_checks = if idle { self.idle_checks.saturating_add(1) } else { 0 };
        self.last_epoch = epoch;
        if self.idle_checks >= policy.idle_checks {
            return Some(Cause::NoRequestInTime);
        }
        let sent_bytes = activity.sent_bytes.load(Ordering::Relaxed);
        self.reads_too_slowly(write_blocked, sent_bytes, policy).then_some(Cause::AnswerNotRead)
    }

    fn reads_too_slowly(&mut self, write_blocked: bool, sent_bytes: u64, policy: &CheckPolicy) -> bool {
        if !write_blocked {
            self.window_checks = 0;
            return false;
        }
        if self.window_checks == 0 {
            self.window_sent_bytes = sent_bytes;
        }
        self.window_checks += 1;
        // The first check opens the window.
        if self.window_checks <= policy.answer_checks {
            return false;
        }
        self.window_checks = 0;
        sent_bytes.saturating_sub(self.window_sent_bytes) < policy.answer_bytes
    }

    /// Number of checks for which it has been idle; 0 if it was active since the last check.
    pub fn idle_checks(&self, activity: &Activity) -> u32 {
        if activity.epoch() == self.last_epoch { self.idle_checks } else { 0 }
    }
}

/// A connection's stream. It records whether writes are blocked, and how many bytes were sent.
pub struct TrackedIo<Io> {
    stream: Io,
    activity: Arc<Activity>,
    write_blocked: bool,
    sent_bytes: u64,
}

impl<Io> TrackedIo<Io> {
    /// Notes what this stream does.
    pub const fn new(stream: Io, activity: Arc<Activity>) -> Self {
        Self { stream, activity, write_blocked: false, sent_bytes: 0 }
    }

    fn note<T>(&mut self, context: &Context<'_>, polled: Poll<T>) -> Poll<T> {
        if self.write_blocked != polled.is_pending() {
            self.write_blocked = polled.is_pending();
            self.activity.set_write_blocked(self.write_blocked);
            if !self.write_blocked {
                // The next request may wait for this.
                context.waker().wake_by_ref();
            }
        }
        polled
    }

    fn note_sent(
        &mut self,
        context: &Context<'_>,
        polled: Poll<std::io::Result<usize>>,
    ) -> Poll<std::io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = polled {
            self.sent_bytes = self.sent_bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            self.activity.sent_bytes.store(self.sent_bytes, Ordering::Relaxed);
        }
        self.note(context, polled)
    }
}

impl<Io: Read + Unpin> Read for TrackedIo<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, room)
    }
}

impl<Io: Write + Unpin> Write for TrackedIo<Io> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.note_sent(context, polled)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(context);
        this.note(context, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_shutdown(context);
        this.note(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(context, pieces);
        this.note_sent(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use std::time::Duration;

    const POLICY: CheckPolicy = CheckPolicy {
        interval: Duration::from_secs(1),
        idle_checks: 3,
        answer_checks: 4,
        answer_bytes: 1000,
    };

    /// The number of checks until it is closed, and the cause; `None` if it stays open.
    fn checks_until_closed(watch: &mut Watch, activity: &Activity) -> Option<(u32, Cause)> {
        (1..20).find_map(|checks| watch.check(activity, &POLICY).map(|cause| (checks, cause)))
    }

    #[test]
    fn an_idle_connection_is_closed_and_one_in_its_handshake_is_not() {
        let (activity, mut watch) = (Activity::new(), Watch::new());
        assert_eq!(checks_until_closed(&mut watch, &activity), None);
        activity.enter(Phase::AwaitingHead);
        let closed = checks_until_closed(&mut watch, &activity);
        assert_eq!(closed, Some((4, Cause::NoRequestInTime)), "the first check sees when it began");
    }

    #[test]
    fn a_long_request_is_not_idle_time_and_its_end_restarts_the_timeout() {
        let (activity, mut watch) = (Activity::new(), Watch::new());
        activity.enter(Phase::AwaitingHead);
        assert!((0..3).all(|_| watch.check(&activity, &POLICY).is_none()));
        activity.enter(Phase::Executing);
        assert_eq!(checks_until_closed(&mut watch, &activity), None);
        activity.enter(Phase::AwaitingHead);
        assert_eq!(checks_until_closed(&mut watch, &activity), Some((4, Cause::NoRequestInTime)));
    }

    #[test]
    fn a_request_between_two_checks_restarts_the_timeout() {
        let (activity, mut watch) = (Activity::new(), Watch::new());
        activity.enter(Phase::AwaitingHead);
        for _ in 0..100 {
            assert_eq!(watch.check(&activity, &POLICY), None);
            activity.enter(Phase::Executing);
            activity.enter(Phase::AwaitingHead);
        }
    }

    #[test]
    fn a_client_that_reads_below_the_minimum_rate_is_closed_and_one_above_it_is_not() {
        let (activity, mut watch) = (Arc::new(Activity::new()), Watch::new());
        activity.enter(Phase::AwaitingHead);
        let mut stream = TrackedIo::new((), Arc::clone(&activity));
        let context = &Context::from_waker(Waker::noop());
        assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        for _ in 0..50 {
            assert_eq!(watch.check(&activity, &POLICY), None);
            assert!(stream.note_sent(context, Poll::Ready(Ok(250))).is_ready());
            assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        }
        let mut closed = None;
        for _ in 0..10 {
            closed = closed.or(watch.check(&activity, &POLICY));
            assert!(stream.note_sent(context, Poll::Ready(Ok(100))).is_ready());
            assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        }
        assert_eq!(closed, Some(Cause::AnswerNotRead));
    }

    #[test]
    fn the_next_request_waits_until_earlier_answers_are_sent() {
        let activity = Arc::new(Activity::new());
        let mut stream = TrackedIo::new((), Arc::clone(&activity));
        let context = &mut Context::from_waker(Waker::noop());
        let mut sent = std::pin::pin!(activity.answers_sent());
        assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        assert!(sent.as_mut().poll(context).is_pending());
        assert!(stream.note(context, Poll::Ready(())).is_ready());
        assert!(sent.as_mut().poll(context).is_ready());
    }

    #[test]
    fn a_request_that_is_executed_is_not_cut_off_to_make_room() {
        let activity = Activity::new();
        let context = &mut Context::from_waker(Waker::noop());
        let mut closing = std::pin::pin!(activity.close_requested());
        activity.enter(Phase::Executing);
        activity.request_close(CloseRequest::UnlessExecuting);
        assert!(closing.as_mut().poll(context).is_pending());
        activity.enter(Phase::AwaitingHead);
        assert!(closing.as_mut().poll(context).is_pending(), "it is not asked again");
        activity.request_close(CloseRequest::UnlessExecuting);
        assert_eq!(closing.as_mut().poll(context), Poll::Ready(false));
    }
}
