//! The contributor insights of a table and its global indexes, as stored in the table's record: whether keys
//! are counted, and by which rules.

use keywright_semantics::request::parts::ContributorInsightsMode;
use keywright_semantics::schema::KeySchema;
use serde::{Deserialize, Serialize};

use crate::support::layout::IndexId;

/// What a rule counts. Its number is stored: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RuleKind {
    /// Units consumed by partition keys.
    PartitionConsumed,
    /// Throttles of partition keys.
    PartitionThrottled,
    /// Units consumed by items.
    ItemConsumed,
    /// Throttles of items.
    ItemThrottled,
}

impl RuleKind {
    /// All kinds, in the order in which descriptions list them.
    pub(crate) const ALL: [Self; 4] =
        [Self::PartitionConsumed, Self::PartitionThrottled, Self::ItemConsumed, Self::ItemThrottled];

    /// The kind's place in `ALL`.
    pub(crate) fn place(self) -> usize {
        usize::from(self.number())
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::PartitionConsumed => 0,
            Self::PartitionThrottled => 1,
            Self::ItemConsumed => 2,
            Self::ItemThrottled => 3,
        }
    }

    /// The letters in a rule's name.
    pub(crate) const fn letters(self) -> &'static str {
        match self {
            Self::PartitionConsumed => "PKC",
            Self::PartitionThrottled => "PKT",
            Self::ItemConsumed => "SKC",
            Self::ItemThrottled => "SKT",
        }
    }

    /// Whether it counts throttles, and not units.
    pub(crate) const fn counts_throttles(self) -> bool {
        matches!(self, Self::PartitionThrottled | Self::ItemThrottled)
    }

    /// Whether its keys have a sort key.
    pub(crate) const fn is_of_items(self) -> bool {
        matches!(self, Self::ItemConsumed | Self::ItemThrottled)
    }
}

/// Whether keys are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InsightsPhase {
    On,
    Off,
    /// They could not be switched on, because the account has no rules left.
    Failed,
}

/// Which events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum InsightsMode {
    AccessedAndThrottled,
    Throttled,
}

impl From<ContributorInsightsMode> for InsightsMode {
    fn from(mode: ContributorInsightsMode) -> Self {
        match mode {
            ContributorInsightsMode::AccessedAndThrottledKeys => Self::AccessedAndThrottled,
            ContributorInsightsMode::ThrottledKeys => Self::Throttled,
        }
    }
}

impl From<InsightsMode> for ContributorInsightsMode {
    fn from(mode: InsightsMode) -> Self {
        match mode {
            InsightsMode::AccessedAndThrottled => Self::AccessedAndThrottledKeys,
            InsightsMode::Throttled => Self::ThrottledKeys,
        }
    }
}

/// The insights of a table or index that were switched on at least once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InsightsState {
    pub phase: InsightsPhase,
    /// The latest mode; kept while they are off.
    pub mode: InsightsMode,
    /// The end of the rules' names: when they were made. It grows with each switching on.
    pub rules_ms: u64,
    pub changed_ms: u64,
    /// When the latest change takes effect for descriptions.
    pub settled_ms: u64,
}

impl InsightsState {
    pub(crate) fn is_on(&self) -> bool {
        self.phase == InsightsPhase::On
    }

    /// Whether there is a rule of this kind for a key.
    pub(crate) fn has(&self, kind: RuleKind, key: &KeySchema) -> bool {
        self.is_on()
            && (kind.counts_throttles() || self.mode == InsightsMode::AccessedAndThrottled)
            && (!kind.is_of_items() || !key.sort.is_empty())
    }
}

/// The insights of a table (`None`) and its global indexes, in this order.
pub(crate) type Insights = Vec<(Option<IndexId>, InsightsState)>;

/// One rule of a table or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rule {
    pub index: Option<IndexId>,
    pub kind: RuleKind,
    pub rules_ms: u64,
}
