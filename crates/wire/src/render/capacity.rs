//! `ConsumedCapacity` and `ItemCollectionMetrics`.
//!
//! It knows which figures each kind of operation reports, not how they are counted.

use std::collections::BTreeMap;

use keywright_semantics::capacity::{HalfUnits, Usage};
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::response::{CapacityForm, ConsumedCapacity, ItemCollectionMetrics};

use super::writer::{Array, Members, Render, Writer};

impl Render for ConsumedCapacity {
    fn render(&self, writer: &mut Writer) {
        let usage = &self.usage;
        let indexes = usage.local_indexes.values().chain(usage.global_indexes.values());
        let total = indexes.fold(usage.table, |sum, index| Usage {
            read: sum.read + index.read,
            write: sum.write + index.write,
        });
        writer.object(|members| {
            members.put("TableName", &self.table_name);
            units(members, total, self.form);
            if self.level == ReturnConsumedCapacity::Indexes {
                members.put_object("Table", |members| units(members, usage.table, self.form));
                index_units(members, "LocalSecondaryIndexes", &usage.local_indexes, self.form);
                index_units(members, "GlobalSecondaryIndexes", &usage.global_indexes, self.form);
            }
        });
    }
}

/// The figures of one table or index. In transactions, the sum appears again under the name of its direction.
fn units(members: &mut Members<'_>, usage: Usage, form: CapacityForm) {
    let sum: HalfUnits = usage.read + usage.write;
    members.put("CapacityUnits", sum);
    match form {
        CapacityForm::Plain => {}
        CapacityForm::TransactRead => members.put("ReadCapacityUnits", sum),
        CapacityForm::TransactWrite => members.put("WriteCapacityUnits", sum),
    }
}

fn index_units(
    members: &mut Members<'_>,
    name: &'static str,
    indexes: &BTreeMap<String, Usage>,
    form: CapacityForm,
) {
    if indexes.is_empty() {
        return;
    }
    members.put_object(name, |members| {
        for (index, usage) in indexes {
            members.entry(index, IndexUsage { usage: *usage, form });
        }
    });
}

struct IndexUsage {
    usage: Usage,
    form: CapacityForm,
}

impl Render for IndexUsage {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| units(members, self.usage, self.form));
    }
}

impl Render for ItemCollectionMetrics {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put("ItemCollectionKey", &self.key);
            let bounds = self.size_estimate_range_gb.map(|gigabytes| HalfUnits(u64::from(gigabytes) * 2));
            members.put_array("SizeEstimateRangeGB", bounds);
        });
    }
}

/// `ItemCollectionMetrics` of the operations that write to several tables.
pub(super) struct MetricsByTable<'a>(pub(super) &'a [(String, Vec<ItemCollectionMetrics>)]);

impl Render for MetricsByTable<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            for (table, metrics) in self.0 {
                members.entry(table, Array(metrics));
            }
        });
    }
}
