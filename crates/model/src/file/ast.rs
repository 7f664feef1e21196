//! The contents of a model: tables, entities, access patterns, data. Plain data; everything that a message
//! can refer to has its position in the file.
//!
//! Invariants that `parse` keeps and other constructors of models must keep as well: names are unique within
//! their kind; every entity, attribute, table and index that is referred to exists; every entity names its
//! table, even when the file leaves it out.

use std::fmt;

use std::collections::BTreeSet;

pub use keywright_semantics::capacity::HalfUnits;
pub use keywright_semantics::schema::{IndexKind, KeyAttribute, KeyType, Projection, StreamView};
use keywright_semantics::value::ValueType;

use super::fault::At;
use super::yaml::Node;
use crate::expression::{ConditionExpression, Effect, Section};
use crate::template::Template;

/// A whole model file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The model's name: a word, used for files that are made of the model.
    pub name: String,
    /// A sentence for readers.
    pub text: Option<String>,
    /// The price file, such as `us-east-1@2026-08`.
    pub prices: Option<String>,
    /// In the file's order.
    pub tables: Vec<Table>,
    /// In the file's order; names are unique.
    pub entities: Vec<Entity>,
    /// In the file's order; ids are unique.
    pub patterns: Vec<Pattern>,
    /// Where its items come from.
    pub data: DataSource,
    /// `x-*` fields of the file's top level.
    pub extensions: Vec<(String, Node)>,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// As the service knows it.
    pub name: String,
    /// Its place in the file.
    pub at: At,
    /// A sentence for readers.
    pub text: Option<String>,
    /// The partition key.
    pub partition: KeyAttribute,
    /// The sort key, if the table has one.
    pub sort: Option<KeyAttribute>,
    /// On demand unless the file says otherwise.
    pub billing: DeclaredCapacity,
    /// The time-to-live attribute.
    pub ttl: Option<String>,
    /// What its stream shows; `None` without a stream.
    pub stream: Option<StreamView>,
    /// Point-in-time recovery; `None` when the file does not say.
    pub pitr: Option<bool>,
    /// Whether it cannot be deleted; `None` when the file does not say.
    pub deletion_protection: Option<bool>,
    /// Whether its class is Standard-IA.
    pub infrequent_access: bool,
    /// Replica regions, without the table's own region.
    pub replicas: Vec<String>,
    /// In the file's order.
    pub indexes: Vec<Index>,
}

/// Billing mode of a table with the capacity that the file declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeclaredCapacity {
    /// Paid by the request.
    #[default]
    OnDemand,
    /// Paid by the hour.
    Provisioned {
        /// Read units per second.
        read_units: u64,
        /// Write units per second.
        write_units: u64,
        /// How the units scale, reads and writes alike; `None` if they do not.
        autoscale: Option<AutoScale>,
    },
}

/// Bounds of automatic scaling and the target utilisation, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoScale {
    /// The least units.
    pub min: u64,
    /// The most units.
    pub max: u64,
    /// The share of the units that is to be used.
    pub target_percent: u64,
}

/// One secondary index.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Unique in its table.
    pub name: String,
    /// Its place in the file.
    pub at: At,
    /// Global or local.
    pub kind: IndexKind,
    /// One to four attributes; for a local index, the table's partition key.
    pub partition: Vec<KeyAttribute>,
    /// Up to four attributes.
    pub sort: Vec<KeyAttribute>,
    /// The attributes that its entries hold in addition to the keys.
    pub projection: Projection,
}

/// One kind of item.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Unique in the model.
    pub name: String,
    /// Its place in the file.
    pub at: At,
    /// A sentence for readers.
    pub text: Option<String>,
    /// The table that stores its items.
    pub table: String,
    /// The expected number of items; `None` when the file does not say.
    pub count: Option<u64>,
    /// Average size in bytes, when the author knows it better than the sample shows.
    pub size_bytes: Option<u64>,
    /// The largest size in bytes that an item can have.
    pub size_bytes_max: Option<u64>,
    /// Identifying parents: one for 1:N, two for M:N.
    pub parents: Vec<String>,
    /// Templates of the table's key; empty while the designer has not chosen one.
    pub key: Slot,
    /// Templates by index. An index that is missing here still contains
    /// the entity if the entity has the index's key attributes.
    pub slots: Vec<(String, Slot)>,
    /// In the file's order.
    pub attributes: Vec<Attribute>,
    /// How unevenly traffic falls on an attribute's values.
    pub skew: Vec<(String, Skew)>,
    /// Other unique keys, each a list of attributes.
    pub unique: Vec<Vec<String>>,
    /// The attribute that holds the item's owner; `None` when the file does not say.
    pub owner: Option<String>,
    /// The prefix of keys that the designer chooses for it; `None` leaves the choice to the designer.
    pub prefix: Option<String>,
}

/// The templates of one key, for each key attribute in the key's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Key attribute and its template.
    pub templates: Vec<(String, Template)>,
    /// Its place in the file.
    pub at: At,
}

/// One attribute of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Unique in its entity.
    pub name: String,
    /// Its place in the file.
    pub at: At,
    /// The type of all its values.
    pub value_type: ValueType,
    /// Average size of the value in bytes.
    pub size_bytes: Option<u64>,
    /// The number of different values.
    pub distinct: Option<u64>,
    /// The possible values, when they are few.
    pub values: Vec<Node>,
    /// How its values are written; `None` for free texts and numbers.
    pub format: Option<AttributeFormat>,
    /// The `Entity.attribute` that this attribute is a copy of.
    pub copy_of: Option<(String, String)>,
    /// Share of the items that have it, in millionths; `None` means all.
    pub present_ppm: Option<u64>,
}

/// How the values of an attribute are written, which decides their order and what is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeFormat {
    /// `2026-08-01T12:00:00.000Z`
    Iso8601,
    /// `2026-08-01`
    Date,
    /// Seconds since 1970.
    EpochSeconds,
    /// Milliseconds since 1970.
    EpochMs,
    /// A random UUID in its text form.
    Uuid,
    /// A ULID: a time and random letters.
    Ulid,
    /// A counter.
    Sequence,
    /// A mail address.
    Email,
    /// Wall-clock time without a zone.
    LocalTime,
}

impl AttributeFormat {
    /// Whether values are times or dates.
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Iso8601 | Self::Date | Self::EpochMs | Self::EpochSeconds | Self::LocalTime)
    }

    /// Whether values are generated so that no two are equal.
    pub const fn is_unique(self) -> bool {
        matches!(self, Self::Uuid | Self::Ulid)
    }
}

/// How unevenly something falls on the values of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// Evenly.
    Uniform,
    /// Zipf's law with this exponent in thousandths: `zipf(1.1)` is 1100.
    Zipf {
        /// Thousandths.
        exponent_milli: u64,
    },
    /// The hottest value takes this share, in millionths: `hottest(0.25)` is 250000.
    Hottest {
        /// Millionths.
        share_ppm: u64,
    },
}

/// How often per second, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroPerSecond(pub u64);

/// How often a pattern runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Over a month, which is billed.
    pub average: MicroPerSecond,
    /// In the busiest second, which decides heat; at least the average.
    pub peak: MicroPerSecond,
    /// Whether the author gives only the peak, which is then taken as the average too.
    pub is_peak_only: bool,
}

/// One access pattern: a read or a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Unique in the model.
    pub id: String,
    /// Its place in the file.
    pub at: At,
    /// A sentence for readers.
    pub text: Option<String>,
    /// What it asks or changes.
    pub operation: Operation,
    /// A missing rate is reported, never taken as zero.
    pub rate: Option<Rate>,
    /// How many items it returns, when the file says so.
    pub returns: Option<Returns>,
    /// The intended index, or the table's name; `None` lets the planner choose.
    pub uses: Option<String>,
    /// Values by attribute or placeholder.
    pub example: Vec<(String, Node)>,
    /// What the example must give; `None` if it only has to run.
    pub expect: Option<Expectation>,
    /// A rare job of the operators, which may scan.
    pub admin: bool,
    /// The writes whose effect it must see, because it runs right after them.
    pub after: Vec<String>,
}

/// What a pattern does.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// One read of one entity or item collection.
    Read(Read),
    /// One put, update or delete.
    Write(Write),
    /// Atomic: writes and checks, or gets.
    Transact(Vec<Write>),
    /// Several independent requests: puts and deletes, or gets.
    Batch(Vec<Write>),
}

/// A read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The operation that it should become.
    pub kind: ReadKind,
    /// The entities it returns; several for an item collection.
    pub entities: Vec<String>,
    /// What the caller knows, in the file's order.
    pub given: Vec<Given>,
    /// The direction; `None` if any will do.
    pub order: Option<Order>,
    /// The attribute that orders the result; `None` leaves the order to the key.
    pub order_by: Option<OrderBy>,
    /// A filter expression on the items read.
    pub filter: Option<ConditionExpression>,
    /// The attributes it needs; all when empty.
    pub attributes: Vec<String>,
    /// Eventual unless the file says otherwise.
    pub consistency: Consistency,
    /// The most items that the caller takes; `None` for all.
    pub limit: Option<u64>,
}

/// The way of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// One item by its whole key.
    Get,
    /// A range of one partition.
    Query,
    /// The whole table or index.
    Scan,
    /// One Query per shard of the key.
    ScatterGather,
}

/// A condition on an attribute that the caller of a read provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// An attribute of the entities.
    pub attribute: String,
    /// Its place in the file.
    pub at: At,
    /// How the attribute compares with the caller's value.
    pub op: GivenOp,
}

/// A comparison with the caller's value, as key conditions have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenOp {
    /// Equal.
    Eq,
    /// From one value to another, both included.
    Between,
    /// A text that begins so.
    BeginsWith,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// The direction of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// The attribute that orders a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// An attribute of the entities.
    pub attribute: String,
    /// Its place in the file.
    pub at: At,
}

/// What a read sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Perhaps not the latest writes, at half the units.
    #[default]
    Eventual,
    /// All writes that were acknowledged before it.
    Strong,
}

/// An average number of items, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MilliItems(pub u64);

impl MilliItems {
    const MILLI: u64 = 1000;

    /// A whole number of items.
    pub const fn of(items: u64) -> Self {
        Self(items.saturating_mul(Self::MILLI))
    }

    /// The number rounded up to whole items.
    pub const fn whole(self) -> u64 {
        self.0.div_ceil(Self::MILLI)
    }
}

impl fmt::Display for MilliItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / Self::MILLI, self.0 % Self::MILLI);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The number of items that a read returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// On average.
    pub average: Option<MilliItems>,
    /// At most.
    pub max: Option<u64>,
    /// Items per page, sent as `Limit`: no more are read at once.
    pub page: Option<u64>,
}

/// A change to one entity, or a get or check inside a transaction or batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The operation.
    pub kind: WriteKind,
    /// Its place in the file.
    pub at: At,
    /// The entity whose items it concerns.
    pub entity: String,
    /// The number of items of this entity that the step writes or reads.
    pub n: u64,
    /// What must hold of the stored item.
    pub condition: Option<Condition>,
    /// What an update changes, as `set`, `remove` and `add` say.
    pub effects: Vec<Effect>,
    /// Values by attribute or placeholder, one list element
    /// per item. The pattern's example fills what is missing.
    pub examples: Vec<Vec<(String, Node)>>,
    /// Whether the caller asks for the item after the change.
    pub returns_values: bool,
    /// The consistency of a batch's gets; all gets of a batch have the same.
    pub consistency: Consistency,
}

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// The whole item is written.
    Put,
    /// Attributes of an item are changed; the item is made if it does not exist.
    Update,
    /// The item is removed.
    Delete,
    /// Only the condition is checked; in transactions.
    Check,
    /// The item is read; in transactions and batches.
    Get,
}

/// What a write requires of the stored item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// There is no item with the key.
    NotExists,
    /// There is an item with the key.
    Exists,
    /// An expression holds.
    Expression(ConditionExpression),
}

/// The expected result of a pattern's example.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// Its place in the file.
    pub at: At,
    /// The key of each item, as texts in the order of the table's key.
    pub items: Option<Vec<Vec<String>>>,
    /// Whether no items other than `items` are allowed.
    pub exact: bool,
    /// The number of items returned.
    pub count: Option<u64>,
    /// Read units consumed, in halves.
    pub read_units: Option<HalfUnits>,
    /// Write units consumed, in halves.
    pub write_units: Option<HalfUnits>,
    /// The expected failure.
    pub fails: Option<FailsWhen>,
}

impl Expectation {
    /// Whether it expects nothing, so that any result meets it.
    pub fn is_empty(&self) -> bool {
        let Self { at: _, items, exact: _, count, read_units, write_units, fails } = self;
        items.is_none() && count.is_none() && read_units.is_none() && write_units.is_none() && fails.is_none()
    }
}

/// A change to the data that makes the pattern fail, and the expected failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FailsWhen {
    /// `Entity.attribute` and the value set before the pattern
    /// runs. Empty: the pattern fails on the data as is.
    pub when: Vec<(String, String, Node)>,
    /// One code per step (`None` for a step that does not fail). Empty: any failure.
    pub reasons: Vec<String>,
}

/// The sources of items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSource {
    /// Item files with more data, as the model names them.
    pub files: Vec<(String, At)>,
    /// Items by entity; keys are filled from templates.
    pub records: Vec<Records>,
    /// Items as they are stored, by table.
    pub items: Vec<RawItems>,
    /// Items generated in addition to the others.
    pub generate: Option<Generate>,
}

/// Records of one entity, written in the model file.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// Their place in the file.
    pub at: At,
    /// The entity.
    pub entity: String,
    /// Mappings of attributes to values, without keys.
    pub records: Vec<Node>,
}

/// Stored items of one table, written in the model file.
#[derive(Clone, Debug, PartialEq)]
pub struct RawItems {
    /// Their place in the file.
    pub at: At,
    /// The table.
    pub table: String,
    /// Mappings of attributes to values, plain or in DynamoDB's typed form.
    pub items: Vec<Node>,
}

/// Items generated from a seed: the same seed makes the same items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generate {
    /// Any number.
    pub seed: u64,
    /// The number of items of the most numerous entity. Other entities get a proportional number: at least
    /// one item each, and more where too few would leave items of other entities without distinct keys.
    pub sample: u64,
}

impl Model {
    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The entity of a name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The pattern of an id.
    pub fn pattern(&self, id: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.id == id)
    }

    /// The entities that live in a table.
    pub fn entities_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Entity> {
        self.entities.iter().filter(move |entity| entity.table == table)
    }
}

impl Table {
    /// The index of a name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The attributes of the table's key, partition first.
    pub fn key_parts(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }
}

impl Index {
    /// The attributes of the index's key, partition first.
    pub fn key_parts(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }
}

impl Entity {
    /// The declared attribute of a name; key attributes made by templates are none.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The template that gives a key attribute its value, in the table's key or in any index. An attribute of
    /// the entity with that name is its own template.
    pub fn template(&self, key_attribute: &str) -> Option<Template> {
        let slots = std::iter::once(&self.key).chain(self.slots.iter().map(|(_, slot)| slot));
        slots.into_iter().find_map(|slot| slot.template(key_attribute).cloned()).or_else(|| {
            self.attribute(key_attribute).map(|attribute| Template::of_attribute(&attribute.name))
        })
    }

    /// The attributes that can be read from these key attributes of an index entry: the key attributes
    /// themselves, and the attributes that their templates contain whole. An index need not project these.
    pub fn attributes_in_keys<'a>(&self, parts: impl Iterator<Item = &'a KeyAttribute>) -> BTreeSet<String> {
        let mut attributes = BTreeSet::new();
        for part in parts {
            attributes.extend(self.template(&part.name).iter().flat_map(Template::tells).map(str::to_owned));
            attributes.insert(part.name.clone());
        }
        attributes
    }

    /// The attributes that the table's key is made of, in order; an attribute used twice appears twice.
    pub fn key_attributes(&self) -> impl Iterator<Item = &str> + Clone {
        self.key.templates.iter().flat_map(|(_, template)| template.attributes())
    }

    /// Whether every item of the entity has this attribute, because its key needs it.
    pub fn is_key(&self, attribute: &str) -> bool {
        let parts = self.key.templates.iter().map(|(part, _)| part.as_str());
        parts.chain(self.key_attributes()).any(|key| key == attribute)
    }

    /// The attribute that the table's key is made of, if it is only one: it identifies the entity.
    pub fn identity(&self) -> Option<&str> {
        let mut names = self.key_attributes();
        let first = names.next()?;
        names.all(|name| name == first).then_some(first)
    }

    /// The attribute that alone identifies the entity: by its key, or by its first `unique` list while it has
    /// no key.
    pub fn sole_identity(&self) -> Option<&str> {
        if !self.key.templates.is_empty() {
            return self.identity();
        }
        match self.unique.first().map(Vec::as_slice) {
            Some([name]) => Some(name),
            Some(_) | None => None,
        }
    }

    /// How unevenly traffic falls on an attribute's values, if this entity declares it; [`Model::skew`] also
    /// finds what the entity carries.
    pub fn skew_of(&self, attribute: &str) -> Option<Skew> {
        self.skew.iter().find(|(name, _)| name == attribute).map(|(_, skew)| *skew)
    }

    /// The attributes of the table's key that are not given by equality; a GetItem needs all of them.
    pub fn key_not_given(&self, table: &Table, given: &[Given]) -> Vec<String> {
        let equal = |name: &str| given.iter().any(|given| given.attribute == name && given.op == GivenOp::Eq);
        let templates = table.key_parts().filter_map(|part| self.template(&part.name));
        let names: Vec<String> = templates
            .flat_map(|template| template.attributes().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let mut lacking: Vec<String> = names.into_iter().filter(|name| !equal(name)).collect();
        lacking.dedup();
        lacking
    }

    /// The templates of an index's key, if the entity declares some.
    pub fn slot(&self, index: &str) -> Option<&Slot> {
        self.slots.iter().find(|(name, _)| name == index).map(|(_, slot)| slot)
    }
}

impl Slot {
    /// The template of one key attribute.
    pub fn template(&self, key_attribute: &str) -> Option<&Template> {
        self.templates.iter().find(|(name, _)| name == key_attribute).map(|(_, template)| template)
    }
}

impl Write {
    /// The condition, if it is an expression.
    pub const fn expression(&self) -> Option<&ConditionExpression> {
        match &self.condition {
            Some(Condition::Expression(expression)) => Some(expression),
            Some(Condition::Exists | Condition::NotExists) | None => None,
        }
    }

    /// Whether its condition holds only for an existing item.
    pub fn must_find(&self) -> bool {
        match &self.condition {
            Some(Condition::Exists) => true,
            Some(Condition::Expression(expression)) => expression.requires_item(),
            Some(Condition::NotExists) | None => false,
        }
    }

    /// Whether its condition holds only if there is no item of an entity: an attribute of its key is missing.
    pub fn must_create(&self, entity: &Entity) -> bool {
        match &self.condition {
            Some(Condition::NotExists) => true,
            Some(Condition::Expression(expression)) => expression.excludes(|name| entity.is_key(name)),
            Some(Condition::Exists) | None => false,
        }
    }

    /// The attributes that an update changes as a whole or in part, in order.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().map(Effect::attribute)
    }

    /// The attributes that an update removes as a whole.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().filter(|effect| effect.removes_whole()).map(Effect::attribute)
    }

    /// The attributes that an update sets to a value of the writer's own, each with its placeholder.
    pub fn assigned(&self) -> impl Iterator<Item = (&str, &str)> {
        self.effects.iter().filter_map(Effect::assigned)
    }

    /// The value placeholders of its condition and its effects.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let condition = self.expression().into_iter().flat_map(ConditionExpression::values);
        self.effects.iter().flat_map(Effect::values).chain(condition)
    }

    /// Each value placeholder of its condition and its effects with an attribute whose value it stands for.
    pub fn meanings(&self) -> impl Iterator<Item = (&str, &str)> {
        let condition = self.expression().into_iter().flat_map(ConditionExpression::meanings);
        self.effects.iter().flat_map(Effect::meanings).chain(condition)
    }

    /// Whether its condition or an effect has a value placeholder, named without its colon.
    pub fn uses_value(&self, placeholder: &str) -> bool {
        self.values().any(|value| value == placeholder)
    }

    /// The effects of one section, in order.
    pub fn section(&self, section: Section) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(move |effect| effect.section() == section)
    }

    /// The body of one section as text, such as `total = total + :n, open = :o`; `None` if it is empty.
    pub fn section_text(&self, section: Section) -> Option<String> {
        let effects: Vec<String> = self.section(section).map(Effect::to_string).collect();
        (!effects.is_empty()).then(|| effects.join(", "))
    }
}

impl Pattern {
    /// The read, if it is one.
    pub fn read(&self) -> Option<&Read> {
        match &self.operation {
            Operation::Read(read) => Some(read),
            Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => None,
        }
    }

    /// The changes and gets of a write, transaction or batch.
    pub fn steps(&self) -> &[Write] {
        match &self.operation {
            Operation::Read(_) => &[],
            Operation::Write(write) => std::slice::from_ref(write),
            Operation::Transact(steps) | Operation::Batch(steps) => steps,
        }
    }

    /// The number of existing items of an entity that the pattern touches.
    pub fn takes(&self, entity: &str) -> u64 {
        let own = self.steps().iter().filter(|step| step.entity == entity && step.kind != WriteKind::Put);
        own.fold(0, |sum, step| sum.saturating_add(step.n))
    }
}
