//! Delivering changes by hand, for tests of applications: one exact order of what replicas learn.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::value::Item;
use keywright_store::Store;

use super::apply::Applied;
use super::pair::Pair;
use super::send::send_chosen;
use super::table_of;
use crate::bind::key::bind_row;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::{Namespace, Region};
use crate::support::layout::within_table;
use crate::support::links::Choice;

/// Background work may move the same cursor. So often a delivery is tried again.
const TRIES_MAX: usize = 10;

/// Which changes are delivered.
#[derive(Clone, Copy, Debug)]
pub enum Chosen<'i> {
    /// So many, in the order in which they were written.
    Next(usize),
    /// The next one of the item with this key.
    Item(&'i Item),
}

/// Why nothing is delivered.
#[derive(Clone, Debug)]
pub enum DeliveryFault {
    /// The table has no replica there, or is not there itself.
    NoReplica,
    /// The replica is on another server.
    OtherServer,
    /// The key is no key of the table, in a sentence.
    Key(String),
    /// The store failed.
    Failed(Error),
}

impl<S: Store> Engine<S> {
    /// Delivers changes of a table to its replica in another region, also held ones; how many there
    /// were.
    pub async fn deliver(
        &self,
        (from, table): (&Namespace, &str),
        to: &Region,
        chosen: Chosen<'_>,
    ) -> Result<usize, DeliveryFault> {
        let sender = self.catalogue().find(from, table).ok_or(DeliveryFault::NoReplica)?;
        if sender.remote_in(to.as_str()).is_some() {
            return Err(DeliveryFault::OtherServer);
        }
        let member = sender.replicas().find(|member| member.region == to.as_str());
        let receiver = member.and_then(|member| table_of(self, member, table));
        let receiver = receiver.ok_or(DeliveryFault::NoReplica)?;
        let choice = match chosen {
            Chosen::Next(count) => Choice::Next(count),
            Chosen::Item(key) => {
                let row = bind_row(sender.id, &sender.schema, key);
                let row = row.map_err(|fault| DeliveryFault::Key(fault.message))?;
                Choice::Item(within_table(&row).to_vec())
            }
        };
        deliver(self, &sender, &receiver, &choice).await.map_err(DeliveryFault::Failed)
    }
}

/// Delivers chosen changes of a table to one of its replicas; how many there were.
pub(crate) async fn deliver<S: Store>(
    engine: &Engine<S>,
    sender: &Arc<Table>,
    receiver: &Arc<Table>,
    choice: &Choice,
) -> Result<usize, Error> {
    for _ in 0..TRIES_MAX {
        match send_chosen(engine, Pair { sender, receiver }, choice).await? {
            (Applied::Overtaken, 0) => {}
            (Applied::Overtaken | Applied::Done, count) => return Ok(count),
        }
    }
    Ok(0)
}
