//! A future that runs to its end even if its client disconnects.
//!
//! It runs in the task that awaits it. If it is dropped unfinished, it is spawned as a task of its own and
//! the engine is notified that the client has left. Spawning every write would cost each of them a place in
//! the runtime's list and two passes through its queue.

use std::pin::Pin;
use std::task::{Context, Poll};

use keywright_engine::Presence;
use tokio::runtime::Handle;

pub(crate) struct RunToCompletion<F>
where
    F: Future + Send + 'static,
{
    future: Option<Pin<Box<F>>>,
    presence: Presence,
}

impl<F: Future + Send + 'static> RunToCompletion<F> {
    pub(crate) fn new(future: F, presence: Presence) -> Self {
        Self { future: Some(Box::pin(future)), presence }
    }
}

impl<F: Future + Send + 'static> Future for RunToCompletion<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Taken out while it is polled: a future that panicked must not be spawned.
        let mut future = self.future.take().expect("a future is not polled after its end");
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            self.future = Some(future);
        }
        polled
    }
}

impl<F: Future + Send + 'static> Drop for RunToCompletion<F> {
    fn drop(&mut self) {
        // Without a runtime the process is about to end.
        if let Some(future) = self.future.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.presence.leave();
            runtime.spawn(async move {
                future.await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_is_awaited_answers() {
        assert_eq!(RunToCompletion::new(async { 7 }, Presence::default()).await, 7);
    }

    #[tokio::test]
    async fn a_future_dropped_while_it_runs_still_completes() {
        let (go, gone) = oneshot::channel::<()>();
        let (complete, completed) = oneshot::channel();
        let run = async move {
            gone.await.expect("it has been dropped");
            complete.send(()).expect("somebody listens");
        };
        let mut carried = RunToCompletion::new(run, Presence::default());
        assert!(futures_util::future::poll_immediate(&mut carried).await.is_none());
        drop(carried);
        go.send(()).expect("it still waits");
        completed.await.expect("it has completed");
    }

    #[tokio::test]
    async fn a_future_dropped_before_its_first_poll_still_completes() {
        let (complete, completed) = oneshot::channel();
        drop(RunToCompletion::new(async move { complete.send(()) }, Presence::default()));
        completed.await.expect("it has completed");
    }
}
