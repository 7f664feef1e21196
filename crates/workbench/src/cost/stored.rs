//! The storage of a table and its indexes with every entity at its full count: declared sizes, else measured
//! ones.

use std::collections::BTreeMap;

use super::Target;
use crate::run::{EntityReport, Report, share_ppm};
use keywright_model::{Index, Model, Projection, Table};
use keywright_semantics::share::ALL_PPM;

/// Bytes that the service adds to every item and index entry it stores.
pub const ENTRY_OVERHEAD_BYTES: u64 = 100;
/// The overhead per item of a global table.
const REPLICA_OVERHEAD_BYTES: u64 = 48;

/// The bytes of a table and each of its indexes; entities without a count are left out.
pub(super) fn sizes(model: &Model, report: &Report, table: &Table) -> Vec<(Target, u128)> {
    let overhead = ENTRY_OVERHEAD_BYTES + if table.replicas.is_empty() { 0 } else { REPLICA_OVERHEAD_BYTES };
    let mut sizes = BTreeMap::new();
    let target = |index: Option<&str>| Target { table: table.name.clone(), index: index.map(str::to_owned) };
    for entity in model.entities_of(&table.name) {
        let (Some(count), Some(seen)) = (entity.count, report.entity(&entity.name)) else { continue };
        let Some(measured) = seen.bytes_average() else { continue };
        let declared = entity.size_bytes.unwrap_or(measured);
        let all = |bytes: u64| (u128::from(bytes) + u128::from(overhead)) * u128::from(count);
        *sizes.entry(target(None)).or_insert(0) += all(declared);
        for index in &table.indexes {
            let Some(entry) = entry_bytes(index, seen, measured, declared) else { continue };
            let share = u128::from(share_ppm(entity, index, seen));
            *sizes.entry(target(Some(&index.name))).or_insert(0) += all(entry) * share / u128::from(ALL_PPM);
        }
    }
    sizes.into_iter().collect()
}

/// An entity's average entry in an index, as measured. If the measured items exceed the declared size, an
/// entry with all attributes is smaller by the difference.
fn entry_bytes(index: &Index, seen: &EntityReport, measured: u64, declared: u64) -> Option<u64> {
    let own = seen.indexes.iter().find(|own| own.name == index.name).filter(|own| own.items > 0)?;
    let entry = own.bytes.div_ceil(own.items);
    Some(match index.projection {
        Projection::All => entry.saturating_sub(measured.saturating_sub(declared)),
        Projection::KeysOnly | Projection::Include(_) => entry,
    })
}
