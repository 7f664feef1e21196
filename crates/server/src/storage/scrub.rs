//! Drives the scrub of the store, and reports damage of the data folder in the log.
//!
//! Only a folder has something to scrub: PostgreSQL and TiKV check their own files.

use std::panic::AssertUnwindSafe;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::watch;

use super::damage_report;
use super::database::Database;
use crate::process::environment;

/// The longest time between two steps, so that damage that a request meets is reported soon.
const LOOK_MS: u64 = 200;
/// The time until the next step after one that panicked.
const AFTER_PANIC_MS: u64 = 60_000;
const DEFAULT_PERIOD: Duration = Duration::from_hours(7 * 24);

/// How often all files of the data folder are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrubSetting {
    Off,
    Every(Duration),
}

impl Default for ScrubSetting {
    fn default() -> Self {
        Self::Every(DEFAULT_PERIOD)
    }
}

impl ScrubSetting {
    pub(crate) const fn period(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Every(period) => Some(period),
        }
    }
}

impl FromStr for ScrubSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let unknown =
            || format!("\"{text}\" is not known: write a period such as 7d, 12h, 30m or 60s, or off");
        period(text).map(Self::Every).ok_or_else(unknown)
    }
}

/// Reads a period above zero, such as `7d`, `12h`, `30m` or `60s`.
pub(crate) fn period(text: &str) -> Option<Duration> {
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let (number, seconds) =
        units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)))?;
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    Some(Duration::from_secs(number.saturating_mul(seconds)))
}

/// Runs until the server stops.
pub(crate) async fn run(database: Arc<Database>, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        let step = AssertUnwindSafe(step(&database)).catch_unwind().await;
        let pause_ms = step.unwrap_or_else(|_panic| {
            tracing::error!("the scrub failed and will be tried again");
            AFTER_PANIC_MS
        });
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
            _ = stopping.changed() => {}
        }
    }
}

/// One step of the scrub, and its reports. Returns the time until the next one.
async fn step(database: &Database) -> u64 {
    let now_ms = environment::now().0;
    let Some(step) = tokio::task::block_in_place(|| database.scrub_step(now_ms)) else { return LOOK_MS };
    for read in step.unexplained {
        tracing::error!("{read}; the file is whole now: check the disk and the system's log");
    }
    if !step.damaged.is_empty()
        && let Some(engine) = database.engine()
    {
        let map = engine.key_map().await;
        for damage in &step.damaged {
            let line = damage_report::line(&map, damage);
            tracing::error!("the data folder is damaged: {line}; {}", database.damage_advice());
        }
    }
    if let Some(round) = step.finished {
        let (bytes, seconds, places) = (round.bytes, round.took_ms / 1000, round.damaged_places);
        if places == 0 {
            tracing::info!(
                "the scrub has read all {bytes} bytes of the data folder in {seconds} s: all are whole"
            );
        } else {
            tracing::error!(
                "the scrub has read all {bytes} bytes of the data folder in {seconds} s: {places} damaged places"
            );
        }
    }
    step.wake_ms.map_or(LOOK_MS, |wake| wake.saturating_sub(environment::now().0)).clamp(1, LOOK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_a_number_and_a_unit() {
        let every = |seconds| Ok(ScrubSetting::Every(Duration::from_secs(seconds)));
        assert_eq!("7d".parse(), every(7 * 86_400));
        assert_eq!("12h".parse(), every(43_200));
        assert_eq!("30m".parse(), every(1_800));
        assert_eq!("1s".parse(), every(1));
        assert_eq!("off".parse(), Ok(ScrubSetting::Off));
        for unknown in ["", "7", "d", "0d", "-1d", "1w", "1.5h", "on"] {
            assert!(unknown.parse::<ScrubSetting>().unwrap_err().contains("7d"), "{unknown}");
        }
    }
}
