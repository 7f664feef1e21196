//! Settings of replication between regions.

use keywright_engine::EngineConfig;

const HOUR_MS: u64 = 60 * 60 * 1000;
const DAY_MS: u64 = 24 * HOUR_MS;
const MIB: u64 = 1024 * 1024;

/// What is set by flags or in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) source_region_hours: Option<u32>,
    pub(super) verify_hours: Option<u32>,
    pub(super) backlog_mib: Option<u32>,
    pub(super) lost_days: Option<u32>,
}

/// How replicas are compared, how much waits for one, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplicationSettings {
    pub(crate) source_region_ms: u64,
    /// `None`: only when somebody asks for it.
    pub(crate) verification_interval_ms: Option<u64>,
    pub(crate) backlog_bytes_max: u64,
    pub(crate) lost_ms: u64,
}

impl ReplicationSettings {
    pub(super) fn of(given: Given) -> Self {
        let default = EngineConfig::default();
        let times = |unit: u64| move |count: u32| u64::from(count).saturating_mul(unit);
        let interval_ms = |hours: u32| (hours > 0).then(|| times(HOUR_MS)(hours));
        Self {
            source_region_ms: given.source_region_hours.map_or(default.source_region_ms, times(HOUR_MS)),
            verification_interval_ms: given
                .verify_hours
                .map_or(default.verification_interval_ms, interval_ms),
            backlog_bytes_max: given.backlog_mib.map_or(default.backlog_bytes_max, times(MIB)),
            lost_ms: given.lost_days.map_or(default.replica_lost_ms, times(DAY_MS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_hours_are_no_comparison_and_nothing_is_the_default() {
        let default = ReplicationSettings::of(Given::default());
        assert_eq!(default.source_region_ms, DAY_MS);
        assert_eq!(default.verification_interval_ms, Some(7 * DAY_MS));
        assert_eq!((default.backlog_bytes_max, default.lost_ms), (1024 * MIB, 30 * DAY_MS));
        let zero = Given { verify_hours: Some(0), source_region_hours: Some(0), ..Given::default() };
        let zero = ReplicationSettings::of(zero);
        assert_eq!((zero.verification_interval_ms, zero.source_region_ms), (None, 0));
        let given =
            Given { verify_hours: Some(2), backlog_mib: Some(3), lost_days: Some(1), ..Given::default() };
        let given = ReplicationSettings::of(given);
        assert_eq!(given.verification_interval_ms, Some(2 * HOUR_MS));
        assert_eq!((given.backlog_bytes_max, given.lost_ms), (3 * MIB, DAY_MS));
    }
}
