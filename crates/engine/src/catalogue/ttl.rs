//! A table's time to live, as stored in its record.

use serde::{Deserialize, Serialize};

/// The number of one enabling of time to live. It is never reused within a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TtlGeneration(pub u32);

/// The time to live of a table. Invariant: `filling` only while enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TtlState {
    /// The attribute of the latest enabling; kept while it is being disabled.
    pub attribute: Option<String>,
    generation: Option<TtlGeneration>,
    next_generation: u32,
    /// Some items that are older than the enabling have no expiry row yet.
    pub filling: bool,
    pub changed_ms: Option<u64>,
    /// When the latest change takes effect for DescribeTimeToLive.
    pub settled_ms: u64,
    /// Generations whose rows are to be purged.
    pub doomed: Vec<TtlGeneration>,
}

impl TtlState {
    /// The generation and the attribute, while enabled.
    pub(crate) fn enabled(&self) -> Option<(TtlGeneration, &str)> {
        Some((self.generation?, self.attribute.as_deref()?))
    }

    pub(crate) fn enable(&mut self, attribute: &str, now_ms: u64, settled_ms: u64) {
        assert!(self.generation.is_none(), "time to live is disabled before it is enabled again");
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
