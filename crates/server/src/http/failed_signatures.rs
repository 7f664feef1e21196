//! Addresses whose signatures failed. Each further failing request of such an address is answered later than
//! the last.
//!
//! A request with a valid signature is never delayed, so an attacker cannot slow down other clients of its
//! address.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keywright_wire::sigv4::TimeMs;

use crate::connection::client::Address;
use crate::limits::{
    FAILED_ADDRESSES_MAX, FAILED_SIGNATURE_MEMORY_MS, FAILED_SIGNATURE_MS, FAILED_SIGNATURE_MS_MAX,
};

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last_ms: u64,
}

#[derive(Debug, Default)]
pub(crate) struct FailedSignatures {
    addresses: Mutex<HashMap<Address, Failures>>,
}

impl FailedSignatures {
    /// Notes a failed signature of this address. Returns how long to delay its answer.
    pub(crate) fn note(&self, address: Address, now: TimeMs) -> Duration {
        let now_ms = now.0;
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= FAILED_ADDRESSES_MAX && !addresses.contains_key(&address) {
            forget_one(&mut addresses);
        }
        let failures = addresses.entry(address).or_insert(Failures { count: 0, last_ms: now_ms });
        if now_ms.saturating_sub(failures.last_ms) > FAILED_SIGNATURE_MEMORY_MS {
            failures.count = 0;
        }
        let delay_ms = delay_ms(failures.count);
        failures.count = failures.count.saturating_add(1);
        failures.last_ms = now_ms;
        Duration::from_millis(delay_ms)
    }
}

fn forget_one(addresses: &mut HashMap<Address, Failures>) {
    let oldest = addresses.iter().min_by_key(|(_, failures)| failures.last_ms).map(|(address, _)| *address);
    if let Some(oldest) = oldest {
        addresses.remove(&oldest);
    }
}

/// The delay after this many earlier failures.
fn delay_ms(failures: u32) -> u64 {
    match failures.checked_sub(1) {
        None => 0,
        Some(doublings) => {
            let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
            FAILED_SIGNATURE_MS.saturating_mul(factor).min(FAILED_SIGNATURE_MS_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_delay_up_to_a_second_and_a_quiet_minute_forgets_them() {
        let failed = FailedSignatures::default();
        let address = Address::of([192, 0, 2, 1].into());
        let delays: Vec<u128> = (0..10).map(|_| failed.note(address, TimeMs(5)).as_millis()).collect();
        assert_eq!(delays, [0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        let other = Address::of([192, 0, 2, 2].into());
        assert_eq!(failed.note(other, TimeMs(5)).as_millis(), 0);
        assert_eq!(failed.note(address, TimeMs(60_006)).as_millis(), 0);
    }

    #[test]
    fn the_table_stays_bounded() {
        let failed = FailedSignatures::default();
        for number in 0..2_000_u32 {
            failed.note(Address::of(number.to_be_bytes().into()), TimeMs(number.into()));
        }
        assert_eq!(failed.addresses.lock().unwrap().len(), FAILED_ADDRESSES_MAX);
    }
}
