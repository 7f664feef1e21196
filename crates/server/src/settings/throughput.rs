//! Settings of throughput limits, from the command line and the file.

use keywright_engine::{SplitRules, Throttle, ThroughputConfig};
use serde::Deserialize;

use super::arguments::ThroughputArguments;
use crate::process::failure::Failure;

/// The section `[throughput]` of the file: figures that the service does not publish.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Section {
    split_heat_percent: Option<u64>,
    split_minutes: Option<u64>,
    split_s: Option<u64>,
    peak_minutes: Option<u64>,
    warm_s: Option<u64>,
}

/// The section `[quotas]` of the file.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Quotas {
    account_units: Option<u64>,
}

/// A flag or variable comes before the file.
pub(crate) fn merge(
    arguments: &ThroughputArguments,
    throttle: Option<&str>,
    burst_start_s: Option<u64>,
    (section, quotas): (Section, Quotas),
) -> Result<ThroughputConfig, Failure> {
    let default = ThroughputConfig::default();
    let throttle = match arguments.throttle.as_deref().or(throttle) {
        None => default.throttle,
        Some(word) => Throttle::from_word(word)
            .ok_or_else(|| format!("throttle: `{word}` is not known: write off, table or full"))?,
    };
    let heat_percent = section.split_heat_percent.unwrap_or(default.split.heat_percent);
    if !(1..=100).contains(&heat_percent) {
        return Err(Failure::new(format!(
            "split-heat-percent = {heat_percent}: write a number from 1 to 100"
        )));
    }
    let positive = |name: &str, value: Option<u64>, default: u64| match value {
        Some(0) => Err(Failure::new(format!("{name} = 0: write a number above 0"))),
        Some(value) => Ok(value),
        None => Ok(default),
    };
    Ok(ThroughputConfig {
        throttle,
        burst_start_s: arguments.burst_start_s.or(burst_start_s).unwrap_or(default.burst_start_s),
        split: SplitRules {
            heat_percent,
            minutes: positive("split-minutes", section.split_minutes, default.split.minutes)?,
            duration_s: section.split_s.unwrap_or(default.split.duration_s),
        },
        peak_minutes: section.peak_minutes.unwrap_or(default.peak_minutes),
        warm_s: section.warm_s.unwrap_or(default.warm_s),
        account_units_max: positive("account-units", quotas.account_units, default.account_units_max)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_before_the_file_and_wrong_words_are_told() {
        let given = |word: &str| ThroughputArguments { throttle: Some(word.to_owned()), burst_start_s: None };
        let merged =
            |arguments, section| merge(&arguments, Some("table"), Some(7), (section, Quotas::default()));
        let by_flag = merged(given("full"), Section::default()).expect("known words");
        assert_eq!((by_flag.throttle, by_flag.burst_start_s), (Throttle::Full, 7));
        let by_file = merged(ThroughputArguments::default(), Section::default()).expect("known words");
        assert_eq!(by_file.throttle, Throttle::Table);
        assert!(
            merged(given("some"), Section::default())
                .is_err_and(|fault| fault.to_string().contains("off, table or full"))
        );
        let section = Section { split_heat_percent: Some(101), ..Section::default() };
        assert!(merged(given("off"), section).is_err());
    }
}
