//! The names that point to the record of a strongly consistent group.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::messages::global;
use keywright_store::{Store, Transaction};

use super::guard::TableChange;
use super::rows::name_key;
use super::table::Table;
use super::{CHANGE_TRIES_MAX, Cache, Catalogue, Ended, owner, read_u64};
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::support::layout::TableId;

impl<S: Store> Catalogue<S> {
    /// Makes a table the first member of a group: `change` puts the others into its record, and names in
    /// their regions point to it from then on.
    pub(crate) async fn found_strong(
        &self,
        (found, regions): (&Table, &[&str]),
        permit: impl Fn() -> Result<(), Error>,
        change: impl Fn(&mut Table) -> Result<(), Error>,
    ) -> Result<Arc<Table>, Error> {
        let names: Vec<Bytes> = regions.iter().map(|region| name_in(found, region)).collect();
        let number = Bytes::copy_from_slice(&found.id.0.to_be_bytes());
        let _turn = self.change_turn.lock().await;
        permit()?;
        let mut unsure = None;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let rows = txn.get_for_write(&names).await.map_err(|fault| fault::storage(&fault))?;
            let before = txn.read(found.id).await?;
            if unsure.take().is_some_and(|table| table == before) {
                return Ok(self.adopt(before));
            }
            if rows.iter().any(Option::is_some) {
                return Err(Error::validation(global::replica_exists(&found.name)));
            }
            let mut table = before.clone();
            change(&mut table)?;
            txn.change(&before, &mut table);
            for name in &names {
                txn.put(name.clone(), number.clone());
            }
            match self.commit(txn).await? {
                Ended::Done => return Ok(self.adopt(table)),
                Ended::Unknown => unsure = Some(table),
                Ended::Conflict => {}
            }
        }
        Err(fault::internal())
    }

    /// Removes all members of a group but the one that stays, with their names. A group that does not end,
    /// or has ended, stays as it is.
    pub(crate) async fn end_strong(&self, id: TableId, now_ms: u64) -> Result<(), Error> {
        let _turn = self.change_turn.lock().await;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let before = txn.read(id).await?;
            let Some((group, ends)) = before.strong.as_ref().and_then(|group| Some((group, group.ends?)))
            else {
                self.adopt(before);
                return Ok(());
            };
            let others = group.members.iter().enumerate().filter(|(place, _)| *place != ends.left);
            let names: Vec<Bytes> = others.map(|(_, member)| name_in(&before, &member.region)).collect();
            let rows = txn.get_for_write(&names).await.map_err(|fault| fault::storage(&fault))?;
            for (name, row) in names.iter().zip(rows) {
                let points_to = row.as_ref().and_then(|row| read_u64(row));
                assert_eq!(points_to, Some(id.0), "the names of a group point to its record");
                txn.delete(name.clone());
            }
            let mut table = before.clone();
            table.end_strong(now_ms);
            txn.change(&before, &mut table);
            if self.commit(txn).await? == Ended::Done {
                self.adopt(table);
                return Ok(());
            }
        }
        Err(fault::internal())
    }
}

/// The name of a table in another region.
fn name_in(table: &Table, region: &str) -> Bytes {
    name_key(&Namespace { region: Region::stored(region), ..owner(table) }, &table.name)
}

impl Cache {
    /// Replaces all copies of a group by those of another state of its record.
    pub(super) fn replace_faces(&mut self, known: &Table, table: &Arc<Table>, bytes: usize) {
        for face in known.faces() {
            self.streams.remove(&face);
            let Some(tables) = self.names.get_mut(&owner(&face)) else { continue };
            if tables.get(&face.name).is_some_and(|named| named.id == face.id) {
                tables.remove(&face.name);
            }
            if tables.is_empty() {
                self.names.remove(&owner(&face));
            }
        }
        self.sizes.set(table.id, bytes);
        self.insert(Arc::clone(table));
    }
}
