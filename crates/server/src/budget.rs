//! A budget of memory that requests share: who takes from it waits for a bounded time, in order.
//!
//! It does not know what the bytes are for.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};

/// So many bytes for all. Taking what is there costs one atomic operation.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Negative while more was taken than there is, by those who could not wait.
    left: AtomicI64,
    /// How many wait. While any does, nobody passes them.
    waiting: AtomicUsize,
    /// Held by the first of those who wait: a fair lock, so they are served in order.
    queue: Mutex<()>,
    /// Rung when bytes come back while somebody waits.
    returned: Notify,
    wait: Duration,
}

/// The budget did not have enough in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// Bytes taken from a budget. They go back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

/// Counts as one that waits, until it is dropped.
struct Waiting<'b>(&'b AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Budget {
    pub(crate) fn new(bytes: usize, wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(signed(bytes)),
            waiting: AtomicUsize::new(0),
            queue: Mutex::new(()),
            returned: Notify::new(),
            wait,
        })
    }

    /// Whether somebody waits, or there is nothing left to take.
    pub(crate) fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0 || self.left.load(Ordering::Relaxed) <= 0
    }

    /// Takes the bytes, waiting for them if they are not there.
    pub(crate) async fn take(self: &Arc<Self>, bytes: usize) -> Result<Share, Exhausted> {
        let mut share = self.nothing();
        share.grow_to(bytes).await?;
        Ok(share)
    }

    /// Takes the bytes if they are there.
    pub(crate) fn take_now(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        self.subtract(bytes).then(|| Share { budget: Arc::clone(self), bytes })
    }

    /// A share of nothing yet.
    pub(crate) fn nothing(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0 }
    }

    fn subtract(&self, bytes: usize) -> bool {
        let bytes = signed(bytes);
        let enough = |left: i64| (left >= bytes).then(|| left - bytes);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enough).is_ok()
    }

    async fn subtract_when_there(&self, bytes: usize) -> Result<(), Exhausted> {
        if self.waiting.load(Ordering::SeqCst) == 0 && self.subtract(bytes) {
            return Ok(());
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(&self.waiting);
        let turn = async {
            let _first = self.queue.lock().await;
            // What comes back between a look and the wait leaves its mark in the bell.
            while !self.subtract(bytes) {
                self.returned.notified().await;
            }
        };
        tokio::time::timeout(self.wait, turn).await.map_err(|_elapsed| Exhausted)
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.left.fetch_add(signed(bytes), Ordering::SeqCst);
            if self.waiting.load(Ordering::SeqCst) > 0 {
                self.returned.notify_one();
            }
        }
    }
}

impl Share {
    /// Takes more until it has so many bytes, waiting for them if they are not there.
    pub(crate) async fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.budget.subtract_when_there(more).await?;
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Takes more or gives back, without waiting: the memory is in use already.
    pub(crate) fn settle(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.budget.left.fetch_sub(signed(bytes - self.bytes), Ordering::SeqCst);
        } else {
            self.budget.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn what_is_taken_comes_back() {
        let budget = Budget::new(100, SOON);
        let share = budget.take(100).await.unwrap();
        assert_eq!(budget.take(1).await.err(), Some(Exhausted));
        drop(share);
        assert!(budget.take(100).await.is_ok());
        assert_eq!(budget.left.load(Ordering::SeqCst), 100);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn those_who_wait_are_served_in_order_and_nobody_passes_them() {
        let budget = Budget::new(100, Duration::from_secs(5));
        let mut first = budget.take(60).await.unwrap();
        let large = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { drop(budget.take(90).await.unwrap()) }
        });
        tokio::time::sleep(SOON).await;
        let small = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { drop(budget.take(10).await.unwrap()) }
        });
        tokio::time::sleep(SOON).await;
        assert!(budget.is_short() && !small.is_finished(), "the large one came first");
        first.settle(10);
        large.await.unwrap();
        small.await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_is_larger_than_expected_is_paid_for_later() {
        let budget = Budget::new(100, SOON);
        let mut share = budget.take(50).await.unwrap();
        share.settle(150);
        assert!(budget.is_short() && budget.take_now(1).is_none());
        share.settle(99);
        assert!(budget.take_now(1).is_some());
        drop(share);
        assert_eq!(budget.left.load(Ordering::SeqCst), 100);
    }
}
