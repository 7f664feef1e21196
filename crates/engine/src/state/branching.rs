//! The queue of branches to be made: one at a time, because a copy takes as much space as its source. Also
//! which tables the one whose turn it is copies.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// Branches that may wait.
const WAITING_MAX: usize = 100;

#[derive(Default)]
pub(crate) struct Branching {
    turn: Mutex<()>,
    waiting: AtomicUsize,
    /// The public ids of the tables that are being copied.
    copying: std::sync::Mutex<Vec<String>>,
}

/// Tables that are being copied, until it is dropped.
pub(crate) struct NotedCopies<'b>(&'b std::sync::Mutex<Vec<String>>);

impl Drop for NotedCopies<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
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

    /// Notes the copies of the branch whose turn it is.
    pub(crate) fn note_copying(&self, public_ids: &[String]) -> NotedCopies<'_> {
        *self.copying.lock().unwrap_or_else(PoisonError::into_inner) = public_ids.to_vec();
        NotedCopies(&self.copying)
    }

    /// Whether a branch of this process copies into the table.
    pub(crate) fn is_copying(&self, public_id: &str) -> bool {
        let copying = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        copying.iter().any(|own| own == public_id)
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
