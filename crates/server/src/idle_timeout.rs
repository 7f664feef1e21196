//! What each connection is doing, and which ones have waited too long for a request or for their client to read.
//!
//! hyper can time heads itself, with a timer for every head: made, entered in the list that all threads share, and taken
//! out again with each request. Here a connection publishes numbers, and all of them are checked now and then. It does not
//! know how a connection is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};

use crate::limits::Pace;
use crate::refused::Cause;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not ready for requests yet: TLS is being negotiated.
    Opening,
    /// No head of a request has arrived in full.
    Waiting,
    /// A request's body is awaited. Nothing was executed yet.
    Receiving,
    /// A request is being executed.
    Executing,
}

impl Phase {
    const fn number(self) -> u8 {
        match self {
            Self::Opening => 0,
            Self::Waiting => 1,
            Self::Receiving => 2,
            Self::Executing => 3,
        }
    }

    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Opening,
            1 => Self::Waiting,
            2 => Self::Receiving,
            _ => Self::Executing,
        }
    }
}

/// How a connection is to end before its client ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// After the request under way.
    Politely,
    /// At once, unless a request is being executed by then.
    UnlessExecuting,
    /// At once.
    AtOnce,
}

impl Leave {
    const fn number(self) -> u8 {
        match self {
            Self::Politely => 1,
            Self::UnlessExecuting => 2,
            Self::AtOnce => 3,
        }
    }
}

/// What a connection is doing. Only the connection's own task writes it, except for `leave`.
#[derive(Debug)]
pub(crate) struct Activity {
    /// Incremented with each phase.
    turns: AtomicU32,
    phase: AtomicU8,
    /// Whether the client is slow to take what is sent to it.
    sends: AtomicBool,
    /// What the socket has taken so far.
    sent_bytes: AtomicU64,
    /// Whether one of its requests was admitted: with credentials, had a signature that holds.
    admitted: AtomicBool,
    /// A request of the server to end; 0 for none.
    leave: AtomicU8,
    waker: AtomicWaker,
}

impl Activity {
    /// A connection that is not ready for requests yet.
    pub(crate) const fn beginning() -> Self {
        Self {
            turns: AtomicU32::new(0),
            phase: AtomicU8::new(Phase::Opening.number()),
            sends: AtomicBool::new(false),
            sent_bytes: AtomicU64::new(0),
            admitted: AtomicBool::new(false),
            leave: AtomicU8::new(0),
            waker: AtomicWaker::new(),
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase.number(), Ordering::Relaxed);
        self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::from_number(self.phase.load(Ordering::Relaxed))
    }

    pub(crate) fn turns(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }

    pub(crate) fn sends(&self) -> bool {
        self.sends.load(Ordering::Relaxed)
    }

    /// What the socket has taken so far.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }

    /// Notes that a request was admitted. True for the first one.
    pub(crate) fn admit(&self) -> bool {
        let first = !self.admitted.load(Ordering::Relaxed);
        if first {
            self.admitted.store(true, Ordering::Relaxed);
        }
        first
    }

    pub(crate) fn was_admitted(&self) -> bool {
        self.admitted.load(Ordering::Relaxed)
    }

    fn set_sends(&self, sends: bool) {
        self.sends.store(sends, Ordering::Relaxed);
        if !sends {
            // The time for its next head begins here.
            self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Resolves once the socket has taken all earlier answers. hyper parses the next request of a pipeline without
    /// waiting for that; its answer would pile up on those that the client does not read.
    pub(crate) async fn answers_taken(&self) {
        // Same task as the writing side, which wakes it.
        std::future::poll_fn(|_| if self.sends() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    /// Asks the connection to end.
    pub(crate) fn ask(&self, leave: Leave) {
        self.leave.store(leave.number(), Ordering::Release);
        self.waker.wake();
    }

    /// Whether it was asked to end and has not looked at that yet.
    pub(crate) fn is_asked(&self) -> bool {
        self.leave.load(Ordering::Relaxed) != 0
    }

    /// Resolves when the connection is to end: true if it may first finish the request under way.
    pub(crate) async fn asked(&self) -> bool {
        std::future::poll_fn(|context| {
            self.waker.register(context.waker());
            if self.leave.load(Ordering::Acquire) == 0 {
                return Poll::Pending;
            }
            let leave = self.leave.swap(0, Ordering::Acquire);
            let executing = self.phase() == Phase::Executing;
            match leave {
                leave if leave == Leave::Politely.number() => Poll::Ready(true),
                leave if leave == Leave::UnlessExecuting.number() && executing => Poll::Pending,
                _ => Poll::Ready(false),
            }
        })
        .await
    }
}

/// What the checks of one connection have seen.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The turns at the last check.
    seen: u32,
    /// Checks in a row that found it without a request, as it was at the one before.
    idle_checks: u32,
    /// Checks since the window opened in which the rate of reading is measured; none while nothing is pending.
    window_checks: u32,
    /// What was sent before that window.
    window_sent_bytes: u64,
}

impl Watch {
    pub(crate) const fn new() -> Self {
        Self { seen: 0, idle_checks: 0, window_checks: 0, window_sent_bytes: 0 }
    }

    /// Checks the connection: why it is to be closed, if it is.
    pub(crate) fn check(&mut self, activity: &Activity, pace: &Pace) -> Option<Cause> {
        let turns = activity.turns();
        let sends = activity.sends();
        let idle = turns == self.seen && activity.phase() == Phase::Waiting && !sends;
        self.idle_checks = if idle { self.idle_checks.saturating_add(1) } else { 0 };
        self.seen = turns;
        if self.idle_checks >= pace.idle_checks {
            return Some(Cause::NoRequestInTime);
        }
        let sent_bytes = activity.sent_bytes.load(Ordering::Relaxed);
        self.reads_too_slowly(sends, sent_bytes, pace).then_some(Cause::AnswerNotRead)
    }

    fn reads_too_slowly(&mut self, sends: bool, sent_bytes: u64, pace: &Pace) -> bool {
        if !sends {
            self.window_checks = 0;
            return false;
        }
        if self.window_checks == 0 {
            self.window_sent_bytes = sent_bytes;
        }
        self.window_checks += 1;
        // The first check opens the window.
        if self.window_checks <= pace.answer_checks {
            return false;
        }
        self.window_checks = 0;
        sent_bytes.saturating_sub(self.window_sent_bytes) < pace.answer_bytes
    }

    /// For how many checks it has been without a request, now.
    pub(crate) fn idle_checks(&self, activity: &Activity) -> u32 {
        if activity.turns() == self.seen { self.idle_checks } else { 0 }
    }
}

/// A connection's bytes; it notes whether what is sent is taken, and how much.
pub(crate) struct TrackedIo<Io> {
    stream: Io,
    activity: Arc<Activity>,
    sends: bool,
    sent_bytes: u64,
}

impl<Io> TrackedIo<Io> {
    pub(crate) const fn new(stream: Io, activity: Arc<Activity>) -> Self {
        Self { stream, activity, sends: false, sent_bytes: 0 }
    }

    fn note<T>(&mut self, context: &Context<'_>, polled: Poll<T>) -> Poll<T> {
        if self.sends != polled.is_pending() {
            self.sends = polled.is_pending();
            self.activity.set_sends(self.sends);
            if !self.sends {
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

    const PACE: Pace =
        Pace { interval: Duration::from_secs(1), idle_checks: 3, answer_checks: 4, answer_bytes: 1000 };

    /// How many checks it takes until it is closed, and why; none if it never is.
    fn checks_until_closed(watch: &mut Watch, activity: &Activity) -> Option<(u32, Cause)> {
        (1..20).find_map(|checks| watch.check(activity, &PACE).map(|cause| (checks, cause)))
    }

    #[test]
    fn a_connection_that_sends_nothing_is_closed_and_one_that_is_not_ready_is_not() {
        let (activity, mut watch) = (Activity::beginning(), Watch::new());
        assert_eq!(checks_until_closed(&mut watch, &activity), None);
        activity.enter(Phase::Waiting);
        let closed = checks_until_closed(&mut watch, &activity);
        assert_eq!(closed, Some((4, Cause::NoRequestInTime)), "the first check sees when it began");
    }

    #[test]
    fn a_request_that_takes_long_does_not_count_and_its_end_begins_the_time_anew() {
        let (activity, mut watch) = (Activity::beginning(), Watch::new());
        activity.enter(Phase::Waiting);
        assert!((0..3).all(|_| watch.check(&activity, &PACE).is_none()));
        activity.enter(Phase::Executing);
        assert_eq!(checks_until_closed(&mut watch, &activity), None);
        activity.enter(Phase::Waiting);
        assert_eq!(checks_until_closed(&mut watch, &activity), Some((4, Cause::NoRequestInTime)));
    }

    #[test]
    fn a_request_between_two_checks_is_seen() {
        let (activity, mut watch) = (Activity::beginning(), Watch::new());
        activity.enter(Phase::Waiting);
        for _ in 0..100 {
            assert_eq!(watch.check(&activity, &PACE), None);
            activity.enter(Phase::Executing);
            activity.enter(Phase::Waiting);
        }
    }

    #[test]
    fn a_client_that_reads_slower_than_the_least_rate_is_closed_and_one_that_keeps_it_is_not() {
        let (activity, mut watch) = (Arc::new(Activity::beginning()), Watch::new());
        activity.enter(Phase::Waiting);
        let mut stream = TrackedIo::new((), Arc::clone(&activity));
        let context = &Context::from_waker(Waker::noop());
        assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        for _ in 0..50 {
            assert_eq!(watch.check(&activity, &PACE), None);
            assert!(stream.note_sent(context, Poll::Ready(Ok(250))).is_ready());
            assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        }
        let mut closed = None;
        for _ in 0..10 {
            closed = closed.or(watch.check(&activity, &PACE));
            assert!(stream.note_sent(context, Poll::Ready(Ok(100))).is_ready());
            assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        }
        assert_eq!(closed, Some(Cause::AnswerNotRead));
    }

    #[test]
    fn the_next_request_waits_until_earlier_answers_are_taken() {
        let activity = Arc::new(Activity::beginning());
        let mut stream = TrackedIo::new((), Arc::clone(&activity));
        let context = &mut Context::from_waker(Waker::noop());
        let mut taken = std::pin::pin!(activity.answers_taken());
        assert!(stream.note::<()>(context, Poll::Pending).is_pending());
        assert!(taken.as_mut().poll(context).is_pending());
        assert!(stream.note(context, Poll::Ready(())).is_ready());
        assert!(taken.as_mut().poll(context).is_ready());
    }

    #[test]
    fn a_request_that_is_executed_is_not_cut_off_to_make_room() {
        let activity = Activity::beginning();
        let context = &mut Context::from_waker(Waker::noop());
        let mut asked = std::pin::pin!(activity.asked());
        activity.enter(Phase::Executing);
        activity.ask(Leave::UnlessExecuting);
        assert!(asked.as_mut().poll(context).is_pending());
        activity.enter(Phase::Waiting);
        assert!(asked.as_mut().poll(context).is_pending(), "it is not asked again");
        activity.ask(Leave::UnlessExecuting);
        assert_eq!(asked.as_mut().poll(context), Poll::Ready(false));
    }
}
