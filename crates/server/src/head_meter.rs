//! Memory of unfinished request heads. Small heads are free; larger ones take from a budget until the request
//! is complete.
//!
//! It does not know what a head says.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::budget::{Budget, Share};
use crate::idle_timeout::{Activity, Phase};
use crate::limits::{HEAD_FREE_BYTES, READ_BUFFER_BYTES_MAX};
use crate::refused::{Cause, Refused};

/// A connection's stream. Reading fails when the budget has no memory for a large head.
pub(crate) struct HeadMeter<Io> {
    stream: Io,
    activity: Arc<Activity>,
    budget: Arc<Budget>,
    refused: Arc<Refused>,
    /// The activity's epoch when this head began.
    epoch: u32,
    /// Number of reads of this head. The first one may have read a part of the body too.
    reads: u32,
    bytes: usize,
    share: Option<Share>,
}

impl<Io> HeadMeter<Io> {
    pub(crate) const fn new(
        stream: Io,
        activity: Arc<Activity>,
        budget: Arc<Budget>,
        refused: Arc<Refused>,
    ) -> Self {
        Self { stream, activity, budget, refused, epoch: 0, reads: 0, bytes: 0, share: None }
    }

    /// Resets the counters if the last head has become a request.
    fn begin(&mut self) {
        let epoch = self.activity.epoch();
        if epoch != self.epoch {
            (self.epoch, self.reads, self.bytes, self.share) = (epoch, 0, 0, None);
        }
    }

    fn note_read(&mut self, bytes: usize) -> std::io::Result<()> {
        self.reads = self.reads.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        let large = self.reads > 1 && self.bytes > HEAD_FREE_BYTES;
        if !large || self.share.is_some() || self.activity.phase() != Phase::AwaitingHead {
            return Ok(());
        }
        self.share = self.budget.try_acquire(READ_BUFFER_BYTES_MAX);
        if self.share.is_some() {
            return Ok(());
        }
        self.refused.count(Cause::HeadBudget);
        Err(std::io::ErrorKind::OutOfMemory.into())
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for HeadMeter<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        this.begin();
        let before = room.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, room);
        match polled {
            Poll::Ready(Ok(())) => Poll::Ready(this.note_read(room.filled().len().saturating_sub(before))),
            other => other,
        }
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for HeadMeter<Io> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
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
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_unfinished_head_takes_from_the_budget_until_it_is_a_request() {
        let activity = Arc::new(Activity::new());
        let budget = Budget::new(READ_BUFFER_BYTES_MAX, Duration::ZERO);
        let refused = Arc::new(Refused::default());
        let meter = || HeadMeter::new((), Arc::clone(&activity), Arc::clone(&budget), Arc::clone(&refused));
        let (mut first, mut second) = (meter(), meter());
        activity.enter(Phase::AwaitingHead);
        for meter in [&mut first, &mut second] {
            meter.begin();
            assert!(meter.note_read(HEAD_FREE_BYTES + 1).is_ok(), "a body may have come with it");
        }
        assert!(first.note_read(1).is_ok() && first.note_read(1).is_ok());
        assert!(second.note_read(1).is_err(), "the first has what there is");
        activity.enter(Phase::Executing);
        first.begin();
        assert!(first.note_read(1).is_ok() && second.note_read(1).is_ok(), "bodies have their own account");
        assert!(budget.try_acquire(READ_BUFFER_BYTES_MAX).is_some());
    }
}
