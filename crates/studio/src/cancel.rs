//! The wish that a call ends, for those who execute it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether a job must end.
#[derive(Debug, Default)]
pub struct Cancel {
    is_set: AtomicBool,
    changed: Notify,
}

impl Cancel {
    pub(super) fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub(super) async fn wait(&self) {
        loop {
            // From here on it hears of a change.
            let changed = self.changed.notified();
            if self.is_set.load(Ordering::SeqCst) {
                return;
            }
            changed.await;
        }
    }
}
