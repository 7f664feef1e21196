//! Settings of throughput limits.

use keywright_semantics::limits::{ACCOUNT_UNITS_MAX, BURST_SECONDS};

/// Which limits refuse requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Throttle {
    /// None.
    #[default]
    Off,
    /// Provisioned units, ceilings of on-demand tables, and quotas.
    Table,
    /// Also partitions, which split, and the level to which an on-demand table has grown.
    Full,
}

impl Throttle {
    /// The tag with which a table chooses for itself; its values are the words of the setting.
    pub const TAG: &'static str = "keywright:throttle";

    /// The setting of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "table" => Some(Self::Table),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// When a hot partition is split. The service publishes no figures: these are our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitRules {
    /// The share of its ceiling from which a partition is hot.
    pub heat_percent: u64,
    /// Minutes one after the other that have to be hot.
    pub minutes: u64,
    /// How long a split takes.
    pub duration_s: u64,
}

impl Default for SplitRules {
    fn default() -> Self {
        Self { heat_percent: 90, minutes: 2, duration_s: 180 }
    }
}

/// Settings of throughput limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputConfig {
    /// Which limits refuse requests of tables that do not say themselves.
    pub throttle: Throttle,
    /// Seconds of its provisioned units that a new table has saved. The service does not say; its tables let
    /// pass what needs more than a minute's, so the default is all that a table can save.
    pub burst_start_s: u64,
    /// When a hot partition is split.
    pub split: SplitRules,
    /// Minutes until a peak raises the level of an on-demand table.
    pub peak_minutes: u64,
    /// Seconds that a raise of warm throughput takes.
    pub warm_s: u64,
    /// Units that all provisioned tables of an account may have.
    pub account_units_max: u64,
}

impl Default for ThroughputConfig {
    fn default() -> Self {
        Self {
            throttle: Throttle::Off,
            burst_start_s: BURST_SECONDS,
            split: SplitRules::default(),
            peak_minutes: 30,
            warm_s: 0,
            account_units_max: ACCOUNT_UNITS_MAX,
        }
    }
}
