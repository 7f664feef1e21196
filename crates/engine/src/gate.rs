//! A fair gate for each key: writers of one key pass one after the other, in the order they came.
//!
//! Optimistic stores melt when many writers retry on one hot item; behind the gate each of them commits at the first
//! try. The gate does not replace the store's conflict check, which also guards against other processes.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bytes::Bytes;

/// How many independently locked parts the gates have; a power of two.
const SHARDS: usize = 64;

/// Who waits at or holds a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Single,
    Transaction,
}

struct Ticket {
    number: u64,
    holder: Holder,
    waker: Option<Waker>,
}

type Shard = HashMap<Bytes, VecDeque<Ticket>>;

/// All gates of one engine. Invariant: a key with no ticket has no queue; the first ticket of a queue is inside.
pub(crate) struct Gates {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    next_number: AtomicU64,
}

impl Gates {
    pub(crate) fn new() -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self { shards, hasher: RandomState::new(), next_number: AtomicU64::new(0) })
    }

    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Shard> {
        let hash = usize::try_from(self.hasher.hash_one(key) % 64).unwrap_or(0);
        let shard = self.shards.get(hash).or_else(|| self.shards.first());
        // A panic while a shard is locked leaves it whole: every change to it is one call on the map.
        shard.expect("there are 64 shards").lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the gates of all keys, in the order of the keys, so that no two callers wait for each other.
    pub(crate) async fn pass(self: &Arc<Self>, mut keys: Vec<Bytes>, holder: Holder) -> Passage {
        keys.sort_unstable();
        keys.dedup();
        let mut passage = Passage { gates: Arc::clone(self), held: Vec::with_capacity(keys.len()) };
        for key in keys {
            let number = self.enqueue(&key, holder);
            passage.held.push((key, number));
            passage.wait_for_last().await;
        }
        passage
    }

    /// Whether a transaction holds or waits for the gate of this key.
    pub(crate) fn has_transaction(&self, key: &[u8]) -> bool {
        self.shard(key)
            .get(key)
            .is_some_and(|queue| queue.iter().any(|ticket| ticket.holder == Holder::Transaction))
    }

    /// Passes the gate of a key only if nobody is there.
    pub(crate) fn try_pass(self: &Arc<Self>, key: Bytes, holder: Holder) -> Option<Passage> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        {
            let mut shard = self.shard(&key);
            if shard.contains_key(&key) {
                return None;
            }
            shard.insert(key.clone(), VecDeque::from([Ticket { number, holder, waker: None }]));
        }
        Some(Passage { gates: Arc::clone(self), held: vec![(key, number)] })
    }

    fn enqueue(&self, key: &Bytes, holder: Holder) -> u64 {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket { number, holder, waker: None };
        self.shard(key).entry(key.clone()).or_default().push_back(ticket);
        number
    }

    /// Takes a ticket out of its queue, whether it is inside or still waiting, and lets the next one in.
    fn leave(&self, key: &Bytes, number: u64) {
        let woken = {
            let mut shard = self.shard(key);
            let Some(queue) = shard.get_mut(key) else { return };
            let was_inside = queue.front().is_some_and(|ticket| ticket.number == number);
            queue.retain(|ticket| ticket.number != number);
            if queue.is_empty() {
                shard.remove(key);
                None
            } else if was_inside {
                queue.front_mut().and_then(|ticket| ticket.waker.take())
            } else {
                None
            }
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}

/// The right to write the keys passed; dropping it, also while still waiting, lets the next one in.
pub(crate) struct Passage {
    gates: Arc<Gates>,
    held: Vec<(Bytes, u64)>,
}

impl Passage {
    async fn wait_for_last(&self) {
        let Some((key, number)) = self.held.last() else { return };
        poll_fn(|context| {
            let mut shard = self.gates.shard(key);
            let Some(queue) = shard.get_mut(key) else { return Poll::Ready(()) };
            match queue.iter_mut().position(|ticket| ticket.number == *number) {
                None | Some(0) => Poll::Ready(()),
                Some(place) => {
                    if let Some(ticket) = queue.get_mut(place) {
                        ticket.waker = Some(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await;
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        for (key, number) in std::mem::take(&mut self.held) {
            self.gates.leave(&key, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    fn key(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_second_waits_until_the_first_leaves_and_the_third_after_it() {
        let gates = Gates::new();
        let mut first = pin!(gates.pass(vec![key("a")], Holder::Single));
        let Poll::Ready(inside) = poll_once(first.as_mut()) else { panic!("an open gate is passed at once") };
        let mut second = pin!(gates.pass(vec![key("a")], Holder::Single));
        let mut third = pin!(gates.pass(vec![key("a")], Holder::Single));
        assert!(poll_once(second.as_mut()).is_pending());
        assert!(poll_once(third.as_mut()).is_pending());
        drop(inside);
        assert!(poll_once(third.as_mut()).is_pending());
        let Poll::Ready(inside) = poll_once(second.as_mut()) else { panic!("the second is next") };
        assert!(poll_once(third.as_mut()).is_pending());
        drop(inside);
        assert!(poll_once(third.as_mut()).is_ready());
    }

    #[test]
    fn one_that_stops_waiting_does_not_block_the_next() {
        let gates = Gates::new();
        let inside = gates.try_pass(key("a"), Holder::Transaction).expect("nobody is there");
        assert!(gates.has_transaction(b"a"));
        assert!(gates.try_pass(key("a"), Holder::Single).is_none());
        {
            let mut impatient = pin!(gates.pass(vec![key("a")], Holder::Single));
            assert!(poll_once(impatient.as_mut()).is_pending());
        }
        drop(inside);
        assert!(!gates.has_transaction(b"a"));
        assert!(gates.try_pass(key("a"), Holder::Single).is_some());
    }

    #[test]
    fn gates_leave_nothing_behind() {
        let gates = Gates::new();
        for _ in 0..3 {
            let mut both = pin!(gates.pass(vec![key("b"), key("a"), key("b")], Holder::Single));
            assert!(poll_once(both.as_mut()).is_ready());
        }
        assert!(gates.shards.iter().all(|shard| shard.lock().expect("not poisoned").is_empty()));
    }
}
