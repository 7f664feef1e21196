//! Whose turn it is: few calls run at a time, and those that wait take turns by account, and within one by
//! tab. So nobody waits longer because somebody else sends more.
//!
//! It does not know what a call does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keywright_connection::client::Address;
use tokio::sync::oneshot;

use super::refusal::{Refusal, internal};

/// An account that signed in. Where nobody signs in, clients differ by their addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Account {
    SignedIn(String),
    Address(Address),
}

/// A tab of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tab {
    /// As its calls name it. A name means nothing outside of its session.
    Named { session: Option<u64>, name: String },
    /// Calls without a name are of the tab that is their connection.
    Connection(usize),
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub(super) account: Account,
    pub(super) tab: Tab,
}

impl Who {
    /// Whether both are one tab, or of one account that signed in.
    fn is_with(&self, account: &Account, tab: &Tab) -> bool {
        self.account == *account && (self.tab == *tab || matches!(account, Account::SignedIn(_)))
    }
}

/// How many places one caller may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    /// All that are free.
    Any,
    /// One for each tab, and one for each account that signed in: calls here are long, and a place that was
    /// given cannot be taken back.
    One,
}

type Ready = oneshot::Sender<Place>;
type Ring<K, T> = VecDeque<(K, VecDeque<T>)>;

#[derive(Debug)]
struct Turns {
    free: usize,
    each: Each,
    running: Vec<Who>,
    /// Who waits, the next first.
    waiting: Ring<Account, (Tab, VecDeque<Ready>)>,
}

/// Places for one kind of calls.
#[derive(Clone, Debug)]
pub(super) struct Lane(Arc<Mutex<Turns>>);

/// A place in a lane, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    lane: Lane,
    who: Who,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lane.turns().release(&self.who);
        self.lane.give();
    }
}

impl Lane {
    pub(super) fn new(places: usize, each: Each) -> Self {
        let turns = Turns { free: places, each, running: Vec::new(), waiting: VecDeque::new() };
        Self(Arc::new(Mutex::new(turns)))
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place. Who no longer waits for this leaves the queue.
    pub(super) async fn enter(&self, who: &Who) -> Result<Place, Refusal> {
        let (ready, turn) = oneshot::channel();
        self.turns().queue(who, ready);
        self.give();
        turn.await.map_err(|_closed| internal())
    }

    /// A place, if there is one now. It overtakes nobody: a free place is one that nobody waits for.
    pub(super) fn try_enter(&self, who: &Who) -> Option<Place> {
        let may_run = {
            let mut turns = self.turns();
            let may_run = turns.free > 0 && turns.may_run(&who.account, &who.tab);
            if may_run {
                turns.take(who.clone());
            }
            may_run
        };
        may_run.then(|| Place { lane: self.clone(), who: who.clone() })
    }

    /// Gives free places to those whose turn it is.
    fn give(&self) {
        loop {
            let next = self.turns().next();
            let Some((who, ready)) = next else { return };
            // One that has just left gives its place back by this.
            drop(ready.send(Place { lane: self.clone(), who }));
        }
    }
}

impl Turns {
    fn may_run(&self, account: &Account, tab: &Tab) -> bool {
        self.each == Each::Any || !self.running.iter().any(|own| own.is_with(account, tab))
    }

    fn take(&mut self, who: Who) {
        self.free -= 1;
        self.running.push(who);
    }

    fn release(&mut self, who: &Who) {
        if let Some(place) = self.running.iter().position(|own| own == who) {
            self.running.swap_remove(place);
            self.free += 1;
        }
    }

    fn queue(&mut self, who: &Who, ready: Ready) {
        self.forget_those_that_left();
        let tabs = entry(&mut self.waiting, &who.account);
        entry(tabs, &who.tab).push_back(ready);
    }

    fn forget_those_that_left(&mut self) {
        for (_, tabs) in &mut self.waiting {
            for (_, calls) in tabs.iter_mut() {
                calls.retain(|ready| !ready.is_closed());
            }
            tabs.retain(|(_, calls)| !calls.is_empty());
        }
        self.waiting.retain(|(_, tabs)| !tabs.is_empty());
    }

    /// The next that may run, if there is a place for it.
    fn next(&mut self) -> Option<(Who, Ready)> {
        if self.free == 0 {
            return None;
        }
        self.forget_those_that_left();
        let mut waiting = std::mem::take(&mut self.waiting);
        let found = turn(&mut waiting, |account, tabs| {
            turn(tabs, |tab, calls| {
                let ready = if self.may_run(account, tab) { calls.pop_front() } else { None };
                Some((Who { account: account.clone(), tab: tab.clone() }, ready?))
            })
        });
        self.waiting = waiting;
        if let Some((who, _)) = &found {
            self.take(who.clone());
        }
        found
    }
}

/// The entry of a key, at the end if it is new.
fn entry<'r, K: PartialEq + Clone, T>(ring: &'r mut Ring<K, T>, key: &K) -> &'r mut VecDeque<T> {
    let place = ring.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
        ring.push_back((key.clone(), VecDeque::new()));
        ring.len() - 1
    });
    &mut ring.get_mut(place).expect("it was found, or just added").1
}

/// Asks the entries in their order until one gives something. Who was asked is the last from then on.
fn turn<K, T, R>(ring: &mut Ring<K, T>, give: impl Fn(&K, &mut VecDeque<T>) -> Option<R>) -> Option<R> {
    for _ in 0..ring.len() {
        let (key, mut rest) = ring.pop_front()?;
        let given = give(&key, &mut rest);
        if !rest.is_empty() {
            ring.push_back((key, rest));
        }
        if given.is_some() {
            return given;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;

    fn who(account: &str, tab: &str) -> Who {
        let tab = Tab::Named { session: Some(1), name: tab.to_owned() };
        Who { account: Account::SignedIn(account.to_owned()), tab }
    }

    /// Names those that wait in the order in which they get the only place.
    async fn order(waiting: &[(&str, &str)]) -> Vec<String> {
        let lane = Lane::new(1, Each::Any);
        let first = lane.enter(&who("first", "")).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = waiting
            .iter()
            .map(|(account, tab)| {
                let (lane, who, order) = (lane.clone(), who(account, tab), Arc::clone(&order));
                let name = format!("{account}{tab}");
                async move {
                    let place = lane.enter(&who).await.unwrap();
                    order.lock().unwrap().push(name);
                    drop(place);
                }
            })
            .collect();
        let mut all = std::pin::pin!(futures_util::future::join_all(tasks));
        assert!(poll_immediate(all.as_mut()).await.is_none());
        drop(first);
        all.await;
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }

    #[tokio::test]
    async fn accounts_take_turns_and_within_one_its_tabs() {
        let waiting = [("a", "1"), ("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("b", "1")];
        assert_eq!(order(&waiting).await, ["a1", "b1", "c1", "a2", "b1", "a1", "a1"]);
    }

    #[tokio::test]
    async fn one_that_left_gets_no_place_and_is_not_kept() {
        let lane = Lane::new(1, Each::Any);
        let (a, b) = (who("a", "1"), who("b", "1"));
        let first = lane.enter(&a).await.unwrap();
        for _ in 0..10 {
            let mut leaving = Box::pin(lane.enter(&a));
            assert!(poll_immediate(&mut leaving).await.is_none());
        }
        let mut other = Box::pin(lane.enter(&b));
        assert!(poll_immediate(&mut other).await.is_none());
        assert_eq!(lane.turns().waiting.len(), 1, "only the one that still waits");
        drop(first);
        assert!(other.await.is_ok());
        assert_eq!(lane.turns().free, 1);
    }

    #[tokio::test]
    async fn an_account_has_one_place_where_calls_are_long_and_so_has_a_tab_of_nobody() {
        let lane = Lane::new(2, Each::One);
        let (first, second) = (who("a", "1"), who("a", "2"));
        let first = lane.try_enter(&first).unwrap();
        assert!(lane.try_enter(&second).is_none());
        let mut waits = Box::pin(lane.enter(&second));
        assert!(poll_immediate(&mut waits).await.is_none());
        let other = lane.enter(&who("b", "1")).await.unwrap();
        drop(other);
        assert!(poll_immediate(&mut waits).await.is_none(), "its account still has one");
        drop(first);
        drop(waits.await.unwrap());

        let anonymous = |connection| Who {
            account: Account::Address(Address::of([127, 0, 0, 1].into())),
            tab: Tab::Connection(connection),
        };
        let _first = lane.try_enter(&anonymous(1)).unwrap();
        assert!(lane.try_enter(&anonymous(1)).is_none());
        assert!(lane.try_enter(&anonymous(2)).is_some());
    }
}
