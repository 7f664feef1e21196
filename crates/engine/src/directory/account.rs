//! One account's principals and policies as of one change, and a draft of the next one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use keywright_access::policies::Policy;
use keywright_semantics::iam::names::{IamArn, Kind, folded};

use super::record::{Entity, ManagedPolicy};
use super::rows::RowOf;
use crate::support::env::AccountId;

/// The principals and policies of an account. Requests share it; a change makes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub id: AccountId,
    /// The epoch of its last change.
    pub(super) changed: u64,
    /// By kind and folded name.
    pub(super) entities: BTreeMap<(Kind, String), Arc<Entity>>,
    /// By folded name.
    pub(super) policies: BTreeMap<String, Arc<ManagedPolicy>>,
    compiled: Compiled,
}

/// The policies that bind a user or role, compiled for decisions.
#[derive(Debug, Default)]
pub struct HeldPolicies {
    /// Of the entity itself and of its groups.
    pub identity: Vec<Arc<Policy>>,
    /// The boundary.
    pub boundary: Option<Arc<Policy>>,
}

/// Policies that were compiled as a request needed them. Another state of the account has others.
#[derive(Debug, Default)]
struct Compiled(Mutex<HashMap<(Kind, String), Arc<HeldPolicies>>>);

impl Clone for Compiled {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// What was compiled has no part in whether two states of an account are equal.
impl PartialEq for Compiled {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Compiled {}

impl Account {
    pub(super) fn empty(id: AccountId) -> Self {
        Self {
            id,
            changed: 0,
            entities: BTreeMap::new(),
            policies: BTreeMap::new(),
            compiled: Compiled::default(),
        }
    }

    /// The compiled policies of an entity, which `compile` makes once for this state.
    pub(crate) fn compiled(
        &self,
        (kind, name): (Kind, &str),
        compile: impl FnOnce() -> HeldPolicies,
    ) -> Arc<HeldPolicies> {
        let mut held = self.compiled.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = held.entry((kind, folded(name))).or_insert_with(|| Arc::new(compile()));
        Arc::clone(held)
    }

    pub(crate) fn entity(&self, kind: Kind, name: &str) -> Option<&Arc<Entity>> {
        self.entities.get(&(kind, folded(name)))
    }

    /// Entities of a kind in the order of their folded names, after a name.
    pub(crate) fn entities_after(
        &self,
        kind: Kind,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&String, &Arc<Entity>)> {
        let start = (kind, after.map(folded).unwrap_or_default());
        let is_after = move |name: &str| after.is_none_or(|after| name > folded(after).as_str());
        self.entities
            .range(start..)
            .take_while(move |((other, _), _)| *other == kind)
            .map(|((_, name), entity)| (name, entity))
            .filter(move |(name, _)| is_after(name))
    }

    /// The entities that another state of the account does not have as they are here.
    pub(super) fn missing_in<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Arc<Entity>> {
        self.entities.iter().filter_map(|(at, entity)| {
            let same = other.entities.get(at).is_some_and(|same| Arc::ptr_eq(same, entity));
            (!same).then_some(entity)
        })
    }

    /// All entities.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Entity>> {
        self.entities.values()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.entities.range((kind, String::new())..).take_while(|((other, _), _)| *other == kind).count()
    }

    /// The managed policies of the account, by their folded names.
    pub(crate) fn policies(&self) -> impl Iterator<Item = (&String, &Arc<ManagedPolicy>)> {
        self.policies.iter()
    }

    /// A managed policy of this account; none for a built-in one.
    pub(crate) fn policy(&self, arn: &str) -> Option<&Arc<ManagedPolicy>> {
        let parts = IamArn::parse(arn)?;
        let is_own = parts.account == self.id.as_str() && parts.kind == "policy";
        let policy = self.policies.get(&folded(parts.name)).filter(|_| is_own)?;
        (policy.path == parts.path && policy.name == parts.name).then_some(policy)
    }

    pub(crate) fn has_policy_named(&self, name: &str) -> bool {
        self.policies.contains_key(&folded(name))
    }

    pub(crate) fn policy_count(&self) -> usize {
        self.policies.len()
    }
}

/// An account that is being changed.
#[derive(Debug)]
pub(crate) struct Draft {
    account: Account,
    touched: BTreeSet<RowOf>,
}

impl Draft {
    pub(super) fn new(account: Account) -> Self {
        Self { account, touched: BTreeSet::new() }
    }

    pub(crate) const fn account(&self) -> &Account {
        &self.account
    }

    /// An entity to change.
    pub(crate) fn entity_mut(&mut self, kind: Kind, name: &str) -> Option<&mut Entity> {
        let name = folded(name);
        let entity = self.account.entities.get_mut(&(kind, name.clone()))?;
        self.touched.insert(RowOf::Entity(kind, name));
        Some(Arc::make_mut(entity))
    }

    pub(crate) fn insert(&mut self, entity: Entity) {
        let (kind, name) = (entity.kind(), folded(&entity.name));
        self.touched.insert(RowOf::Entity(kind, name.clone()));
        self.account.entities.insert((kind, name), Arc::new(entity));
    }

    pub(crate) fn remove(&mut self, kind: Kind, name: &str) -> Option<Arc<Entity>> {
        let name = folded(name);
        self.touched.insert(RowOf::Entity(kind, name.clone()));
        self.account.entities.remove(&(kind, name))
    }

    pub(crate) fn policy_mut(&mut self, arn: &str) -> Option<&mut ManagedPolicy> {
        let name = folded(&self.account.policy(arn)?.name);
        let policy = self.account.policies.get_mut(&name)?;
        self.touched.insert(RowOf::Policy(name));
        Some(Arc::make_mut(policy))
    }

    pub(crate) fn insert_policy(&mut self, policy: ManagedPolicy) {
        let name = folded(&policy.name);
        self.touched.insert(RowOf::Policy(name.clone()));
        self.account.policies.insert(name, Arc::new(policy));
    }

    pub(crate) fn remove_policy(&mut self, name: &str) {
        let name = folded(name);
        self.touched.insert(RowOf::Policy(name.clone()));
        self.account.policies.remove(&name);
    }

    /// The changed account, and the rows that differ.
    pub(super) fn finish(self, epoch: u64) -> (Account, BTreeSet<RowOf>) {
        let mut account = self.account;
        assert!(account.changed < epoch, "the epoch of an account rises");
        account.changed = epoch;
        (account, self.touched)
    }
}
