//! UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.
//!
//! The setting is part of the table's record. What rules count is read through CloudWatch (`monitoring`).

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::INSIGHT_RULES_MAX;
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::{
    DescribeContributorInsights, InsightsTarget, ListContributorInsights, UpdateContributorInsights,
};
use keywright_semantics::response::{
    InsightsDescription, InsightsStatus, ListContributorInsightsOutput, Response, TimestampMs,
};
use keywright_semantics::schema::IndexKind;
use keywright_store::Store;

use crate::catalogue::{InsightsPhase, InsightsState, Table, TableStatus};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::layout::IndexId;

/// The index of a request, with its id; `None` for the table itself.
fn index_of(table: &Table, target: &InsightsTarget) -> Result<Option<IndexId>, Error> {
    let Some(name) = &target.index else { return Ok(None) };
    let live = table.indexes_with_states();
    let doomed = table.doomed_indexes.iter().map(|index| (&index.schema, &index.state));
    let mut globals = live.chain(doomed).filter(|(schema, _)| schema.kind == IndexKind::Global);
    let found = globals.find(|(schema, _)| schema.name == *name);
    found.map(|(_, state)| Some(state.id)).ok_or_else(|| {
        Error::new(ErrorKind::ResourceNotFound, messages::insights_index_not_found(name, &table.name))
    })
}

/// The rules of an account in a region, without those of one table.
fn rules_of_others<S: Store>(engine: &Engine<S>, namespace: &Namespace, table: &Table) -> usize {
    let tables = engine.catalogue().named(namespace);
    let others = tables.iter().filter(|other| other.id != table.id && other.status != TableStatus::Deleting);
    others.map(|other| other.rules().count()).sum()
}

pub(crate) async fn update<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &UpdateContributorInsights,
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_settled(namespace, &request.target.table)?;
    let now_ms = engine.env().now_ms();
    let change = Change {
        request,
        now_ms,
        settled_ms: now_ms.saturating_add(engine.config().transition_ms),
        rules_of_others: rules_of_others(engine, namespace, &found),
    };
    let (table, status) = engine.change_table(found.target(), |table| change.apply(table)).await?;
    let index = index_of(&table, &request.target)?;
    let mode = table.insights_of(index).map(|state| state.mode.into());
    Ok(Response::UpdateContributorInsights(Box::new(InsightsDescription {
        table_name: table.name.clone(),
        index_name: request.target.index.clone(),
        rules: None,
        status,
        updated: None,
        failure: None,
        mode,
    })))
}

/// One request against one table.
struct Change<'a> {
    request: &'a UpdateContributorInsights,
    now_ms: u64,
    settled_ms: u64,
    rules_of_others: usize,
}

impl Change<'_> {
    /// Applies the change; returns the status of the response.
    fn apply(&self, table: &mut Table) -> Result<InsightsStatus, Error> {
        let index = index_of(table, &self.request.target)?;
        let before = table.insights_of(index).copied();
        let Some(mode) = self.request.mode else { return Ok(self.switch_off(table, index, before)) };
        if before.is_some_and(|before| before.is_on() && before.mode == mode.into()) {
            return Ok(InsightsStatus::Enabled);
        }
        // A change of the mode keeps the rules; switching on makes new ones.
        let rules_ms = match before {
            Some(before) if before.is_on() => before.rules_ms,
            Some(before) => self.now_ms.max(before.rules_ms + 1),
            None => self.now_ms,
        };
        let state = InsightsState {
            phase: InsightsPhase::On,
            mode: mode.into(),
            rules_ms,
            changed_ms: self.now_ms,
            settled_ms: self.settled_ms,
        };
        set(table, index, state);
        if self.rules_of_others + table.rules().count() > INSIGHT_RULES_MAX {
            // All rules or none: a failed attempt takes none of the quota (observed).
            set(table, index, InsightsState { phase: InsightsPhase::Failed, ..state });
        }
        Ok(InsightsStatus::Enabling)
    }

    fn switch_off(
        &self,
        table: &mut Table,
        index: Option<IndexId>,
        before: Option<InsightsState>,
    ) -> InsightsStatus {
        match before {
            None => InsightsStatus::Disabled,
            Some(before) if before.phase == InsightsPhase::Off => InsightsStatus::Disabled,
            Some(before) => {
                let phase = InsightsPhase::Off;
                let (changed_ms, settled_ms) = (self.now_ms, self.settled_ms);
                set(table, index, InsightsState { phase, changed_ms, settled_ms, ..before });
                InsightsStatus::Disabling
            }
        }
    }
}

fn set(table: &mut Table, index: Option<IndexId>, state: InsightsState) {
    table.insights.retain(|(of, _)| *of != index);
    table.insights.push((index, state));
    table.insights.sort_unstable_by_key(|(of, _)| *of);
}

pub(crate) fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeContributorInsights,
) -> Result<Response, Error> {
    let table = engine.catalogue().lookup_settled(namespace, &request.target.table)?;
    let index = index_of(&table, &request.target)?;
    let Some(state) = table.insights_of(index) else {
        return Ok(Response::DescribeContributorInsights(Box::new(InsightsDescription {
            table_name: table.name.clone(),
            index_name: request.target.index.clone(),
            rules: None,
            status: InsightsStatus::Disabled,
            updated: None,
            failure: None,
            mode: None,
        })));
    };
    let status = status_of(state, engine.env().now_ms());
    let names = || table.rules_of(index).map(|rule| table.rule_name(rule)).collect();
    Ok(Response::DescribeContributorInsights(Box::new(InsightsDescription {
        table_name: table.name.clone(),
        index_name: request.target.index.clone(),
        rules: (status == InsightsStatus::Enabled).then(names),
        status,
        updated: Some(TimestampMs(state.changed_ms)),
        failure: (status == InsightsStatus::Failed).then_some(messages::INSIGHT_RULES_USED_UP),
        mode: Some(state.mode.into()),
    })))
}

fn status_of(state: &InsightsState, now_ms: u64) -> InsightsStatus {
    match (state.phase, state.settled_ms <= now_ms) {
        (InsightsPhase::On, true) => InsightsStatus::Enabled,
        (InsightsPhase::On | InsightsPhase::Failed, false) => InsightsStatus::Enabling,
        (InsightsPhase::Off, true) => InsightsStatus::Disabled,
        (InsightsPhase::Off, false) => InsightsStatus::Disabling,
        (InsightsPhase::Failed, true) => InsightsStatus::Failed,
    }
}

/// Pages have no gaps, and only what is not DISABLED. A token is the number of entries before the page.
pub(crate) fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListContributorInsights,
) -> Result<Response, Error> {
    let now_ms = engine.env().now_ms();
    let tables: Vec<Arc<Table>> = match &request.table {
        Some(table) => vec![engine.catalogue().lookup_settled(namespace, table)?],
        None => engine.catalogue().named(namespace),
    };
    let skip = match &request.next_token {
        None => 0,
        Some(token) => token.parse::<usize>().map_err(|_| Error::validation(messages::INSIGHTS_TOKEN))?,
    };
    let mut listed = tables.iter().flat_map(|table| summaries(table, now_ms)).skip(skip);
    let summaries: Vec<InsightsDescription> = listed.by_ref().take(request.limit).collect();
    let next_token = listed.next().map(|_| (skip + summaries.len()).to_string());
    Ok(Response::ListContributorInsights(ListContributorInsightsOutput { summaries, next_token }))
}

fn summaries(table: &Table, now_ms: u64) -> impl Iterator<Item = InsightsDescription> {
    table.insights.iter().filter_map(move |(index, state)| {
        let status = status_of(state, now_ms);
        let (name, _) = table.observed(*index)?;
        (status != InsightsStatus::Disabled).then(|| InsightsDescription {
            table_name: table.name.clone(),
            index_name: name.map(str::to_owned),
            rules: None,
            status,
            updated: None,
            failure: None,
            mode: Some(state.mode.into()),
        })
    })
}
