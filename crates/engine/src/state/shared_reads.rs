//! What the reads and writes of a strongly consistent table's regions may do: nothing is asked of any other
//! table.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::request::Consistency;
use keywright_store::Store;

use super::Engine;
use crate::catalogue::Table;
use crate::support::fault;

impl<S: Store> Engine<S> {
    /// The view that a read of the table takes; `None` if it sees the newest rows.
    pub(crate) async fn region_view(
        &self,
        table: &Table,
        consistency: Consistency,
    ) -> Result<Option<Arc<S::Snapshot>>, Error> {
        if table.strong.is_none() {
            return Ok(None);
        }
        Box::pin(self.shared_tables().view(self, (table, consistency))).await
    }

    /// Refuses a change of a group's settings while one of its regions is cut off (developer guide).
    pub(crate) fn check_reachable(&self, table: &Table) -> Result<(), Error> {
        let now_ms = self.env().now_ms();
        let mut regions = table.strong_members().map(|(member, _)| member.region.as_str());
        if regions.any(|region| self.links().isolated_since(region, now_ms).is_some()) {
            return Err(fault::internal());
        }
        Ok(())
    }

    /// Refuses writes of regions that are cut off.
    pub(crate) async fn admit_regions(
        &self,
        tables: impl Iterator<Item = &Table> + Send,
    ) -> Result<(), Error> {
        for table in tables.filter(|table| table.strong.is_some()) {
            Box::pin(self.shared_tables().admit_write(self, table)).await?;
        }
        Ok(())
    }

    /// Refuses writes of items that other regions of their tables are writing.
    pub(crate) fn contend(&self, writes: &[(&Table, &Bytes)]) -> Result<(), Error> {
        if writes.iter().all(|(table, _)| table.strong.is_none()) {
            return Ok(());
        }
        self.shared_tables().contend(self, writes)
    }
}
