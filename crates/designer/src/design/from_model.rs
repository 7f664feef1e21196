//! Builds a problem from a model file: the entities of one table, their reads and the steps that write them.
//! Existing keys only serve to find what identifies an item.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::share::ALL_PPM;

use super::candidates::fits;
use super::name::NUMBER_DIGITS;
use super::problem::{
    Attribute, End, Entity, Kept, KeptIndex, KeptKey, KeyStyle, Parent, Pattern, Problem, Slot, Write,
    WriteKind,
};
use super::writer_knowledge::knows;
use super::{Asked, Design, View, uniqueness};
use keywright_model::distribution::busiest_share_ppm;
use keywright_model::expression::ConditionExpression;
use keywright_model::{
    self as model, Consistency, Fault, Faults, GivenOp, IndexKind, KeyAttribute, KeyType, MicroPerSecond,
    MilliItems, Model, Node, NodeKind, Operation, Part, Projection, Rate, ReadKind, Skew, Table, Template,
};
use keywright_semantics::schema::TableClass;
use keywright_semantics::value::ValueType;
use keywright_workbench::lint::{counts_up, owner};

/// Indexes offered to the designer: the lint rules warn about more than five.
const GSI_MAX: usize = 5;
/// Bytes of an attribute whose size is not declared.
pub(super) const ATTRIBUTE_BYTES: u64 = 12;

/// The problem of one table. Faults are missing inputs: rates and counts are never guessed.
pub fn from_model(model: &Model, table: &Table) -> Result<Problem, Faults> {
    let mut faults = Faults::new();
    let mut entities: Vec<Entity> =
        model.entities_of(&table.name).map(|own| entity(model, own, &mut faults)).collect();
    for (own, entity) in model.entities_of(&table.name).zip(&mut entities) {
        entity.parent = parent(model, own);
        entity.prefix.clone_from(&own.prefix);
        entity.owner = owner(model, own).map(|own| own.name.clone());
        entity.expires = table.ttl.clone().filter(|name| own.attribute(name).is_some());
    }
    faults.extend(same_prefixes(model, table));
    mark_unpaddable(model, &mut entities);
    let known: Vec<String> = entities.iter().map(|entity| entity.name.clone()).collect();
    let named = |name: &String| known.contains(name);
    let mut patterns = Vec::new();
    let mut writes = Vec::new();
    for own in &model.patterns {
        let here = own.read().is_some_and(|read| read.entities.iter().any(named))
            || own.steps().iter().any(|step| named(&step.entity));
        if !here || own.admin {
            continue;
        }
        let Some(rate) = own.rate else {
            let text = format!("pattern `{}` has no rate: write `rate: 5` for five times a second", own.id);
            faults.push(Fault::new(own.at, text));
            continue;
        };
        match &own.operation {
            Operation::Read(read) => {
                faults.extend(ordered_elsewise(own, read));
                let mut asked = pattern(table, own, read, rate);
                asked.order = asked.order.filter(|_| !asks_for_one(model, read));
                patterns.push(asked);
            }
            Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => {
                let steps = own.steps().iter().filter(|step| named(&step.entity));
                writes.extend(steps.filter_map(|step| write(own, step, rate, model.entity(&step.entity)?)));
            }
        }
    }
    for (own, entity) in model.entities_of(&table.name).zip(&mut entities) {
        let mine = || writes.iter().filter(|write: &&Write| write.entity == entity.name);
        let keepable = |names: &Vec<String>| {
            let known = names.iter().all(|name| entity.attribute(name).is_some_and(|own| own.keyable));
            let kept = |write: &Write| {
                uniqueness::unknown(entity, write, names).is_empty()
                    && (fits(write) || uniqueness::written(entity, write, names) == 0)
            };
            known && mine().all(kept)
        };
        entity.uniques = uniqueness::asked(model, own).into_iter().filter(keepable).collect();
    }
    let class = table.infrequent_access.then_some(TableClass::StandardInfrequentAccess);
    let kept = Kept::default();
    let backed_up = table.pitr == Some(true);
    let problem = Problem {
        entities,
        patterns,
        writes,
        gsi_max: GSI_MAX,
        kept,
        class,
        backed_up,
        style: KeyStyle::default(),
    };
    if faults.is_empty() { Ok(problem) } else { Err(faults) }
}

/// Whether the identity is given, so that at most one item is returned and order does not matter.
fn asks_for_one(model: &Model, read: &model::Read) -> bool {
    let [name] = read.entities.as_slice() else { return false };
    let Some(entity) = model.entity(name) else { return false };
    let fixed =
        |name: &String| read.given.iter().any(|given| given.op == GivenOp::Eq && given.attribute == *name);
    let identities = entity.unique.iter().cloned().chain([identity(entity)]);
    identities.filter(|own| !own.is_empty()).any(|own| own.iter().all(fixed))
}

/// A key sorts by the range attribute first; the attributes after it order only items with equal values.
fn ordered_elsewise(own: &model::Pattern, read: &model::Read) -> Option<Fault> {
    let by = read.order_by.as_ref()?;
    let range = read.given.iter().find(|given| given.op != GivenOp::Eq && given.attribute != by.attribute)?;
    let (id, by, at, range) = (&own.id, &by.attribute, by.at, &range.attribute);
    Some(Fault::new(
        at,
        format!(
            "pattern `{id}` is given a range of `{range}`, so that its items come by `{range}` and not by `{by}`: \
             order it by `{range}`, or give no range and let the application leave out what it does not want"
        ),
    ))
}

/// Marks numbers for which the model shows a value below 0, with a fraction or with too many digits: padded
/// text supports whole numbers from 0 only. In a text key such a number identifies an item but does not sort;
/// only a number key sorts by it. Attributes of one name are used in one key, so they are marked in all
/// entities.
fn mark_unpaddable(model: &Model, entities: &mut [Entity]) {
    let odd = |text: &str| {
        !text.is_empty() && (text.len() > NUMBER_DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let known: Vec<String> = entities.iter().map(|entity| entity.name.clone()).collect();
    for attribute in entities.iter_mut().flat_map(|entity| &mut entity.attributes) {
        attribute.unpaddable = attribute.number && shown(model, &known, &attribute.name).any(odd);
    }
}

fn is_number_key(table: &Table, name: &str) -> bool {
    let mut parts = table.key_parts().chain(table.indexes.iter().flat_map(model::Index::key_parts));
    parts.any(|part| part.name == name && part.key_type == KeyType::N)
}

/// The values that a model shows for a number: listed ones, and those of its records, items and examples.
fn shown<'a>(model: &'a Model, entities: &'a [String], name: &'a str) -> impl Iterator<Item = &'a str> {
    let here = |own: &str| entities.iter().any(|entity| entity == own);
    let number = move |entity: &&'a model::Entity| {
        here(&entity.name)
            && entity.attribute(name).is_some_and(|attribute| attribute.value_type == ValueType::N)
    };
    let numbers = model.entities.iter().filter(number);
    let listed = numbers.clone().filter_map(|entity| entity.attribute(name)).flat_map(|own| &own.values);
    let is_number = numbers.count() > 0;
    let of = move |node: &'a Node| match &node.kind {
        NodeKind::Map(entries) => entries
            .iter()
            .find(|(own, _)| matches!(&own.kind, NodeKind::Text(text) if text == name))
            .map(|(_, value)| value),
        _ => None,
    };
    let records = model.data.records.iter().filter(move |records| here(&records.entity));
    let stored = records.flat_map(|records| &records.records).filter_map(of);
    let steps = |own: &'a model::Pattern| own.steps().iter().flat_map(|step| step.examples.iter().flatten());
    let examples = model.patterns.iter().flat_map(move |own| own.example.iter().chain(steps(own)));
    let examples = examples.filter(move |(own, _)| own == name).map(|(_, value)| value);
    let raw =
        model.data.items.iter().flat_map(|raw| &raw.items).filter_map(of).filter_map(|own| own.get("N"));
    // A range has two values.
    let shown = listed.chain(stored).chain(raw).chain(examples).flat_map(Node::elements);
    shown.filter(move |_| is_number).filter_map(|node| match &node.kind {
        NodeKind::Number(text) | NodeKind::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// The patterns that require an order but name no attribute, and have neither a range nor an existing key
/// that implies one. The order of their items under a new key is arbitrary.
pub fn unordered<'a>(model: &'a Model, design: &Design) -> Vec<&'a str> {
    let kept = |asked: &Asked| {
        let mut keys = design.problem.kept.keys.iter();
        keys.any(|own| own.slot.location() == asked.slot && own.view.partition == asked.partition)
    };
    let several = |own: &model::Pattern| {
        let returned = own.returns.unwrap_or_default();
        [returned.average.map(MilliItems::whole), returned.max].into_iter().flatten().all(|items| items > 1)
    };
    let asked = design.asked.iter().filter(|asked| !kept(asked));
    asked
        .filter_map(|asked| model.pattern(&asked.pattern))
        .filter(|own| {
            own.read().is_some_and(|read| {
                read.order.is_some()
                    && read.order_by.is_none()
                    && read.kind != ReadKind::Get
                    && read.given.iter().all(|given| given.op == GivenOp::Eq)
            }) && several(own)
        })
        .map(|own| own.id.as_str())
        .collect()
}

/// Keeps the table's existing design: the keys of its entities, its indexes, its class. No entity is added to
/// an index whose key is not a pair of template texts.
pub fn keep(problem: &mut Problem, model: &Model, table: &Table) {
    let of = |kind: IndexKind| -> Vec<&model::Index> {
        table.indexes.iter().filter(|index| index.kind == kind).collect()
    };
    let (globals, locals) = (of(IndexKind::Global), of(IndexKind::Local));
    let mut kept = Kept {
        keys: Vec::new(),
        globals: globals.iter().map(|index| kept_index(model, table, index)).collect(),
        locals: locals.iter().map(|index| kept_index(model, table, index)).collect(),
    };
    for (place, own) in problem.entities.iter().enumerate() {
        let Some(entity) = model.entity(&own.name).filter(|entity| !entity.key.templates.is_empty()) else {
            continue;
        };
        let base: Vec<&KeyAttribute> = table.sort.iter().collect();
        kept.keys.extend(kept_key(entity, place, Slot::Table, &[&table.partition], &base));
        let numbered = globals.iter().zip(1..).map(|(index, number)| (*index, Slot::Global(number)));
        let numbered =
            numbered.chain(locals.iter().zip(1..).map(|(index, number)| (*index, Slot::Local(number))));
        for (index, slot) in numbered {
            let partition: Vec<&KeyAttribute> = index.partition.iter().collect();
            let sort: Vec<&KeyAttribute> = index.sort.iter().collect();
            kept.keys.extend(kept_key(entity, place, slot, &partition, &sort));
        }
    }
    for attribute in problem.entities.iter_mut().flat_map(|entity| &mut entity.attributes) {
        attribute.unpaddable &= !is_number_key(table, &attribute.name);
    }
    problem.class = Some(if table.infrequent_access {
        TableClass::StandardInfrequentAccess
    } else {
        TableClass::Standard
    });
    problem.gsi_max = problem.gsi_max.max(kept.globals.len());
    problem.kept = kept;
}

fn kept_index(model: &Model, table: &Table, index: &model::Index) -> KeptIndex {
    let made = |part: &KeyAttribute| {
        part.key_type == KeyType::S
            && (part.name == table.partition.name
                || !model.entities_of(&table.name).any(|entity| entity.attribute(&part.name).is_some()))
    };
    let pair = index.partition.len() == 1 && index.sort.len() == 1;
    KeptIndex {
        name: index.name.clone(),
        includes: match &index.projection {
            Projection::All => None,
            Projection::KeysOnly => Some(BTreeSet::new()),
            Projection::Include(names) => Some(names.clone()),
        },
        open: pair && index.key_parts().all(made),
    }
}

/// The key that the templates write; none if a key attribute has no template.
fn kept_key(
    entity: &model::Entity,
    place: usize,
    slot: Slot,
    partition: &[&KeyAttribute],
    sort: &[&KeyAttribute],
) -> Option<KeptKey> {
    let templates = |parts: &[&KeyAttribute]| -> Option<Vec<Template>> {
        parts.iter().map(|part| entity.template(&part.name)).collect()
    };
    let parts: Vec<&KeyAttribute> = partition.iter().chain(sort).copied().collect();
    let (partition, sort) = (templates(partition)?, templates(sort)?);
    let names = |templates: &[Template]| {
        let mut names: Vec<String> = Vec::new();
        for part in templates.iter().flat_map(|template| &template.parts) {
            if let Part::Attribute { name, .. } = part
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        names
    };
    let shards = partition.iter().map(|template| u64::from(template.shards())).product();
    let tells = entity.attributes_in_keys(parts.iter().copied());
    let mut by = names(&partition);
    by.sort();
    let mut rest = names(&sort);
    rest.retain(|name| !by.contains(name));
    Some(KeptKey {
        slot,
        partition,
        sort,
        tells,
        view: View { entity: place, partition: by, sort: rest, shards },
    })
}

/// The parent of an entity, if the number of items per parent is bounded.
fn parent(model: &Model, own: &model::Entity) -> Option<Parent> {
    let [parent] = own.parents.as_slice() else { return None };
    if !appends_only(model, &own.name, parent) || named_by(model, &own.name).is_some() {
        return None;
    }
    let reads = model
        .patterns
        .iter()
        .filter(|pattern| pattern.read().is_some_and(|read| read.entities.contains(&own.name)));
    // A filter selects whole items: it cannot select single elements of a list.
    if reads.clone().any(|pattern| pattern.read().is_some_and(|read| read.filter.is_some())) {
        return None;
    }
    let most: Option<Vec<u64>> =
        reads.map(|pattern| pattern.returns.and_then(|returns| returns.max)).collect();
    Some(Parent { name: parent.clone(), children_max: most?.into_iter().max()? })
}

/// Whether a list can express all writes of a child. An append cannot have a condition on one element, and an
/// update or delete of an element needs its index, which the writer does not know. Children written together
/// with the whole parent are part of it; their conditions become the parent's.
fn appends_only(model: &Model, child: &str, parent: &str) -> bool {
    alone(model, child, parent).is_none()
}

/// The first other entity that has this one as parent or copies from it, and so needs it as an entity.
fn named_by<'a>(model: &'a Model, name: &str) -> Option<&'a model::Entity> {
    let names = |other: &model::Entity| {
        let mut copied = other.attributes.iter().filter_map(|own| own.copy_of.as_ref());
        other.parents.iter().any(|parent| parent == name) || copied.any(|(source, _)| source == name)
    };
    model.entities.iter().find(|other| other.name != name && names(other))
}

/// The first pattern that writes one child in a way that a list cannot express.
fn alone<'a>(model: &'a Model, child: &str, parent: &str) -> Option<&'a model::Pattern> {
    let of_parent = |own: &model::Pattern, kind: model::WriteKind, conditional: bool| {
        let mut steps = own.steps().iter();
        steps.any(|step| {
            step.entity == parent && step.kind == kind && (!conditional || step.condition.is_some())
        })
    };
    model.patterns.iter().find(|own| {
        !own.steps().iter().filter(|step| step.entity == child).all(|step| {
            let conditional = step.condition.is_some();
            match step.kind {
                model::WriteKind::Put => !conditional || of_parent(own, model::WriteKind::Put, true),
                model::WriteKind::Update => of_parent(own, model::WriteKind::Put, conditional),
                model::WriteKind::Delete => of_parent(own, model::WriteKind::Delete, conditional),
                model::WriteKind::Check | model::WriteKind::Get => false,
            }
        })
    })
}

/// Why entities that are read together with their one parent are not embedded as lists: one sentence each.
pub fn unlisted(model: &Model, design: &Design) -> Vec<String> {
    let mut said = Vec::new();
    for own in &design.problem.entities {
        let Some(entity) = model.entity(&own.name) else { continue };
        let [parent] = entity.parents.as_slice() else { continue };
        let reads = |name: &String| {
            let of = model.patterns.iter().filter_map(|pattern| Some((pattern, pattern.read()?)));
            of.filter(|(_, read)| read.entities.contains(name)).collect::<Vec<_>>()
        };
        let asked = reads(&own.name);
        if !asked.iter().any(|(_, read)| read.entities.contains(parent)) {
            continue;
        }
        let unbounded = asked.iter().find(|(pattern, _)| pattern.returns.is_none_or(|own| own.max.is_none()));
        let child = &own.name;
        if let Some(pattern) = alone(model, child, parent) {
            said.push(format!(
                "{child} is not a list in its {parent}, as {} writes one alone or under a condition, which an element of a list cannot have.",
                pattern.id
            ));
        } else if let Some(other) = named_by(model, child) {
            said.push(format!(
                "{child} is not a list in its {parent}, as {} belongs to it or copies what it has.",
                other.name
            ));
        } else if let Some((pattern, _)) = unbounded {
            said.push(format!(
                "{child} is not a list in its {parent}, as {} does not say how many there are at the most: `returns: {{max: 20}}`.",
                pattern.id
            ));
        }
    }
    said
}

fn entity(model: &Model, own: &model::Entity, faults: &mut Faults) -> Entity {
    let Some(count) = own.count else {
        faults.push(Fault::new(own.at, format!("entity `{}` has no count: write `count: 1000`", own.name)));
        return Entity {
            name: own.name.clone(),
            parent: None,
            parents: Vec::new(),
            id: Vec::new(),
            uniques: Vec::new(),
            expires: None,
            owner: None,
            prefix: None,
            counts_up: BTreeSet::new(),
            attributes: Vec::new(),
            count: 0,
            size_bytes: 0,
        };
    };
    let bytes = |own: &model::Attribute| own.size_bytes.unwrap_or(ATTRIBUTE_BYTES);
    let attributes: Vec<Attribute> = own
        .attributes
        .iter()
        .map(|attribute| {
            let values = u64::try_from(attribute.values.len()).ok().filter(|count| *count > 0);
            let distinct = attribute.distinct.or(values);
            // The values of a parent's attribute are as many as there are parents, and as uneven.
            let others = model.distinct(own, &attribute.name).filter(|_| distinct.is_none());
            let skew = model.skew(own, &attribute.name).or_else(|| others.map(|_| Skew::Uniform));
            let values = distinct.or(others).unwrap_or(count).min(count);
            Attribute {
                name: attribute.name.clone(),
                size_bytes: bytes(attribute),
                distinct,
                present_ppm: attribute.present_ppm.unwrap_or(ALL_PPM),
                hottest_ppm: skew.map(|skew| busiest_share_ppm(skew, values)),
                number: attribute.value_type == ValueType::N,
                keyable: matches!(attribute.value_type, ValueType::S | ValueType::N),
                unpaddable: false,
            }
        })
        .collect();
    let counting = own.attributes.iter().filter(|own| own.format.is_some_and(counts_up));
    let names = own.attributes.iter().map(|own| u64::try_from(own.name.len()).unwrap_or(0));
    let summed = own.attributes.iter().map(bytes).chain(names).sum();
    Entity {
        name: own.name.clone(),
        parent: None,
        parents: own.parents.clone(),
        id: identity(own),
        uniques: Vec::new(),
        expires: None,
        owner: None,
        prefix: None,
        counts_up: counting.map(|own| own.name.clone()).collect(),
        attributes,
        count,
        size_bytes: own.size_bytes.unwrap_or(summed),
    }
}

/// Entities of a table whose keys would begin alike.
fn same_prefixes(model: &Model, table: &Table) -> Vec<Fault> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let mut faults = Vec::new();
    for own in model.entities_of(&table.name) {
        let Some(prefix) = own.prefix.as_deref() else { continue };
        if let Some(other) = known.insert(prefix, &own.name) {
            let text = format!(
                "`{other}` and `{}` have the same prefix, `{prefix}`: give one of them another",
                own.name
            );
            faults.push(Fault::new(own.at, text));
        }
    }
    faults
}

/// The attributes that identify items: those declared unique, else those of the key.
pub(super) fn identity(own: &model::Entity) -> Vec<String> {
    if let Some(unique) = own.unique.first() {
        return unique.clone();
    }
    let mut names: Vec<String> = Vec::new();
    for part in own.key.templates.iter().flat_map(|(_, template)| &template.parts) {
        if let Part::Attribute { name, .. } = part
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    names
}

fn pattern(table: &Table, own: &model::Pattern, read: &model::Read, rate: Rate) -> Pattern {
    let given = |wanted: bool| {
        read.given
            .iter()
            .filter(move |given| (given.op == GivenOp::Eq) == wanted)
            .map(|given| given.attribute.clone())
    };
    let returned = own.returns.unwrap_or_default();
    let single = if read.kind == ReadKind::Get { 1 } else { returned.page.or(returned.max).unwrap_or(1) };
    Pattern {
        id: own.id.clone(),
        entities: read.entities.clone(),
        equal: given(true).collect(),
        range: given(false).next(),
        order: read
            .order_by
            .as_ref()
            .map(|by| by.attribute.clone())
            .filter(|_| given(false).next().is_none()),
        results: returned.average.map_or(single, MilliItems::whole),
        most: returned.max.filter(|_| read.limit.is_none() && !pages(read, returned)),
        rate: rate.average,
        peak: rate.peak,
        strong: read.consistency == Consistency::Strong,
        scatter: read.kind == ReadKind::ScatterGather,
        reads: (!read.attributes.is_empty()).then(|| {
            let keys: Vec<&String> = table.key_parts().map(|part| &part.name).collect();
            let filtered = read.filter.iter().flat_map(ConditionExpression::attributes).map(str::to_owned);
            let wanted = read.attributes.iter().cloned().chain(filtered);
            wanted.filter(|name| !keys.contains(&name)).collect()
        }),
        page_from: pages(read, returned).then_some(match read.order {
            Some(model::Order::Descending) => End::Last,
            Some(model::Order::Ascending) | None => End::First,
        }),
    }
}

/// Whether a read may leave results beyond its first page.
fn pages(read: &model::Read, returned: model::Returns) -> bool {
    let page = read.limit.into_iter().chain(returned.page).min();
    page.is_some_and(|page| returned.max.is_none_or(|max| max > page))
}

fn write(own: &model::Pattern, step: &model::Write, rate: Rate, entity: &model::Entity) -> Option<Write> {
    let kind = match step.kind {
        model::WriteKind::Put => WriteKind::Put,
        model::WriteKind::Delete => WriteKind::Delete,
        model::WriteKind::Update => {
            WriteKind::Update { changed: step.changed().map(str::to_owned).collect() }
        }
        model::WriteKind::Check | model::WriteKind::Get => return None,
    };
    let times = |rate: MicroPerSecond| MicroPerSecond(rate.0.saturating_mul(step.n));
    Some(Write {
        id: own.id.clone(),
        entity: step.entity.clone(),
        kind,
        rate: times(rate.average),
        peak: times(rate.peak),
        transactional: matches!(own.operation, Operation::Transact(_)),
        items: step.n,
        others: own.steps().iter().map(|other| other.n).sum::<u64>().saturating_sub(step.n),
        knows: knows(own, step, entity),
    })
}
