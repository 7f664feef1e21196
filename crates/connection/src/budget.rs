//! A memory budget that requests share. A request that finds it exhausted waits in a fair queue for a bounded
//! time.
//!
//! It does not know what the bytes are for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, Notify};

/// A shared number of bytes. Taking bytes that are free costs one atomic operation.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
    /// Negative while requests that could not wait have taken more than the budget.
    left: AtomicI64,
    /// Number of waiting requests. While it is not zero, new requests queue behind them.
    waiting: AtomicUsize,
    /// Held by the first waiting request. The lock is fair, so requests are served in order.
    queue: Mutex<()>,
    /// Notified when bytes are returned while a request waits.
    returned: Notify,
    wait: Duration,
    /// Whether requests are refused instead of waiting, and the signal for those that wait already.
    refuses: AtomicBool,
    refused: Notify,
}

/// The budget had not enough bytes within the waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// The state of a budget, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetFigures {
    /// Bytes of the whole budget.
    pub bytes: u64,
    /// More than `bytes` while requests that could not wait have taken more.
    pub used_bytes: u64,
    /// Requests that wait for memory.
    pub waiting: u64,
}

/// Bytes taken from a budget; dropping it returns them.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

/// Bytes with a guard, such as their share of a budget.
struct Guarded<G> {
    bytes: Bytes,
    _guard: G,
}

impl<G> AsRef<[u8]> for Guarded<G> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that keep a guard until the last reader has dropped them.
pub fn guarded<G: Send + 'static>(bytes: Bytes, guard: G) -> Bytes {
    Bytes::from_owner(Guarded { bytes, _guard: guard })
}

/// Counts as a waiting request until it is dropped.
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
    /// A budget of so many bytes, for which a request waits so long.
    pub fn new(bytes: usize, wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            left: AtomicI64::new(signed(bytes)),
            waiting: AtomicUsize::new(0),
            queue: Mutex::new(()),
            returned: Notify::new(),
            wait,
            refuses: AtomicBool::new(false),
            refused: Notify::new(),
        })
    }

    /// From now on no request waits: it gets its bytes at once or is refused. For a server that stops.
    pub fn refuse_waiting(&self) {
        self.refuses.store(true, Ordering::SeqCst);
        self.refused.notify_waiters();
    }

    /// Whether a request waits or the budget is exhausted.
    pub fn is_short(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0 || self.left.load(Ordering::Relaxed) <= 0
    }

    /// Its figures now.
    pub fn figures(&self) -> BudgetFigures {
        let used = signed(self.bytes).saturating_sub(self.left.load(Ordering::Relaxed));
        BudgetFigures {
            bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
            used_bytes: u64::try_from(used).unwrap_or(0),
            waiting: u64::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u64::MAX),
        }
    }

    /// Takes the bytes and waits for them if necessary.
    pub async fn acquire(self: &Arc<Self>, bytes: usize) -> Result<Share, Exhausted> {
        let mut share = self.empty_share();
        share.grow_to(bytes).await?;
        Ok(share)
    }

    /// Takes the bytes if they are free now.
    pub fn try_acquire(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        self.subtract(bytes).then(|| Share { budget: Arc::clone(self), bytes })
    }

    /// An empty share.
    pub fn empty_share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0 }
    }

    fn subtract(&self, bytes: usize) -> bool {
        let bytes = signed(bytes);
        let enough = |left: i64| (left >= bytes).then(|| left - bytes);
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enough).is_ok()
    }

    async fn subtract_or_wait(&self, bytes: usize) -> Result<(), Exhausted> {
        if self.waiting.load(Ordering::SeqCst) == 0 && self.subtract(bytes) {
            return Ok(());
        }
        // Made before the look at the flag, so that no signal is missed.
        let refused = self.refused.notified();
        if self.refuses.load(Ordering::SeqCst) {
            return Err(Exhausted);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(&self.waiting);
        let turn = async {
            let _first = self.queue.lock().await;
            // `Notify` stores a permit, so bytes returned between the check and the wait are not missed.
            while !self.subtract(bytes) {
                self.returned.notified().await;
            }
        };
        tokio::select! {
            turn = tokio::time::timeout(self.wait, turn) => turn.map_err(|_elapsed| Exhausted),
            () = refused => Err(Exhausted),
        }
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
    /// Grows the share to `bytes` and waits for them if necessary.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.budget.subtract_or_wait(more).await?;
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Grows or shrinks the share without waiting: the memory is in use already.
    pub fn resize(&mut self, bytes: usize) {
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
        let share = budget.acquire(100).await.unwrap();
        assert_eq!(budget.acquire(1).await.err(), Some(Exhausted));
        assert_eq!(budget.figures(), BudgetFigures { bytes: 100, used_bytes: 100, waiting: 0 });
        drop(share);
        assert!(budget.acquire(100).await.is_ok());
        assert_eq!(budget.left.load(Ordering::SeqCst), 100);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn waiting_requests_are_served_in_order_and_not_overtaken() {
        let budget = Budget::new(100, Duration::from_secs(5));
        let mut first = budget.acquire(60).await.unwrap();
        let large = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { drop(budget.acquire(90).await.unwrap()) }
        });
        tokio::time::sleep(SOON).await;
        let small = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { drop(budget.acquire(10).await.unwrap()) }
        });
        tokio::time::sleep(SOON).await;
        assert!(budget.is_short() && !small.is_finished(), "the large request came first");
        first.resize(10);
        large.await.unwrap();
        small.await.unwrap();
    }

    #[tokio::test]
    async fn when_the_server_stops_nobody_waits_and_free_bytes_are_still_given() {
        let budget = Budget::new(100, Duration::from_mins(1));
        let share = budget.acquire(60).await.unwrap();
        let waiting = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { budget.acquire(90).await.err() }
        });
        while budget.figures().waiting == 0 {
            tokio::task::yield_now().await;
        }
        budget.refuse_waiting();
        assert_eq!(waiting.await.unwrap(), Some(Exhausted));
        assert_eq!(budget.acquire(90).await.err(), Some(Exhausted));
        assert!(budget.acquire(40).await.is_ok());
        drop(share);
        assert!(budget.acquire(90).await.is_ok());
    }

    #[tokio::test]
    async fn an_answer_larger_than_its_estimate_overdraws_the_budget() {
        let budget = Budget::new(100, SOON);
        let mut share = budget.acquire(50).await.unwrap();
        share.resize(150);
        assert!(budget.is_short() && budget.try_acquire(1).is_none());
        share.resize(99);
        assert!(budget.try_acquire(1).is_some());
        drop(share);
        assert_eq!(budget.left.load(Ordering::SeqCst), 100);
    }
}
