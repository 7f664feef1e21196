//! A fair gate for each key: writers of one key pass one after the other, in the order they came.
//!
//! Optimistic stores melt when many writers retry on one hot item; behind the gate each of them commits at the first
//! try. The gate does not replace the store's conflict check, which also guards against other processes.
//!
//! Gates are told apart by the hashes of their keys. Two keys of one hash, if they ever meet, share a gate: one waits
//! without need.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use keywright_store::ByHash;

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

/// Those at one gate: most of the time there is nobody but the one inside.
struct Queue {
    inside: Ticket,
    waiting: VecDeque<Ticket>,
}

impl Queue {
    fn tickets(&self) -> impl Iterator<Item = &Ticket> {
        std::iter::once(&self.inside).chain(&self.waiting)
    }
}

/// A key's hash.
type Gate = u64;

type Shard = ByHash<Queue>;

/// All gates of one engine. Invariant: a gate with no ticket has no queue.
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

    fn gate(&self, key: &[u8]) -> Gate {
        self.hasher.hash_one(key)
    }

    fn shard(&self, gate: Gate) -> MutexGuard<'_, Shard> {
        // Not the bits by which a map finds its places.
        let place = usize::try_from((gate >> 32) % 64).unwrap_or(0);
        let shard = self.shards.get(place).or_else(|| self.shards.first());
        // A panic while a shard is locked leaves it whole: every change to it is one call on the map.
        shard.expect("there are 64 shards").lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the gates of all keys, each caller in the same order, so that no two wait for each other.
    pub(crate) async fn pass<K: AsRef<[u8]>>(
        self: &Arc<Self>,
        keys: impl IntoIterator<Item = K>,
        holder: Holder,
    ) -> Passage {
        let mut gates: Vec<Gate> = keys.into_iter().map(|key| self.gate(key.as_ref())).collect();
        gates.sort_unstable();
        gates.dedup();
        let mut passage = Passage { gates: Arc::clone(self), held: Vec::with_capacity(gates.len()) };
        for gate in gates {
            let (number, place) = self.enqueue(gate, holder);
            passage.held.push((gate, number));
            if place == Place::Waiting {
                passage.wait_for_last().await;
            }
        }
        passage
    }

    /// Whether a transaction holds or waits for the gate of this key.
    pub(crate) fn has_transaction(&self, key: &[u8]) -> bool {
        let gate = self.gate(key);
        self.shard(gate)
            .get(&gate)
            .is_some_and(|queue| queue.tickets().any(|ticket| ticket.holder == Holder::Transaction))
    }

    /// Passes the gate of a key only if nobody is there.
    pub(crate) fn try_pass(self: &Arc<Self>, key: &[u8], holder: Holder) -> Option<Passage> {
        let gate = self.gate(key);
        let inside = self.ticket(holder);
        let number = inside.number;
        match self.shard(gate).entry(gate) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(free) => free.insert(Queue { inside, waiting: VecDeque::new() }),
        };
        Some(Passage { gates: Arc::clone(self), held: vec![(gate, number)] })
    }

    fn ticket(&self, holder: Holder) -> Ticket {
        Ticket { number: self.next_number.fetch_add(1, Ordering::Relaxed), holder, waker: None }
    }

    fn enqueue(&self, gate: Gate, holder: Holder) -> (u64, Place) {
        let ticket = self.ticket(holder);
        let number = ticket.number;
        match self.shard(gate).entry(gate) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().waiting.push_back(ticket);
                (number, Place::Waiting)
            }
            Entry::Vacant(free) => {
                free.insert(Queue { inside: ticket, waiting: VecDeque::new() });
                (number, Place::Inside)
            }
        }
    }

    /// Takes a ticket out of its queue, whether it is inside or still waiting, and lets the next one in.
    fn leave(&self, gate: Gate, number: u64) {
        let woken = {
            let mut shard = self.shard(gate);
            let Entry::Occupied(mut entry) = shard.entry(gate) else { return };
            let queue = entry.get_mut();
            if queue.inside.number != number {
                queue.waiting.retain(|ticket| ticket.number != number);
                None
            } else if let Some(next) = queue.waiting.pop_front() {
                queue.inside = next;
                queue.inside.waker.take()
            } else {
                entry.remove();
                None
            }
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}

/// Where a new ticket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Inside,
    Waiting,
}

/// The right to write the keys passed; dropping it, also while still waiting, lets the next one in.
pub(crate) struct Passage {
    gates: Arc<Gates>,
    held: Vec<(Gate, u64)>,
}

impl Passage {
    async fn wait_for_last(&self) {
        let Some((gate, number)) = self.held.last() else { return };
        poll_fn(|context| {
            let mut shard = self.gates.shard(*gate);
            let Some(queue) = shard.get_mut(gate) else { return Poll::Ready(()) };
            match queue.waiting.iter_mut().find(|ticket| ticket.number == *number) {
                None => Poll::Ready(()),
                Some(ticket) => {
                    ticket.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await;
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        for (gate, number) in self.held.drain(..) {
            self.gates.leave(gate, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_second_waits_until_the_first_leaves_and_the_third_after_it() {
        let gates = Gates::new();
        let mut first = pin!(gates.pass([b"a"], Holder::Single));
        let Poll::Ready(inside) = poll_once(first.as_mut()) else { panic!("an open gate is passed at once") };
        let mut second = pin!(gates.pass([b"a"], Holder::Single));
        let mut third = pin!(gates.pass([b"a"], Holder::Single));
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
        let inside = gates.try_pass(b"a", Holder::Transaction).expect("nobody is there");
        assert!(gates.has_transaction(b"a"));
        assert!(gates.try_pass(b"a", Holder::Single).is_none());
        {
            let mut impatient = pin!(gates.pass([b"a"], Holder::Single));
            assert!(poll_once(impatient.as_mut()).is_pending());
        }
        drop(inside);
        assert!(!gates.has_transaction(b"a"));
        assert!(gates.try_pass(b"a", Holder::Single).is_some());
    }

    #[test]
    fn gates_leave_nothing_behind() {
        let gates = Gates::new();
        for _ in 0..3 {
            let mut both = pin!(gates.pass([b"b", b"a", b"b"], Holder::Single));
            assert!(poll_once(both.as_mut()).is_ready());
        }
        assert!(gates.shards.iter().all(|shard| shard.lock().expect("not poisoned").is_empty()));
    }
}
