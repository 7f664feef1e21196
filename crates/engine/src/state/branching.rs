//! The queue of branches to be made: one at a time, because a copy takes as much space as its source.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// Branches that may wait.
const WAITING_MAX: usize = 100;

#[derive(Default)]
pub(crate) struct Branching {
    turn: Mutex<()>,
    waiting: AtomicUsize,
}

/// One that waits, until it is dropped.
struct Waiting<'w>(&'w AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Branching {
    /// Waits for the turn; `None` if too many wait already.
    pub(crate) async fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= WAITING_MAX { None } else { Some(self.turn.lock().await) }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::tests::harness::block_on;

    #[test]
    fn a_hundred_wait_and_the_next_is_refused() {
        let branching = Branching::default();
        let held = block_on(branching.enter()).expect("nobody waits");
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(branching.enter())).collect();
        for one in &mut waiting {
            assert!(one.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(block_on(branching.enter()).is_none());
        drop(waiting);
        let mut next = pin!(branching.enter());
        assert!(next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(held);
        assert!(block_on(next).is_some());
    }
}
