//! Memory of unfinished request heads. Small heads are free; larger ones take from a budget until the request
//! is complete. No read takes much more than it needs: what is read beyond a request's end stays in memory.
//!
//! It does not know what a head says.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};

use super::budget::{Budget, Share};
use super::idle_timeout::{Activity, Phase};
use super::refused::{Cause, Refused};
use crate::limits::{HEAD_FREE_BYTES, READ_BUFFER_BYTES_MAX, READ_BYTES_MAX};

/// A connection's stream. Reading fails when the budget has no memory for a large head.
pub struct HeadMeter<Io> {
    stream: Take<Io>,
    activity: Arc<Activity>,
    budget: Arc<Budget>,
    refused: Arc<Refused>,
    /// The activity's epoch when this head began.
    epoch: u32,
    /// Bytes of this head so far.
    bytes: u64,
    share: Option<Share>,
}

impl<Io: AsyncRead> HeadMeter<Io> {
    /// Counts what is read from this stream while a head is unfinished.
    pub fn new(stream: Io, activity: Arc<Activity>, budget: Arc<Budget>, refused: Arc<Refused>) -> Self {
        Self { stream: stream.take(0), activity, budget, refused, epoch: 0, bytes: 0, share: None }
    }

    /// Resets the counters if the last head has become a request.
    fn begin(&mut self) {
        let epoch = self.activity.epoch();
        if epoch != self.epoch {
            (self.epoch, self.bytes, self.share) = (epoch, 0, None);
        }
    }

    /// Bytes that the next read may take. A head that is not complete after the free bytes needs a share.
    fn allowance(&mut self) -> std::io::Result<u64> {
        if self.share.is_some() || self.activity.phase() != Phase::AwaitingHead {
            return Ok(READ_BYTES_MAX);
        }
        let free = HEAD_FREE_BYTES.saturating_sub(self.bytes);
        if free > 0 {
            return Ok(free);
        }
        self.share = self.budget.try_acquire(READ_BUFFER_BYTES_MAX);
        if self.share.is_some() {
            return Ok(READ_BYTES_MAX);
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
        let allowed = this.allowance()?;
        this.stream.set_limit(allowed);
        let polled = Pin::new(&mut this.stream).poll_read(context, room);
        let read = allowed.saturating_sub(this.stream.limit());
        this.bytes = this.bytes.saturating_add(read);
        polled
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncWrite for HeadMeter<Io> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Reads once; the number of bytes that were taken, or 0 if reading failed.
    async fn read(meter: &mut HeadMeter<&[u8]>) -> usize {
        let mut room = vec![0; READ_BUFFER_BYTES_MAX];
        meter.read(&mut room).await.unwrap_or(0)
    }

    #[tokio::test]
    async fn an_unfinished_head_takes_from_the_budget_until_it_is_a_request() {
        let activity = Arc::new(Activity::new());
        let budget = Budget::new(READ_BUFFER_BYTES_MAX, Duration::ZERO);
        let refused = Arc::new(Refused::default());
        let sent = vec![b'x'; 2 * READ_BUFFER_BYTES_MAX];
        let meter = || {
            HeadMeter::new(sent.as_slice(), Arc::clone(&activity), Arc::clone(&budget), Arc::clone(&refused))
        };
        let (mut first, mut second) = (meter(), meter());
        activity.enter(Phase::AwaitingHead);
        let (free, most) = (8 * 1024, 16 * 1024);
        assert_eq!((read(&mut first).await, read(&mut second).await), (free, free));
        assert_eq!((read(&mut first).await, read(&mut first).await), (most, most));
        assert_eq!(read(&mut second).await, 0, "the first has what there is");
        activity.enter(Phase::Executing);
        assert_eq!(
            (read(&mut first).await, read(&mut second).await),
            (most, most),
            "bodies have their own account"
        );
        assert!(budget.try_acquire(READ_BUFFER_BYTES_MAX).is_some());
    }

    #[tokio::test]
    async fn a_large_body_leaves_no_large_beginning_of_a_head_without_a_share() {
        let activity = Arc::new(Activity::new());
        let budget = Budget::new(0, Duration::ZERO);
        let sent = vec![b'x'; 2 * READ_BUFFER_BYTES_MAX];
        let mut meter =
            HeadMeter::new(sent.as_slice(), Arc::clone(&activity), Arc::clone(&budget), Arc::default());
        activity.enter(Phase::Executing);
        assert_eq!(read(&mut meter).await, 16 * 1024);
        activity.enter(Phase::AwaitingHead);
        assert_eq!((read(&mut meter).await, read(&mut meter).await), (8 * 1024, 0));
    }
}
