//! Requests per second of accounts, as the settings limit them.
//!
//! It does not know what a request does; other servers over the same store count their own.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keywright_semantics::place::is_account;

use crate::process::environment;

/// Requests that an account may make at once after a quiet time: those of this many nanoseconds.
const BURST_NS: u64 = 1_000_000_000;

/// A setting `ACCOUNT=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccountRate {
    account: String,
    per_second: u32,
}

impl FromStr for AccountRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("\"{text}\" is not ACCOUNT=N: write for example 123456789012=1000");
        let (account, per_second) = text.split_once('=').ok_or_else(form)?;
        let per_second = per_second.parse().ok().filter(|per_second| *per_second > 0).ok_or_else(form)?;
        if is_account(account) { Ok(Self { account: account.to_owned(), per_second }) } else { Err(form()) }
    }
}

/// The rate of one account. Invariant: `interval_ns` is at least 1.
#[derive(Debug)]
struct Rate {
    interval_ns: u64,
    /// When the requests so far are paid for, in nanoseconds since the start.
    paid_ns: AtomicU64,
}

impl Rate {
    fn new(per_second: u32) -> Self {
        let interval_ns = BURST_NS / u64::from(per_second.max(1));
        Self { interval_ns: interval_ns.max(1), paid_ns: AtomicU64::new(0) }
    }

    fn admits(&self, now_ns: u64) -> bool {
        let next = |paid_ns: u64| {
            let paid_ns = paid_ns.max(now_ns).saturating_add(self.interval_ns);
            (paid_ns - now_ns <= BURST_NS.max(self.interval_ns)).then_some(paid_ns)
        };
        self.paid_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// The rates of all accounts that have one.
#[derive(Debug)]
pub(crate) struct RequestRates {
    accounts: BTreeMap<String, Rate>,
    begun: Instant,
}

impl RequestRates {
    /// Of two settings for one account the last counts.
    pub(crate) fn new(rates: &[AccountRate]) -> Self {
        let rates = rates.iter().map(|rate| (rate.account.clone(), Rate::new(rate.per_second)));
        Self { accounts: rates.collect(), begun: environment::instant() }
    }

    /// Counts a request of an account; false if it is one too many.
    pub(crate) fn admits(&self, account: &str) -> bool {
        let Some(rate) = self.accounts.get(account) else { return true };
        let since = environment::instant().saturating_duration_since(self.begun);
        rate.admits(nanoseconds(since))
    }
}

fn nanoseconds(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_requests_may_come_at_once_and_then_one_each_interval() {
        let rate = Rate::new(4);
        let at = |ms: u64| rate.admits(ms * 1_000_000);
        assert_eq!([(); 6].map(|()| at(5_000)), [true, true, true, true, false, false]);
        assert_eq!([at(5_200), at(5_250), at(5_250), at(5_500)], [false, true, false, true]);
        assert_eq!([(); 5].map(|()| at(9_000)), [true, true, true, true, false]);
        let slow = Rate::new(1);
        assert_eq!([slow.admits(0), slow.admits(0), slow.admits(BURST_NS)], [true, false, true]);
    }

    #[test]
    fn a_setting_names_an_account_and_at_least_one_request() {
        let rate = AccountRate { account: "123456789012".to_owned(), per_second: 50 };
        assert_eq!("123456789012=50".parse(), Ok(rate));
        for text in ["", "50", "123456789012", "123456789012=0", "123456789012=x", "12=50", "=50"] {
            assert!(text.parse::<AccountRate>().unwrap_err().contains("123456789012=1000"), "{text}");
        }
    }
}
