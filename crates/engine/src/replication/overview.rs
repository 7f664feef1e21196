//! How far changes have come, of several tables at once.

use std::collections::BTreeSet;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::status::{ReplicaStatus, ReplicationStatus};
use crate::catalogue::owner;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace};

impl<S: Store> Engine<S> {
    /// The tables of an account and region that have replicas, by name, and how far their changes have come.
    pub async fn replications(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<(String, ReplicationStatus)>, Error> {
        let tables = self.catalogue().named(namespace).into_iter();
        let names: Vec<String> = tables
            .filter(|table| table.replication.is_some() || table.strong.is_some())
            .map(|table| table.name.clone())
            .collect();
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            // A table that was deleted meanwhile is left out.
            if let Ok(Some(status)) = self.replication_status(namespace, &name).await {
                found.push((name, status));
            }
        }
        Ok(found)
    }

    /// Whether there is a table of this name: of an account or of any, in a region or in any.
    pub fn knows_table(&self, account: Option<&AccountId>, name: &str, region: Option<&str>) -> bool {
        self.catalogue().all().into_iter().any(|table| {
            let mut strong = table.other_strong_members().map(|(member, _)| member.region.as_str());
            let mut is_there = |region: &str| table.region == region || strong.any(|other| other == region);
            table.name == name
                && account.is_none_or(|account| owner(&table).account == *account)
                && region.is_none_or(&mut is_there)
        })
    }

    /// Whether there is a strongly consistent table: of an account or of any, of this name or of any, with a
    /// replica in a region or in any.
    pub fn knows_strong_table(
        &self,
        account: Option<&AccountId>,
        name: Option<&str>,
        region: Option<&str>,
    ) -> bool {
        self.catalogue().all().into_iter().any(|table| {
            let mut members = table.strong_members().map(|(member, _)| member.region.as_str());
            table.strong.is_some()
                && name.is_none_or(|name| table.name == name)
                && account.is_none_or(|account| owner(&table).account == *account)
                && region.is_none_or(|region| members.any(|own| own == region))
        })
    }

    /// The regions in which an account has tables with replicas on this server, by name.
    pub fn regions_with_replicas(&self, account: &AccountId) -> BTreeSet<String> {
        let tables = self.catalogue().all().into_iter();
        let own = tables.filter(|table| owner(table).account == *account && table.replication.is_some());
        own.map(|table| table.region.clone()).collect()
    }

    /// Changes that some replica lacks, counted up to a limit for each. A replica that is being filled, or is
    /// not open to clients yet, counts as more.
    pub async fn changes_on_way(&self) -> Result<u64, Error> {
        let mut count: u64 = 0;
        for table in self.catalogue().all().into_iter().filter(|table| table.replication.is_some()) {
            let Ok(Some(status)) = self.replication_status(&owner(&table), &table.name).await else {
                continue;
            };
            count = count.saturating_add(u64::from(table.is_joining()));
            let is_filling = |replica: &ReplicaStatus| replica.is_filling && !replica.is_lost();
            let lacking = |replica: &ReplicaStatus| replica.backlog + u64::from(is_filling(replica));
            count = count.saturating_add(status.replicas.iter().map(lacking).sum());
        }
        Ok(count)
    }
}
