//! How often capacity may be lowered and the mode be switched, and how much an account may provision.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::{
    CLASS_CHANGES_MAX, DECREASE_INTERVAL_MS, FREE_DECREASES_A_DAY, ON_DEMAND_SWITCHES_MAX,
};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::Throughput as Units;
use keywright_semantics::schema::BillingMode;
use keywright_store::Store;
use time::{OffsetDateTime, Weekday};

use crate::catalogue::{Table, Throughput, Warm};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::stamp::DAY_MS;
use crate::support::throughput::Throttle;

/// For how long a switch to on-demand mode counts.
pub(super) const SWITCHES_COUNTED_MS: u64 = DAY_MS;
/// For how long a change of the table class counts.
pub(super) const CLASS_COUNTED_MS: u64 = 30 * DAY_MS;

fn over_limit(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::LimitExceeded, text)
}

/// Refuses a decrease before its time: four on a day (UTC), then one every hour.
pub(super) fn check_decrease(throughput: &Throughput, units: Units, now_ms: u64) -> Result<(), Error> {
    let is_lower = units.read_units < throughput.read_units || units.write_units < throughput.write_units;
    let today = throughput.decreases_on(now_ms);
    let Some(last_ms) = throughput.last_decrease_ms.filter(|_| is_lower && today >= FREE_DECREASES_A_DAY)
    else {
        return Ok(());
    };
    let midnight_ms = (now_ms / DAY_MS + 1) * DAY_MS;
    let next_ms = (last_ms + DECREASE_INTERVAL_MS).min(midnight_ms);
    if now_ms >= next_ms {
        return Ok(());
    }
    Err(over_limit(messages::too_many_decreases(today, &long_date(last_ms), &long_date(next_ms))))
}

/// Refuses a switch to on-demand mode if a day has seen enough of them.
pub(super) fn check_switch(table: &Table, now_ms: u64) -> Result<(), Error> {
    match counted(&table.mode_changes.to_on_demand_ms, SWITCHES_COUNTED_MS, now_ms).as_slice() {
        [first, .., last] if table.mode_changes.to_on_demand_ms.len() >= ON_DEMAND_SWITCHES_MAX => {
            let next_ms = first + SWITCHES_COUNTED_MS;
            let text =
                messages::too_many_switches(ON_DEMAND_SWITCHES_MAX, &short_date(*last), &short_date(next_ms));
            Err(over_limit(text))
        }
        _ => Ok(()),
    }
}

/// Refuses a change of the table class if a month has seen enough of them.
pub(super) fn check_class_change(table: &Table, now_ms: u64) -> Result<(), Error> {
    let changes = counted(&table.mode_changes.class_ms, CLASS_COUNTED_MS, now_ms);
    if changes.len() < CLASS_CHANGES_MAX { Ok(()) } else { Err(over_limit(messages::TOO_MANY_CLASS_CHANGES)) }
}

fn counted(times: &[u64], counted_ms: u64, now_ms: u64) -> Vec<u64> {
    times.iter().copied().filter(|time| time.saturating_add(counted_ms) > now_ms).collect()
}

/// What was provisioned once can be served at once from then on.
pub(super) fn keep_warm(warm: &mut Option<Warm>, was: Throughput) {
    if was.read_units == 0 && was.write_units == 0 {
        return;
    }
    let before = warm.unwrap_or(Warm { read_units: 0, write_units: 0 });
    *warm = Some(Warm {
        read_units: before.read_units.max(was.read_units),
        write_units: before.write_units.max(was.write_units),
    });
}

/// Refuses units that, with those of the account's other tables, are beyond its quota. Not checked where
/// nothing is throttled.
pub(super) fn check_account<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    changed: Option<&Table>,
    asked: &[Units],
) -> Result<(), Error> {
    let config = &engine.config().throughput;
    if config.throttle == Throttle::Off {
        return Ok(());
    }
    let others: Vec<Units> = engine
        .catalogue()
        .all()
        .iter()
        .filter(|table| {
            table.account == namespace.account.as_str() && table.region == namespace.region.as_str()
        })
        .filter(|table| changed.is_none_or(|changed| changed.id != table.id))
        .filter(|table| table.billing == BillingMode::Provisioned)
        .flat_map(|table| {
            let indexes = table.states.iter().map(|state| state.throughput);
            std::iter::once(table.throughput).chain(indexes).collect::<Vec<_>>()
        })
        .map(|units| Units { read_units: units.read_units, write_units: units.write_units })
        .collect();
    let read: fn(&Units) -> u64 = |units| units.read_units;
    let write: fn(&Units) -> u64 = |units| units.write_units;
    for (name, of) in [("ReadCapacityUnits", read), ("WriteCapacityUnits", write)] {
        let reserved: u64 = others.iter().map(of).sum();
        let requested: u64 = asked.iter().map(of).sum();
        if requested > 0 && reserved.saturating_add(requested) > config.account_units_max {
            let limit = config.account_units_max;
            let region = namespace.region.as_str();
            return Err(over_limit(messages::units_above_account_limit(
                name, reserved, limit, requested, region,
            )));
        }
    }
    Ok(())
}

fn date(ms: u64) -> OffsetDateTime {
    let seconds = i64::try_from(ms / 1000).unwrap_or(0);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// `Friday, October 9, 2026 at 12:21:34 AM Coordinated Universal Time`.
fn long_date(ms: u64) -> String {
    let date = date(ms);
    let half = if date.hour() < 12 { "AM" } else { "PM" };
    let hour = match date.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    format!(
        "{}, {} {}, {} at {hour}:{:02}:{:02} {half} Coordinated Universal Time",
        date.weekday(),
        date.month(),
        date.day(),
        date.year(),
        date.minute(),
        date.second()
    )
}

/// `Sat Feb 23 03:07:45 UTC 2019`.
fn short_date(ms: u64) -> String {
    let date = date(ms);
    let first_three = |name: String| name.chars().take(3).collect::<String>();
    let weekday: Weekday = date.weekday();
    format!(
        "{} {} {:02} {:02}:{:02}:{:02} UTC {}",
        first_three(weekday.to_string()),
        first_three(date.month().to_string()),
        date.day(),
        date.hour(),
        date.minute(),
        date.second(),
        date.year()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9 October 2026, 00:21:34 UTC.
    const AT_MS: u64 = 1_791_505_294_000;

    fn lowered(times: u64, last_ms: u64) -> Throughput {
        Throughput {
            read_units: 10,
            write_units: 10,
            last_decrease_ms: Some(last_ms),
            decreases_today: times,
            ..Throughput::default()
        }
    }

    #[test]
    fn the_fifth_decrease_of_a_day_waits_for_an_hour_or_midnight() {
        let lower = Units { read_units: 5, write_units: 20 };
        let higher = Units { read_units: 11, write_units: 10 };
        let check = |times, now_ms| check_decrease(&lowered(times, AT_MS), lower, now_ms);
        assert!(check(3, AT_MS).is_ok());
        assert!(check_decrease(&lowered(4, AT_MS), higher, AT_MS).is_ok());
        let refused = check(4, AT_MS + 1000).expect_err("the fifth comes too early");
        assert_eq!(refused.kind, ErrorKind::LimitExceeded);
        let end = "Number of decreases today: 4. Last decrease at Friday, October 9, 2026 at 12:21:34 AM Coordinated \
                   Universal Time. Next decrease can be made at Friday, October 9, 2026 at 1:21:34 AM Coordinated \
                   Universal Time";
        assert!(refused.message.ends_with(end), "{}", refused.message);
        assert!(check(4, AT_MS + DECREASE_INTERVAL_MS).is_ok());
        let late_ms = AT_MS + 23 * 60 * 60 * 1000 + 30 * 60 * 1000;
        let at_night = |now_ms| check_decrease(&lowered(9, late_ms), lower, now_ms);
        assert!(at_night(late_ms + 60_000).is_err());
        assert!(at_night(late_ms + 10 * 60 * 1000).is_ok(), "a new day has begun");
    }

    #[test]
    fn times_are_written_as_the_service_does() {
        assert_eq!(short_date(1_550_891_265_000), "Sat Feb 23 03:07:45 UTC 2019");
        assert_eq!(
            long_date(AT_MS + 12 * 60 * 60 * 1000),
            "Friday, October 9, 2026 at 12:21:34 PM Coordinated Universal Time"
        );
    }
}
