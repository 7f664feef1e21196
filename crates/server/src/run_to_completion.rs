//! A future that runs to its end even if its client goes away.
//!
//! It runs where it is awaited; only when it is dropped unfinished does it become a task of its own, and the engine learns
//! that the client has left. Making every change a task would cost each of them a place in the runtime's list and two
//! turns of its queue.

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
        // Not kept while it runs: of one that panics nothing is left to be carried on.
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
        // Without a runtime the process is about to end, and its tasks with it.
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
    async fn what_is_dropped_in_the_middle_ends_all_the_same() {
        let (go, gone) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let run = async move {
            gone.await.expect("it is let go");
            tell.send(()).expect("somebody listens");
        };
        let mut carried = RunToCompletion::new(run, Presence::default());
        assert!(futures_util::future::poll_immediate(&mut carried).await.is_none());
        drop(carried);
        go.send(()).expect("it still waits");
        told.await.expect("it came to its end");
    }

    #[tokio::test]
    async fn what_was_never_begun_ends_all_the_same() {
        let (tell, told) = oneshot::channel();
        drop(RunToCompletion::new(async move { tell.send(()) }, Presence::default()));
        told.await.expect("it came to its end");
    }
}
