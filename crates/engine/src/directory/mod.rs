//! The directory: users, groups, roles, policies and access keys of all accounts. Rows in the store, and one
//! copy in memory, which requests read without the store.
//!
//! Every change is one commit, which raises the directory's epoch. A process that reads a higher epoch than
//! it knows reads the accounts that have changed. Changes of this process take turns.
//!
//! - `record`: what is stored; `rows`: under which keys.
//! - `account`: one account in memory, and a draft of its next state.
//! - `follow`: how the copy follows the store. `sealed`: rows with secrets, in a store that others can read.
//! - `naming`: users and roles in policies, by id where they are stored and by ARN where they are shown.
//!
//! It does not know operations, quotas, or how policies are judged.

mod account;
mod follow;
mod naming;
mod record;
mod rows;
mod sealed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::{Kind, folded};
use keywright_store::{CommitError, Store, Transaction};
use tokio::sync::Mutex as AsyncMutex;

use crate::support::config::RowSeal;
use crate::support::env::{AccountId, Env};
use crate::support::fault;

pub use account::HeldPolicies;
pub(crate) use account::{Account, Draft};
pub(crate) use follow::DirectoryFault;
use record::encode;
pub(crate) use record::{Entity, ManagedPolicy, Part, StoredKey, Version, characters};
pub(crate) use rows::epoch_key;
use rows::{RowOf, session_key_key};
use sealed::{Seals, is_sealed};

/// Tries of a commit that meets another one.
const TRIES_MAX: u32 = 20;
/// Milliseconds between two notes of an access key's use.
const USE_NOTED_MS: u64 = 60_000;

/// The key under which session tokens are sealed.
pub type SessionKey = [u8; 32];

/// When and where an access key was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyUse {
    pub at_ms: u64,
    pub service: &'static str,
    pub region: String,
}

/// The copy in memory.
#[derive(Debug, Default)]
struct Known {
    epoch: u64,
    accounts: BTreeMap<AccountId, Arc<Account>>,
    /// The account and the folded name of the user of each access key.
    keys: HashMap<String, (AccountId, String)>,
}

impl Known {
    /// Replaces an account, and its keys.
    fn replace(&mut self, account: &Arc<Account>) {
        let before = self.accounts.insert(account.id.clone(), Arc::clone(account));
        for entity in before.iter().flat_map(|before| before.missing_in(account)) {
            for key in entity.keys() {
                self.keys.remove(&key.id);
            }
        }
        let empty = Account::empty(account.id.clone());
        for entity in account.missing_in(before.as_deref().unwrap_or(&empty)) {
            for key in entity.keys() {
                self.keys.insert(key.id.clone(), (account.id.clone(), folded(&entity.name)));
            }
        }
    }
}

/// The directory over a store.
pub(crate) struct Directory<S: Store> {
    store: S,
    seals: Seals,
    known: RwLock<Known>,
    /// Held by each change and each reading of the store.
    turn: AsyncMutex<()>,
    /// How many readings have begun, and how many of them had when the last one that ended began.
    follows_begun: AtomicU64,
    follows_done: AtomicU64,
    /// Whether the copy may be behind a commit of this process whose outcome is not known.
    is_uncertain: AtomicBool,
    followed_ms: AtomicU64,
    uses: Mutex<HashMap<String, KeyUse>>,
}

impl<S: Store> Directory<S> {
    /// The directory of a store that has been read.
    pub(crate) async fn open(
        store: S,
        seal: Option<Arc<dyn RowSeal>>,
        now_ms: u64,
    ) -> Result<Self, DirectoryFault> {
        let directory = Self {
            store,
            seals: Seals::new(seal),
            known: RwLock::default(),
            turn: AsyncMutex::default(),
            follows_begun: AtomicU64::new(0),
            follows_done: AtomicU64::new(0),
            is_uncertain: AtomicBool::new(false),
            followed_ms: AtomicU64::new(0),
            uses: Mutex::default(),
        };
        directory.follow(now_ms).await?;
        if directory.seals.are_on() {
            directory.seal_plain_rows().await?;
        }
        Ok(directory)
    }

    /// Seals what a process without a key has written. The epoch rises, so that such a process reads
    /// the sealed rows, and refuses, before it writes again.
    async fn seal_plain_rows(&self) -> Result<(), DirectoryFault> {
        let keys = follow::plain_rows(&self.store.snapshot().await?).await?;
        for key in keys {
            for _ in 0..TRIES_MAX {
                let (mut txn, rows) = self.store.begin_with(&[key.clone(), epoch_key()]).await?;
                let mut rows = rows.into_iter();
                let Some(row) = rows.next().flatten().filter(|row| !is_sealed(row)) else {
                    break;
                };
                let epoch = follow::epoch(rows.next().flatten()) + 1;
                txn.put(epoch_key(), Bytes::copy_from_slice(&epoch.to_be_bytes()));
                txn.put(key.clone(), self.seals.stored(&key, row));
                match txn.commit().await {
                    Ok(_version) => break,
                    Err(CommitError::Conflict) => {}
                    Err(CommitError::Failed(error)) => return Err(error.into()),
                    Err(CommitError::TooLarge | CommitError::Unknown) => {
                        return Err(DirectoryFault::Row("a row with secrets could not be sealed".to_owned()));
                    }
                }
            }
        }
        Ok(())
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<String, KeyUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The principals of an account.
    pub(crate) fn account(&self, id: &AccountId) -> Arc<Account> {
        let known = self.known().accounts.get(id).map(Arc::clone);
        known.unwrap_or_else(|| Arc::new(Account::empty(id.clone())))
    }

    /// Whether an account has principals or policies of its own.
    pub(crate) fn holds(&self, id: &AccountId) -> bool {
        self.known().accounts.contains_key(id)
    }

    /// How many users all accounts have together.
    pub(crate) fn user_count(&self) -> usize {
        self.known().accounts.values().map(|account| account.count(Kind::User)).sum()
    }

    /// The account and the user of an access key.
    pub(crate) fn key(&self, id: &str) -> Option<(Arc<Account>, Arc<Entity>)> {
        let known = self.known();
        let (account, user) = known.keys.get(id)?;
        let account = known.accounts.get(account)?;
        let user = account.entity(Kind::User, user)?;
        Some((Arc::clone(account), Arc::clone(user)))
    }

    /// The ARNs of those users and roles of all accounts that have one of these ids, by account and id.
    pub(crate) fn arns_of(&self, ids: &BTreeSet<String>) -> BTreeMap<(AccountId, String), String> {
        let known = self.known();
        let all = known.accounts.values().flat_map(|account| account.all().map(move |one| (account, one)));
        let wanted = all.filter(|(_, entity)| ids.contains(&entity.id));
        let named = wanted.map(|(account, entity)| {
            ((account.id.clone(), entity.id.clone()), entity.arn(account.id.as_str()))
        });
        named.collect()
    }

    /// Notes that a key was used, once a minute.
    pub(crate) fn note_use(&self, id: &str, (service, region): (&'static str, &str), now_ms: u64) {
        let mut uses = self.uses();
        match uses.get(id) {
            Some(noted) if now_ms.saturating_sub(noted.at_ms) < USE_NOTED_MS => {}
            _ => {
                uses.insert(id.to_owned(), KeyUse { at_ms: now_ms, service, region: region.to_owned() });
            }
        }
    }

    /// The last use of a key by a request to this process.
    pub(crate) fn last_use(&self, id: &str) -> Option<KeyUse> {
        self.uses().get(id).cloned()
    }

    /// Commits what `make` makes of an account, again after a conflict. It writes nothing if `make` changes
    /// nothing. Once it returns, every request of this process is judged by the new state.
    pub(crate) async fn change<R>(
        &self,
        id: &AccountId,
        make: impl Fn(&mut Draft) -> Result<R, Fault> + Send + Sync,
    ) -> Result<R, Fault> {
        let _turn = self.turn.lock().await;
        for _ in 0..TRIES_MAX {
            let begun = self.store.begin_with(&[epoch_key()]).await;
            let (mut txn, rows) = begun.map_err(|error| failed(&fault::storage(&error)))?;
            let stored = follow::epoch(rows.into_iter().next().flatten());
            if self.is_behind(stored) {
                let fault_of = |fault: DirectoryFault| failed(&fault.into());
                self.reload(&txn).await.map_err(fault_of)?;
                if self.seals.are_on() {
                    // It commits on its own, and in some stores this transaction would stand in its way.
                    drop(txn);
                    self.seal_plain_rows().await.map_err(fault_of)?;
                    continue;
                }
            }
            let mut draft = Draft::new(Account::clone(&self.account(id)));
            let result = make(&mut draft)?;
            let epoch = stored + 1;
            let (account, touched) = draft.finish(epoch);
            if touched.is_empty() {
                return Ok(result);
            }
            write(&mut txn, &self.seals, (&account, &touched), epoch);
            self.is_uncertain.store(true, Ordering::Release);
            match txn.commit().await {
                Ok(_version) => {
                    let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
                    assert!(known.epoch < epoch, "the epoch rises with each change");
                    known.epoch = epoch;
                    known.replace(&Arc::new(account));
                    self.uses().retain(|id, _| known.keys.contains_key(id));
                    self.is_uncertain.store(false, Ordering::Release);
                    return Ok(result);
                }
                Err(CommitError::Conflict) => self.is_uncertain.store(false, Ordering::Release),
                Err(CommitError::Failed(error)) => return Err(failed(&fault::storage(&error))),
                Err(CommitError::TooLarge | CommitError::Unknown) => {
                    return Err(failed(&fault::internal()));
                }
            }
        }
        Err(Fault::new(FaultKind::ConcurrentModification, messages::BUSY))
    }

    /// The key of session tokens, which the first caller makes.
    pub(crate) async fn session_key(&self, env: &dyn Env) -> Result<SessionKey, Error> {
        for _ in 0..TRIES_MAX {
            let begun = self.store.begin_with(&[session_key_key()]).await;
            let (mut txn, rows) = begun.map_err(|error| fault::storage(&error))?;
            if let Some(row) = rows.into_iter().next().flatten() {
                let row = self.seals.opened(&session_key_key(), &row).map_err(DirectoryFault::Row)?;
                return SessionKey::try_from(&row[..]).map_err(|_| fault::internal());
            }
            let mut made = SessionKey::default();
            for half in made.chunks_mut(16) {
                half.copy_from_slice(&env.random_u128().to_be_bytes());
            }
            let stored = self.seals.stored(&session_key_key(), Bytes::copy_from_slice(&made));
            txn.put(session_key_key(), stored);
            match txn.commit().await {
                Ok(_version) => return Ok(made),
                Err(CommitError::Conflict) => {}
                Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
                Err(CommitError::TooLarge | CommitError::Unknown) => return Err(fault::internal()),
            }
        }
        Err(fault::internal())
    }
}

/// Writes the rows of an account that differ.
fn write(
    txn: &mut impl Transaction,
    seals: &Seals,
    (account, touched): (&Account, &BTreeSet<RowOf>),
    epoch: u64,
) {
    let row = Bytes::copy_from_slice(&epoch.to_be_bytes());
    txn.put(epoch_key(), row.clone());
    txn.put(rows::key(&account.id, &RowOf::Changed), row);
    for touched in touched {
        let key = rows::key(&account.id, touched);
        let row = match touched {
            RowOf::Changed => None,
            RowOf::Entity(kind, name) => {
                account.entities.get(&(*kind, name.clone())).map(|entity| encode(&**entity))
            }
            RowOf::Policy(name) => account.policies.get(name).map(|policy| encode(&**policy)),
        };
        match row {
            Some(row) => {
                let stored = seals.stored(&key, row);
                txn.put(key, stored);
            }
            None => txn.delete(key),
        }
    }
}

/// A fault of the store.
fn failed(_error: &Error) -> Fault {
    Fault::new(FaultKind::ServiceFailure, messages::FAILED)
}
