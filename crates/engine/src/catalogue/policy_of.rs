//! The policy that a request is judged by: of a table, or of one of its streams, from the copy in memory.
//!
//! It does not know requests.

use std::sync::Arc;

use keywright_access::document::PolicyKind;
use keywright_access::policies::Policy;
use keywright_store::Store;

use super::Catalogue;
use super::policies::{Governed, Policies};
use super::table::Table;
use crate::support::env::Namespace;

impl Table {
    /// Forgets the policies of streams whose records are gone.
    pub(super) fn forget_policies_of_gone_streams(&mut self) {
        if self.policies == Policies::default() {
            return;
        }
        let labels: Vec<String> = self.streams().map(|stream| stream.terms.label.clone()).collect();
        let is_there = |governed: &Governed| governed.as_ref().is_none_or(|label| labels.contains(label));
        self.policies.in_force.retain(|governed, _| is_there(governed));
        self.policies.removed.retain(|governed, _| is_there(governed));
    }

    /// The compiled policy of the table or of a stream.
    fn compiled_policy(&self, governed: &Governed) -> Option<Arc<Policy>> {
        let stored = self.policies.of(governed)?;
        Some(match governed {
            None => stored.compiled(|| self.arn(), PolicyKind::Table),
            Some(label) => stored.compiled(|| format!("{}/stream/{label}", self.arn()), PolicyKind::Stream),
        })
    }
}

impl<S: Store> Catalogue<S> {
    /// Whether a table or stream has a policy.
    pub(crate) fn has_policies(&self) -> bool {
        !self.read().with_policies.is_empty()
    }

    /// The policy of a table, or of its stream of a label, in memory.
    pub(crate) fn policy_of(
        &self,
        namespace: &Namespace,
        table: &str,
        stream: Option<&str>,
    ) -> Option<Arc<Policy>> {
        let found = {
            let cache = self.read();
            match stream {
                None => cache.names.get(namespace)?.get(table)?,
                Some(label) => {
                    let id = cache.streams.table(namespace, table, label)?;
                    cache.table_with(namespace, table, id)?
                }
            }
            .clone()
        };
        found.compiled_policy(&stream.map(str::to_owned))
    }
}
