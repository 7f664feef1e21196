//! Huge pages: none while a server is small, because each thread that allocates would have one of its own, of
//! 2 MiB, for the little that an idle server needs. A large heap is read faster with them.
//!
//! It does not know what is allocated.

#[cfg(target_os = "linux")]
pub(super) use linux::run;
#[cfg(target_os = "linux")]
pub(crate) use linux::{allow, avoid};

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use tokio::sync::watch;

    use crate::management::process::resident_bytes;

    /// The process is large from here on.
    const LARGE_BYTES: u64 = 64 * 1024 * 1024;
    /// Interval at which it is looked at. A process that grows by a gigabyte a second has huge pages for all
    /// but the first part.
    const CHECK: Duration = Duration::from_millis(250);

    /// From now on no huge pages. The allocator goes on to ask for them, so that it has them later. With
    /// glibc this is so before the allocator's first page already, by the copy in `vendor/mimalloc`.
    pub(crate) fn avoid() {
        set(true);
    }

    /// Huge pages for what is allocated from now on.
    pub(crate) fn allow() {
        set(false);
    }

    fn set(avoided: bool) {
        if let Err(error) = rustix::thread::disable_transparent_huge_pages(avoided) {
            tracing::debug!(%error, "huge pages stay as they are");
        }
    }

    /// Waits until the process is large, and lets it have huge pages.
    pub(in crate::serve) async fn run(mut stopping: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(CHECK);
        while resident_bytes().is_some_and(|bytes| bytes < LARGE_BYTES) {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stopping.changed() => return,
            }
        }
        allow();
        // A task that ends early ends the server. A dropped sender means stopping too.
        let _ = stopping.changed().await;
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn avoid() {}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allow() {}

#[cfg(not(target_os = "linux"))]
pub(super) async fn run(mut stopping: tokio::sync::watch::Receiver<bool>) {
    let _ = stopping.changed().await;
}
