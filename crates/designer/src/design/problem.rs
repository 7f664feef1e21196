//! The designer's input: entities, their reads and their writes. It has names, rates and sizes only; it does
//! not know how a model file states them.

use std::collections::BTreeSet;
use std::fmt;

use super::{Unless, View};
use keywright_model::{MicroPerSecond, Template};
use keywright_semantics::schema::TableClass;

/// A design problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The entities of one table.
    pub entities: Vec<Entity>,
    /// The reads, each of which must become one request.
    pub patterns: Vec<Pattern>,
    /// The writes.
    pub writes: Vec<Write>,
    /// The maximum number of global secondary indexes; the service allows 20.
    pub gsi_max: usize,
    /// The existing parts that must stay; empty for a new table.
    pub kept: Kept,
    /// The table class, if it is fixed.
    pub class: Option<TableClass>,
    /// Whether the table has continuous backups, which are charged by the storage of it and its local
    /// indexes.
    pub backed_up: bool,
    /// How keys are written.
    pub style: KeyStyle,
}

/// How keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyStyle {
    /// The prefixes of keys.
    pub prefixes: Prefixes,
    /// Whether an index may have several attributes as its partition or sort key.
    pub multi_attribute: bool,
}

/// The prefixes of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefixes {
    /// As short as they can be: `oi#` for items of orders. Every item and entry stores them.
    Short,
    /// Whole words: `order-item#`.
    Readable,
}

impl Default for KeyStyle {
    fn default() -> Self {
        Self { prefixes: Prefixes::Short, multi_attribute: true }
    }
}

/// Where the items or entries of an entity are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The table's own key.
    Table,
    /// A derived item in the table with a key of its own, kept equal by the transaction that writes its
    /// source.
    Copy,
    /// The n-th local secondary index, from one.
    Local(usize),
    /// The n-th global secondary index, from one.
    Global(usize),
}

impl Slot {
    /// Whether a read here may be strongly consistent.
    pub const fn is_strong(self) -> bool {
        !matches!(self, Self::Global(_))
    }

    /// The location of a request: a derived item is an item of the table like any other.
    #[must_use]
    pub const fn location(self) -> Self {
        match self {
            Self::Copy => Self::Table,
            own => own,
        }
    }
}

/// The attributes of an entity that an index or a derived item holds besides its keys and those of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Projected {
    /// Everything.
    All,
    /// These attributes; empty for a projection of the keys only.
    Only(BTreeSet<String>),
}

/// The part of an existing design that stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// Keys of entities.
    pub keys: Vec<KeptKey>,
    /// The global secondary indexes, in slot order.
    pub globals: Vec<KeptIndex>,
    /// The local secondary indexes, in slot order.
    pub locals: Vec<KeptIndex>,
}

/// An existing key of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    /// Its slot.
    pub slot: Slot,
    /// Its attributes.
    pub view: View,
    /// The templates of its partition key: only entities with the same ones share partitions.
    pub partition: Vec<Template>,
    /// The templates of its sort key.
    pub sort: Vec<Template>,
    /// The attributes whose values the key contains.
    pub tells: BTreeSet<String>,
}

/// An existing index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptIndex {
    /// Its name.
    pub name: String,
    /// The attributes that it includes; none if it holds everything.
    pub includes: Option<BTreeSet<String>>,
    /// Whether its key is a pair of template texts, so that further entities can be added.
    pub open: bool,
}

impl Kept {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.globals.is_empty() && self.locals.is_empty()
    }

    /// The existing index of a slot.
    pub fn index(&self, slot: Slot) -> Option<&KeptIndex> {
        match slot {
            Slot::Global(number) => self.globals.get(number.checked_sub(1)?),
            Slot::Local(number) => self.locals.get(number.checked_sub(1)?),
            Slot::Table | Slot::Copy => None,
        }
    }

    /// The kept key of an entity in a slot.
    pub fn key(&self, entity: usize, slot: Slot) -> Option<&KeptKey> {
        self.keys.iter().find(|own| own.slot == slot && own.view.entity == entity)
    }

    /// Whether an entity may have this view in this slot.
    pub(super) fn allows(
        &self,
        view: &View,
        projected: &Projected,
        slot: Slot,
        has: impl Fn(&str) -> bool,
    ) -> bool {
        let fits = |index: &KeptIndex| match (&index.includes, projected) {
            (None, Projected::All) => true,
            (Some(included), Projected::Only(own)) => own.iter().eq(included.iter().filter(|name| has(name))),
            _ => false,
        };
        let index = self.index(slot);
        match self.key(view.entity, slot) {
            Some(kept) => kept.view == *view && index.is_none_or(fits),
            None => index.is_none_or(|index| index.open && fits(index)),
        }
    }
}

/// A kind of item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// The entity whose items can hold it as a list, if so few belong to each that they always fit.
    pub parent: Option<Parent>,
    /// The parents of the entity.
    pub parents: Vec<String>,
    /// The attributes that together identify one item.
    pub id: Vec<String>,
    /// Further attribute sets whose values puts must keep unique.
    pub uniques: Vec<Vec<String>>,
    /// The expiry attribute; derived items have it too, so that they expire together.
    pub expires: Option<String>,
    /// The owner attribute: at equal cost partition keys begin with it.
    pub owner: Option<String>,
    /// The prefix that its keys must have; `None` if any will do.
    pub prefix: Option<String>,
    /// Attributes that have one value in all current writes, such as times and sequences: at equal cost they
    /// are no partition key.
    pub counts_up: BTreeSet<String>,
    /// The attributes that patterns or keys mention.
    pub attributes: Vec<Attribute>,
    /// How many items there are.
    pub count: u64,
    /// The average size of an item.
    pub size_bytes: u64,
}

/// The entity to which items belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its name.
    pub name: String,
    /// The maximum number of items per parent.
    pub children_max: u64,
}

/// The properties of an attribute that matter for keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name; attributes of the same name in several entities hold values of the same kind.
    pub name: String,
    /// The size of its value.
    pub size_bytes: u64,
    /// The number of different values; none if there are as many as items.
    pub distinct: Option<u64>,
    /// The share of items that have it, in parts per million: an index on an attribute below 100 % is sparse.
    pub present_ppm: u64,
    /// The share of requests for its busiest value, if it is known to be uneven.
    pub hottest_ppm: Option<u64>,
    /// Whether it is a number, which must be padded in a text key.
    pub number: bool,
    /// Whether it is a text or a number, and so can be a plain key attribute.
    pub keyable: bool,
    /// Whether it is a number with values below 0 or fractions: padded texts of these do not sort, so it must
    /// be a plain key attribute.
    pub unpaddable: bool,
}

/// One read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Its id.
    pub id: String,
    /// The entities it returns; several for an item collection.
    pub entities: Vec<String>,
    /// The attributes given by equality.
    pub equal: Vec<String>,
    /// The attribute given by a range.
    pub range: Option<String>,
    /// The attribute that orders the result, if it is not the range attribute.
    pub order: Option<String>,
    /// How many items it returns on average.
    pub results: u64,
    /// The maximum number of items, if the model declares it.
    pub most: Option<u64>,
    /// The average rate.
    pub rate: MicroPerSecond,
    /// The peak rate.
    pub peak: MicroPerSecond,
    /// Whether it is strongly consistent.
    pub strong: bool,
    /// Whether it may query several shards at once.
    pub scatter: bool,
    /// The attributes that it needs besides keys; none if it needs all.
    pub reads: Option<BTreeSet<String>>,
    /// If it reads at most a page of the possible results: the end where the page begins.
    pub page_from: Option<End>,
}

/// An end of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end with the lowest sort keys.
    First,
    /// The end with the highest sort keys.
    Last,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The pattern it belongs to.
    pub id: String,
    /// The entity that it writes.
    pub entity: String,
    /// The kind of write.
    pub kind: WriteKind,
    /// Items written per second on average.
    pub rate: MicroPerSecond,
    /// Items written per second at the busiest time.
    pub peak: MicroPerSecond,
    /// Whether it is part of a transaction, which costs twice in the table.
    pub transactional: bool,
    /// How many items it writes each time its pattern runs.
    pub items: u64,
    /// How many other items its pattern writes or checks each time.
    pub others: u64,
    /// What its writer knows of the item besides the identity.
    pub knows: Knows,
}

/// The kind of a write. The identity is known, so it must give the base key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteKind {
    /// A new item: everything about it is known.
    Put,
    /// Some attributes change.
    Update {
        /// The attributes that change.
        changed: Vec<String>,
    },
    /// The item is deleted.
    Delete,
}

/// What a writer knows of an item besides the identity, without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Knows {
    /// Whether a put may replace an existing item of which the writer knows nothing.
    pub replaces: bool,
    /// Whether a put must fail if the item exists, which only a key of exactly the identity can detect.
    pub guards: bool,
    /// The attributes whose previous values it knows.
    pub before: BTreeSet<String>,
    /// The attributes that it sets to values of its own.
    pub after: BTreeSet<String>,
    /// The attributes whose new values are computed from others of the item, and from which.
    pub computed: Vec<(String, BTreeSet<String>)>,
    /// The attributes that it removes.
    pub gone: BTreeSet<String>,
}

/// Why there is no design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A name is not defined.
    Unknown {
        /// The part that uses it.
        by: String,
        /// The name.
        name: String,
    },
    /// An entity has no identity.
    NoIdentity(String),
    /// A pattern gives no attribute by equality, so no partition can be addressed.
    NothingEqual(String),
    /// No key of these entities answers the pattern in one request.
    NoPath {
        /// The pattern.
        pattern: String,
        /// Why every candidate was ruled out.
        reason: String,
    },
    /// Every attribute that could be in the base key changes or may be absent.
    NoBaseKey(String),
    /// The patterns together need more indexes than allowed.
    TooManyIndexes {
        /// The entities whose patterns conflict.
        entities: Vec<String>,
        /// The indexes allowed.
        allowed: usize,
        /// Whether a larger number of them would help.
        more_help: bool,
        /// The strongly consistent patterns among them, which a global index never serves.
        strong: Vec<String>,
        /// The derived items that would help if writers knew more than the identity.
        unless: Vec<Unless>,
    },
    /// The solver stopped without an answer.
    Solver(String),
    /// The price table lacks a price.
    NoPrice(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { by, name } => write!(f, "{by} names `{name}`, which its entity does not have"),
            Self::NoIdentity(entity) => {
                write!(f, "entity {entity} has no identity: give it a key or `unique`")
            }
            Self::NothingEqual(pattern) => {
                write!(f, "pattern {pattern} gives no attribute by equality: only a Scan could answer it")
            }
            Self::NoPath { pattern, reason } => write!(f, "no single request answers {pattern}: {reason}"),
            Self::NoBaseKey(entity) => {
                write!(f, "entity {entity} has no attributes that stay the same and identify it")
            }
            Self::TooManyIndexes { entities, allowed, more_help, strong, unless } => {
                let entities = entities.join(", ");
                let more = if *allowed == 1 { "1 index".to_owned() } else { format!("{allowed} indexes") };
                if *more_help {
                    write!(f, "{entities} need more than {more}, even with derived items and local indexes")?;
                } else {
                    write!(
                        f,
                        "no number of indexes lets one request answer every pattern of {entities}, even with derived items"
                    )?;
                    if !strong.is_empty() {
                        let strong = strong.join(", ");
                        write!(f, ": global indexes are not strongly consistent, as {strong} must be")?;
                    }
                }
                unless.iter().try_for_each(|own| write!(f, "; {own}"))
            }
            Self::Solver(fault) => write!(f, "the solver gave up: {fault}"),
            Self::NoPrice(what) => write!(f, "the price file has no price of {what}"),
        }
    }
}

impl std::error::Error for Fault {}

impl Problem {
    /// The entity with a name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The indexes of the entities with these names.
    pub(super) fn places(&self, names: &[String]) -> BTreeSet<usize> {
        let all = self.entities.iter().enumerate();
        all.filter(|(_, entity)| names.contains(&entity.name)).map(|(place, _)| place).collect()
    }

    /// Whether an entity has a put that must fail if the item exists, and no kept key that decides how.
    pub(super) fn is_guarded(&self, entity: usize) -> bool {
        let name = self.entities.get(entity).map(|entity| &entity.name);
        self.kept.key(entity, Slot::Table).is_none()
            && self.writes.iter().any(|write| Some(&write.entity) == name && write.knows.guards)
    }

    /// Every used name must be defined, and every pattern must be able to address a partition.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for entity in &self.entities {
            if entity.id.is_empty() {
                faults.push(Fault::NoIdentity(entity.name.clone()));
            }
            unknown(entity, &entity.name, &entity.id, &mut faults);
        }
        for pattern in &self.patterns {
            if pattern.equal.is_empty() {
                faults.push(Fault::NothingEqual(pattern.id.clone()));
            }
            for name in &pattern.entities {
                let Some(entity) = self.entity(name) else {
                    faults.push(Fault::Unknown { by: pattern.id.clone(), name: name.clone() });
                    continue;
                };
                unknown(entity, &pattern.id, pattern.equal.iter().chain(pattern.sorted_by()), &mut faults);
            }
        }
        for write in &self.writes {
            if self.entity(&write.entity).is_none() {
                faults.push(Fault::Unknown { by: write.id.clone(), name: write.entity.clone() });
            }
        }
        faults
    }
}

fn unknown<'a>(
    entity: &Entity,
    by: &str,
    names: impl IntoIterator<Item = &'a String>,
    faults: &mut Vec<Fault>,
) {
    for name in names {
        if entity.attribute(name).is_none() {
            faults.push(Fault::Unknown { by: by.to_owned(), name: name.clone() });
        }
    }
}

impl Pattern {
    /// Whether it bounds the number of an entity's items per partition of a key, as it reads all of them.
    pub(super) fn bounds(&self, entity: &Entity, view: &View) -> bool {
        let equal: BTreeSet<&String> = self.equal.iter().collect();
        let values =
            |name: &String| entity.attribute(name).and_then(|own| own.distinct).unwrap_or(entity.count);
        let keys = view.partition.iter().map(values).fold(1, u64::saturating_mul).max(1);
        self.most.is_some_and(|most| most >= entity.count / keys)
            && self.range.is_none()
            && self.entities.contains(&entity.name)
            && equal == view.partition.iter().collect()
    }

    /// The attribute that follows those given by equality in the sort key.
    pub(super) fn sorted_by(&self) -> Option<&String> {
        self.range.as_ref().or(self.order.as_ref())
    }
}

impl Entity {
    /// The attribute with a name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}
