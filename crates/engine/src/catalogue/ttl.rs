//! A table's time to live as its record keeps it.

use serde::{Deserialize, Serialize};

/// One enabling of time to live: never reused within a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TtlGeneration(pub u32);

/// Invariant: `filling` only while enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TtlState {
    /// The attribute of the latest enabling, kept while that is being disabled.
    pub attribute: Option<String>,
    generation: Option<TtlGeneration>,
    next_generation: u32,
    /// Items that were there before the enabling do not all have their rows yet.
    pub filling: bool,
    pub changed_ms: Option<u64>,
    /// When the latest change counts as done.
    pub settled_ms: u64,
    /// Generations whose rows are to be removed.
    pub doomed: Vec<TtlGeneration>,
}

impl TtlState {
    /// The generation and the attribute, while enabled.
    pub(crate) fn enabled(&self) -> Option<(TtlGeneration, &str)> {
        Some((self.generation?, self.attribute.as_deref()?))
    }

    pub(crate) fn enable(&mut self, attribute: &str, now_ms: u64, settled_ms: u64) {
        self.attribute = Some(attribute.to_owned());
        self.generation = Some(TtlGeneration(self.next_generation));
        self.next_generation += 1;
        self.filling = true;
        self.changed_ms = Some(now_ms);
        self.settled_ms = settled_ms;
    }

    pub(crate) fn disable(&mut self, now_ms: u64, settled_ms: u64) {
        self.doomed.extend(self.generation.take());
        self.filling = false;
        self.changed_ms = Some(now_ms);
        self.settled_ms = settled_ms;
    }
}
