//! A member that was lost rejoins: with what it wrote alone, or without.
//!
//! *Keep*: both sides send each other all rows, and the greater version wins. An item that was deleted while
//! the member was away, and whose deletion is forgotten, is there again.
//!
//! *Discard*: first the member gets what another one has (`verify`); versions do not count. So nothing
//! that was deleted comes back. What it writes after the request is kept; or after the first question for
//! what would be discarded (`UnsentItems`), which may have been answered long before.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_store::Store;

use super::lost::{lost_ways, open};
use super::verify;
use crate::state::Engine;
use crate::state::verification::Verification;
use crate::support::env::Namespace;

/// How a lost member rejoins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejoin {
    /// With what it wrote while it was away.
    Keep,
    /// Without that.
    Discard {
        /// What it wrote itself since then is kept: `UnsentItems::since_ms`; `None` for the request's time.
        since_ms: Option<u64>,
    },
}

/// What follows a request to rejoin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejoining {
    /// It is lost to no other member.
    NotLost,
    /// It and the others send each other all rows.
    Sends,
    /// It is being compared first.
    Compares(Box<Verification>),
}

impl<S: Store> Engine<S> {
    /// Lets a table rejoin the members that it is lost to.
    pub async fn rejoin(&self, namespace: &Namespace, name: &str, how: Rejoin) -> Result<Rejoining, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        let lost = lost_ways(self, &table).await?;
        let Some(first) = lost.first() else { return Ok(Rejoining::NotLost) };
        match how {
            Rejoin::Keep => {
                open(self, &table, self.env().now_ms()).await?;
                Ok(Rejoining::Sends)
            }
            Rejoin::Discard { since_ms } => {
                // Those that it is lost to agree among themselves, or will.
                let other = first.other_than(table.id);
                Ok(Rejoining::Compares(Box::new(verify::begin_discard(self, &table, (other, since_ms)))))
            }
        }
    }
}
