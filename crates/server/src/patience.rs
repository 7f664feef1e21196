//! Which connections have waited too long for the head of a request.
//!
//! hyper can close those itself, with a timer for every head: made, entered in the list that all threads share, and taken
//! out again with each request. Here a connection tells by a number what it is doing, and all of them are looked at now
//! and then. It does not know how a connection is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};

/// What a connection is doing. Only the connection's own task writes it.
#[derive(Debug)]
pub(crate) struct Activity {
    /// One more with each beginning and each end of what keeps it busy: odd while it is.
    turns: AtomicU32,
    /// Whether a client is slow to take what is sent to it.
    sends: AtomicBool,
}

impl Activity {
    /// Of a connection that is not ready for requests yet.
    pub(crate) const fn beginning() -> Self {
        Self { turns: AtomicU32::new(1), sends: AtomicBool::new(false) }
    }

    /// Something that keeps it busy begins or ends: becoming ready, a request.
    pub(crate) fn turn(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn set_sends(&self, sends: bool) {
        self.sends.store(sends, Ordering::Relaxed);
        if !sends {
            // Its time to wait begins here.
            self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(2), Ordering::Relaxed);
        }
    }

    fn is_busy(&self) -> bool {
        self.turns.load(Ordering::Relaxed) % 2 == 1 || self.sends.load(Ordering::Relaxed)
    }
}

/// How long one connection was seen waiting.
#[derive(Debug)]
pub(crate) struct Watch {
    activity: Arc<Activity>,
    /// The turns at the last look.
    seen: u32,
    /// Looks in a row that found it waiting as it was at the one before.
    idle_looks: u32,
}

impl Watch {
    pub(crate) const fn over(activity: Arc<Activity>) -> Self {
        Self { activity, seen: 0, idle_looks: 0 }
    }

    /// Looks at the connection. True if it has waited since at least that many looks.
    pub(crate) fn has_waited(&mut self, looks: u32) -> bool {
        let turns = self.activity.turns.load(Ordering::Relaxed);
        let still_waits = turns == self.seen && !self.activity.is_busy();
        self.idle_looks = if still_waits { self.idle_looks + 1 } else { 0 };
        self.seen = turns;
        self.idle_looks >= looks
    }
}

/// A connection's bytes; it notes whether what is sent is taken.
pub(crate) struct Noted<Io> {
    stream: Io,
    activity: Arc<Activity>,
    sends: bool,
}

impl<Io> Noted<Io> {
    pub(crate) const fn new(stream: Io, activity: Arc<Activity>) -> Self {
        Self { stream, activity, sends: false }
    }

    fn note<T>(&mut self, polled: Poll<T>) -> Poll<T> {
        if self.sends != polled.is_pending() {
            self.sends = polled.is_pending();
            self.activity.set_sends(self.sends);
        }
        polled
    }
}

impl<Io: Read + Unpin> Read for Noted<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, room)
    }
}

impl<Io: Write + Unpin> Write for Noted<Io> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.note(polled)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(context);
        this.note(polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
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
        this.note(polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: u32 = 3;

    fn watched() -> (Arc<Activity>, Watch) {
        let activity = Arc::new(Activity::beginning());
        (Arc::clone(&activity), Watch::over(activity))
    }

    /// How many looks it takes until it has waited too long; none if it never does.
    fn looks_until_closed(watch: &mut Watch) -> Option<u32> {
        (1..10).find(|_| watch.has_waited(LOOKS))
    }

    #[test]
    fn a_connection_that_sends_nothing_is_closed_and_one_that_is_not_ready_is_not() {
        let (activity, mut watch) = watched();
        assert_eq!(looks_until_closed(&mut watch), None);
        activity.turn();
        assert_eq!(looks_until_closed(&mut watch), Some(LOOKS + 1), "the first look sees when it began");
    }

    #[test]
    fn a_request_that_takes_long_does_not_count_and_its_end_begins_the_time_anew() {
        let (activity, mut watch) = watched();
        activity.turn();
        assert!(!watch.has_waited(LOOKS) && !watch.has_waited(LOOKS) && !watch.has_waited(LOOKS));
        activity.turn();
        assert_eq!(looks_until_closed(&mut watch), None);
        activity.turn();
        assert_eq!(looks_until_closed(&mut watch), Some(LOOKS + 1));
    }

    #[test]
    fn a_request_between_two_looks_is_seen() {
        let (activity, mut watch) = watched();
        activity.turn();
        for _ in 0..100 {
            assert!(!watch.has_waited(LOOKS));
            activity.turn();
            activity.turn();
        }
    }

    #[test]
    fn a_client_that_is_slow_to_take_its_answer_is_not_closed() {
        let (activity, mut watch) = watched();
        activity.turn();
        let mut stream = Noted::new((), Arc::clone(&activity));
        assert!(stream.note(Poll::<()>::Pending).is_pending());
        assert_eq!(looks_until_closed(&mut watch), None);
        assert!(stream.note(Poll::Ready(())).is_ready());
        assert_eq!(looks_until_closed(&mut watch), Some(LOOKS + 1));
    }
}
