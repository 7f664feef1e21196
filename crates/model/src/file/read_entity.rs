//! Reads the entities of a model file.

use keywright_semantics::share::ALL_PPM;
use keywright_semantics::value::ValueType;

use super::ast::{Attribute, AttributeFormat, Entity, Skew, Slot};
use super::fault::At;
use super::read::{Fields, Reader, scaled};
use super::yaml::{Node, NodeKind};
use crate::template::Template;

/// The fields of an entity; every other field is the name of an index.
pub(super) const ENTITY_FIELDS: &[&str] = &[
    "text", "table", "count", "size", "maxSize", "parent", "key", "attrs", "skew", "unique", "owner",
    "prefix",
];
pub(super) const ATTRIBUTE_FIELDS: &[&str] =
    &["type", "size", "distinct", "values", "format", "copyOf", "present", "text"];

pub(super) const FORMATS: &[(&str, AttributeFormat)] = &[
    ("iso8601", AttributeFormat::Iso8601),
    ("date", AttributeFormat::Date),
    ("epoch-seconds", AttributeFormat::EpochSeconds),
    ("epoch-ms", AttributeFormat::EpochMs),
    ("uuid", AttributeFormat::Uuid),
    ("ulid", AttributeFormat::Ulid),
    ("sequence", AttributeFormat::Sequence),
    ("email", AttributeFormat::Email),
    ("local-time", AttributeFormat::LocalTime),
];

/// The largest size of a number in bytes: 38 digits in pairs,
/// exponent and sign (developer guide: `CapacityUnitCalculations`).
const NUMBER_BYTES_MAX: u64 = 21;
/// Bytes of a key prefix: every item of the entity stores it.
const PREFIX_BYTES_MAX: usize = 40;
/// More items than a table can have: at the smallest item size they would be a hundred petabytes.
const COUNT_MAX: u64 = 1_000_000_000_000_000;
const PARTS_DECIMALS: usize = 6;
const MILLI_DECIMALS: usize = 3;
pub(super) fn entity(reader: &mut Reader, name: &str, at: At, node: &Node) -> Option<Entity> {
    let NodeKind::Map(members) = &node.kind else {
        reader.fault(
            node.at,
            format!("entity `{name}` is {} here: write a mapping, `name: …`", node.description()),
        );
        return None;
    };
    // Other fields name indexes; whether the index exists is known once all tables are read.
    let slots = members
        .iter()
        .filter_map(|(key, node)| key.scalar().map(|field| (field, key.at, node)))
        .filter(|(field, _, _)| !ENTITY_FIELDS.contains(&field.as_str()) && !field.starts_with("x-"))
        .map(|(field, at, node)| (field, slot(reader, at, node)))
        .collect();
    let own: Vec<&str> = members
        .iter()
        .filter_map(|(key, _)| match &key.kind {
            NodeKind::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .chain(ENTITY_FIELDS.iter().copied())
        .collect();
    let fields = reader.fields(node, "an entity", &own)?;
    reader.mark(at, &fields, &["table", "parent", "skew", "unique", "owner", "prefix"]);
    let size_bytes = reader.optional_integer(&fields, "size");
    let size_bytes_max = reader.optional_integer(&fields, "maxSize");
    if let Some((size, largest)) = size_bytes.zip(size_bytes_max).filter(|(size, largest)| largest < size) {
        let text = format!(
            "`maxSize: {largest}` is below the average, `size: {size}`: write the size of the largest item, or leave it out"
        );
        reader.fault(fields.at("maxSize"), text);
    }
    let attributes = fields.get("attrs").map(|node| attributes(reader, node)).unwrap_or_default();
    Some(Entity {
        name: name.to_owned(),
        at,
        text: reader.optional_text(&fields, "text"),
        table: reader.optional_text(&fields, "table").unwrap_or_default(),
        count: count(reader, &fields),
        size_bytes,
        size_bytes_max,
        parents: reader.optional_texts(&fields, "parent"),
        key: fields.get("key").map(|node| slot(reader, node.at, node)).unwrap_or_default(),
        slots,
        attributes,
        skew: fields.get("skew").map(|node| skews(reader, node)).unwrap_or_default(),
        unique: fields.get("unique").map(|node| unique(reader, node)).unwrap_or_default(),
        owner: reader.optional_text(&fields, "owner"),
        prefix: prefix(reader, &fields),
    })
}

fn prefix(reader: &mut Reader, fields: &Fields<'_>) -> Option<String> {
    let prefix = reader.optional_text(fields, "prefix")?;
    let fits = (1..=PREFIX_BYTES_MAX).contains(&prefix.len())
        && !prefix.contains(|letter: char| matches!(letter, '#' | '{' | '}') || letter.is_control());
    if !fits {
        let text = format!(
            "`prefix: {prefix}` cannot begin a key: write 1 to {PREFIX_BYTES_MAX} bytes without `#`, `{{` and `}}`, \
             such as ORDER"
        );
        reader.fault(fields.at("prefix"), text);
    }
    Some(prefix)
}

fn count(reader: &mut Reader, fields: &Fields<'_>) -> Option<u64> {
    let count = reader.optional_integer(fields, "count")?;
    if count > COUNT_MAX {
        let text = format!("`count` is {count} here: write how many items there are, at most {COUNT_MAX}");
        reader.fault(fields.at("count"), text);
    }
    Some(count)
}

fn slot(reader: &mut Reader, at: At, node: &Node) -> Slot {
    let mut templates = Vec::new();
    for (name, node) in reader.members(node, "the templates of a key") {
        let texts = reader.texts(node, "a template");
        let many = texts.len() > 1;
        for (place, text) in texts.iter().enumerate() {
            match Template::parse(text) {
                // Several templates under one role give the attributes of a multi-attribute key, in order.
                Ok(template) if many => templates.push((format!("{name}.{place}"), template)),
                Ok(template) => templates.push((name.to_owned(), template)),
                Err(fault) => {
                    reader.fault(node.at, fault);
                    templates.push((name.to_owned(), Template { parts: Vec::new() }));
                }
            }
        }
    }
    Slot { templates, at }
}

/// Replaces the roles `pk` and `sk` by the names of the key's attributes.
pub(super) fn name_slot(reader: &mut Reader, slot: &mut Slot, partition: &[&str], sort: &[&str]) {
    for (name, _) in &mut slot.templates {
        if partition.contains(&name.as_str()) || sort.contains(&name.as_str()) {
            continue;
        }
        let (role, place) = name
            .split_once('.')
            .map_or((name.as_str(), 0), |(role, place)| (role, place.parse().unwrap_or(0)));
        let own = match role {
            "pk" => partition.get(place),
            "sk" => sort.get(place),
            _ => None,
        };
        if let Some(attribute) = own {
            (*attribute).clone_into(name);
        } else {
            let known: Vec<&str> = partition.iter().chain(sort).copied().collect();
            let text = format!("the key has no attribute `{name}`; it has {}", known.join(", "));
            reader.fault(slot.at, text);
        }
    }
    let order = |name: &str| partition.iter().chain(sort).position(|own| *own == name);
    slot.templates.sort_by_key(|(name, _)| order(name));
}

fn attributes(reader: &mut Reader, node: &Node) -> Vec<Attribute> {
    let NodeKind::Map(members) = &node.kind else {
        let _ = reader.members(node, "`attrs`");
        return Vec::new();
    };
    members
        .iter()
        .filter_map(|(key, node)| attribute(reader, &key.scalar().unwrap_or_default(), key.at, node))
        .collect()
}

fn attribute(reader: &mut Reader, name: &str, at: At, node: &Node) -> Option<Attribute> {
    let mut attribute = Attribute {
        name: name.to_owned(),
        at,
        value_type: ValueType::S,
        size_bytes: None,
        distinct: None,
        values: Vec::new(),
        format: None,
        copy_of: None,
        present_ppm: None,
    };
    if node.scalar().is_some() {
        attribute.value_type = value_type(reader, node)?;
        return Some(attribute);
    }
    let fields = reader.fields(node, "an attribute", ATTRIBUTE_FIELDS)?;
    if let Some(node) = fields.get("type") {
        attribute.value_type = value_type(reader, node)?;
    }
    attribute.size_bytes = reader.optional_integer(&fields, "size");
    let fixed = match attribute.value_type {
        ValueType::N => Some((NUMBER_BYTES_MAX, "a number takes one byte for two digits and one more")),
        ValueType::Bool | ValueType::Null => Some((1, "it takes one byte")),
        _ => None,
    };
    if let Some((most, why)) = fixed
        && attribute.size_bytes.is_some_and(|size| size > most)
    {
        let kind = attribute.value_type.name();
        let text = format!("`size` of `{name}`: {kind} has at most {most} bytes, as {why}; leave it out");
        reader.fault(fields.at("size"), text);
    }
    attribute.distinct = reader.optional_positive(&fields, "distinct");
    attribute.values = fields.get("values").map(|node| node.elements().to_vec()).unwrap_or_default();
    for node in &attribute.values {
        if let Err(fault) = super::value::from_node(node, attribute.value_type) {
            let text = format!("a value of `{name}`: {fault}; write such values, or another `type`");
            reader.fault(node.at, text);
        }
    }
    attribute.format = fields.get("format").and_then(|node| reader.choice(node, "`format`", FORMATS));
    attribute.copy_of = fields.get("copyOf").and_then(|node| {
        let text = reader.text(node, "`copyOf`")?;
        let pair = text.split_once('.').map(|(entity, name)| (entity.to_owned(), name.to_owned()));
        if pair.is_none() {
            reader.fault(node.at, format!("`copyOf: {text}`: write `copyOf: Entity.attribute`"));
        }
        pair
    });
    attribute.present_ppm = fields.get("present").and_then(|node| {
        let share = reader.decimal(node, "`present`", PARTS_DECIMALS)?;
        if share > ALL_PPM {
            reader.fault(node.at, "`present` is a share of the items: from 0 to 1");
        }
        Some(share)
    });
    Some(attribute)
}

fn value_type(reader: &mut Reader, node: &Node) -> Option<ValueType> {
    let types: Vec<(&str, ValueType)> = ValueType::ALL.iter().map(|value| (value.name(), *value)).collect();
    reader.choice(node, "an attribute's type", &types)
}

fn skews(reader: &mut Reader, node: &Node) -> Vec<(String, Skew)> {
    let members = reader.members(node, "`skew`");
    members
        .into_iter()
        .filter_map(|(name, node)| {
            let text = reader.text(node, "a skew")?;
            let skew = skew(&text);
            if skew.is_none() {
                let text = format!("`{text}` is no skew: write `zipf(1.1)`, `hottest(0.25)` or `uniform`");
                reader.fault(node.at, text);
            }
            Some((name.to_owned(), skew?))
        })
        .collect()
}

fn skew(text: &str) -> Option<Skew> {
    let argument = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if text == "uniform" {
        return Some(Skew::Uniform);
    }
    if let Some(exponent) = argument("zipf") {
        return Some(Skew::Zipf { exponent_milli: scaled(exponent, MILLI_DECIMALS)? });
    }
    let share_ppm = scaled(argument("hottest")?, PARTS_DECIMALS).filter(|share| *share <= ALL_PPM)?;
    Some(Skew::Hottest { share_ppm })
}

/// `unique: email` or `unique: [email, [tenant, name]]`.
fn unique(reader: &mut Reader, node: &Node) -> Vec<Vec<String>> {
    node.elements().iter().map(|element| reader.texts(element, "a unique attribute")).collect()
}
