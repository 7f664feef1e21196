//! The settings of a restored table that differ from its source's.
//!
//! [`RestoreOverrides::validate`] checks what needs no source; [`RestoreOverrides::billing_for`] and
//! [`RestoreOverrides::indexes_of`] check the rest against the source's settings.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::messages::{backup, table};
use crate::request::create_table::{validate_encryption, validate_projection};
use crate::request::parts::{
    BillingMode, GlobalSecondaryIndexParts, KeySchemaElementParts, KeyType, LocalSecondaryIndexParts,
    OnDemandThroughputParts, ProvisionedThroughputParts, RestoreTableFromBackupParts,
    RestoreTableToPointInTimeParts, SseSpecificationParts, VectorIndexParts,
};
use crate::request::throughput::{OnDemandThroughput, Throughput, WarmThroughput};
use crate::request::unserved::{Unserved, VECTOR_INDEXES, refuse};
use crate::request::update_table::EncryptionChange;
use crate::schema::{IndexKind, IndexSchema, KeyAttribute, Projection};

/// The parts of a restore that override settings.
pub(super) struct Parts<'p> {
    pub(super) billing: Option<BillingMode>,
    pub(super) global_indexes: Option<&'p [GlobalSecondaryIndexParts]>,
    pub(super) local_indexes: Option<&'p [LocalSecondaryIndexParts]>,
    pub(super) throughput: Option<&'p ProvisionedThroughputParts>,
    pub(super) on_demand: Option<&'p OnDemandThroughputParts>,
    pub(super) encryption: Option<&'p SseSpecificationParts>,
    pub(super) vector_indexes: Option<&'p [VectorIndexParts]>,
}

impl<'p> From<&'p RestoreTableFromBackupParts> for Parts<'p> {
    fn from(parts: &'p RestoreTableFromBackupParts) -> Self {
        Self {
            billing: parts.billing_mode_override,
            global_indexes: parts.global_secondary_index_override.as_deref(),
            local_indexes: parts.local_secondary_index_override.as_deref(),
            throughput: parts.provisioned_throughput_override.as_ref(),
            on_demand: parts.on_demand_throughput_override.as_ref(),
            encryption: parts.sse_specification_override.as_ref(),
            vector_indexes: parts.vector_index_override.as_deref(),
        }
    }
}

impl<'p> From<&'p RestoreTableToPointInTimeParts> for Parts<'p> {
    fn from(parts: &'p RestoreTableToPointInTimeParts) -> Self {
        Self {
            billing: parts.billing_mode_override,
            global_indexes: parts.global_secondary_index_override.as_deref(),
            local_indexes: parts.local_secondary_index_override.as_deref(),
            throughput: parts.provisioned_throughput_override.as_ref(),
            on_demand: parts.on_demand_throughput_override.as_ref(),
            encryption: parts.sse_specification_override.as_ref(),
            vector_indexes: parts.vector_index_override.as_deref(),
        }
    }
}

/// An index that the restored table is to have: one of the source's, which may get another name and other
/// capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOverride {
    /// The name in the restored table.
    pub name: String,
    /// The names of the partition attributes of its key.
    pub partition: Vec<String>,
    /// The names of the sort attributes of its key.
    pub sort: Vec<String>,
    /// Which attributes it holds.
    pub projection: Projection,
    /// Provisioned units; only of global indexes.
    pub throughput: Option<Throughput>,
    /// Ceilings of on-demand capacity; only of global indexes.
    pub on_demand: Option<OnDemandThroughput>,
    /// What the index shall sustain at once; only of global indexes.
    pub warm: Option<WarmThroughput>,
}

/// Settings that replace those of the source. An absent one keeps the source's.
#[derive(Clone, Debug, Default)]
pub struct RestoreOverrides {
    /// The billing mode.
    pub billing: Option<BillingMode>,
    /// Provisioned units of the table, not of its indexes.
    pub throughput: Option<Throughput>,
    /// Ceilings of on-demand capacity of the table, at least one.
    pub on_demand: Option<OnDemandThroughput>,
    /// All global indexes of the restored table; an empty list drops the source's.
    pub global_indexes: Option<Vec<IndexOverride>>,
    /// All local indexes of the restored table; an empty list drops the source's.
    pub local_indexes: Option<Vec<IndexOverride>>,
    /// Which key encrypts the table.
    pub encryption: Option<EncryptionChange>,
}

/// An index of the source that the restored table has too.
#[derive(Clone, Copy, Debug)]
pub struct RestoredIndex<'r> {
    /// The index as the source has it.
    pub source: &'r IndexSchema,
    /// Its name and capacity in the restored table; absent: as the source has them.
    pub change: Option<&'r IndexOverride>,
}

impl RestoredIndex<'_> {
    /// Its name in the restored table.
    pub fn name(&self) -> &str {
        self.change.map_or(&self.source.name, |change| &change.name)
    }
}

impl RestoreOverrides {
    pub(super) fn validate(parts: &Parts<'_>) -> Result<Self, Error> {
        refuse(&[Unserved {
            name: "VectorIndexOverride",
            is_asked: parts.vector_indexes.is_some_and(|indexes| !indexes.is_empty()),
            feature: VECTOR_INDEXES,
        }])?;
        let global_indexes = parts.global_indexes.map(validate_global_indexes).transpose()?;
        let local_indexes = parts.local_indexes.map(validate_local_indexes).transpose()?;
        let overrides = Self {
            billing: parts.billing,
            throughput: parts.throughput.map(Throughput::validate).transpose()?,
            on_demand: parts.on_demand.map(ceilings).filter(|asked| asked.named().next().is_some()),
            global_indexes,
            local_indexes,
            encryption: parts.encryption.map(validate_encryption_override).transpose()?,
        };
        match overrides.billing {
            Some(BillingMode::PayPerRequest) => overrides.check_no_units()?,
            Some(BillingMode::Provisioned) => overrides.check_units()?,
            None => {}
        }
        overrides.check_ceilings_in_range()?;
        assert!(
            overrides.on_demand.is_none_or(|asked| asked.named().next().is_some()),
            "an override has at least one ceiling"
        );
        Ok(overrides)
    }

    /// The billing mode of the restored table, checked against the capacity that the request names. Units
    /// that the source's own indexes lack are checked by [`Self::indexes_of`].
    pub fn billing_for(&self, source: BillingMode) -> Result<BillingMode, Error> {
        match (self.billing, source) {
            (Some(billing), _) => return Ok(billing),
            (None, BillingMode::PayPerRequest) => self.check_no_units()?,
            (None, BillingMode::Provisioned) => self.check_units()?,
        }
        Ok(source)
    }

    /// The indexes of the restored table: the source's local ones, then its global ones, each as far as the
    /// request keeps it. `source_billing` is the source's billing mode.
    pub fn indexes_of<'r>(
        &'r self,
        source: &'r [IndexSchema],
        source_billing: BillingMode,
    ) -> Result<Vec<RestoredIndex<'r>>, Error> {
        let of_kind = |kind: IndexKind| source.iter().filter(move |index| index.kind == kind);
        let mut indexes = restored(of_kind(IndexKind::Local), self.local_indexes.as_deref())?;
        indexes.extend(restored(of_kind(IndexKind::Global), self.global_indexes.as_deref())?);
        let becomes_provisioned =
            source_billing == BillingMode::PayPerRequest && self.billing == Some(BillingMode::Provisioned);
        let lacks_units =
            |index: &&RestoredIndex<'_>| index.source.kind == IndexKind::Global && index.change.is_none();
        if let Some(index) = indexes.iter().find(lacks_units).filter(|_| becomes_provisioned) {
            return Err(Error::validation(backup::index_units_required(&index.source.name)));
        }
        check_names_distinct(&indexes)?;
        Ok(indexes)
    }

    /// Checks that a table on demand gets no units. The text says whether the request makes it one.
    fn check_no_units(&self) -> Result<(), Error> {
        let is_overridden = self.billing.is_some();
        if self.throughput.is_some() {
            return Err(Error::validation(if is_overridden {
                backup::units_with_on_demand()
            } else {
                backup::units_without_provisioned()
            }));
        }
        match self.globals().find(|index| index.throughput.is_some()) {
            Some(index) if is_overridden => {
                Err(Error::validation(backup::index_units_with_on_demand(&index.name)))
            }
            Some(index) => Err(Error::validation(backup::index_units_without_provisioned(&index.name))),
            None => Ok(()),
        }
    }

    /// Checks that a table with provisioned capacity gets units and no ceilings.
    fn check_units(&self) -> Result<(), Error> {
        if self.billing.is_some() && self.throughput.is_none() {
            return Err(Error::validation(backup::units_required()));
        }
        if let Some((_, name)) = self.on_demand.and_then(|asked| asked.named().next()) {
            return Err(Error::validation(backup::ceiling_without_on_demand(name)));
        }
        for index in self.globals() {
            if index.throughput.is_none() {
                return Err(Error::validation(backup::index_units_required(&index.name)));
            }
            if let Some((_, name)) = index.on_demand.and_then(|asked| asked.named().next()) {
                return Err(Error::validation(backup::index_ceiling_without_on_demand(name, &index.name)));
            }
        }
        Ok(())
    }

    fn check_ceilings_in_range(&self) -> Result<(), Error> {
        let outside = |asked: Option<OnDemandThroughput>| {
            asked.and_then(|asked| asked.named().find(|(units, _)| *units < 1))
        };
        if let Some((_, name)) = outside(self.on_demand) {
            return Err(Error::validation(backup::ceiling_out_of_range(name)));
        }
        for index in self.globals() {
            if let Some((_, name)) = outside(index.on_demand) {
                return Err(Error::validation(backup::index_ceiling_out_of_range(name, &index.name)));
            }
        }
        Ok(())
    }

    fn globals(&self) -> impl Iterator<Item = &IndexOverride> {
        self.global_indexes.iter().flatten()
    }
}

impl IndexOverride {
    /// Whether it stands for this index of the source: the keys and projections are equal. Names may differ
    /// (observed).
    fn stands_for(&self, source: &IndexSchema) -> bool {
        let same = |names: &[String], attributes: &[KeyAttribute]| {
            names.iter().eq(attributes.iter().map(|attribute| &attribute.name))
        };
        same(&self.partition, &source.key.partition)
            && same(&self.sort, &source.key.sort)
            && self.projection == source.projection
    }
}

/// The indexes of one kind that the restored table has. Each override takes one index of the source.
fn restored<'r>(
    source: impl Iterator<Item = &'r IndexSchema>,
    overrides: Option<&'r [IndexOverride]>,
) -> Result<Vec<RestoredIndex<'r>>, Error> {
    let mut left: Vec<&IndexSchema> = source.collect();
    let Some(overrides) = overrides else {
        return Ok(left.into_iter().map(|source| RestoredIndex { source, change: None }).collect());
    };
    let (source_count, mut found) = (left.len(), Vec::with_capacity(overrides.len()));
    for change in overrides {
        let Some(place) = left.iter().position(|index| change.stands_for(index)) else {
            return Err(Error::validation(backup::index_not_in_source(&change.name)));
        };
        found.push(RestoredIndex { source: left.remove(place), change: Some(change) });
    }
    assert_eq!(found.len() + left.len(), source_count, "an index of the source is restored once");
    Ok(found)
}

fn ceilings(parts: &OnDemandThroughputParts) -> OnDemandThroughput {
    OnDemandThroughput {
        read_units_max: parts.max_read_request_units,
        write_units_max: parts.max_write_request_units,
    }
}

fn names_of(key: &[KeySchemaElementParts], role: KeyType) -> Vec<String> {
    let elements = key.iter().filter(|element| element.key_type == role);
    elements.map(|element| element.attribute_name.clone()).collect()
}

fn validate_global_indexes(parts: &[GlobalSecondaryIndexParts]) -> Result<Vec<IndexOverride>, Error> {
    let index = |part: &GlobalSecondaryIndexParts| {
        let throughput = part.provisioned_throughput.as_ref().map(Throughput::validate).transpose()?;
        let place = format!("index {}", part.index_name);
        let warm = part.warm_throughput.as_ref();
        Ok(IndexOverride {
            name: part.index_name.clone(),
            partition: names_of(&part.key_schema, KeyType::Hash),
            sort: names_of(&part.key_schema, KeyType::Range),
            projection: validate_projection(&part.projection)?,
            throughput,
            on_demand: part.on_demand_throughput.as_ref().map(ceilings),
            warm: warm.map(|asked| WarmThroughput::validate_new(asked, throughput, &place)).transpose()?,
        })
    };
    parts.iter().map(index).collect()
}

fn validate_local_indexes(parts: &[LocalSecondaryIndexParts]) -> Result<Vec<IndexOverride>, Error> {
    let index = |part: &LocalSecondaryIndexParts| {
        Ok(IndexOverride {
            name: part.index_name.clone(),
            partition: names_of(&part.key_schema, KeyType::Hash),
            sort: names_of(&part.key_schema, KeyType::Range),
            projection: validate_projection(&part.projection)?,
            throughput: None,
            on_demand: None,
            warm: None,
        })
    };
    parts.iter().map(index).collect()
}

fn check_names_distinct(indexes: &[RestoredIndex<'_>]) -> Result<(), Error> {
    let mut names = BTreeSet::new();
    match indexes.iter().find(|index| !names.insert(index.name())) {
        Some(index) => Err(Error::validation(table::invalid(table::duplicate_index(index.name())))),
        None => Ok(()),
    }
}

fn validate_encryption_override(parts: &SseSpecificationParts) -> Result<EncryptionChange, Error> {
    Ok(validate_encryption(Some(parts))?.map_or(EncryptionChange::ServiceKey, EncryptionChange::OwnKey))
}
