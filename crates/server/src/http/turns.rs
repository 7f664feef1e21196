//! Turns: requests with large answers enter the engine in a fair order of their principals.
//!
//! Each of them takes memory for its answer and a noticeable time of a processor, so only some are executed
//! at a time. Where they queue, principals take turns, and one principal never has all places: its hundreds
//! of Scans make another one's wait for a few of them only. It does not know what a request does.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// One in this many places is always left to other principals.
const LEFT_SHARE: usize = 4;

/// Who makes a request: the ARN of a user or session, or the account.
pub(crate) type Who = Arc<str>;

/// The places. Invariant: a principal whose requests wait has no place that it may take.
#[derive(Debug)]
pub(crate) struct Turns {
    places_of_one: usize,
    wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// Nobody waits any more: the server stops.
    refuses: bool,
    principals: HashMap<Who, Entered>,
    /// Principals that wait, in the order of their turns.
    order: VecDeque<Who>,
}

/// The requests of one principal.
#[derive(Debug, Default)]
struct Entered {
    inside: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// No place was free within the waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoTurn;

/// A place; dropping it lets the next one in.
#[derive(Debug)]
pub(crate) struct Place(Option<(Arc<Turns>, Who)>);

impl Turns {
    /// So many places, for which a request waits so long.
    pub(crate) fn new(places: usize, wait: Duration) -> Arc<Self> {
        let places = places.max(1);
        let state = Mutex::new(State { free: places, ..State::default() });
        Arc::new(Self { places_of_one: (places - places / LEFT_SHARE).max(1), wait, state })
    }

    /// Takes a place, and waits for its turn if there is none.
    pub(crate) async fn take(self: &Arc<Self>, who: Who) -> Result<Place, NoTurn> {
        let waiting = {
            let mut state = self.state();
            let is_free = state.free > 0;
            let refuses = state.refuses;
            let entered = state.principals.entry(Arc::clone(&who)).or_default();
            if is_free && entered.inside < self.places_of_one {
                entered.inside += 1;
                state.free -= 1;
                return Ok(Place(Some((Arc::clone(self), who))));
            }
            if refuses {
                return Err(NoTurn);
            }
            let (sender, receiver) = oneshot::channel();
            let is_first = entered.waiting.is_empty();
            entered.waiting.push_back(sender);
            if is_first {
                state.order.push_back(who);
            }
            receiver
        };
        match tokio::time::timeout(self.wait, waiting).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(NoTurn),
        }
    }

    /// From now on no request waits: it gets a place at once or is refused.
    pub(crate) fn refuse_waiting(&self) {
        let mut state = self.state();
        state.refuses = true;
        state.order.clear();
        state.principals.retain(|_, entered| {
            entered.waiting.clear();
            entered.inside > 0
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees a place and lets in who may now enter.
    fn leave(self: &Arc<Self>, who: &Who) {
        let mut state = self.state();
        state.free += 1;
        if let Some(entered) = state.principals.get_mut(who) {
            entered.inside = entered.inside.saturating_sub(1);
            if entered.inside == 0 && entered.waiting.is_empty() {
                state.principals.remove(who);
            }
        }
        // Each principal that waits is looked at once.
        for _ in 0..state.order.len() {
            if state.free == 0 {
                return;
            }
            let Some(next) = state.order.pop_front() else { return };
            state.let_in(self, next);
        }
    }
}

impl State {
    /// Lets in the first request of a principal that still waits, if the principal may take a place.
    fn let_in(&mut self, turns: &Arc<Turns>, who: Who) {
        let Some(entered) = self.principals.get_mut(&who) else { return };
        while entered.inside < turns.places_of_one
            && let Some(sender) = entered.waiting.pop_front()
        {
            let place = Place(Some((Arc::clone(turns), Arc::clone(&who))));
            match sender.send(place) {
                Ok(()) => {
                    entered.inside += 1;
                    self.free -= 1;
                    break;
                }
                // Its client has left, or it has waited too long.
                Err(mut unwanted) => unwanted.0 = None,
            }
        }
        if !entered.waiting.is_empty() {
            self.order.push_back(who);
        } else if entered.inside == 0 {
            self.principals.remove(&who);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((turns, who)) = self.0.take() {
            turns.leave(&who);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn who(name: &str) -> Who {
        Arc::from(name)
    }

    #[tokio::test]
    async fn one_principal_leaves_places_to_others() {
        let turns = Turns::new(4, LONG);
        let mut ann: Vec<_> = (0..3).map(|_| turns.take(who("ann")).now_or_never().unwrap()).collect();
        assert!(turns.take(who("ann")).now_or_never().is_none(), "the last place is for others");
        let ben = turns.take(who("ben")).now_or_never().unwrap().unwrap();
        assert!(turns.take(who("eve")).now_or_never().is_none(), "none is left");
        drop(ben);
        assert!(turns.take(who("ann")).now_or_never().is_none());
        ann.pop();
        assert!(turns.take(who("ann")).now_or_never().is_some());
        drop(ann);
        let state = turns.state();
        assert_eq!((state.free, state.principals.len(), state.order.len()), (4, 0, 0), "{state:?}");
    }

    #[tokio::test]
    async fn principals_that_wait_take_turns() {
        let turns = Turns::new(1, LONG);
        let first = turns.take(who("ann")).await.unwrap();
        let entered = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for name in ["ann", "ann", "ann", "ben", "eve", "ben"] {
            let (turns, entered) = (Arc::clone(&turns), Arc::clone(&entered));
            tasks.push(tokio::spawn(async move {
                let _place = turns.take(who(name)).await.unwrap();
                entered.lock().unwrap().push(name);
            }));
            tokio::task::yield_now().await;
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*entered.lock().unwrap(), ["ann", "ben", "eve", "ann", "ben", "ann"]);
        assert_eq!(turns.state().free, 1);
    }

    #[tokio::test]
    async fn a_request_that_is_given_up_leaves_its_turn_to_the_next() {
        let turns = Turns::new(1, Duration::from_millis(20));
        let first = turns.take(who("ann")).await.unwrap();
        assert_eq!(turns.take(who("ben")).await.err(), Some(NoTurn), "it waited too long");
        let mut given_up = Box::pin(turns.take(who("ben")));
        assert!(given_up.as_mut().now_or_never().is_none());
        let mut waiting = Box::pin(turns.take(who("eve")));
        assert!(waiting.as_mut().now_or_never().is_none());
        // The place is handed over, but its taker is gone before it looks.
        drop(first);
        drop(given_up);
        drop(waiting.await.unwrap());
        let state = turns.state();
        assert_eq!((state.free, state.principals.len(), state.order.len()), (1, 0, 0), "{state:?}");
    }

    #[tokio::test]
    async fn when_the_server_stops_nobody_waits() {
        let turns = Turns::new(1, LONG);
        let first = turns.take(who("ann")).await.unwrap();
        let mut waiting = Box::pin(turns.take(who("ben")));
        assert!(waiting.as_mut().now_or_never().is_none());
        turns.refuse_waiting();
        assert_eq!(waiting.await.err(), Some(NoTurn));
        assert_eq!(turns.take(who("eve")).await.err(), Some(NoTurn));
        drop(first);
        assert!(turns.take(who("ann")).await.is_ok());
    }
}
