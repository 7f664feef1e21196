//! Signing in, where the server verifies signatures: a signed request becomes a token of this process.
//!
//! The secret is in the page for one request only. Tokens are in memory: a restart ends them. It does not
//! know how a signature is verified (`auth`).

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::client::Address;
use crate::environment;
use crate::limits::{
    FAILED_ADDRESSES_MAX, SESSION_IDLE_MS, SESSIONS_MAX, SIGN_IN_FAILURES_MAX, SIGN_IN_WINDOW_MS,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) account: String,
    /// When it ends unless it is used before.
    pub(super) ends_ms: u64,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<String, Session>,
    /// The times of each address's last failures.
    failures: HashMap<Address, VecDeque<u64>>,
}

/// The signed-in tabs.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<State>);

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session and returns its token: 256 random bits.
    pub(super) fn begin(&self, account: &str, now_ms: u64) -> (String, Session) {
        let token = format!("{:032x}{:032x}", environment::random_u128(), environment::random_u128());
        let session = Session { account: account.to_owned(), ends_ms: now_ms + SESSION_IDLE_MS };
        let mut state = self.state();
        state.sessions.retain(|_, session| session.ends_ms > now_ms);
        if state.sessions.len() >= SESSIONS_MAX {
            let oldest = state.sessions.iter().min_by_key(|(_, session)| session.ends_ms);
            if let Some(oldest) = oldest.map(|(token, _)| token.clone()) {
                state.sessions.remove(&oldest);
            }
        }
        state.sessions.insert(token.clone(), session.clone());
        (token, session)
    }

    /// The session of a token, whose end moves on.
    pub(super) fn used(&self, token: &str, now_ms: u64) -> Option<Session> {
        let mut state = self.state();
        let session = state.sessions.get_mut(token)?;
        if session.ends_ms <= now_ms {
            state.sessions.remove(token);
            return None;
        }
        session.ends_ms = now_ms + SESSION_IDLE_MS;
        Some(session.clone())
    }

    pub(super) fn end(&self, token: &str) {
        self.state().sessions.remove(token);
    }

    /// Whether this address may try to sign in.
    pub(super) fn may_try(&self, address: Address, now_ms: u64) -> bool {
        let mut state = self.state();
        let Some(times) = state.failures.get_mut(&address) else { return true };
        times.retain(|time| time + SIGN_IN_WINDOW_MS > now_ms);
        times.len() < SIGN_IN_FAILURES_MAX
    }

    /// Counts a failure of an address, as many as it may have. Of too many addresses the one that failed
    /// longest ago is forgotten.
    pub(super) fn note_failure(&self, address: Address, now_ms: u64) {
        let failures = &mut self.state().failures;
        if failures.len() >= FAILED_ADDRESSES_MAX && !failures.contains_key(&address) {
            let oldest = failures.iter().min_by_key(|(_, times)| times.back().copied());
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                failures.remove(&oldest);
            }
        }
        let times = failures.entry(address).or_default();
        if times.len() >= SIGN_IN_FAILURES_MAX {
            times.pop_front();
        }
        times.push_back(now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_it_is_idle_or_signed_out() {
        let sessions = Sessions::default();
        let (token, session) = sessions.begin("123456789012", 5);
        assert_eq!((token.len(), session.ends_ms), (64, 5 + SESSION_IDLE_MS));
        let used = sessions.used(&token, SESSION_IDLE_MS).unwrap();
        assert_eq!(used.ends_ms, 2 * SESSION_IDLE_MS);
        assert_eq!(sessions.used(&token, 2 * SESSION_IDLE_MS), None);
        assert_eq!(sessions.used(&token, 6), None, "once ended it stays so");
        let (other, _) = sessions.begin("123456789012", 5);
        sessions.end(&other);
        assert_eq!(sessions.used(&other, 5), None);
    }

    #[test]
    fn an_address_has_five_failures_a_minute() {
        let sessions = Sessions::default();
        let (bad, good) = (Address::of([192, 0, 2, 1].into()), Address::of([192, 0, 2, 2].into()));
        for time in 0..5 {
            assert!(sessions.may_try(bad, time));
            sessions.note_failure(bad, time);
        }
        assert!(!sessions.may_try(bad, 5));
        assert!(sessions.may_try(good, 5));
        assert!(sessions.may_try(bad, SIGN_IN_WINDOW_MS));
    }

    #[test]
    fn of_too_many_addresses_the_one_that_failed_longest_ago_is_forgotten() {
        let sessions = Sessions::default();
        for number in 0..=u32::try_from(FAILED_ADDRESSES_MAX).unwrap() {
            for _ in 0..SIGN_IN_FAILURES_MAX {
                sessions.note_failure(Address::of(number.to_be_bytes().into()), number.into());
            }
        }
        assert_eq!(sessions.state().failures.len(), FAILED_ADDRESSES_MAX);
        let (first, last) = (0_u32, u32::try_from(FAILED_ADDRESSES_MAX).unwrap());
        assert!(sessions.may_try(Address::of(first.to_be_bytes().into()), 2_000));
        assert!(!sessions.may_try(Address::of(last.to_be_bytes().into()), 2_000));
    }

    #[test]
    fn the_number_of_sessions_is_bounded() {
        let sessions = Sessions::default();
        let (first, _) = sessions.begin("a", 0);
        for time in 1..=u64::try_from(SESSIONS_MAX).unwrap() {
            sessions.begin("a", time);
        }
        assert_eq!(sessions.used(&first, 10), None);
        assert_eq!(sessions.state().sessions.len(), SESSIONS_MAX);
    }
}
