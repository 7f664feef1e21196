//! The contributor insights of a table and its global indexes, as stored in the table's record: whether keys
//! are counted, and by which rules.

use keywright_semantics::request::parts::ContributorInsightsMode;
use keywright_semantics::schema::KeySchema;
use serde::{Deserialize, Serialize};

use super::table::Table;
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

impl Table {
    /// The insights of the table or one of its indexes, if they were ever switched on.
    pub(crate) fn insights_of(&self, index: Option<IndexId>) -> Option<&InsightsState> {
        self.insights.iter().find(|(of, _)| *of == index).map(|(_, state)| state)
    }

    /// The name and key of the table (no name) or of an index, also of one that is being deleted.
    pub(crate) fn observed(&self, index: Option<IndexId>) -> Option<(Option<&str>, &KeySchema)> {
        let Some(id) = index else { return Some((None, &self.schema.key)) };
        let live = self.indexes_with_states();
        let doomed = self.doomed_indexes.iter().map(|index| (&index.schema, &index.state));
        let found = live.chain(doomed).find(|(_, state)| state.id == id);
        found.map(|(schema, _)| (Some(schema.name.as_str()), &schema.key))
    }

    /// The rules of the table and its indexes.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Rule> {
        self.insights.iter().flat_map(|(index, _)| self.rules_of(*index))
    }

    /// The rules of the table or of one index.
    pub(crate) fn rules_of(&self, index: Option<IndexId>) -> impl Iterator<Item = Rule> {
        let state = self.insights_of(index).filter(|state| state.is_on());
        let observed = state.zip(self.observed(index));
        observed.into_iter().flat_map(move |(state, (_, key))| {
            let kinds = RuleKind::ALL.into_iter().filter(|kind| state.has(*kind, key));
            kinds.map(move |kind| Rule { index, kind, rules_ms: state.rules_ms })
        })
    }

    /// The name of a rule in CloudWatch.
    pub(crate) fn rule_name(&self, rule: Rule) -> String {
        let index = self.observed(rule.index).and_then(|(name, _)| name);
        let index = index.map(|name| format!("-{name}")).unwrap_or_default();
        let letters = rule.kind.letters();
        format!("DynamoDBContributorInsights-{letters}-{}{index}-{}", self.name, rule.rules_ms)
    }

    /// Forgets the insights of an index that is gone.
    pub(crate) fn forget_insights(&mut self, index: IndexId) {
        self.insights.retain(|(of, _)| *of != Some(index));
    }
}
