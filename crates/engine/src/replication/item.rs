//! An item of a member with its version, for those who compare replicas.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::Consistency;
use keywright_semantics::value::Item;
use keywright_store::{Snapshot, Store};

use crate::bind::key::bind_row;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::within_table;
use crate::write::version_rows::{StoredVersion, version_key};

/// When and where a state of an item was made. Of two states the one with the greater stamp wins, of those
/// with one stamp the one whose region has the greater name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaVersion {
    /// The region.
    pub region: String,
    /// The time in milliseconds since 1970, as the region's clock showed it.
    pub at_ms: u64,
    /// The whole stamp.
    pub stamp: u64,
}

/// An item as one region has it, at one instant.
#[derive(Clone, Debug)]
pub struct ReplicaItem {
    /// The item; `None` if there is none.
    pub item: Option<EncodedItem>,
    /// Its version, or that of its deletion; `None` for an item that is older than the group, for one that
    /// was never there, and in a strongly consistent table.
    pub version: Option<ReplicaVersion>,
}

impl<S: Store> Engine<S> {
    /// An item of a table with replicas, as its region has it now; `None` if the table has none.
    pub async fn replica_item(
        &self,
        namespace: &Namespace,
        name: &str,
        key: &Item,
    ) -> Result<Option<ReplicaItem>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        if table.replication.is_none() && table.strong.is_none() {
            return Ok(None);
        }
        let row = bind_row(table.id, &table.schema, key).map_err(|fault| Error::validation(fault.message))?;
        let keys = [version_key(table.id, within_table(&row)), row];
        let found = if let Some(view) = self.region_view(&table, Consistency::Eventual).await? {
            view.get_many(&keys).await
        } else {
            let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
            view.get_many(&keys).await
        };
        let found = found.map_err(|error| fault::storage(&error))?;
        let [version, item] = <[_; 2]>::try_from(found).map_err(|_| fault::internal())?;
        let item = item.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        let version = version.as_ref().map(StoredVersion::decode).transpose()?;
        if version.as_ref().is_some_and(|stored| stored.deleted.is_some() == item.is_some()) {
            return Err(fault::internal());
        }
        let version = version.map(|StoredVersion { version, .. }| ReplicaVersion {
            at_ms: version.stamp.ms(),
            stamp: u64::from_be_bytes(version.stamp.to_bytes()),
            region: version.region,
        });
        Ok(Some(ReplicaItem { item, version }))
    }
}
