//! The engine's clock: the machine's, the machine's at another pace, or one that stands until it is moved.
//!
//! Signatures, TLS, logs and time-outs of connections keep to the machine's clock. `endpoint` shows and moves
//! a clock that stands; background work is done on the way, each piece when it is due (`timers`).

pub(crate) mod endpoint;

use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keywright_engine::Env;
use keywright_semantics::monitoring::document::time_of_text;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::process::environment;

const MILLIONTHS: u64 = 1_000_000;
const FRACTION_DIGITS: usize = 6;
/// The most engine seconds for each real one. With more, background work that sleeps once is late by minutes.
const PACE_MAX: u64 = 100_000;
const MANUAL: &str = "manual@";

/// How the clock is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockSetting {
    Machine,
    Paced(Pace),
    Manual(ManualStart),
}

/// Engine seconds for each real one, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace(u64);

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || {
            format!(
                "`{text}` is no time scale: write a number above 0, at most {PACE_MAX}, such as 60 or 0.1"
            )
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > FRACTION_DIGITS {
            return Err(help());
        }
        let whole: u64 = whole.parse().map_err(|_| help())?;
        let fraction: u64 = format!("{fraction:0<FRACTION_DIGITS$}").parse().map_err(|_| help())?;
        let millionths = whole.saturating_mul(MILLIONTHS).saturating_add(fraction);
        if (1..=PACE_MAX * MILLIONTHS).contains(&millionths) { Ok(Self(millionths)) } else { Err(help()) }
    }
}

impl Pace {
    fn of(self, micros: u64) -> u64 {
        let scaled = u128::from(micros) * u128::from(self.0) / u128::from(MILLIONTHS);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Real milliseconds of these.
    fn real(self, ms: u64) -> u64 {
        let real = u128::from(ms) * u128::from(MILLIONTHS) / u128::from(self.0);
        u64::try_from(real).unwrap_or(u64::MAX)
    }
}

/// When a clock that stands begins, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManualStart(u64);

impl FromStr for ManualStart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = text.strip_prefix(MANUAL).and_then(time_of_text);
        time.and_then(|time| u64::try_from(time.0).ok()).map(Self).ok_or_else(|| {
            format!("`{text}` is no clock: write {MANUAL}TIME, such as {MANUAL}2026-11-27T16:00:00Z")
        })
    }
}

/// The engine's clock.
#[derive(Debug)]
pub(crate) enum Clock {
    Machine,
    /// The machine's, at another pace since this time.
    Paced {
        begun_us: u64,
        pace: Pace,
    },
    /// Milliseconds since 1970.
    Manual(AtomicU64),
}

impl Clock {
    pub(crate) fn new(setting: ClockSetting) -> Self {
        match setting {
            ClockSetting::Machine => Self::Machine,
            ClockSetting::Paced(pace) => Self::Paced { begun_us: environment::now_us(), pace },
            ClockSetting::Manual(ManualStart(ms)) => Self::Manual(AtomicU64::new(ms)),
        }
    }

    /// Real milliseconds until so many have passed on this clock. One that stands may be moved at any time.
    pub(crate) fn real_ms(&self, ms: u64) -> u64 {
        match self {
            Self::Paced { pace, .. } => pace.real(ms),
            Self::Machine | Self::Manual(_) => ms,
        }
    }

    pub(crate) const fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Moves a clock that stands. It never goes back.
    pub(crate) fn set(&self, to_ms: u64) {
        if let Self::Manual(ms) = self {
            ms.fetch_max(to_ms, Ordering::Relaxed);
        }
    }
}

impl Env for Clock {
    fn now_ms(&self) -> u64 {
        match self {
            Self::Machine => environment::now().0,
            Self::Paced { .. } => self.now_us() / 1000,
            Self::Manual(ms) => ms.load(Ordering::Relaxed),
        }
    }

    fn now_us(&self) -> u64 {
        match self {
            Self::Machine => environment::now_us(),
            Self::Paced { begun_us, pace } => {
                begun_us.saturating_add(pace.of(environment::now_us().saturating_sub(*begun_us)))
            }
            Self::Manual(_) => self.now_ms().saturating_mul(1000),
        }
    }

    fn random_u128(&self) -> u128 {
        environment::random_u128()
    }

    /// In real time: other processes have clocks of their own.
    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        match Handle::try_current() {
            Ok(_) => Box::pin(tokio::time::sleep(Duration::from_millis(ms))),
            // Nothing else is at work on this thread.
            Err(_outside) => Box::pin(tokio::task::yield_now()),
        }
    }
}

/// A wish to move the clock, and the client that waits until all work that is due was done.
pub(crate) struct Move {
    pub(crate) by_ms: u64,
    pub(crate) done: oneshot::Sender<()>,
}

impl Move {
    /// Whether the client has left: then the rest of the way is nobody's wish.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.done.is_closed()
    }
}

/// What requests know of a clock that stands.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) clock: Arc<Clock>,
    pub(crate) moves: mpsc::Sender<Move>,
}

impl Desk {
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Moves the clock and waits until all work that is due was done; `false` if the server stops. Moves are
    /// made one after the other, each from where the one before it ended. If the future is dropped, the clock
    /// stays at the time that the work has come to.
    pub(crate) async fn advance(&self, by_ms: u64) -> bool {
        let (done, ended) = oneshot::channel();
        self.moves.send(Move { by_ms, done }).await.is_ok() && ended.await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_scales_are_numbers_above_0() {
        for (text, millionths) in [("1", 1_000_000), ("60", 60_000_000), ("0.1", 100_000), ("2.5", 2_500_000)]
        {
            assert_eq!(text.parse(), Ok(Pace(millionths)));
        }
        for text in ["", "0", "0.0000001", "-1", "x", "1.", ".5", "100001", "1e3"] {
            assert!(text.parse::<Pace>().unwrap_err().contains("write a number"), "{text}");
        }
    }

    #[test]
    fn paced_time_and_real_time_are_inverse() {
        let pace: Pace = "60".parse().unwrap();
        assert_eq!((pace.of(1_000_000), pace.real(60_000)), (60_000_000, 1_000));
        let slow: Pace = "0.1".parse().unwrap();
        assert_eq!((slow.of(1_000_000), slow.real(1_000)), (100_000, 10_000));
    }

    #[test]
    fn a_clock_that_stands_moves_only_forward() {
        let start: ManualStart = "manual@2026-11-27T16:00:00Z".parse().unwrap();
        let clock = Clock::new(ClockSetting::Manual(start));
        let begun = clock.now_ms();
        assert_eq!(begun, 1_795_795_200_000);
        clock.set(begun + 5);
        clock.set(begun);
        assert_eq!((clock.now_ms(), clock.now_us()), (begun + 5, (begun + 5) * 1000));
        assert!("manual@tomorrow".parse::<ManualStart>().is_err());
        assert!("2026-11-27T16:00:00Z".parse::<ManualStart>().is_err());
    }
}
