//! Writes a design into a model: its table's keys and indexes, its entities' templates, its patterns'
//! indexes, derived items as entities of their own, embedded entities as lists.

use std::collections::BTreeSet;

use super::derived_items::copies;
use super::key_upkeep::{keep_current, read_first};
use super::strip_old_keys::{PreviousKeys, strip};
use super::{Design, Embedded, Kept, Named, Projected, Slot, TableOf, name};
use keywright_model::expression::Effect;
use keywright_model::{
    self as model, At, Attribute, Entity, Index, IndexKind, KeyAttribute, KeyType, MilliItems, Model, Node,
    NodeKind, Operation, Projection, Read, ReadKind, Returns, Table, Template, Write, WriteKind,
};
use keywright_semantics::schema::TableClass;
use keywright_semantics::value::ValueType;

/// The name of a slot's index; none for the table.
pub fn index_name(kept: &Kept, slot: Slot) -> Option<String> {
    if let Some(index) = kept.index(slot) {
        return Some(index.name.clone());
    }
    let (word, number, known) = match slot {
        Slot::Table | Slot::Copy => return None,
        Slot::Local(number) => ("lsi", number, &kept.locals),
        Slot::Global(number) => ("gsi", number, &kept.globals),
    };
    // New numbers follow those of the existing indexes.
    let taken = |name: &String| name.strip_prefix(word).and_then(|rest| rest.parse::<usize>().ok());
    let last = known.iter().filter_map(|index| taken(&index.name)).max().unwrap_or(0);
    Some(format!("{word}{}", last.max(known.len()) + number - known.len()))
}

/// The model with the keys of one table replaced. Faults are templates that cannot be written.
pub fn to_model(model: &Model, table: &str, design: &Design) -> Result<Model, String> {
    let previous = PreviousKeys::of(model, table, &design.problem.kept);
    let mut model = model.clone();
    for embedded in &design.embedded {
        embed(&mut model, embedded);
    }
    let named = name(design);
    let places = tables(&mut model, table, design, &named);
    for (table, own) in &places {
        for (entity_place, entity) in
            own.entities.iter().filter_map(|place| Some((place, design.problem.entities.get(*place)?)))
        {
            let mine = |slot: Slot| move |named: &&Named| named.entity == entity.name && named.slot == slot;
            let base = named.iter().find(mine(Slot::Table)).map(|base| &base.by);
            // A local index that serves derived items belongs to the derived entity.
            let of = |slot: Slot| {
                let here = |named: &&Named| !matches!(slot, Slot::Local(_)) || Some(&named.by) == base;
                named.iter().filter(mine(slot)).find(here)
            };
            let Some(written) = model.entities.iter_mut().find(|written| written.name == entity.name) else {
                continue;
            };
            written.table.clone_from(&table.name);
            if let Some(named) = of(Slot::Table) {
                written.key = slot(table, None, named)?;
            }
            let before = std::mem::take(&mut written.slots);
            written.slots = table
                .indexes
                .iter()
                .zip(slots(own))
                .filter_map(|(index, place)| Some((index, place, of(place)?)))
                .map(|(index, place, named)| {
                    // Kept keys are left as their author wrote them.
                    let kept = design.problem.kept.key(*entity_place, place).is_some();
                    let old = before.iter().find(|(name, _)| kept && *name == index.name);
                    let made = || Ok((index.name.clone(), slot(table, Some(index), named)?));
                    old.map_or_else(made, |old| Ok(old.clone()))
                })
                .collect::<Result<_, String>>()?;
            // An index with plain attributes as keys needs no templates.
            written.slots.retain(|(_, slot)| !slot.templates.is_empty());
        }
    }
    for asked in &design.asked {
        let uses = index_name(&design.problem.kept, asked.slot);
        for pattern in model.patterns.iter_mut().filter(|pattern| pattern.id == asked.pattern) {
            pattern.uses.clone_from(&uses);
            if let Operation::Read(read) = &mut pattern.operation
                && read.kind == ReadKind::Scan
            {
                read.kind = ReadKind::Query;
            }
        }
    }
    copies(&mut model, design, &named)?;
    strip(&mut model, &previous);
    let designed: Vec<String> = places.iter().map(|(table, _)| table.name.clone()).collect();
    keep_current(&mut model, &designed, &design.problem.kept);
    read_first(&mut model, design);
    Ok(model)
}

/// Slots in the order of the table's indexes.
fn slots(own: &TableOf) -> impl Iterator<Item = Slot> {
    (1..=own.locals).map(Slot::Local).chain((1..=own.globals).map(Slot::Global))
}

/// The tables of the design: the first keeps its name, a second one is named after its class.
fn tables<'a>(
    model: &mut Model,
    name: &str,
    design: &'a Design,
    named: &[Named],
) -> Vec<(Table, &'a TableOf)> {
    let Some(place) = model.tables.iter().position(|own| own.name == name) else { return Vec::new() };
    let Some(old) = model.tables.get(place).cloned() else { return Vec::new() };
    let kept = &design.problem.kept;
    let attributes: BTreeSet<String> =
        model.entities_of(name).flat_map(|own| &own.attributes).map(|own| own.name.clone()).collect();
    let made: Vec<(Table, &TableOf)> = design
        .tables
        .iter()
        .enumerate()
        .map(|(number, own)| {
            let mut table = old.clone();
            if number > 0 {
                table.name = format!("{}Infrequent", old.name);
            }
            table.infrequent_access = own.class == TableClass::StandardInfrequentAccess;
            if kept.is_empty() {
                (table.partition, table.sort) = keys(&old, &attributes);
            }
            let index = |slot| index(&old, &table, design, own, (slot, named));
            table.indexes = slots(own).filter_map(index).collect();
            (table, own)
        })
        .collect();
    model.tables.splice(place..=place, made.iter().map(|(table, _)| table.clone()));
    made
}

/// The key attributes of a designed table. Declared ones keep their names, unless they are attributes of
/// entities: the design writes texts made of attributes into them.
fn keys(old: &Table, attributes: &BTreeSet<String>) -> (KeyAttribute, Option<KeyAttribute>) {
    let declared = |part: &KeyAttribute| Some(part.name.clone()).filter(|name| !attributes.contains(name));
    let partition = declared(&old.partition).unwrap_or_else(|| "pk".to_owned());
    let other = if partition.chars().any(char::is_lowercase) { "sk" } else { "SK" };
    let other = if partition == other { format!("{other}2") } else { other.to_owned() };
    let sort = old.sort.as_ref().and_then(declared).filter(|name| *name != partition).unwrap_or(other);
    (string(partition), Some(string(sort)))
}

fn string(name: String) -> KeyAttribute {
    KeyAttribute { name, key_type: KeyType::S }
}

fn index(
    old: &Table,
    table: &Table,
    design: &Design,
    own: &TableOf,
    (slot, named): (Slot, &[Named]),
) -> Option<Index> {
    let kept = &design.problem.kept;
    let name = index_name(kept, slot)?;
    if let Some(index) = kept.index(slot).and_then(|_| old.index(&name)) {
        return Some(index.clone());
    }
    let entities = || own.entities.iter().filter_map(|place| design.problem.entities.get(*place));
    // An index with plain attributes as keys has one entity.
    let placed = named.iter().filter(|named| named.slot == slot).find_map(|named| {
        let entity = entities().find(|entity| entity.name == named.entity)?;
        Some((named, entity))
    });
    let itself = |templates: &str| -> Vec<KeyAttribute> {
        let template = Template::parse(templates).ok();
        let attributes = template.iter().flat_map(Template::attributes);
        let attributes = attributes.filter_map(|own| placed?.1.attribute(own));
        let part = |own: &super::Attribute| {
            let key_type = if own.number { KeyType::N } else { KeyType::S };
            KeyAttribute { name: own.name.clone(), key_type }
        };
        attributes.map(part).collect()
    };
    let made = |part: &str| vec![string(format!("{name}{part}"))];
    let (kind, partition) = match (slot, placed) {
        (Slot::Local(_), _) => (IndexKind::Local, vec![table.partition.clone()]),
        (_, Some((named, _))) if named.own.partition => (IndexKind::Global, itself(&named.partition)),
        _ => (IndexKind::Global, made("pk")),
    };
    let sort = match placed {
        Some((named, _)) if named.own.sort => itself(&named.sort),
        _ => made("sk"),
    };
    let is_key = |name: &String| partition.iter().chain(&sort).any(|part| part.name == *name);
    let projection = match own.projections.iter().find(|(known, _)| *known == slot) {
        Some((_, Projected::Only(held))) if held.iter().all(is_key) => Projection::KeysOnly,
        Some((_, Projected::Only(held))) => {
            Projection::Include(held.iter().filter(|name| !is_key(name)).cloned().collect())
        }
        _ => Projection::All,
    };
    Some(Index { partition, sort, name, at: At::default(), kind, projection })
}

/// The key templates. A local index has a sort key only, its partition key is the table's.
pub(super) fn slot(table: &Table, index: Option<&Index>, named: &Named) -> Result<model::Slot, String> {
    let local = index.is_some_and(|index| index.kind == IndexKind::Local);
    let (partition, sort) = match index {
        None => (Some(&table.partition), table.sort.as_ref()),
        Some(index) => (index.partition.first().filter(|_| !local), index.sort.first()),
    };
    let parse = |part: Option<&KeyAttribute>, text: &str| {
        part.map(|part| Ok((part.name.clone(), Template::parse(text)?))).transpose()
    };
    let templates: Result<Vec<Option<_>>, String> = [
        parse(partition.filter(|_| !named.own.partition), &named.partition),
        parse(sort.filter(|_| !named.own.sort), &named.sort),
    ]
    .into_iter()
    .collect();
    Ok(model::Slot { templates: templates?.into_iter().flatten().collect(), at: At::default() })
}

/// Embeds an entity as a list of its parent: its reads become the parent's; its writes append to the list, or
/// are part of the parent's own writes.
fn embed(model: &mut Model, embedded: &Embedded) {
    let Some(child) = model.entity(&embedded.child).cloned() else { return };
    model.entities.retain(|entity| entity.name != embedded.child);
    let own_attributes: Vec<String> = model
        .entity(&embedded.parent)
        .map(|parent| parent.attributes.iter().map(|own| own.name.clone()).collect())
        .unwrap_or_default();
    let own_attributes = own_attributes.as_slice();
    let parents = model.entity(&embedded.parent).and_then(|parent| parent.count).unwrap_or(1).max(1);
    let each = child.count.unwrap_or(0).div_ceil(parents).max(1);
    if let Some(parent) = model.entities.iter_mut().find(|entity| entity.name == embedded.parent) {
        let bytes = each * child.size_bytes.unwrap_or(0);
        parent.size_bytes = parent.size_bytes.map(|own| own + bytes);
        parent.attributes.push(Attribute {
            name: embedded.list.clone(),
            at: At::default(),
            value_type: ValueType::L,
            size_bytes: Some(bytes),
            distinct: None,
            values: Vec::new(),
            format: None,
            copy_of: None,
            present_ppm: None,
        });
    }
    for pattern in &mut model.patterns {
        match &mut pattern.operation {
            Operation::Read(read) => {
                if read_parent(read, embedded) {
                    let alone = read.entities.len() == 1;
                    pattern.returns = pattern.returns.map(|returns| returned(returns, each, alone));
                    let count = pattern.expect.as_mut().and_then(|expect| expect.count.as_mut());
                    if let (Some(count), true) = (count, alone) {
                        *count = (*count).min(1);
                    }
                }
            }
            Operation::Write(step) => {
                if write_parent(step, &mut pattern.example, &child, own_attributes, embedded) {
                    // A single change has its values in the pattern.
                    pattern.example.extend(step.examples.drain(..).flatten());
                }
            }
            Operation::Transact(steps) | Operation::Batch(steps) => {
                let whole: BTreeSet<bool> = steps
                    .iter()
                    .filter(|step| step.entity == embedded.parent)
                    .map(|step| step.kind != WriteKind::Update)
                    .collect();
                if whole.contains(&true) {
                    if let Some(fails) = pattern.expect.as_mut().and_then(|expect| expect.fails.as_mut()) {
                        let mut gone = steps.iter().map(|step| step.entity == embedded.child);
                        fails.reasons.retain(|_| gone.next() != Some(true));
                    }
                    steps.retain(|step| step.entity != embedded.child);
                }
                for step in steps {
                    write_parent(step, &mut pattern.example, &child, own_attributes, embedded);
                }
            }
        }
        if let Operation::Transact(steps) = &mut pattern.operation
            && let [step] = steps.as_mut_slice()
            && step.n == 1
            && step.entity == embedded.parent
        {
            // The children are part of it, and a single remaining write needs no transaction.
            pattern.example.extend(step.examples.drain(..).flatten());
            pattern.operation = Operation::Write(step.clone());
        }
    }
}

/// The result size when an item holds its children in a list.
fn returned(returns: Returns, each: u64, alone: bool) -> Returns {
    if alone {
        let one = |number: Option<u64>| number.map(|number| number.min(1));
        let average = returns.average.map(|average| average.min(MilliItems::of(1)));
        return Returns { average, max: one(returns.max), page: None };
    }
    let less = |average: MilliItems| MilliItems(average.0.saturating_sub(MilliItems::of(each).0));
    Returns { average: returns.average.map(|average| less(average).max(MilliItems::of(1))), ..returns }
}

fn read_parent(read: &mut Read, embedded: &Embedded) -> bool {
    if !read.entities.contains(&embedded.child) {
        return false;
    }
    read.entities.retain(|name| *name != embedded.child && *name != embedded.parent);
    read.entities.push(embedded.parent.clone());
    read.attributes.clear();
    true
}

/// Turns a write of the child into an append of one element. The element has the attributes that the parent
/// lacks, with the values of the pattern's example, or invented ones.
fn write_parent(
    step: &mut Write,
    example: &mut Vec<(String, Node)>,
    child: &Entity,
    parent: &[String],
    embedded: &Embedded,
) -> bool {
    if step.entity != embedded.child {
        return false;
    }
    let node = |kind| Node { at: At::default(), kind };
    let list = &embedded.list;
    step.entity.clone_from(&embedded.parent);
    step.kind = WriteKind::Update;
    step.condition = None;
    step.effects = vec![Effect::append(list, "none", "more")];
    let given: Vec<(String, Node)> =
        step.examples.first().into_iter().flatten().chain(&*example).cloned().collect();
    let own = |name: &str| child.attribute(name).is_some() && !parent.iter().any(|known| known == name);
    let element = child.attributes.iter().filter(|attribute| own(&attribute.name)).filter_map(|attribute| {
        let said = given.iter().find(|(name, _)| *name == attribute.name).map(|(_, value)| value.clone());
        let value = said.or_else(|| attribute.values.first().cloned()).or_else(|| {
            Some(node(match attribute.value_type {
                ValueType::S => NodeKind::Text(attribute.name.clone()),
                ValueType::N => NodeKind::Number("1".to_owned()),
                _ => return None,
            }))
        })?;
        Some((node(NodeKind::Text(attribute.name.clone())), value))
    });
    let element = node(NodeKind::Map(element.collect()));
    let kept = given.iter().filter(|(name, _)| parent.iter().any(|known| known == name)).cloned();
    let more = [
        ("none".to_owned(), node(NodeKind::List(Vec::new()))),
        ("more".to_owned(), node(NodeKind::List(vec![element]))),
    ];
    let said: Vec<(String, Node)> =
        kept.filter(|(name, _)| !example.iter().any(|(own, _)| own == name)).collect();
    step.examples = vec![said.into_iter().chain(more).collect()];
    example.retain(|(name, _)| !own(name));
    true
}
