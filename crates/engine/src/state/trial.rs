//! Requests that are put to the limits without being executed: simulations ask them of the same ledger that
//! decides on real ones.
//!
//! It knows no operation and no store; units come from the caller, who has metered them.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, Usage};
use keywright_semantics::throttle::{Direction, Throttled};
use keywright_store::Store;

use super::Engine;
use crate::catalogue::Table;
use crate::support::env::Namespace;
use crate::support::layout::IndexId;
use crate::throughput::{Arm, Demand, LimitState, Together};

/// How the parts of a request that is tried are decided on and charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// One page of a read: admitted while anything is left, then charged.
    Read,
    /// One write: its table is asked first, then everything is charged at once.
    Write,
    /// All parts or none.
    Transaction,
    /// Each part on its own.
    Batch,
}

/// Units of a table or one of its global indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialArm {
    /// The global index; none for the table, with its local indexes.
    pub index: Option<String>,
    /// Whether they are read or written.
    pub direction: Direction,
    /// The key within the table or index: the partition hash, then the sort key.
    pub key: Vec<u8>,
    /// How many.
    pub units: HalfUnits,
}

/// What a request asks of one item's table; a write's first arm is the table itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialPart {
    /// The table.
    pub table: String,
    /// The table's own units and those of its indexes.
    pub arms: Vec<TrialArm>,
}

impl<S: Store> Engine<S> {
    /// Asks the limits for a request, and charges it if they let it pass. One answer for each part; a table
    /// that does not exist has no limits.
    pub fn try_limits(
        &self,
        namespace: &Namespace,
        trial: Trial,
        parts: &[TrialPart],
    ) -> Vec<Option<Throttled>> {
        let tables: Vec<Option<Arc<Table>>> =
            parts.iter().map(|part| self.catalogue().find(namespace, &part.table)).collect();
        let demands: Vec<Demand<'_>> = parts
            .iter()
            .zip(&tables)
            .filter_map(|(part, table)| Some(demand(table.as_deref()?, part)))
            .collect();
        let found = self.with_context(|context| {
            let first: Vec<Demand<'_>> = demands.iter().map(own_part).collect();
            match trial {
                Trial::Read | Trial::Write | Trial::Transaction => {
                    let short = self.ledgers().shortages(&first, context);
                    if short.iter().any(|short| !short.is_empty()) {
                        return short;
                    }
                }
                Trial::Batch => {}
            }
            match trial {
                Trial::Read => {
                    for demand in &demands {
                        self.ledgers().take(demand, context);
                    }
                    vec![Vec::new(); demands.len()]
                }
                Trial::Write | Trial::Transaction => self.ledgers().admit(&demands, Together::All, context),
                Trial::Batch => self.ledgers().admit(&demands, Together::Each, context),
            }
        });
        self.metrics().begin(self.env().now_ms());
        let is_whole = trial != Trial::Batch;
        let passes = !is_whole || found.iter().all(Vec::is_empty);
        for (demand, _) in demands.iter().zip(&found).filter(|(_, short)| passes && short.is_empty()) {
            for Arm { index, direction, units, .. } in &demand.arms {
                let usage = match direction {
                    Direction::Read => Usage::reading(*units),
                    Direction::Write => Usage::writing(*units),
                };
                self.note_consumed(demand.table, *index, usage);
            }
        }
        let mut answers = demands
            .iter()
            .zip(found)
            .map(|(demand, short)| (!short.is_empty()).then(|| self.throttled(demand.table, short)));
        tables.iter().map(|table| table.as_ref().and_then(|_| answers.next()).flatten()).collect()
    }

    /// The limits of a table or one of its global indexes as they stand; `None` if there is no such thing.
    pub fn limit_state(&self, namespace: &Namespace, table: &str, index: Option<&str>) -> Option<LimitState> {
        let table = self.catalogue().find(namespace, table)?;
        let index = match index {
            None => None,
            Some(name) => Some(index_id(&table, name)?),
        };
        self.with_context(|context| self.ledgers().state(&table, index, context))
    }
}

fn index_id(table: &Table, name: &str) -> Option<IndexId> {
    table.indexes().find(|(_, _, schema)| schema.name == name).map(|(_, id, _)| id)
}

fn demand<'a>(table: &'a Table, part: &TrialPart) -> Demand<'a> {
    let arms = part.arms.iter().filter_map(|arm| {
        let index = match &arm.index {
            None => None,
            Some(name) => Some(index_id(table, name)?),
        };
        Some(Arm {
            index,
            direction: arm.direction,
            key: Some(Bytes::copy_from_slice(&arm.key)),
            units: arm.units,
        })
    });
    Demand { table, arms: arms.collect() }
}

/// The part that is asked before the store would be read: the first arm, and nothing charged.
fn own_part<'a>(demand: &Demand<'a>) -> Demand<'a> {
    let arms = demand.arms.iter().take(1).map(|arm| Arm { units: HalfUnits(0), ..arm.clone() });
    Demand { table: demand.table, arms: arms.collect() }
}
