//! The two members that are compared: a table here, and another one here or on another server.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::there;
use crate::catalogue::{RemoteMember, Table};
use crate::replication::apply::{self, Sent};
use crate::replication::pass;
use crate::replication::peers::{Repair, Unsent, row_of};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, TableId};
use crate::support::version::Version;

/// A member that is compared with the base.
#[derive(Clone, Debug)]
pub(super) enum End {
    Here(Arc<Table>),
    There(Box<RemoteMember>),
}

/// The two members that are compared.
pub(super) struct Ends {
    pub base: Arc<Table>,
    pub other: End,
}

impl End {
    /// Its table, or the number of a remote one.
    pub(super) fn id(&self) -> TableId {
        match self {
            Self::Here(table) => table.id,
            Self::There(member) => member.table(),
        }
    }

    pub(super) fn region(&self) -> &str {
        match self {
            Self::Here(table) => &table.region,
            Self::There(member) => &member.region,
        }
    }

    /// The id by which servers name its table.
    pub(super) fn public_id(&self) -> &str {
        match self {
            Self::Here(table) => &table.public_id,
            Self::There(member) => &member.public_id,
        }
    }

    /// The row of a key within the table; `None` if there is none, or none that can be read.
    pub(super) async fn fetch<S: Store>(
        &self,
        engine: &Engine<S>,
        base: &Table,
        within: &Bytes,
    ) -> Result<Option<Sent>, Unsent> {
        match self {
            Self::Here(table) => Ok(fetch(engine, table, within).await?),
            Self::There(member) => there::fetch(engine, (base, member), within).await,
        }
    }

    /// Has it take a row that it lacks; whether it could.
    pub(super) async fn take<S: Store>(
        &self,
        engine: &Engine<S>,
        base: &Table,
        sent: &Sent,
    ) -> Result<bool, Unsent> {
        match self {
            Self::Here(table) => Ok(apply::take(engine, table, sent).await.is_ok()),
            Self::There(member) => there::repair(engine, (base, member), Repair::Take(row_of(sent)?)).await,
        }
    }

    /// Gives an item that it has a new version above this one; whether it could.
    pub(super) async fn raise<S: Store>(
        &self,
        engine: &Engine<S>,
        base: &Table,
        (sent, above): (&Sent, Version),
    ) -> Result<bool, Unsent> {
        match self {
            Self::Here(table) => Ok(apply::raise(engine, table, sent, above).await.is_ok()),
            Self::There(member) => {
                let (within, expected) = (sent.within.to_vec(), sent.incoming.version.clone());
                let raise = Repair::Raise { within, expected, above };
                there::repair(engine, (base, member), raise).await
            }
        }
    }
}

/// The row of a key within a table here; `None` if there is none, or none that can be read.
pub(super) async fn fetch<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    within: &[u8],
) -> Result<Option<Sent>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let key = Bytes::from([layout::items_prefix(table.id).as_slice(), within].concat());
    let item = view.get(&key).await.map_err(|error| fault::storage(&error))?;
    // Damaged rows cannot be read: that is no fault of the store.
    let Ok(read) = pass::with_versions(table.id, &view, [(key, item)].into_iter()).await else {
        return Ok(None);
    };
    let is_whole = |sent: &Sent| sent.incoming.item.as_ref().is_none_or(|item| item.validate().is_ok());
    Ok(read.into_iter().flatten().next().filter(is_whole))
}
