//! Reads the tables of a model file.

use keywright_semantics::limits::INDEX_KEY_ATTRIBUTES_MAX;
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::ValueType;

use super::ast::{
    AutoScale, DeclaredCapacity, Index, IndexKind, KeyAttribute, Projection, StreamView, Table,
};
use super::fault::At;
use super::read::Reader;
use super::yaml::{Node, NodeKind};

pub(super) const TABLE_FIELDS: &[&str] = &[
    "text",
    "key",
    "billing",
    "ttl",
    "stream",
    "pitr",
    "deletionProtection",
    "class",
    "replicas",
    "indexes",
];
pub(super) const INDEX_FIELDS: &[&str] = &["pk", "sk", "project", "local", "text"];
pub(super) const BILLING_FIELDS: &[&str] = &["provisioned"];
pub(super) const PROVISIONED_FIELDS: &[&str] = &["rcu", "wcu", "autoscale"];
pub(super) const AUTOSCALE_FIELDS: &[&str] = &["min", "max", "target"];

/// The default target utilisation of automatic scaling (developer guide: `AutoScaling`).
pub const TARGET_PERCENT: u64 = 70;
/// The range of the target utilisation (developer guide: `AutoScaling`).
const TARGET_PERCENTS: std::ops::RangeInclusive<u64> = 20..=90;

pub(super) const STREAMS: &[(&str, Option<StreamView>)] = &[
    ("keys-only", Some(StreamView::KeysOnly)),
    ("new", Some(StreamView::NewImage)),
    ("old", Some(StreamView::OldImage)),
    ("new-and-old", Some(StreamView::NewAndOldImages)),
    ("none", None),
];
const KEY_TYPES: &[(&str, KeyType)] = &[("S", KeyType::S), ("N", KeyType::N), ("B", KeyType::B)];

/// Refusal of replicas on fixed write units: "Table write capacity should either be Pay-Per-Request or `AutoScaled`"
/// (developer guide: global tables, requirements for managing capacity).
const FIXED_REPLICAS: &str = "replicas need on-demand billing or auto scaling: write `billing: on-demand`, or add `autoscale: {max: 100}`";

/// The type as a key attribute's type, if keys can have it.
pub(super) fn key_type(value_type: ValueType) -> Option<KeyType> {
    match value_type {
        ValueType::S => Some(KeyType::S),
        ValueType::N => Some(KeyType::N),
        ValueType::B => Some(KeyType::B),
        _ => None,
    }
}

pub(super) fn table(reader: &mut Reader, name: &str, at: At, node: &Node) -> Option<Table> {
    let fields = reader.fields(node, "a table", TABLE_FIELDS)?;
    let mut key = key(reader, fields.get("key"), at, name).into_iter();
    let partition = key.next()?;
    let replicas = fields.get("replicas").map(|node| replicas(reader, node)).unwrap_or_default();
    let class = fields
        .get("class")
        .and_then(|node| reader.choice(node, "`class`", &[("standard", false), ("infrequent-access", true)]));
    let stream = fields.get("stream").and_then(|node| reader.choice(node, "`stream`", STREAMS));
    if let (Some(declared), Some(node)) = (stream, fields.get("stream"))
        && declared != Some(StreamView::NewAndOldImages)
        && !replicas.is_empty()
    {
        let text = "replicas need a stream of new and old images: write `stream: new-and-old`";
        reader.fault(node.at, text.to_owned());
    }
    let capacity = fields.get("billing").map(|node| billing(reader, node)).unwrap_or_default();
    if let (DeclaredCapacity::Provisioned { autoscale: None, .. }, Some(node)) =
        (&capacity, fields.get("billing"))
        && !replicas.is_empty()
    {
        reader.fault(node.at, FIXED_REPLICAS.to_owned());
    }
    let mut table = Table {
        name: name.to_owned(),
        at,
        text: reader.optional_text(&fields, "text"),
        partition,
        sort: key.next(),
        billing: capacity,
        ttl: reader.optional_text(&fields, "ttl"),
        stream: stream.flatten(),
        pitr: reader.optional_bool(&fields, "pitr"),
        deletion_protection: reader.optional_bool(&fields, "deletionProtection"),
        infrequent_access: class.unwrap_or_default(),
        replicas,
        indexes: Vec::new(),
    };
    if let Some(NodeKind::Map(members)) = fields.get("indexes").map(|node| &node.kind) {
        for (key, node) in members {
            let name = key.scalar().unwrap_or_default();
            match index(reader, &table, &name, key.at, node) {
                Some(index) => table.indexes.push(index),
                None => reader.broke(&name),
            }
        }
    } else if let Some(node) = fields.get("indexes") {
        let _ = reader.members(node, "`indexes`");
    }
    Some(table)
}

/// The regions of a global table without the table's own region, each once.
fn replicas(reader: &mut Reader, node: &Node) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for element in node.elements() {
        let Some(region) = reader.text(element, "a replica") else { continue };
        if !is_region(&region) {
            let text = format!("`{region}` is no region: write one such as `replicas: [eu-west-1]`");
            reader.fault(element.at, text);
        } else if known.contains(&region) {
            reader
                .fault(element.at, format!("a second replica in `{region}`: a region has one; leave it out"));
        }
        known.push(region);
    }
    known
}

/// Whether a name has the form of a region name: `eu-west-1`, `us-gov-east-1`.
fn is_region(name: &str) -> bool {
    let mut parts = name.split('-');
    let area = parts.next().is_some_and(|area| area.len() >= 2 && is_lower(area));
    let number = parts
        .next_back()
        .is_some_and(|last| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()));
    let places: Vec<&str> = parts.collect();
    area && number && !places.is_empty() && places.into_iter().all(is_lower)
}

fn is_lower(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn key(reader: &mut Reader, node: Option<&Node>, at: At, table: &str) -> Vec<KeyAttribute> {
    let Some(node) = node else {
        reader.fault(at, format!("table `{table}` has no key: write `key: {{pk: S, sk: S}}`"));
        return Vec::new();
    };
    let parts: Vec<KeyAttribute> = reader
        .members(node, "`key`")
        .into_iter()
        .filter_map(|(name, node)| {
            let key_type = reader.choice(node, "the type of a key attribute", KEY_TYPES)?;
            Some(KeyAttribute { name: name.to_owned(), key_type })
        })
        .collect();
    if parts.is_empty() || parts.len() > 2 {
        let text = "a table's key is one or two attributes, the partition key first: `key: {pk: S, sk: S}`";
        reader.fault(node.at, text);
        return Vec::new();
    }
    parts
}

fn billing(reader: &mut Reader, node: &Node) -> DeclaredCapacity {
    if node.scalar().as_deref() == Some("on-demand") {
        return DeclaredCapacity::OnDemand;
    }
    if node.scalar().is_some() {
        reader.fault(node.at, "`billing` is `on-demand` or `{provisioned: {rcu: …, wcu: …}}`");
        return DeclaredCapacity::OnDemand;
    }
    let provisioned = reader
        .fields(node, "`billing`", BILLING_FIELDS)
        .and_then(|fields| fields.get("provisioned"))
        .and_then(|node| reader.fields(node, "`provisioned`", PROVISIONED_FIELDS));
    let Some(fields) = provisioned else { return DeclaredCapacity::OnDemand };
    DeclaredCapacity::Provisioned {
        read_units: reader.optional_positive(&fields, "rcu").unwrap_or(1),
        write_units: reader.optional_positive(&fields, "wcu").unwrap_or(1),
        autoscale: fields.get("autoscale").and_then(|node| autoscale(reader, node)),
    }
}

fn autoscale(reader: &mut Reader, node: &Node) -> Option<AutoScale> {
    let fields = reader.fields(node, "`autoscale`", AUTOSCALE_FIELDS)?;
    if fields.get("max").is_none() {
        reader.fault(node.at, "`autoscale` has no upper bound: write `max: 100`");
    }
    let scale = AutoScale {
        min: reader.optional_positive(&fields, "min").unwrap_or(1),
        max: reader.optional_integer(&fields, "max").unwrap_or(u64::MAX),
        target_percent: reader.optional_integer(&fields, "target").unwrap_or(TARGET_PERCENT),
    };
    if !TARGET_PERCENTS.contains(&scale.target_percent) {
        let text = format!(
            "`target: {}`: auto scaling aims at 20 to 90 percent; write `target: {TARGET_PERCENT}`",
            scale.target_percent
        );
        reader.fault(fields.at("target"), text);
    }
    if scale.min > scale.max {
        reader.fault(fields.at("min"), "`min` is above `max`");
    }
    Some(scale)
}

fn index(reader: &mut Reader, table: &Table, name: &str, at: At, node: &Node) -> Option<Index> {
    let fields = reader.fields(node, "an index", INDEX_FIELDS)?;
    let local = reader.optional_bool(&fields, "local").unwrap_or_default();
    let parts = |names: Vec<String>| -> Vec<KeyAttribute> {
        names.into_iter().map(|name| KeyAttribute { name, key_type: KeyType::S }).collect()
    };
    let mut partition = parts(reader.optional_texts(&fields, "pk"));
    let sort = parts(reader.optional_texts(&fields, "sk"));
    if local && partition.is_empty() {
        partition.push(table.partition.clone());
    }
    if partition.is_empty() {
        reader.fault(at, format!("index `{name}` has no partition key: write `pk: attribute`"));
        return None;
    }
    for (what, parts) in [("pk", &partition), ("sk", &sort)] {
        if parts.len() > INDEX_KEY_ATTRIBUTES_MAX {
            let text = format!("`{what}` takes at most {INDEX_KEY_ATTRIBUTES_MAX} attributes");
            reader.fault(fields.at(what), text);
        }
    }
    let same =
        partition.first().is_some_and(|part| part.name == table.partition.name) && partition.len() == 1;
    if local && (!same || sort.len() != 1) {
        let text = format!(
            "local index `{name}` has the table's partition key and one sort key: write `{{local: true, sk: attribute}}`"
        );
        reader.fault(at, text);
    }
    let kind = if local { IndexKind::Local } else { IndexKind::Global };
    let projection = fields.get("project").map(|node| projection(reader, node)).unwrap_or_default();
    Some(Index { name: name.to_owned(), at, kind, partition, sort, projection })
}

fn projection(reader: &mut Reader, node: &Node) -> Projection {
    if let NodeKind::List(_) = node.kind {
        return Projection::Include(reader.texts(node, "a projected attribute").into_iter().collect());
    }
    reader.choice(node, "`project`", &[("all", ()), ("keys", ())]);
    if node.scalar().as_deref() == Some("keys") { Projection::KeysOnly } else { Projection::All }
}
