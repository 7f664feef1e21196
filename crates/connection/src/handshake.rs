//! TLS handshakes: a bounded time, few bytes, and turns, because each one computes a signature.
//!
//! It does not know certificates (`tls`), nor how many handshakes are under way (`client`, `connections`).

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::limits::{HANDSHAKE_BYTES_MAX, HANDSHAKE_SECONDS_MAX};

/// Handshakes that compute at a time. A signature takes up to some milliseconds; all others of a flood wait
/// while requests go on.
const TURNS: usize = 1;

/// Makes the handshakes of ports with the same certificate.
#[derive(Clone)]
pub struct Handshakes {
    acceptor: Arc<RwLock<TlsAcceptor>>,
    time_max: Duration,
    turns: Arc<Semaphore>,
}

/// Why a handshake ended without a connection.
#[derive(Debug)]
pub enum HandshakeFault {
    /// It took too long, or sent too much.
    TooSlow,
    /// The library refused it, or the socket failed.
    Failed(std::io::Error),
}

impl Handshakes {
    /// Handshakes with this certificate.
    pub fn new(acceptor: TlsAcceptor) -> Self {
        let time_max = Duration::from_secs(HANDSHAKE_SECONDS_MAX);
        Self { acceptor: Arc::new(RwLock::new(acceptor)), time_max, turns: Arc::new(Semaphore::new(TURNS)) }
    }

    /// Makes new handshakes with this certificate, on all ports. Connections that are there go on.
    pub fn replace(&self, acceptor: TlsAcceptor) {
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }

    fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the handshake of a connection.
    pub async fn accept<Io>(&self, stream: Io) -> Result<TlsStream<Bounded<Io>>, HandshakeFault>
    where
        Io: AsyncRead + AsyncWrite + Unpin,
    {
        let bounded = Bounded(stream.take(HANDSHAKE_BYTES_MAX));
        let handshake = in_turns(&self.turns, self.acceptor().accept(bounded));
        let outcome = tokio::time::timeout(self.time_max, handshake).await;
        let mut stream =
            outcome.map_err(|_elapsed| HandshakeFault::TooSlow)?.map_err(HandshakeFault::Failed)?;
        stream.get_mut().0.0.set_limit(u64::MAX);
        Ok(stream)
    }
}

/// Polls the work only while it has a turn. It has none while it waits for its client.
async fn in_turns<F: Future>(turns: &Semaphore, work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        let turn = turns.acquire().await.expect("the semaphore is never closed");
        let polled = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        drop(turn);
        if let Poll::Ready(output) = polled {
            return output;
        }
        woken().await;
    }
}

/// Resolves the next time that its task is polled.
async fn woken() {
    let mut is_first = true;
    poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
}

/// A stream that ends after the bytes of a handshake, until that bound is lifted.
pub struct Bounded<Io>(Take<Io>);

impl<Io: AsyncRead + Unpin> AsyncRead for Bounded<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, room)
    }
}

impl<Io: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Bounded<Io> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(self.get_mut().0.get_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(self.get_mut().0.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(self.get_mut().0.get_mut()).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.get_ref().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(self.get_mut().0.get_mut()).poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use tokio::io::AsyncWriteExt as _;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn work_that_waits_for_its_client_leaves_the_turn_to_others() {
        let turns = Semaphore::new(1);
        let context = &mut Context::from_waker(Waker::noop());
        let (reply, client) = oneshot::channel::<()>();
        let mut slow = pin!(in_turns(&turns, client));
        assert!(slow.as_mut().poll(context).is_pending());
        assert!(pin!(in_turns(&turns, async {})).poll(context).is_ready());
        let turn = turns.try_acquire().unwrap();
        reply.send(()).unwrap();
        assert!(slow.as_mut().poll(context).is_pending(), "another one computes");
        drop(turn);
        assert!(slow.as_mut().poll(context).is_ready());
    }

    fn handshakes() -> Handshakes {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
        let config = tokio_rustls::rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.unwrap())
            .unwrap();
        Handshakes::new(TlsAcceptor::from(Arc::new(config)))
    }

    #[tokio::test]
    async fn a_handshake_that_sends_more_than_any_client_ends() {
        let (server, mut client) = tokio::io::duplex(1 << 20);
        // Records of a client's first message, which claims to be 60,000 bytes long.
        let mut sent = b"\x16\x03\x01\x10\x00\x01\x00\xea\x60".to_vec();
        sent.resize(5 + 4096, 0);
        for _ in 0..20 {
            client.write_all(&sent).await.unwrap();
            sent = [b"\x16\x03\x01\x10\x00".as_slice(), &[0; 4096]].concat();
        }
        let outcome = handshakes().accept(server).await;
        assert!(matches!(outcome, Err(HandshakeFault::Failed(_))));
    }

    #[tokio::test]
    async fn a_handshake_ends_if_its_client_is_silent() {
        let (server, _silent) = tokio::io::duplex(1024);
        let soon = Handshakes { time_max: Duration::from_millis(20), ..handshakes() };
        assert!(matches!(soon.accept(server).await, Err(HandshakeFault::TooSlow)));
    }
}
