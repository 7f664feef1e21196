//! Latches: a fair lock for each key. Writers of one key hold its latch one after the other, first come first
//! served.
//!
//! Optimistic commits starve on a hot item without it; behind the latch each writer commits at its first try.
//! The store still checks conflicts, which also guards against other processes.
//!
//! A latch is identified by the hash of its key. Two keys with the same hash share a latch, so one writer
//! waits without need.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use keywright_store::ByHash;

/// Independently locked parts of the latches.
const SHARDS: u64 = 64;

/// The kind of writer that waits for or holds a latch.
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

/// The tickets of one latch: its holder, and those that wait. Most of the time nobody waits.
struct Queue {
    holder: Ticket,
    waiting: VecDeque<Ticket>,
}

impl Queue {
    fn tickets(&self) -> impl Iterator<Item = &Ticket> {
        std::iter::once(&self.holder).chain(&self.waiting)
    }
}

/// A key's hash.
type LatchKey = u64;

type Shard = ByHash<Queue>;

/// All latches of one engine. Invariant: a latch with no ticket has no queue.
pub(crate) struct Latches {
    shards: Vec<Mutex<Shard>>,
    /// Has the engine's seed already; cloned for each key.
    seeded: DefaultHasher,
    next_number: AtomicU64,
}

impl Latches {
    /// `seed` keeps clients from choosing keys that share a latch.
    pub(crate) fn new(seed: u128) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let mut seeded = DefaultHasher::new();
        seeded.write_u128(seed);
        Arc::new(Self { shards, seeded, next_number: AtomicU64::new(0) })
    }

    fn latch(&self, key: &[u8]) -> LatchKey {
        let mut hasher = self.seeded.clone();
        hasher.write(key);
        hasher.finish()
    }

    fn shard(&self, latch: LatchKey) -> MutexGuard<'_, Shard> {
        // The upper bits: the map of the shard uses the lower ones.
        let place = usize::try_from((latch >> 32) % SHARDS).unwrap_or(0);
        let shard = self.shards.get(place).or_else(|| self.shards.first());
        // A panic while a shard is locked leaves it consistent: every change is one call on the map.
        shard.expect("SHARDS is not zero").lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the latches of all keys. Every caller takes them in the same order, so no two wait for each
    /// other.
    pub(crate) async fn acquire<K: AsRef<[u8]>>(
        self: &Arc<Self>,
        keys: impl IntoIterator<Item = K>,
        holder: Holder,
    ) -> LatchGuard {
        let mut places: Vec<Entered> = keys.into_iter().map(|key| (self.latch(key.as_ref()), 0)).collect();
        places.sort_unstable();
        places.dedup();
        let mut guard = LatchGuard { latches: Arc::clone(self), places, entered: 0 };
        while let Some((latch, number)) = guard.places.get_mut(guard.entered) {
            let place;
            (*number, place) = self.enqueue(*latch, holder);
            guard.entered += 1;
            if place == Place::Waiting {
                guard.wait_for_last().await;
            }
        }
        guard
    }

    /// Whether a transaction holds or waits for the latch of this key.
    pub(crate) fn has_transaction(&self, key: &[u8]) -> bool {
        let latch = self.latch(key);
        self.shard(latch)
            .get(&latch)
            .is_some_and(|queue| queue.tickets().any(|ticket| ticket.holder == Holder::Transaction))
    }

    /// Acquires the latch of a key, if it is free.
    pub(crate) fn try_acquire(self: &Arc<Self>, key: &[u8], holder: Holder) -> Option<LatchGuard> {
        let latch = self.latch(key);
        let ticket = self.ticket(holder);
        let number = ticket.number;
        match self.shard(latch).entry(latch) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(free) => free.insert(Queue { holder: ticket, waiting: VecDeque::new() }),
        };
        Some(LatchGuard { latches: Arc::clone(self), places: vec![(latch, number)], entered: 1 })
    }

    fn ticket(&self, holder: Holder) -> Ticket {
        Ticket { number: self.next_number.fetch_add(1, Ordering::Relaxed), holder, waker: None }
    }

    fn enqueue(&self, latch: LatchKey, holder: Holder) -> (u64, Place) {
        let ticket = self.ticket(holder);
        let number = ticket.number;
        match self.shard(latch).entry(latch) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().waiting.push_back(ticket);
                (number, Place::Waiting)
            }
            Entry::Vacant(free) => {
                free.insert(Queue { holder: ticket, waiting: VecDeque::new() });
                (number, Place::Holding)
            }
        }
    }

    /// Removes a ticket from its queue, whether it holds the latch or still waits. The next ticket becomes
    /// the holder.
    fn leave(&self, latch: LatchKey, number: u64) {
        let woken = {
            let mut shard = self.shard(latch);
            let Entry::Occupied(mut entry) = shard.entry(latch) else { return };
            let queue = entry.get_mut();
            if queue.holder.number != number {
                queue.waiting.retain(|ticket| ticket.number != number);
                None
            } else if let Some(next) = queue.waiting.pop_front() {
                queue.holder = next;
                queue.holder.waker.take()
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

/// Whether a new ticket holds the latch at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Holding,
    Waiting,
}

/// A latch and the number of the ticket for it.
type Entered = (LatchKey, u64);

/// The acquired latches. Dropping it releases them, also while it still waits for the last one.
pub(crate) struct LatchGuard {
    latches: Arc<Latches>,
    places: Vec<Entered>,
    /// So many of the places have a ticket.
    entered: usize,
}

impl LatchGuard {
    async fn wait_for_last(&self) {
        let Some((latch, number)) = self.places.get(..self.entered).and_then(<[_]>::last) else { return };
        poll_fn(|context| {
            let mut shard = self.latches.shard(*latch);
            let Some(queue) = shard.get_mut(latch) else { return Poll::Ready(()) };
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

impl Drop for LatchGuard {
    fn drop(&mut self) {
        for (latch, number) in self.places.iter().take(self.entered) {
            self.latches.leave(*latch, *number);
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
    fn waiting_writers_acquire_in_the_order_of_arrival() {
        let latches = Latches::new(7);
        let mut first = pin!(latches.acquire([b"a"], Holder::Single));
        let Poll::Ready(inside) = poll_once(first.as_mut()) else {
            panic!("a free latch is acquired at once")
        };
        let mut second = pin!(latches.acquire([b"a"], Holder::Single));
        let mut third = pin!(latches.acquire([b"a"], Holder::Single));
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
    fn a_writer_that_stops_waiting_does_not_block_the_next() {
        let latches = Latches::new(7);
        let inside = latches.try_acquire(b"a", Holder::Transaction).expect("the latch is free");
        assert!(latches.has_transaction(b"a"));
        assert!(latches.try_acquire(b"a", Holder::Single).is_none());
        {
            let mut impatient = pin!(latches.acquire([b"a"], Holder::Single));
            assert!(poll_once(impatient.as_mut()).is_pending());
        }
        drop(inside);
        assert!(!latches.has_transaction(b"a"));
        assert!(latches.try_acquire(b"a", Holder::Single).is_some());
    }

    #[test]
    fn released_latches_leave_no_queue() {
        let latches = Latches::new(7);
        for _ in 0..3 {
            let mut both = pin!(latches.acquire([b"b", b"a", b"b"], Holder::Single));
            assert!(poll_once(both.as_mut()).is_ready());
        }
        assert!(latches.shards.iter().all(|shard| shard.lock().expect("not poisoned").is_empty()));
    }
}
