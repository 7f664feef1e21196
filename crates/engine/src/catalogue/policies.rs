//! The policies of a table and of its streams, as its record has them.
//!
//! They are a part of the record: made, changed and deleted with the table, in its commits, and seen by other
//! processes as soon as the table is. It does not know tables, who may change a policy, or what one says.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use keywright_access::document::PolicyKind;
use keywright_access::policies::{Policy, compiled_policy};
use serde::{Deserialize, Serialize};

/// What a policy is of: the table, or its stream of this label.
pub(crate) type Governed = Option<String>;

/// The policies of a table and of its streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policies {
    /// Those in force.
    pub in_force: BTreeMap<Governed, StoredPolicy>,
    /// Revisions of removals, where no policy came later.
    pub removed: BTreeMap<Governed, u64>,
}

/// A policy in force. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPolicy {
    /// The document in its compact form, with users and roles by their ids.
    pub text: String,
    /// Milliseconds since 1970 of the change that made it, or more: revisions of one policy rise.
    pub revision_ms: u64,
    #[serde(skip)]
    compiled: Compiled,
}

/// The compiled document, made when a request is first judged by it.
#[derive(Clone, Debug, Default)]
struct Compiled(OnceLock<Arc<Policy>>);

/// It follows from the text.
impl PartialEq for Compiled {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Compiled {}

impl StoredPolicy {
    /// The compiled document, by the name that explanations give it. It is compiled once.
    pub(super) fn compiled(&self, name: impl FnOnce() -> String, kind: PolicyKind) -> Arc<Policy> {
        Arc::clone(self.compiled.0.get_or_init(|| compiled_policy(&name(), &self.text, kind)))
    }
}

impl Policies {
    /// The policy of a table or stream.
    pub(crate) fn of(&self, governed: &Governed) -> Option<&StoredPolicy> {
        self.in_force.get(governed)
    }

    /// The revision of the last change, also of a removal.
    pub(crate) fn last_revision_ms(&self, governed: &Governed) -> Option<u64> {
        let in_force = self.of(governed).map(|policy| policy.revision_ms);
        in_force.or_else(|| self.removed.get(governed).copied())
    }

    /// The revision of a change at this time.
    fn next_revision_ms(&self, governed: &Governed, now_ms: u64) -> u64 {
        self.last_revision_ms(governed).map_or(now_ms, |last| now_ms.max(last.saturating_add(1)))
    }

    /// Puts a document in force; its revision.
    pub(crate) fn put(&mut self, governed: Governed, text: String, now_ms: u64) -> u64 {
        let revision_ms = self.next_revision_ms(&governed, now_ms);
        self.removed.remove(&governed);
        self.in_force.insert(governed, StoredPolicy { text, revision_ms, compiled: Compiled::default() });
        revision_ms
    }

    /// Removes the policy of a table or stream.
    pub(crate) fn remove(&mut self, governed: Governed, now_ms: u64) {
        let revision_ms = self.next_revision_ms(&governed, now_ms);
        if self.in_force.remove(&governed).is_some() {
            self.removed.insert(governed, revision_ms);
        }
    }

    /// Checks the invariant.
    ///
    /// # Panics
    ///
    /// If a policy is in force and removed.
    pub(super) fn check(&self) {
        let is_one = self.removed.keys().all(|governed| !self.in_force.contains_key(governed));
        assert!(is_one, "a policy is in force or removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_rise_over_changes_of_one_time_and_over_removals() {
        let mut policies = Policies::default();
        assert_eq!(policies.put(None, "a".to_owned(), 100), 100);
        assert_eq!(policies.put(None, "b".to_owned(), 100), 101);
        policies.remove(None, 50);
        assert_eq!(policies.removed.get(&None), Some(&102));
        assert_eq!(policies.put(None, "c".to_owned(), 90), 103);
        assert!(policies.removed.is_empty());
        policies.check();
        policies.remove(Some("stream".to_owned()), 200);
        assert!(policies.removed.is_empty(), "nothing was removed");
    }
}
