//! How the copy in memory follows the store when other processes change it too.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Direction, Entry, Snapshot, Store, StoreError};

use super::account::Account;
use super::record::decode;
use super::rows::{self, RowOf, epoch_key};
use super::sealed::{Seals, is_sealed};
use super::{Directory, Known};
use crate::support::env::AccountId;
use crate::support::fault;
use crate::support::layout::{Space, prefix_range};
use crate::support::rows::each_row_until;

pub(super) fn epoch(row: Option<Bytes>) -> u64 {
    row.and_then(|row| Some(u64::from_be_bytes(*row.first_chunk::<8>()?))).unwrap_or(0)
}

/// Why the directory cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryFault {
    /// The store failed.
    Store(StoreError),
    /// A row is damaged, or a later release wrote it.
    Row(String),
}

impl From<StoreError> for DirectoryFault {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

impl From<DirectoryFault> for Error {
    fn from(fault: DirectoryFault) -> Self {
        match fault {
            DirectoryFault::Store(fault) => fault::storage(&fault),
            DirectoryFault::Row(_) => fault::internal(),
        }
    }
}

impl<S: Store> Directory<S> {
    /// Whether the epoch was read at this time or later, and nothing is uncertain.
    pub(crate) fn is_followed_since(&self, time_ms: u64) -> bool {
        !self.is_uncertain.load(Ordering::Acquire) && self.followed_ms.load(Ordering::Relaxed) >= time_ms
    }

    /// Notes that the epoch's row was read at this time; false if the copy in memory is not the one of it.
    pub(crate) fn note_followed(&self, row: Option<Bytes>, time_ms: u64) -> bool {
        let is_current = !self.is_behind(epoch(row));
        if is_current {
            self.followed_ms.fetch_max(time_ms, Ordering::Relaxed);
        }
        is_current
    }

    pub(super) fn is_behind(&self, stored: u64) -> bool {
        self.is_uncertain.load(Ordering::Acquire) || self.known().epoch != stored
    }

    /// Reads what other processes have changed. Of several callers one reads and the others wait for it.
    pub(crate) async fn follow(&self, now_ms: u64) -> Result<(), DirectoryFault> {
        let begun = self.follows_begun.load(Ordering::Acquire);
        let _turn = self.turn.lock().await;
        if self.follows_done.load(Ordering::Acquire) > begun {
            // Another caller began to read after this call.
            return Ok(());
        }
        let number = self.follows_begun.fetch_add(1, Ordering::AcqRel) + 1;
        let view = self.store.snapshot().await?;
        let stored = epoch(view.get(&epoch_key()).await?);
        if self.is_behind(stored) {
            self.reload(&view).await?;
            if self.seals.are_on() {
                self.seal_plain_rows().await?;
            }
        }
        self.followed_ms.fetch_max(now_ms, Ordering::Relaxed);
        self.follows_done.store(number, Ordering::Release);
        Ok(())
    }

    /// Reads the accounts that have changed. The caller has the turn.
    pub(super) async fn reload(&self, view: &impl Snapshot) -> Result<(), DirectoryFault> {
        let stored = epoch(view.get(&epoch_key()).await?);
        let read = read_all(view, &self.seals).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Known { epoch: stored, ..Known::default() };
        for (id, account) in read {
            let same = known.accounts.remove(&id).filter(|known| **known == account);
            next.replace(&same.unwrap_or_else(|| Arc::new(account)));
        }
        *known = next;
        drop(known);
        self.is_uncertain.store(false, Ordering::Release);
        Ok(())
    }
}

/// All accounts of a view.
async fn read_all(
    view: &impl Snapshot,
    seals: &Seals,
) -> Result<BTreeMap<AccountId, Account>, DirectoryFault> {
    let mut accounts: BTreeMap<AccountId, Account> = BTreeMap::new();
    let mut failed = None;
    let take = |entry: &Entry| match take_row(&mut accounts, seals, entry) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    };
    let range = prefix_range(vec![Space::Principals.byte()]);
    each_row_until(view, (range, Direction::Forward), take).await?;
    failed.map_or(Ok(accounts), Err)
}

/// The keys of rows with secrets that are not sealed.
pub(super) async fn plain_rows(view: &impl Snapshot) -> Result<Vec<Bytes>, StoreError> {
    let mut found = Vec::new();
    let take = |entry: &Entry| {
        let has_secrets = match rows::read(&entry.key) {
            Some((_, row)) => row != RowOf::Changed,
            None => entry.key == rows::session_key_key(),
        };
        if has_secrets && !is_sealed(&entry.value) {
            found.push(entry.key.clone());
        }
        ControlFlow::Continue(())
    };
    let range = prefix_range(vec![Space::Principals.byte()]);
    each_row_until(view, (range, Direction::Forward), take).await?;
    Ok(found)
}

fn take_row(
    accounts: &mut BTreeMap<AccountId, Account>,
    seals: &Seals,
    entry: &Entry,
) -> Result<(), DirectoryFault> {
    let Some((id, row)) = rows::read(&entry.key) else { return Ok(()) };
    let unreadable = || {
        DirectoryFault::Row(format!(
            "a row of account {id}'s users, groups, roles or policies is damaged, or a later release of Keywright \
             wrote it"
        ))
    };
    let account = accounts.entry(id.clone()).or_insert_with(|| Account::empty(id.clone()));
    match row {
        RowOf::Changed => account.changed = epoch(Some(entry.value.clone())),
        RowOf::Entity(kind, name) => {
            let row = seals.opened(&entry.key, &entry.value).map_err(DirectoryFault::Row)?;
            account.entities.insert((kind, name), Arc::new(decode(&row).ok_or_else(unreadable)?));
        }
        RowOf::Policy(name) => {
            let row = seals.opened(&entry.key, &entry.value).map_err(DirectoryFault::Row)?;
            account.policies.insert(name, Arc::new(decode(&row).ok_or_else(unreadable)?));
        }
    }
    Ok(())
}
