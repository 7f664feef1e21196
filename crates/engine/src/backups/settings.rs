//! What a restored table takes over from its source: keys, indexes, capacity and the encryption key, as far
//! as the request does not override them. It has none of the rest: stream, time to live, point-in-time
//! recovery, tags, scaling, deletion protection, table class, warm throughput.

use std::collections::BTreeMap;

use keywright_semantics::error::Error;
use keywright_semantics::request::create_table::EncryptionKey;
use keywright_semantics::request::{
    CreateTable, EncryptionChange, NewIndex, OnDemandThroughput, RestoreOverrides, RestoredIndex,
    Throughput as Units,
};
use keywright_semantics::schema::{BillingMode, IndexKind, IndexSchema, KeyAttribute, KeySchema};

use crate::catalogue::{OnDemandLimits, Table, Throughput};

/// The creation of a table like this one, without items.
pub(super) fn creation_of(
    source: &Table,
    overrides: &RestoreOverrides,
    target: &str,
) -> Result<CreateTable, Error> {
    let billing = overrides.billing_for(source.billing)?;
    let restored = overrides.indexes_of(&source.schema.indexes, source.billing)?;
    let indexes: Vec<NewIndex> = restored.iter().map(|index| new_index(source, billing, index)).collect();
    let is_provisioned = billing == BillingMode::Provisioned;
    let on_demand = ceilings(source.on_demand, overrides.on_demand);
    Ok(CreateTable {
        name: target.to_owned(),
        definitions: definitions(source, &indexes),
        key: source.schema.key.clone(),
        indexes,
        billing,
        throughput: overrides.throughput.or_else(|| units(source.throughput)).filter(|_| is_provisioned),
        on_demand: on_demand.filter(|_| !is_provisioned),
        warm: None,
        stream: None,
        class: None,
        encryption: match &overrides.encryption {
            Some(EncryptionChange::OwnKey(key)) => Some(key.clone()),
            Some(EncryptionChange::ServiceKey) => None,
            None => {
                source.encryption.as_ref().map(|encryption| EncryptionKey::named(encryption.key_arn.clone()))
            }
        },
        deletion_protection: false,
        tags: BTreeMap::new(),
        policy: None,
    })
}

fn new_index(source: &Table, billing: BillingMode, index: &RestoredIndex<'_>) -> NewIndex {
    let schema = IndexSchema { name: index.name().into(), ..index.source.clone() };
    let state = source.index(&index.source.name).map(|(_, state)| state);
    let is_global = schema.kind == IndexKind::Global;
    let own_units = || state.and_then(|state| units(state.throughput));
    let throughput = index.change.map_or_else(own_units, |change| change.throughput);
    let own_ceilings = state.map(|state| state.on_demand).unwrap_or_default();
    let on_demand = ceilings(own_ceilings, index.change.and_then(|change| change.on_demand));
    NewIndex {
        throughput: throughput.filter(|_| is_global && billing == BillingMode::Provisioned),
        on_demand: on_demand.filter(|_| is_global && billing == BillingMode::PayPerRequest),
        warm: index.change.and_then(|change| change.warm),
        schema,
    }
}

/// Provisioned units; none for what was on demand.
fn units(throughput: Throughput) -> Option<Units> {
    let units = Units { read_units: throughput.read_units, write_units: throughput.write_units };
    (units.read_units > 0 || units.write_units > 0).then_some(units)
}

/// Ceilings of on-demand capacity, as far as a request does not override them.
fn ceilings(own: OnDemandLimits, asked: Option<OnDemandThroughput>) -> Option<OnDemandThroughput> {
    let mut limits = own;
    if let Some(asked) = asked {
        limits.change(asked);
    }
    (!limits.is_unset()).then_some(OnDemandThroughput {
        read_units_max: limits.read_units_max,
        write_units_max: limits.write_units_max,
    })
}

/// The definitions of the key attributes that are left.
fn definitions(source: &Table, indexes: &[NewIndex]) -> Vec<KeyAttribute> {
    let is_used = |attribute: &&KeyAttribute| {
        let keys = std::iter::once(&source.schema.key).chain(indexes.iter().map(|index| &index.schema.key));
        keys.flat_map(KeySchema::attributes).any(|used| used.name == attribute.name)
    };
    source.definitions.iter().filter(is_used).cloned().collect()
}
