//! The item collections as data, for pictures: every item once, and each table and index as lists of them.
//! It has the partitions, order and marks of the drawn page.

use std::collections::BTreeMap;

use keywright_semantics::capacity::Usage;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;

use super::Looked;
use super::collections::{key_parts, latest, partitions, values};
use super::facts::kind;
use crate::report::{complaints, units, verdict};
use crate::run::{CapacityOf, Changed, Done, Loaded, OperationKind, PatternReport};
use keywright_model::data::{Sample, key_text};
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_model::{Index, IndexKind, Model, Order, Pattern, Projection, Table};

/// The collections of a model's run. With a pattern: what it read, returned or changed.
pub fn collections_json(looked: &Looked<'_>, pattern: Option<&str>) -> Result<Json, String> {
    let places = Places::of(looked);
    let model = looked.model;
    let mut out = Json::object([
        ("model", Json::text(&model.name)),
        ("tables", Json::List(model.tables.iter().map(table_json).collect())),
        ("entities", Json::List(model.entities.iter().map(|entity| Json::text(&entity.name)).collect())),
        ("items", Json::List(places.items.iter().map(|(table, sample)| item_json(table, sample)).collect())),
        ("places", Json::List(places.json())),
        ("patterns", Json::List(model.patterns.iter().map(pattern_json).collect())),
    ]);
    if let Some(id) = pattern {
        let pattern = model.pattern(id).ok_or_else(|| format!("there is no pattern `{id}`"))?;
        let run = looked.checked.report.pattern(id).ok_or_else(|| format!("`{id}` was not run"))?;
        out.set("pattern", places.pattern(pattern, run));
    }
    Ok(out)
}

fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> Json {
    Json::List(texts.into_iter().map(Json::text).collect())
}

fn optional(text: Option<&String>) -> Json {
    text.map_or(Json::Null, Json::text)
}

fn pattern_json(pattern: &Pattern) -> Json {
    Json::object([
        ("id", Json::text(&pattern.id)),
        ("text", optional(pattern.text.as_ref())),
        ("kind", Json::text(kind(pattern))),
    ])
}

fn table_json(table: &Table) -> Json {
    let keys = |index: Option<&Index>| {
        let (partition, sort) = key_parts(table, index);
        [("pk", partition), ("sk", sort)].map(|(name, parts)| {
            (name, Json::List(parts.iter().map(|part| Json::text(&part.name)).collect()))
        })
    };
    let index = |index: &Index| {
        let kind = if index.kind == IndexKind::Global { "global" } else { "local" };
        let projection = match &index.projection {
            Projection::All => Json::text("all"),
            Projection::KeysOnly => Json::text("keys"),
            Projection::Include(names) => texts(names),
        };
        let own = [("name", Json::text(&index.name)), ("kind", Json::text(kind))];
        Json::object(own.into_iter().chain(keys(Some(index))).chain([("projection", projection)]))
    };
    let indexes = ("indexes", Json::List(table.indexes.iter().map(index).collect()));
    Json::object([("name", Json::text(&table.name))].into_iter().chain(keys(None)).chain([indexes]))
}

fn item_json(table: &Table, sample: &Sample) -> Json {
    let order: Vec<String> = table.key_parts().map(|part| part.name.clone()).collect();
    Json::object([
        ("table", Json::text(&table.name)),
        ("entity", optional(sample.entity.as_ref())),
        ("key", texts(&key(table, &sample.item))),
        ("bytes", Json::number(item_bytes(&sample.item))),
        ("item", write_item(&sample.item, &order)),
    ])
}

/// The key of an item as reports name it.
fn key(table: &Table, item: &Item) -> Vec<String> {
    let parts = table.key_parts().filter_map(|part| item.get(&part.name));
    parts.map(|value| key_text(value).unwrap_or_default()).collect()
}

/// All items with their numbers.
struct Places<'a> {
    looked: &'a Looked<'a>,
    items: Vec<(&'a Table, &'a Sample)>,
    by_key: BTreeMap<(String, Vec<String>), usize>,
}

impl<'a> Places<'a> {
    fn of(looked: &'a Looked<'a>) -> Self {
        let tables = looked.model.tables.iter();
        let items: Vec<(&Table, &Sample)> =
            tables.flat_map(|table| latest(looked, table).into_iter().map(move |own| (table, own))).collect();
        let numbered = items.iter().enumerate();
        let by_key =
            numbered.map(|(at, (table, own))| ((table.name.clone(), key(table, &own.item)), at)).collect();
        Self { looked, items, by_key }
    }

    fn number(&self, table: &str, key: &[String]) -> Json {
        let place = self.by_key.get(&(table.to_owned(), key.to_vec()));
        place.map_or(Json::Null, Json::number)
    }

    /// The numbers of the items with these keys, without those that are no longer there.
    fn numbers<'k>(&self, table: &str, keys: impl IntoIterator<Item = &'k Vec<String>>) -> Json {
        let found = keys.into_iter().map(|key| self.number(table, key));
        Json::List(found.filter(|number| *number != Json::Null).collect())
    }

    fn json(&self) -> Vec<Json> {
        let mut places = Vec::new();
        for table in &self.looked.model.tables {
            for index in std::iter::once(None).chain(table.indexes.iter().map(Some)) {
                let partitions = partitions(self.looked, table, index, None);
                let partition = partitions.values().map(|own| {
                    let keys: Vec<Vec<String>> =
                        own.entries.iter().map(|entry| key(table, &entry.sample.item)).collect();
                    Json::object([("key", texts(&own.key)), ("items", self.numbers(&table.name, &keys))])
                });
                places.push(Json::object([
                    ("table", Json::text(&table.name)),
                    ("index", optional(index.map(|index| &index.name))),
                    ("partitions", Json::List(partition.collect())),
                ]));
            }
        }
        places
    }

    fn pattern(&self, pattern: &Pattern, run: &PatternReport) -> Json {
        let refusal = |refusal: &crate::run::Refusal| {
            Json::object([
                ("place", Json::text(&refusal.path)),
                ("text", Json::text(refusal.cause.to_string())),
            ])
        };
        let order = pattern.read().and_then(|read| read.order).unwrap_or(Order::Ascending);
        let order = if order == Order::Ascending { "ascending" } else { "descending" };
        let scanned: Vec<Vec<String>> = if run.operation == OperationKind::Scan {
            self.items
                .iter()
                .map(|(table, own)| (table, key(table, &own.item)))
                .filter(|(table, _)| table.name == run.table)
                .map(|(_, key)| key)
                .collect()
        } else {
            Vec::new()
        };
        // What a read without a filter reads, it returns.
        let read = match (run.read.is_empty(), scanned.is_empty()) {
            (false, _) => &run.read,
            (true, false) => &scanned,
            (true, true) => &run.returned,
        };
        let touched = run.touched.iter().map(|(table, key)| {
            Json::object([
                ("table", Json::text(table)),
                ("key", texts(key)),
                ("item", self.number(table, key)),
            ])
        });
        let mut out = pattern_json(pattern);
        for (name, value) in [
            ("line", Json::number(pattern.at.line)),
            ("operation", Json::text(run.operation.name())),
            ("result", Json::text(verdict(run).to_lowercase())),
            ("complaints", texts(&complaints(run))),
            ("refusals", Json::List(run.refusals.iter().map(refusal).collect())),
            ("table", Json::text(&run.table)),
            ("index", optional(run.index.as_ref())),
            ("key", optional(run.key.as_ref())),
            ("filter", optional(run.filter.as_ref())),
            ("filtered", texts(&run.filtered)),
            ("order", Json::text(order)),
            ("requests", Json::number(run.requests)),
            ("partitions", Json::number(run.partitions)),
            ("itemsRead", Json::number(run.items_read)),
            ("itemsReturned", Json::number(run.items_returned)),
            ("bytesReturned", Json::number(run.bytes_returned)),
            ("more", Json::Bool(run.more)),
            ("readUnits", Json::number(units(run.read_units()))),
            ("writeUnits", Json::number(units(run.write_units()))),
            ("capacity", Json::List(run.capacity.iter().flat_map(capacity).collect())),
            ("read", self.numbers(&run.table, read)),
            ("returned", self.numbers(&run.table, &run.returned)),
            ("strangers", self.numbers(&run.table, &run.strangers)),
            ("touched", Json::List(touched.collect())),
        ] {
            out.set(name, value);
        }
        if pattern.read().is_none() {
            for (name, value) in self.written(pattern) {
                out.set(name, value);
            }
        }
        out
    }

    /// The write, done once more on the items as they are, with each item before and after.
    fn written(&self, pattern: &Pattern) -> Vec<(&'static str, Json)> {
        let (model, samples) = (self.looked.model, &self.looked.samples);
        let done = Loaded::of(model, samples)
            .map_err(|faults| faults.iter().map(|fault| fault.text.clone()).collect::<Vec<_>>().join("; "))
            .and_then(|mut loaded| loaded.change(model, samples, pattern));
        match done {
            Ok(Done::Changed { changes, .. }) => {
                let changes = changes.iter().filter_map(|change| self.changed(model, change));
                vec![("changes", Json::List(changes.collect())), ("refused", Json::Null)]
            }
            Ok(Done::Refused) => {
                vec![
                    ("changes", Json::List(Vec::new())),
                    ("refused", Json::text("its condition does not hold")),
                ]
            }
            Ok(Done::Unvalued(name)) => {
                let reason = format!("no value for `:{name}`: write `example: {{{name}: …}}`");
                vec![("changes", Json::List(Vec::new())), ("refused", Json::text(reason))]
            }
            Err(reason) => vec![("changes", Json::List(Vec::new())), ("refused", Json::text(reason))],
        }
    }

    fn changed(&self, model: &Model, change: &Changed) -> Option<Json> {
        let table = model.table(&change.table)?;
        let what = match (&change.before, &change.after) {
            (None, None) => "none",
            (None, Some(_)) => "put",
            (Some(_), None) => "deleted",
            (Some(before), Some(after)) if before == after => "none",
            (Some(_), Some(_)) => "changed",
        };
        let order: Vec<String> = table.key_parts().map(|part| part.name.clone()).collect();
        let item = |item: &Option<Item>| item.as_ref().map_or(Json::Null, |item| write_item(item, &order));
        let key = key(table, change.before.as_ref().or(change.after.as_ref())?);
        let places = std::iter::once(None).chain(table.indexes.iter().map(Some)).filter_map(|index| {
            let what = moved(table, index, change)?;
            Some(Json::object([
                ("table", Json::text(&table.name)),
                ("index", optional(index.map(|index| &index.name))),
                ("what", Json::text(what)),
            ]))
        });
        Some(Json::object([
            ("table", Json::text(&table.name)),
            ("entity", Json::text(&change.entity)),
            ("key", texts(&key)),
            ("item", self.number(&table.name, &key)),
            ("what", Json::text(what)),
            ("before", item(&change.before)),
            ("after", item(&change.after)),
            ("places", Json::List(places.collect())),
        ]))
    }
}

/// What a change does to the entry of a table or index; `None` if the item is in it neither before nor after.
fn moved(table: &Table, index: Option<&Index>, change: &Changed) -> Option<&'static str> {
    let (mut parts, sort) = key_parts(table, index);
    parts.extend(sort);
    let entry = |item: &Option<Item>| values(item.as_ref()?, &parts);
    Some(match (entry(&change.before), entry(&change.after)) {
        (None, None) => return None,
        (None, Some(_)) => "entered",
        (Some(_), None) => "left",
        (Some(before), Some(after)) if before != after => "moved",
        (Some(_), Some(_)) if is_rewritten(index, change) => "rewritten",
        (Some(_), Some(_)) => "stayed",
    })
}

/// Whether an attribute that the entry holds differs.
fn is_rewritten(index: Option<&Index>, change: &Changed) -> bool {
    let value = |item: &Option<Item>, name: &str| item.as_ref().and_then(|item| item.get(name)).cloned();
    match index.map(|index| &index.projection) {
        None | Some(Projection::All) => change.before != change.after,
        Some(Projection::KeysOnly) => false,
        Some(Projection::Include(names)) => {
            names.iter().any(|name| value(&change.before, name) != value(&change.after, name))
        }
    }
}

fn capacity(own: &CapacityOf) -> Vec<Json> {
    let line = |index: Option<&String>, usage: Usage| {
        Json::object([
            ("table", Json::text(&own.table)),
            ("index", optional(index)),
            ("readUnits", Json::number(units(usage.read))),
            ("writeUnits", Json::number(units(usage.write))),
        ])
    };
    let indexes = own.usage.local_indexes.iter().chain(&own.usage.global_indexes);
    let indexes = indexes.map(|(name, usage)| line(Some(name), *usage));
    std::iter::once(line(None, own.usage.table)).chain(indexes).collect()
}
