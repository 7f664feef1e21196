//! Signing in, where the server verifies signatures: a signed request becomes a token of this process.
//!
//! The secret is in the page for one request only. Tokens are in memory: a restart ends them. It does not
//! know how a signature is verified (`auth`).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keywright_connection::client::Address;
use keywright_connection::limits::FAILED_ADDRESSES_MAX;
use keywright_engine::Principal;
use keywright_process::environment;

use super::{Pass, SignedIn};
use crate::limits::{SESSION_IDLE_MS, SESSIONS_EACH_MAX, SIGN_IN_FAILURES_MAX, SIGN_IN_WINDOW_MS};

/// Time for which a signature in a header is accepted: 15 minutes before and after the time that it names.
const SIGNATURE_VALID_MS: u64 = 30 * 60_000;

/// Signatures of a principal that are remembered as used; only who has a key makes any.
const USED_SIGNATURES_MAX: usize = 4_096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// Tells it from all others of this process. It is no secret.
    pub(super) number: u64,
    pub(super) account: String,
    /// Who signed in: in whose name its calls are made.
    pub(super) principal: Principal,
    /// The ARN of who signed in.
    pub(super) arn: String,
    /// The key of a user or session.
    pub(super) pass: Option<Arc<Pass>>,
    /// When it ends unless it is used before.
    pub(super) ends_ms: u64,
    /// When the session of the key ends, used or not.
    expires_ms: Option<u64>,
}

impl Session {
    /// Ends so long after this use, or with the session of its key.
    fn end_after(&self, now_ms: u64) -> u64 {
        let idle = now_ms + SESSION_IDLE_MS;
        self.expires_ms.map_or(idle, |expires_ms| expires_ms.min(idle))
    }
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<String, Session>,
    begun: u64,
    /// The times of each address's last failures.
    failures: HashMap<Address, VecDeque<u64>>,
    /// The signatures of each principal that signed in, and when, the oldest first.
    used: HashMap<String, VecDeque<(String, u64)>>,
}

/// A failure to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    Counted,
    /// The address has to wait. This failure does not make it wait longer.
    TooOften,
}

/// The signed-in tabs.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<State>);

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session and returns its token: 256 random bits. Of too many sessions of one principal the one
    /// unused for longest ends. Those of others go on.
    pub(super) fn begin(&self, by: SignedIn, now_ms: u64) -> (String, Session) {
        let token = format!("{:032x}{:032x}", environment::random_u128(), environment::random_u128());
        let SignedIn { caller, pass, arn, expires_ms, .. } = by;
        let mut state = self.state();
        state.begun += 1;
        let mut session = Session {
            number: state.begun,
            account: caller.namespace.account.to_string(),
            principal: caller.principal,
            arn,
            pass: pass.map(Arc::new),
            ends_ms: now_ms,
            expires_ms,
        };
        session.ends_ms = session.end_after(now_ms);
        state.sessions.retain(|_, session| session.ends_ms > now_ms);
        let own = || state.sessions.iter().filter(|(_, other)| other.arn == session.arn);
        if own().count() >= SESSIONS_EACH_MAX {
            let oldest = own().min_by_key(|(_, session)| (session.ends_ms, session.number));
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
        session.ends_ms = session.end_after(now_ms);
        Some(session.clone())
    }

    pub(super) fn end(&self, token: &str) {
        self.state().sessions.remove(token);
    }

    /// Notes that a verified signature signs in; false if it did before. It can be replayed while its time is
    /// accepted. Of too many signatures of a principal the one used first is forgotten.
    pub(super) fn first_use(&self, arn: &str, signature: &str, now_ms: u64) -> bool {
        let mut state = self.state();
        let used = state.used.entry(arn.to_owned()).or_default();
        while used.front().is_some_and(|(_, time)| time + SIGNATURE_VALID_MS <= now_ms) {
            used.pop_front();
        }
        if used.iter().any(|(known, _)| known == signature) {
            return false;
        }
        if used.len() >= USED_SIGNATURES_MAX {
            used.pop_front();
        }
        used.push_back((signature.to_owned(), now_ms));
        true
    }

    /// Counts a failure of an address, as many as it may have, and says whether it had that many before. Of
    /// too many addresses the one that failed longest ago is forgotten. A right signature is never refused
    /// for the failures of others at its address.
    pub(super) fn note_failure(&self, address: Address, now_ms: u64) -> Failed {
        let failures = &mut self.state().failures;
        if failures.len() >= FAILED_ADDRESSES_MAX && !failures.contains_key(&address) {
            let oldest = failures.iter().min_by_key(|(_, times)| times.back().copied());
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                failures.remove(&oldest);
            }
        }
        let times = failures.entry(address).or_default();
        times.retain(|time| time + SIGN_IN_WINDOW_MS > now_ms);
        if times.len() >= SIGN_IN_FAILURES_MAX {
            return Failed::TooOften;
        }
        times.push_back(now_ms);
        Failed::Counted
    }
}

#[cfg(test)]
mod tests {
    use keywright_engine::{AccountId, Caller, Namespace, Region};

    use super::*;

    fn key(id: &str) -> Principal {
        Principal::AccessKey(Arc::from(id))
    }

    fn by(account: &str, id: &str) -> SignedIn {
        let namespace = Namespace { account: AccountId::from(account), region: Region::stored("us-east-1") };
        let caller = Caller { principal: key(id), ..Caller::account(namespace) };
        let arn = format!("arn:aws:iam::{account}:root");
        SignedIn { caller, pass: None, arn, expires_ms: None, signature: String::new() }
    }

    #[test]
    fn a_session_ends_when_it_is_idle_or_signed_out() {
        let sessions = Sessions::default();
        let (token, session) = sessions.begin(by("123456789012", "AKIDA"), 5);
        assert_eq!((token.len(), session.ends_ms), (64, 5 + SESSION_IDLE_MS));
        let used = sessions.used(&token, SESSION_IDLE_MS).unwrap();
        assert_eq!(used.ends_ms, 2 * SESSION_IDLE_MS);
        assert_eq!(used.principal, key("AKIDA"), "its calls are in the name of the key that signed in");
        assert_eq!(sessions.used(&token, 2 * SESSION_IDLE_MS), None);
        assert_eq!(sessions.used(&token, 6), None, "once ended it stays so");
        let (other, _) = sessions.begin(by("123456789012", "AKIDB"), 5);
        sessions.end(&other);
        assert_eq!(sessions.used(&other, 5), None);
    }

    #[test]
    fn a_session_ends_with_the_session_of_its_key_however_often_it_is_used() {
        let sessions = Sessions::default();
        let expires_ms = Some(SESSION_IDLE_MS / 2);
        let (token, session) = sessions.begin(SignedIn { expires_ms, ..by("123456789012", "ASIA") }, 5);
        assert_eq!(Some(session.ends_ms), expires_ms);
        assert_eq!(
            sessions.used(&token, SESSION_IDLE_MS / 2 - 1).map(|used| Some(used.ends_ms)),
            Some(expires_ms)
        );
        assert_eq!(sessions.used(&token, SESSION_IDLE_MS / 2), None);
    }

    #[test]
    fn an_address_has_five_failures_a_minute() {
        let sessions = Sessions::default();
        let (bad, good) = (Address::of([192, 0, 2, 1].into()), Address::of([192, 0, 2, 2].into()));
        for time in 0..5 {
            assert_eq!(sessions.note_failure(bad, time), Failed::Counted);
        }
        assert_eq!(sessions.note_failure(bad, 5), Failed::TooOften);
        assert_eq!(sessions.note_failure(good, 5), Failed::Counted);
        assert_eq!(sessions.note_failure(bad, SIGN_IN_WINDOW_MS), Failed::Counted);
        assert_eq!(
            sessions.note_failure(bad, SIGN_IN_WINDOW_MS),
            Failed::TooOften,
            "one of five was forgotten"
        );
    }

    #[test]
    fn a_signature_signs_in_once() {
        let sessions = Sessions::default();
        assert!(sessions.first_use("x", "a", 0) && sessions.first_use("x", "b", 1));
        assert!(!sessions.first_use("x", "a", SIGNATURE_VALID_MS - 1));
        assert!(sessions.first_use("y", "c", 1));
        for number in 0..2 * USED_SIGNATURES_MAX {
            assert!(sessions.first_use("x", &format!("{number}"), 2));
        }
        assert_eq!(sessions.state().used["x"].len(), USED_SIGNATURES_MAX);
        assert!(!sessions.first_use("y", "c", 3), "one account's sign-ins forget none of another's");
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
        let failed = |number: u32| sessions.note_failure(Address::of(number.to_be_bytes().into()), 2_000);
        assert_eq!(failed(last), Failed::TooOften);
        assert_eq!(failed(first), Failed::Counted);
    }

    #[test]
    fn sign_ins_of_an_account_end_its_own_oldest_session_and_none_of_another() {
        let sessions = Sessions::default();
        let (first, _) = sessions.begin(by("a", "a"), 0);
        let (other, _) = sessions.begin(by("b", "b"), 0);
        for time in 1..=u64::try_from(SESSIONS_EACH_MAX).unwrap() {
            sessions.begin(by("a", "a"), time);
        }
        assert_eq!(sessions.used(&first, 10), None);
        assert!(sessions.used(&other, 10).is_some());
        assert_eq!(sessions.state().sessions.len(), SESSIONS_EACH_MAX + 1);
    }
}
