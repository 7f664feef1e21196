//! The mappings of a settings file: each of its sections becomes a mapping of every stream that it names.
//!
//! Servers over one store that have the same sections make the same mappings: their ids follow from the
//! sections.

use std::collections::BTreeSet;

use keywright_semantics::error::Error;
use keywright_semantics::event_sources::fault::Fault;
use keywright_semantics::event_sources::request::Start;
use keywright_semantics::event_sources::settings::Settings;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_store::Store;

use super::operations::{Seen, commit, insertion, replacement, wake};
use super::row::{self, Stored};
use crate::catalogue::{Table, TableStatus, owner};
use crate::state::Engine;
use crate::support::{env::Namespace, fault};
use crate::tables::create::uuid;

/// Why a mapping of a section is in its state.
const BY_FILE: &str = "The settings file";

/// A section of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerSection {
    /// Its name: no two sections have one.
    pub name: String,
    /// Account and region; `None`: all that have such a table.
    pub place: Option<(String, String)>,
    /// The table, whose present stream is read.
    pub table: String,
    /// Where it begins.
    pub start: Start,
    /// Whether it delivers.
    pub is_enabled: bool,
    /// What it does.
    pub settings: Settings,
}

impl TriggerSection {
    fn names(&self, table: &Table) -> bool {
        let is_there =
            |(account, region): &(String, String)| table.account == *account && table.region == *region;
        table.name == self.table && self.place.as_ref().is_none_or(is_there)
    }

    /// The mapping that this section makes of a table's stream.
    fn mapping(&self, table: &Table, namespace: &Namespace, label: &str, now_ms: u64) -> Stored {
        let named = [&self.name, table.public_id.as_str(), label];
        let hash = partition_hash(named.map(KeyValueRef::S)).0;
        Stored {
            uuid: uuid(u128::from_be_bytes(hash)),
            account: namespace.account.to_string(),
            region: namespace.region.to_string(),
            table: table.id.0,
            table_name: table.name.clone(),
            stream_label: label.to_owned(),
            is_latest: self.start == Start::Latest,
            settings: self.settings.clone().into(),
            is_enabled: self.is_enabled,
            transition: None,
            reason: BY_FILE.to_owned(),
            modified_ms: now_ms,
            section: Some(self.name.clone()),
            generation: 1,
        }
    }
}

impl<S: Store> Engine<S> {
    /// Makes the mappings of these sections that are not there yet, and changes those that differ. If
    /// `is_start`, mappings of sections that are gone are disabled. Returns the sections without a stream.
    pub async fn keep_trigger_sections(
        &self,
        sections: &[TriggerSection],
        is_start: bool,
    ) -> Result<Vec<String>, Error> {
        let now_ms = self.env().now_ms();
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let stored = row::all(&view).await?;
        drop(view);
        let tables = self.catalogue().all_members();
        let (mut without, mut present) = (Vec::new(), BTreeSet::new());
        for section in sections {
            let mut has_stream = false;
            for table in tables.iter().filter(|table| section.names(table)) {
                let Some(stream) = table.live_stream().filter(|_| table.status != TableStatus::Deleting)
                else {
                    continue;
                };
                has_stream = true;
                let wanted = section.mapping(table, &owner(table), &stream.terms.label, now_ms);
                present.insert(wanted.uuid.clone());
                let found = stored.iter().find(|stored| stored.uuid == wanted.uuid);
                if !found.is_some_and(|found| is_as(found, &wanted)) {
                    self.keep(&wanted).await?;
                }
            }
            if !has_stream {
                without.push(section.name.clone());
            }
        }
        let is_of_none = |stored: &&Stored| {
            let section = stored.section.as_ref();
            section.is_some_and(|name| !sections.iter().any(|section| section.name == *name))
        };
        if is_start {
            for orphan in stored.iter().filter(is_of_none).filter(|orphan| orphan.is_enabled) {
                let disabled = Stored {
                    is_enabled: false,
                    reason: row::NO_SECTION.to_owned(),
                    modified_ms: now_ms,
                    ..orphan.clone()
                };
                self.keep(&disabled).await?;
            }
        }
        Ok(without)
    }

    /// Makes a mapping what the settings file says.
    async fn keep(&self, wanted: &Stored) -> Result<(), Error> {
        let make = |seen: Seen| {
            let writes = match &seen.row {
                None => insertion(wanted, seen.version),
                Some(row) => {
                    let before = Stored::decode(row).map_err(super::failed)?;
                    if is_as(&before, wanted) {
                        return Ok((Vec::new(), ()));
                    }
                    let after = Stored {
                        generation: before.generation + 1,
                        is_latest: before.is_latest,
                        ..wanted.clone()
                    };
                    replacement(&seen, &before, &after)
                }
            };
            Ok((writes, ()))
        };
        commit(self, &wanted.uuid, make).await.map_err(|_: Fault| fault::internal())?;
        wake(self, wanted);
        Ok(())
    }
}

/// Whether a mapping does what is wanted. Where it has begun is no matter any more.
fn is_as(found: &Stored, wanted: &Stored) -> bool {
    found.settings == wanted.settings && found.is_enabled == wanted.is_enabled && found.transition.is_none()
}
