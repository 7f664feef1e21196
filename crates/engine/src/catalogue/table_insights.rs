//! What the contributor insights of a table are of: its indexes, and the rules of both.

use keywright_semantics::schema::KeySchema;

use super::insights::{InsightsState, Rule, RuleKind};
use super::table::Table;
use crate::support::layout::IndexId;

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
