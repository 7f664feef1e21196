//! The two ends of a connection, driven by the caller that asks.
//!
//! `tokio-postgres` gives a client, which makes messages, and a connection, which sends and receives them. If
//! the connection were a task of its own, each answer would pass through two tasks and often two threads.
//! Here the asker does both, so an idle connection has no task, and notices that it was closed when it is
//! used next.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tokio_postgres::error::Severity;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// An encrypted stream.
pub(crate) type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// A client with its connection.
pub(crate) struct Wire {
    pub(crate) client: Client,
    /// One asker at a time. `None` once the connection has ended.
    link: tokio::sync::Mutex<Option<Link>>,
    warnings: AtomicU64,
}

struct Link {
    connection: Pin<Box<Connection<Socket, Stream>>>,
    answered: Arc<Answered>,
    waker: Waker,
}

impl Link {
    /// Sends and receives what can be, and counts the server's warnings. Ready when the connection has ended;
    /// the client reports the error with its next question.
    fn drive(&mut self, context: &mut Context<'_>, warnings: &AtomicU64) -> Poll<()> {
        loop {
            match self.connection.poll_message(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                    if notice.parsed_severity() == Some(Severity::Warning) {
                        warnings.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Poll::Ready(Some(Ok(_notification))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
            }
        }
    }
}

/// Whether the connection handed anything to the client.
struct Answered(AtomicBool);

impl Wake for Answered {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Wire {
    pub(crate) fn new(client: Client, connection: Connection<Socket, Stream>) -> Self {
        let answered = Arc::new(Answered(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&answered));
        let link = Link { connection: Box::pin(connection), answered, waker };
        Self { client, link: tokio::sync::Mutex::new(Some(link)), warnings: AtomicU64::new(0) }
    }

    /// The answer to a question that was put to the client. The question must wait for nothing else.
    pub(crate) async fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        let mut link = self.link.lock().await;
        let mut question = pin!(question);
        std::future::poll_fn(|context| {
            loop {
                let Some(open) = link.as_mut() else {
                    // The client knows that its connection is gone.
                    return question.as_mut().poll(context);
                };
                // What wakes the question happens while the connection is polled, below.
                if let Poll::Ready(answer) = question.as_mut().poll(&mut Context::from_waker(&open.waker)) {
                    return Poll::Ready(answer);
                }
                open.answered.0.store(false, Ordering::Relaxed);
                if open.drive(context, &self.warnings).is_ready() {
                    *link = None;
                } else if !open.answered.0.load(Ordering::Relaxed) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Whether it can be used. What came while nobody asked is read: a server that ends says so.
    pub(crate) fn is_open(&mut self) -> bool {
        let link = self.link.get_mut();
        let Some(open) = link.as_mut() else { return false };
        let waker = open.waker.clone();
        if open.drive(&mut Context::from_waker(&waker), &self.warnings).is_ready() {
            *link = None;
        }
        link.is_some()
    }

    /// Warnings that came so far. They come before the answer to the statement that caused them.
    pub(crate) fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Relaxed)
    }
}
