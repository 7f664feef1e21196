//! A line to a store that can be cut after so many bytes, and made whole again.

use std::io::{Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::Builder;

/// What is left until the line is cut: this much never goes over it.
const WHOLE: i64 = i64::MAX / 2;

pub struct Line {
    pub address: SocketAddr,
    left: Arc<AtomicI64>,
    connections: Arc<AtomicU64>,
}

impl Line {
    pub fn to(store: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (left, connections) = (Arc::new(AtomicI64::new(WHOLE)), Arc::new(AtomicU64::new(0)));
        let (budget, counted) = (Arc::clone(&left), Arc::clone(&connections));
        let accept_all = move || {
            for client in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::Relaxed);
                if budget.load(Ordering::Relaxed) > 0
                    && let Ok(store) = TcpStream::connect(store)
                {
                    join(&client, &store, &budget);
                }
            }
        };
        Builder::new().spawn(accept_all).unwrap();
        Self { address, left, connections }
    }

    /// Cuts the line once so many bytes more have gone to the store.
    pub fn cut_after(&self, bytes: u64) {
        self.left.store(i64::try_from(bytes).unwrap(), Ordering::Relaxed);
    }

    pub fn is_cut(&self) -> bool {
        self.left.load(Ordering::Relaxed) <= 0
    }

    pub fn make_whole(&self) {
        self.left.store(WHOLE, Ordering::Relaxed);
    }

    /// How many connections were made over it.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Passes on what either side says, until one ends or the line is cut.
fn join(client: &TcpStream, store: &TcpStream, left: &Arc<AtomicI64>) {
    let clone = |stream: &TcpStream| stream.try_clone().unwrap();
    let (from, to, left) = (clone(client), clone(store), Arc::clone(left));
    let there = move || pass(from, to, |bytes| left.fetch_sub(bytes, Ordering::Relaxed) > bytes);
    let (from, to) = (clone(store), clone(client));
    let back = move || pass(from, to, |_| true);
    Builder::new().spawn(there).unwrap();
    Builder::new().spawn(back).unwrap();
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut may_go_on: impl FnMut(i64) -> bool) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        if !may_go_on(i64::try_from(bytes).unwrap()) || to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ended = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
