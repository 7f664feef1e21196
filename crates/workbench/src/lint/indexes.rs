//! Rules on indexes: L028, L029, L033 to L035, L037, L038.

use std::collections::BTreeSet;

use keywright_semantics::share::{ALL_PPM, MICRO};

use super::context::{Context, finding, names, percent};
use super::{Finding, Severity};
use crate::run::{IndexNumbers, OperationKind, share_ppm};
use keywright_model::expression::{Effect, Section};
use keywright_model::{
    Attribute, Consistency, Entity, Index, IndexKind, Projection, Read, Table, Write, WriteKind,
};
use keywright_semantics::limits::{GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX};
use keywright_semantics::value::ValueType;

const COLLECTION_BYTES_MAX: u64 = 10 << 30;
/// More global indexes than this are seldom needed (advice, not a limit).
const GLOBAL_INDEXES_MANY: usize = 5;
const PROJECTED_SHARE_PERCENT_MIN: u64 = 30;
/// Smaller items cost one unit with any projection.
const PROJECTION_BYTES_MIN: u64 = 1024;
/// Assumed size of an attribute without a declared or sampled size.
const ATTRIBUTE_BYTES: u64 = 10;
const SPARSE_SHARE_PERCENT_MAX: u64 = 20;
/// An attribute with at most this many values is a flag or a status.
const FLAG_VALUES_MAX: u64 = 10;
const FLAG_VALUES_DATA_MAX: usize = 10;
/// An update is frequent from one per second.
const FREQUENT_MICRO: u64 = MICRO;

pub(super) fn large_collection(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for table in context
        .model
        .tables
        .iter()
        .filter(|table| table.indexes.iter().any(|index| index.kind == IndexKind::Local))
    {
        let (bytes, unknown) = collection(context, table);
        let counted = unknown.is_some_and(|entity| entity.count.is_some());
        let (severity, text) = if bytes > COLLECTION_BYTES_MAX {
            (
                Severity::Error,
                format!(
                    "an item collection of {} grows to {} GB with its entries in local indexes; it cannot pass 10 GB",
                    table.name,
                    bytes >> 30
                ),
            )
        } else if bytes > COLLECTION_BYTES_MAX / 2 {
            (
                Severity::Warning,
                format!(
                    "an item collection of {} grows to {} GB with its entries in local indexes, over half of the 10 GB that they allow",
                    table.name,
                    bytes >> 30
                ),
            )
        } else if let Some(Entity { name, .. }) = unknown {
            (
                Severity::Warning,
                format!(
                    "nothing bounds how many {name} share a partition of {}, and its local index allows 10 GB",
                    table.name
                ),
            )
        } else {
            continue;
        };
        found.push(finding(
            "L028",
            severity,
            table.at,
            &table.name,
            text,
            if counted {
                "use a global index, or say how many partitions there are, `distinct` on what the partition key is made of"
            } else {
                "use a global index, or say `count` and `distinct` so that the bound shows"
            },
        ));
    }
    found
}

/// The bytes of a table's largest item collections with their entries in local indexes (developer guide: LSI,
/// item collections), and an entity whose number of items per partition is unknown. The number is not needed
/// where all items of the entity fit into one collection.
fn collection<'a>(context: &Context<'a>, table: &'a Table) -> (u64, Option<&'a Entity>) {
    let mut bytes: u64 = 0;
    let mut at_most: u64 = 0;
    let mut unknown = None;
    let local = || table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    for entity in context.model.entities_of(&table.name) {
        let templates: Vec<_> = entity.template(&table.partition.name).into_iter().collect();
        let Some((count, size)) = entity.count.zip(context.bytes(entity)) else {
            (at_most, unknown) = (u64::MAX, unknown.or(Some(entity)));
            continue;
        };
        let entries = local().map(|index| context.entry_bytes(table, index, entity)).sum::<u64>();
        let with_entries = |items: u64| items.saturating_mul(size.saturating_add(entries));
        if let Some(partitions) = context.partitions(entity, &templates) {
            bytes = bytes.saturating_add(with_entries(count.div_ceil(partitions.max(1))));
        } else {
            at_most = at_most.saturating_add(with_entries(count));
            unknown = unknown.or(Some(entity));
        }
    }
    let bounded = bytes.saturating_add(at_most) <= COLLECTION_BYTES_MAX / 2;
    (bytes, unknown.filter(|_| !bounded))
}

pub(super) fn local_index(context: &Context<'_>) -> Vec<Finding> {
    let local = context.indexes().filter(|(_, index)| index.kind == IndexKind::Local);
    // A local index that only strongly consistent patterns read is needed: no other index serves them.
    let needed = |table: &Table, index: &Index| {
        let mut askers = context.reads().filter(|(_, _, report)| {
            report.table == table.name && report.index.as_ref() == Some(&index.name)
        });
        let strong = |(_, read, _): (_, &Read, _)| read.consistency == Consistency::Strong;
        askers.next().is_some_and(strong) && askers.all(strong)
    };
    local
        .filter(|(table, index)| !needed(table, index))
        .map(|(_, index)| {
            finding(
                "L029",
                Severity::Note,
                index.at,
                &index.name,
                format!(
                    "local index `{}` keeps a hot item collection in one partition and can never be removed",
                    index.name
                ),
                "prefer a global index unless its reads must be strongly consistent",
            )
        })
        .collect()
}

pub(super) fn many_indexes(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for table in &context.model.tables {
        let IndexNumbers { global, local, projected } = IndexNumbers::of(table);
        let mut say = |severity, text: String, fix: &str| {
            found.push(finding("L033", severity, table.at, &table.name, text, fix));
        };
        if global > GLOBAL_INDEXES_MAX {
            say(
                Severity::Error,
                format!("{global} global indexes; a table has at most {GLOBAL_INDEXES_MAX}"),
                "let entities share indexes with generic keys",
            );
        } else if global > GLOBAL_INDEXES_MANY {
            say(
                Severity::Warning,
                format!(
                    "{global} global indexes: a write of an item in all of them is {} writes",
                    global + 1
                ),
                "let entities share indexes with generic keys; `keywright model design` finds the fewest",
            );
        }
        if local > LOCAL_INDEXES_MAX {
            say(
                Severity::Error,
                format!("{local} local indexes; a table has at most {LOCAL_INDEXES_MAX}"),
                "use global indexes",
            );
        }
        if projected > PROJECTED_ATTRIBUTES_MAX {
            say(
                Severity::Error,
                format!(
                    "{projected} projected attributes; a table's indexes have at most {PROJECTED_ATTRIBUTES_MAX} in all"
                ),
                "project all where most are wanted",
            );
        }
    }
    found
}

pub(super) fn unused(context: &Context<'_>) -> Vec<Finding> {
    // Nothing can be said without read patterns, or while one of them has no plan.
    let asked = context.reads().count() > 0;
    if !asked || context.reads().any(|(_, _, report)| report.table.is_empty()) {
        return Vec::new();
    }
    let used = |table: &str, index: &str| {
        context
            .report
            .patterns
            .iter()
            .any(|pattern| pattern.table == table && pattern.index.as_deref() == Some(index))
    };
    context
        .indexes()
        .filter(|(table, index)| !used(&table.name, &index.name))
        .map(|(table, index)| {
            finding(
                "L034",
                Severity::Warning,
                index.at,
                &index.name,
                format!("no pattern uses index `{}` of {}; every write pays for it", index.name, table.name),
                "remove it, or write down the pattern it is for",
            )
        })
        .collect()
}

pub(super) fn wide_projection(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, index) in context.indexes().filter(|(_, index)| index.projection == Projection::All) {
        let readers: Vec<_> =
            context.reads().filter(|(_, _, report)| report.index.as_ref() == Some(&index.name)).collect();
        for entity in context
            .model
            .entities
            .iter()
            .filter(|entity| readers.iter().any(|(_, read, _)| read.entities.contains(&entity.name)))
        {
            let bytes = context.bytes(entity).unwrap_or(0);
            let own: Vec<_> =
                readers.iter().filter(|(_, read, _)| read.entities.contains(&entity.name)).collect();
            if bytes < PROJECTION_BYTES_MIN || own.iter().any(|(_, read, _)| read.attributes.is_empty()) {
                continue;
            }
            let wanted = |name: &str| {
                own.iter().any(|(_, read, _)| read.attributes.iter().any(|wanted| wanted == name))
            };
            let (read, all) = (read_bytes(entity, bytes, &wanted), bytes.max(1));
            if read * 100 / all < PROJECTED_SHARE_PERCENT_MIN {
                found.push(finding(
                    "L035",
                    Severity::Warning,
                    index.at,
                    &index.name,
                    format!(
                        "index `{}` holds all of {} ({bytes} bytes) and its patterns read {} of it",
                        index.name,
                        entity.name,
                        percent(read, all)
                    ),
                    "project only what is read: `project: [attribute, …]`",
                ));
            }
        }
    }
    found
}

/// The bytes of an item that some of its attributes take. Bytes beyond the sizes of attributes are assigned
/// to attributes without a size, first to those that no pattern wants: a narrower index would not hold them.
fn read_bytes(entity: &Entity, bytes: u64, wanted: &dyn Fn(&str) -> bool) -> u64 {
    let size = |own: &Attribute| own.size_bytes.unwrap_or(ATTRIBUTE_BYTES);
    let sum = |of: &dyn Fn(&str) -> bool| -> u64 {
        entity.attributes.iter().filter(|own| of(&own.name)).map(size).sum()
    };
    let in_keys: BTreeSet<&str> = names(entity).flat_map(|(_, template)| template.attributes()).collect();
    let open = |own: &&Attribute| {
        let fixed = matches!(own.value_type, ValueType::N | ValueType::Bool | ValueType::Null);
        own.size_bytes.is_none() && own.format.is_none() && !fixed && !in_keys.contains(own.name.as_str())
    };
    let mut open = entity.attributes.iter().filter(open);
    let rest = bytes.saturating_sub(sum(&|_| true));
    let wanted_rest = open.clone().next().is_some() && open.all(|own| wanted(&own.name));
    sum(wanted) + if wanted_rest { rest } else { 0 }
}

pub(super) fn changing_key(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, step, entity) in context.steps().filter(|(_, step, _)| step.kind == WriteKind::Update) {
        let Some(table) = context.model.table(&entity.table) else { continue };
        if pattern.rate.is_none_or(|rate| rate.average.0 < FREQUENT_MICRO) {
            continue;
        }
        let changed: Vec<&str> = step.changed().collect();
        for index in table.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
            let moves = index.key_parts().any(|part| {
                changed.contains(&part.name.as_str())
                    || entity
                        .template(&part.name)
                        .is_some_and(|template| template.attributes().any(|name| changed.contains(&name)))
            });
            if moves {
                let share =
                    context.report.entity(&entity.name).map_or(0, |seen| share_ppm(entity, index, seen));
                let sparse = (1..ALL_PPM).contains(&share);
                let only_removed = removed_alone(step, entity, index);
                let (does, fix) = if only_removed {
                    ("each change takes an entry out of it", "keep what changes often out of index keys")
                } else if sparse {
                    (
                        "each change writes the index, however few items are in it",
                        "keep what changes often out of index keys",
                    )
                } else {
                    (
                        "each change deletes one entry and writes another",
                        "keep what changes often out of index keys, or make the index sparse",
                    )
                };
                found.push(finding(
                    "L037",
                    Severity::Warning,
                    step.at,
                    &pattern.id,
                    format!("{} often changes a key of index `{}`: {does}", pattern.id, index.name),
                    fix,
                ));
            }
        }
    }
    found
}

/// Whether a write only removes parts of an index's key: then there is no new entry.
fn removed_alone(step: &Write, entity: &Entity, index: &Index) -> bool {
    let removes = |effect: &Effect| effect.section() == Section::Remove;
    let changed: Vec<&str> =
        step.effects.iter().filter(|effect| !removes(effect)).map(Effect::attribute).collect();
    step.effects.iter().any(removes)
        && index.key_parts().all(|part| {
            let template = entity.template(&part.name);
            let made = template.iter().flat_map(keywright_model::Template::attributes);
            !made.chain([part.name.as_str()]).any(|name| changed.contains(&name))
        })
}

pub(super) fn sparse(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        if report.items_read <= 1 {
            continue;
        }
        let share = report.items_returned * 100 / report.items_read;
        let flag = report.filtered.iter().find(|name| {
            context.attribute(&read.entities, name).is_some_and(|attribute| {
                let (values, items) = context.variety(&read.entities, name);
                !attribute.values.is_empty()
                    || attribute.value_type == ValueType::Bool
                    || attribute.distinct.is_some_and(|distinct| distinct <= FLAG_VALUES_MAX)
                    // Few values in the data, each of them repeated.
                    || attribute.distinct.is_none() && values > 0 && values <= FLAG_VALUES_DATA_MAX && items >= values * 4
            })
        });
        let Some(flag) =
            flag.filter(|_| share < SPARSE_SHARE_PERCENT_MAX && report.operation != OperationKind::GetItem)
        else {
            continue;
        };
        found.push(finding(
            "L038",
            Severity::Note,
            pattern.at,
            &pattern.id,
            format!(
                "{} selects {} by `{flag}`: a sparse index would hold only those",
                pattern.id,
                percent(report.items_returned, report.items_read)
            ),
            format!("add an attribute that only the wanted items have, and index it instead of filtering by `{flag}`"),
        ));
    }
    found
}
