//! The operations on global tables of version 2017: their typed requests.
//!
//! The service makes no such global tables any more, and never lists replicas of version 2019 here: those are
//! changed by UpdateTable (`replicas`).

use super::parts::{
    CreateGlobalTableParts, DescribeGlobalTableParts, DescribeGlobalTableSettingsParts,
    ListGlobalTablesParts, UpdateGlobalTableParts, UpdateGlobalTableSettingsParts,
};
use crate::error::{Error, ErrorKind};
use crate::messages::{global, table};
use crate::place::GLOBAL_TABLE_REGIONS;

/// A request about one global table of version 2017.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyGlobalTable {
    /// Its name.
    pub name: String,
    /// Regions that are added.
    pub added: Vec<String>,
    /// Regions that are removed.
    pub removed: Vec<String>,
}

impl LegacyGlobalTable {
    /// CreateGlobalTable.
    pub fn create(parts: CreateGlobalTableParts) -> Result<Self, Error> {
        let added: Vec<String> =
            parts.replication_group.into_iter().filter_map(|replica| replica.region_name).collect();
        if added.is_empty() {
            return Err(Error::validation(table::invalid(global::NO_REPLICA)));
        }
        Ok(Self { name: parts.global_table_name, added, removed: Vec::new() })
    }

    /// UpdateGlobalTable. Observed: the text about an element without an action has no end.
    pub fn update(parts: UpdateGlobalTableParts) -> Result<Self, Error> {
        let mut request = Self { name: parts.global_table_name, ..Self::default() };
        for update in parts.replica_updates {
            match (update.create, update.delete) {
                (None, None) => return Err(Error::validation(table::invalid(""))),
                (create, delete) => {
                    request.added.extend(create.map(|create| create.region_name));
                    request.removed.extend(delete.map(|delete| delete.region_name));
                }
            }
        }
        Ok(request)
    }

    /// DescribeGlobalTable.
    pub fn describe(parts: DescribeGlobalTableParts) -> Self {
        Self { name: parts.global_table_name, ..Self::default() }
    }

    /// DescribeGlobalTableSettings.
    pub fn describe_settings(parts: DescribeGlobalTableSettingsParts) -> Self {
        Self { name: parts.global_table_name, ..Self::default() }
    }

    /// UpdateGlobalTableSettings.
    pub fn update_settings(parts: UpdateGlobalTableSettingsParts) -> Self {
        Self { name: parts.global_table_name, ..Self::default() }
    }
}

/// ListGlobalTables, whose list is always empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListGlobalTables {
    /// The page starts after this name.
    pub exclusive_start: Option<String>,
    /// The most names of the page.
    pub limit: Option<i64>,
    /// Only those with a replica in this region.
    pub region: Option<String>,
}

impl ListGlobalTables {
    /// Observed: the service fails if it does not know the region.
    pub fn validate(parts: ListGlobalTablesParts) -> Result<Self, Error> {
        let ListGlobalTablesParts { exclusive_start_global_table_name, limit, region_name } = parts;
        if region_name.as_ref().is_some_and(|region| !GLOBAL_TABLE_REGIONS.contains(&region.as_str())) {
            return Err(Error::new(ErrorKind::InternalServerError, global::UNKNOWN_REGION_OF_LIST));
        }
        Ok(Self { exclusive_start: exclusive_start_global_table_name, limit, region: region_name })
    }
}
