//! Makes a model of a draft.
//!
//! Parts that a draft cannot hold (counts, rates, patterns)
//! stay empty; `sidecar` takes them from an earlier model.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::TableClass;
use keywright_semantics::schema;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::draft::{Draft, DraftTable};
use super::infer::{Entity as Inferred, key_value_type, says_type};
use keywright_model::item_json::write_item;

use super::live::unknown_entity;
use super::of_model::CLOUDFORMATION_EXTENSION;
use super::sample_counts::correct_counts;
use keywright_model::tables::{self, AutoScaling, TableDefinition};
use keywright_model::{
    At, Attribute, AutoScale, DataSource, DeclaredCapacity, Entity, Index, KeyAttribute, Model, Node, Part,
    RawItems, Slot, TARGET_PERCENT, Table, Template,
};

/// A model and notes about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The model, as a file of it would be read.
    pub model: Model,
    /// A sentence for each choice that its author should look at.
    pub notes: Vec<String>,
}

/// Makes a model of a draft.
pub fn to_model(draft: &Draft) -> Made {
    let mut maker = Maker::default();
    for table in &draft.tables {
        maker.table(table);
    }
    let text = Some(draft.description.clone()).filter(|text| !text.is_empty());
    let data = DataSource { items: maker.items, ..DataSource::default() };
    let mut model = Model {
        name: draft.name.clone(),
        text,
        tables: maker.tables,
        entities: maker.entities,
        data,
        extensions: extensions(draft),
        ..Model::default()
    };
    correct_counts(&mut model, draft);
    let is_stored = |table: &str| model.table(table).is_some();
    assert!(model.entities.iter().all(|entity| is_stored(&entity.table)), "an entity has its table");
    assert!(model.data.items.iter().all(|items| is_stored(&items.table)), "items have their table");
    Made { model, notes: maker.notes }
}

/// Template settings that a model has no field for, by table.
fn extensions(draft: &Draft) -> Vec<(String, Node)> {
    let tables: Vec<(String, Node)> = draft
        .tables
        .iter()
        .map(|table| (&table.definition, table.definition.policies.named().collect::<Vec<_>>()))
        .filter(|(_, policies)| !policies.is_empty())
        .map(|(definition, policies)| {
            let policies = policies.into_iter().map(|(name, policy)| (name.to_owned(), Node::text(policy)));
            (definition.name.clone(), Node::map(policies))
        })
        .collect();
    if tables.is_empty() {
        return Vec::new();
    }
    vec![(CLOUDFORMATION_EXTENSION.to_owned(), Node::map(tables))]
}

/// The known number of an entity's items.
#[derive(Clone, Copy, Default)]
struct Share {
    count: Option<u64>,
    size_bytes: Option<u64>,
}

#[derive(Default)]
struct Maker {
    tables: Vec<Table>,
    entities: Vec<Entity>,
    items: Vec<RawItems>,
    notes: Vec<String>,
}

impl Maker {
    fn table(&mut self, draft: &DraftTable) {
        let definition = &draft.definition;
        let Some(partition) = definition.schema.key.partition.first() else {
            self.notes.push(format!("{}: left out, it has no partition key", definition.name));
            return;
        };
        let billing = self.billing(definition);
        self.tables.push(Table {
            name: definition.name.clone(),
            at: At::default(),
            text: None,
            partition: partition.clone(),
            sort: definition.schema.key.sort.first().cloned(),
            billing,
            ttl: definition.ttl.clone(),
            stream: definition.stream,
            pitr: definition.point_in_time_recovery.then_some(true),
            deletion_protection: definition.deletion_protection.then_some(true),
            infrequent_access: definition.class == Some(TableClass::StandardInfrequentAccess),
            replicas: definition.replicas.clone(),
            indexes: definition.schema.indexes.iter().map(index).collect(),
        });
        let raw = self.raw_entity(draft);
        let draft = raw.as_ref().unwrap_or(draft);
        let shares = self.shares(draft);
        assert_eq!(shares.len(), draft.entities.len(), "each entity has its share of the items");
        for (inferred, share) in draft.entities.iter().zip(shares) {
            let mut entity =
                Entity { count: share.count, size_bytes: share.size_bytes, ..self.entity(inferred, draft) };
            list_types(&mut entity, inferred, draft);
            self.entities.push(entity);
        }
        self.note_guesses(draft);
        self.note_types(draft);
        self.keep_unused_keys(draft);
        if !draft.items.is_empty() {
            let order: Vec<String> = definition.key_attributes().iter().map(|key| key.name.clone()).collect();
            let items = draft.items.iter().map(|item| Node::from(&write_item(item, &order))).collect();
            self.items.push(RawItems { at: At::default(), table: definition.name.clone(), items });
        }
    }

    /// The table with one entity of raw keys, if nothing shows which entities it holds.
    fn raw_entity(&mut self, draft: &DraftTable) -> Option<DraftTable> {
        if !draft.entities.is_empty() {
            return None;
        }
        let entity = unknown_entity(&draft.definition);
        self.notes.push(format!(
            "{}: neither items nor templates say which entities it holds; {} has the raw key attributes: write its key templates and attributes, one entity for each kind of item",
            draft.definition.name, entity.name
        ));
        Some(DraftTable { entities: vec![entity], ..draft.clone() })
    }

    /// Gives key attributes without a template their own value as template.
    fn fill_key(&mut self, slot: &mut Slot, name: &str, draft: &DraftTable) {
        let keys: Vec<&str> = draft.key_names();
        let known = |slot: &Slot, key: &str| slot.templates.iter().any(|(own, _)| own == key);
        let missing: Vec<&str> = keys.iter().copied().filter(|key| !known(slot, key)).collect();
        if missing.is_empty() {
            return;
        }
        self.notes.push(format!(
            "{}.{name}: neither items nor templates say what its {} is; the model keeps the raw attribute: write the key's template",
            draft.definition.name,
            missing.join(" and ")
        ));
        let raw = |key: &str| {
            let parts = vec![Part::Attribute { name: key.to_owned(), pad: None }];
            (key.to_owned(), Template { parts })
        };
        slot.templates.extend(missing.into_iter().map(raw));
        slot.templates.sort_by_key(|(own, _)| keys.iter().position(|key| key == own));
        assert!(keys.iter().all(|key| known(slot, key)), "each attribute of a key has a template");
    }

    /// The number of items of each entity: the count of the description, divided as in the sample.
    fn shares(&mut self, draft: &DraftTable) -> Vec<Share> {
        let name = &draft.definition.name;
        let unknown = vec![Share::default(); draft.entities.len()];
        let Some(measured) = draft.measured.filter(|measured| measured.items > 0) else { return unknown };
        let sizes = |bytes: u64, items: u64| bytes.checked_div(items).filter(|size| *size > 0);
        if let [only] = draft.entities.as_slice() {
            self.notes.push(format!(
                "{name}: count and size of {} are those of the table, which the service counts every six hours or so",
                only.name
            ));
            return vec![Share {
                count: Some(measured.items),
                size_bytes: sizes(measured.bytes, measured.items),
            }];
        }
        let members = |entity: &Inferred| u64::try_from(entity.members.len()).unwrap_or(u64::MAX);
        let sampled: u64 = draft.entities.iter().map(members).sum();
        if sampled == 0 {
            return unknown;
        }
        self.notes.push(format!(
            "{name}: the table has {} items; each entity's `count` is its share of the {sampled} sampled items: correct it where you know better",
            measured.items
        ));
        // A key without variables has only one value.
        let single = |entity: &Inferred| {
            let mut keys = draft.definition.schema.key.attributes();
            keys.all(|key| entity.template(&key.name).is_some_and(Template::is_constant))
        };
        let share = |entity: &Inferred| {
            let product = u128::from(measured.items) * u128::from(members(entity));
            let rounded = (product + u128::from(sampled / 2)) / u128::from(sampled);
            let own =
                entity.members.iter().filter_map(|at| draft.items.get(*at)).map(item_bytes).sum::<usize>();
            Share {
                count: if single(entity) { Some(1) } else { u64::try_from(rounded).ok() },
                size_bytes: sizes(u64::try_from(own).unwrap_or(u64::MAX), members(entity)),
            }
        };
        draft.entities.iter().map(share).collect()
    }

    /// Notes which templates were inferred, so that readers do not take them for contents of the file.
    fn note_guesses(&mut self, draft: &DraftTable) {
        let guessed: Vec<&Inferred> = draft.entities.iter().filter(|entity| entity.guessed).collect();
        if !guessed.is_empty() {
            let names: Vec<&str> = guessed.iter().map(|entity| entity.name.as_str()).collect();
            let items: usize = guessed.iter().map(|entity| entity.members.len()).sum();
            self.notes.push(format!(
                "{}: key templates of {} are inferred from {items} {}: review them",
                draft.definition.name,
                names.join(", "),
                if items == 1 { "item" } else { "items" }
            ));
        }
        let doubts = draft.entities.iter().flat_map(|entity| &entity.doubts);
        self.notes.extend(doubts.map(|doubt| format!("{}.{doubt}", draft.definition.name)));
    }

    /// A model has only one type for an attribute; several types are noted.
    fn note_types(&mut self, draft: &DraftTable) {
        for entity in &draft.entities {
            for attribute in entity.attributes.iter().filter(|attribute| attribute.stored) {
                let values =
                    entity.members.iter().filter_map(|at| draft.items.get(*at)?.get(&attribute.name));
                let mut types: BTreeMap<&str, usize> = BTreeMap::new();
                for value in values.map(AttributeValue::value_type).filter(|known| *known != ValueType::Null)
                {
                    *types.entry(value.name()).or_default() += 1;
                }
                if types.len() > 1 {
                    let types: Vec<String> =
                        types.iter().map(|(name, items)| format!("{name} in {items}")).collect();
                    self.notes.push(format!(
                        "{}.{}: {} has type {} of the items; the model says {}",
                        draft.definition.name,
                        entity.name,
                        attribute.name,
                        types.join(" and "),
                        attribute.value_type.name()
                    ));
                }
            }
        }
    }

    /// Adds the key attributes of an index without items to the first entity of the table: the model needs
    /// their types.
    fn keep_unused_keys(&mut self, draft: &DraftTable) {
        let definition = &draft.definition;
        let own = draft.key_names();
        for key in definition.key_attributes().into_iter().filter(|key| !own.contains(&key.name.as_str())) {
            let mut entities =
                self.entities.iter_mut().filter(|entity| entity.table == definition.name).peekable();
            let known = |entity: &Entity| entity.template(&key.name).is_some();
            let Some(first) = entities.peek().map(|entity| entity.name.clone()) else { return };
            if entities.any(|entity| known(entity)) {
                continue;
            }
            self.notes.push(format!(
                "{}: no sampled item has the index key {}; it is added to {first} with `present: 0`",
                definition.name, key.name
            ));
            if let Some(entity) = self.entities.iter_mut().find(|entity| entity.name == first) {
                entity.attributes.push(Attribute {
                    name: key.name.clone(),
                    at: At::default(),
                    value_type: key_value_type(key.key_type),
                    size_bytes: None,
                    distinct: None,
                    values: Vec::new(),
                    format: None,
                    copy_of: None,
                    present_ppm: Some(0),
                });
            }
        }
    }

    fn billing(&mut self, definition: &TableDefinition) -> DeclaredCapacity {
        let tables::Capacity::Provisioned(capacity) = &definition.billing else {
            return DeclaredCapacity::OnDemand;
        };
        let own = capacity.indexes.values().any(|units| *units != capacity.table);
        let scaling = capacity.autoscaling;
        if let Some(AutoScaling { read: Some(read), write: Some(write) }) = scaling
            && read != write
        {
            self.notes.push(format!(
                "{}: reads and writes scale differently; the model has one range for both",
                definition.name
            ));
        }
        let alone = match scaling {
            Some(AutoScaling { read: Some(_), write: None }) => Some(("reads", "writes")),
            Some(AutoScaling { read: None, write: Some(_) }) => Some(("writes", "reads")),
            _ => None,
        };
        if let Some((scaled, fixed)) = alone {
            self.notes.push(format!(
                "{}: only {scaled} scale; the model has one range for both, so its {fixed} scale too",
                definition.name
            ));
        }
        let autoscale = scaling.and_then(AutoScaling::together).map(|scaling| AutoScale {
            min: scaling.units_min,
            max: scaling.units_max,
            target_percent: scaling.target_percent,
        });
        let autoscale = autoscale.or_else(|| self.scaled_for_replicas(definition, capacity.table.write));
        if own {
            self.notes.push(format!(
                "{}: indexes with capacity of their own are given that of the table",
                definition.name
            ));
        }
        DeclaredCapacity::Provisioned {
            read_units: capacity.table.read,
            write_units: capacity.table.write,
            autoscale,
        }
    }

    /// Scaling for a table with replicas that does not define
    /// it: from its current capacity to the same maximum.
    fn scaled_for_replicas(&mut self, definition: &TableDefinition, units: u64) -> Option<AutoScale> {
        if definition.replicas.is_empty() {
            return None;
        }
        self.notes.push(format!(
            "{}: replicas need auto scaling; it is written from {units} to {units}: correct `autoscale`",
            definition.name
        ));
        Some(AutoScale { min: units, max: units, target_percent: TARGET_PERCENT })
    }

    fn entity(&mut self, inferred: &Inferred, draft: &DraftTable) -> Entity {
        let schema = &draft.definition.schema;
        let mut key = slot(inferred, schema.key.attributes());
        self.fill_key(&mut key, &inferred.name, draft);
        let mut attributes: Vec<Attribute> = inferred
            .attributes
            .iter()
            .map(|known| attribute(&known.name, known.value_type, inferred, draft))
            .collect();
        let mut slots = Vec::new();
        for index in &schema.indexes {
            let template = |key: &KeyAttribute| inferred.template(&key.name);
            let own =
                |key: &KeyAttribute| template(key).is_none_or(|own| own.whole() == Some(key.name.as_str()));
            if index.key.attributes().all(|key| template(key).is_some()) {
                if !index.key.attributes().all(own) {
                    slots.push((index.name.clone(), slot(inferred, index.key.attributes())));
                }
                continue;
            }
            // Items with part of an index's key are not in the
            // index; there the key attribute is a plain attribute.
            for key in index.key.attributes().filter(|key| template(key).is_some()) {
                let known = attributes.iter().any(|attribute| attribute.name == key.name);
                if !known && !schema.key.contains(&key.name) {
                    attributes.push(attribute(&key.name, key_value_type(key.key_type), inferred, draft));
                }
            }
        }
        let slots_and_key = || slots.iter().map(|(_, slot)| slot).chain(std::iter::once(&key));
        let named: Vec<String> = slots_and_key()
            .flat_map(|slot| &slot.templates)
            .flat_map(|(_, template)| template.attributes().map(str::to_owned))
            .collect();
        // Variables of templates that no slot uses fill nothing.
        let stored =
            |name: &str| !inferred.attributes.iter().any(|known| known.name == name && !known.stored);
        attributes.retain(|attribute| stored(&attribute.name) || named.contains(&attribute.name));
        for name in named {
            if !attributes.iter().any(|attribute| attribute.name == name) {
                let own = schema.key.attributes().find(|key| key.name == name);
                let value_type = own.map_or(ValueType::S, |key| key_value_type(key.key_type));
                attributes.push(attribute(&name, value_type, inferred, draft));
            }
        }
        Entity {
            name: self.free_name(&inferred.name, &draft.definition.name),
            at: At::default(),
            text: None,
            table: draft.definition.name.clone(),
            count: None,
            size_bytes: None,
            size_bytes_max: None,
            parents: inferred.parents.clone(),
            key,
            slots,
            attributes,
            skew: Vec::new(),
            unique: Vec::new(),
            owner: None,
            prefix: None,
        }
    }

    /// Entity names are unique across all tables.
    fn free_name(&mut self, name: &str, table: &str) -> String {
        if !self.entities.iter().any(|entity| entity.name == name) {
            return name.to_owned();
        }
        let mut longer = format!("{table}_{name}");
        while self.entities.iter().any(|entity| entity.name == longer) {
            longer.push('_');
        }
        self.notes.push(format!("{table}.{name}: called {longer}, because another table has a {name} too"));
        longer
    }
}

/// Entities with keys of one form are distinguished by an attribute: its single value is listed.
fn list_types(entity: &mut Entity, inferred: &Inferred, draft: &DraftTable) {
    let keys = |own: &Inferred| {
        let names = draft.definition.schema.key.attributes();
        names.map(|key| own.templates.get(&key.name).cloned()).collect::<Vec<_>>()
    };
    let twins = draft.entities.iter().filter(|other| keys(other) == keys(inferred)).count();
    let items: Vec<_> = inferred.members.iter().filter_map(|at| draft.items.get(*at)).collect();
    for attribute in entity.attributes.iter_mut().filter(|own| twins > 1 && says_type(&own.name)) {
        let mut values: Vec<&AttributeValue> =
            items.iter().filter_map(|item| item.get(&attribute.name)).collect();
        values.dedup();
        if let [AttributeValue::S(only)] = values.as_slice() {
            attribute.values = vec![Node::text(only)];
        }
    }
}

fn slot<'a>(inferred: &Inferred, keys: impl Iterator<Item = &'a KeyAttribute>) -> Slot {
    let templates = keys.filter_map(|key| {
        // An attribute's odd name, such as one with a brace, cannot stand in a model file.
        let template = inferred.templates.get(&key.name)?;
        Template::parse(&template.to_string()).ok().map(|template| (key.name.clone(), template))
    });
    Slot { templates: templates.collect(), at: At::default() }
}

fn attribute(name: &str, value_type: ValueType, inferred: &Inferred, draft: &DraftTable) -> Attribute {
    let items: Vec<_> = inferred.members.iter().filter_map(|at| draft.items.get(*at)).collect();
    let is_stored = items.iter().any(|item| item.contains_key(name));
    // A variable that only keys show is present where one of these keys is.
    let shows = |(key, template): (&String, &Template), item: &Item| {
        item.contains_key(key) && template.tells().any(|own| own == name)
    };
    let has = |item: &Item| {
        if is_stored {
            item.contains_key(name)
        } else {
            inferred.templates.iter().any(|own| shows(own, item))
        }
    };
    let have = items.iter().filter(|item| has(item)).count();
    let share = (have > 0 && have < items.len()).then(|| have * 1_000_000 / items.len());
    Attribute {
        name: name.to_owned(),
        at: At::default(),
        value_type,
        size_bytes: None,
        distinct: None,
        values: Vec::new(),
        format: None,
        copy_of: None,
        present_ppm: share.and_then(|share| u64::try_from(share).ok()),
    }
}

fn index(index: &schema::IndexSchema) -> Index {
    Index {
        name: index.name.clone(),
        at: At::default(),
        kind: index.kind,
        partition: index.key.partition.clone(),
        sort: index.key.sort.clone(),
        projection: index.projection.clone(),
    }
}
