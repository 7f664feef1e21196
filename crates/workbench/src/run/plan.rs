//! Plans the single request for a read pattern: tries the key of the table and of each index, and takes the
//! best.

use std::collections::BTreeSet;
use std::fmt;

use keywright_semantics::value::{AttributeValue, Item};

use super::range::{Bound, Known, bound, cover};
use keywright_model::expression::ConditionExpression;
use keywright_model::{
    Consistency, Entity, Index, IndexKind, KeyAttribute, Model, Part, Pattern, Projection, Read, ReadKind,
    Table, Template,
};

/// The plan of a read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan<'a> {
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    pub(super) access: Access,
    /// Given attributes that the key condition does not use: they filter the items read.
    pub(super) residual: Vec<Residual>,
    /// Whether the index holds every wanted attribute.
    pub(super) covers: bool,
}

/// A given attribute that filters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Residual {
    pub(super) known: Known,
    /// Whether all entities of the pattern have the attribute; entities without it are not filtered by it.
    pub(super) of_all: bool,
}

/// The given attributes that one entity's key takes.
#[derive(Default)]
struct Used {
    partition: Vec<String>,
    sort: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
    Get(Item),
    Query {
        /// Values of the partition key's attributes; one row for each shard.
        partitions: Vec<Vec<(String, AttributeValue)>>,
        sort: Vec<(String, Bound)>,
    },
    Scan,
}

/// Why no key serves: one reason for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoPlan {
    pub(super) refusals: Vec<Refusal>,
}

/// Why one key does not serve a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The index, or the table.
    pub path: String,
    /// Why it does not serve.
    pub cause: Cause,
}

/// The obstacle between a pattern and a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A sort-key attribute is given, but one before it is not given by equality.
    #[expect(missing_docs, reason = "the two attributes")]
    LeftToRight { given: String, before: String },
    /// The key would serve, but belongs to a global index, and the read is strongly consistent.
    Strong,
    /// The key would serve, but the index lacks an attribute that the pattern filters by.
    #[expect(missing_docs, reason = "the attributes that it lacks")]
    NotHeld { attributes: Vec<String> },
    /// Anything else, as a sentence.
    Other(String),
}

impl From<String> for Cause {
    fn from(sentence: String) -> Self {
        Self::Other(sentence)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftToRight { given, before } => write!(
                formatter,
                "`{before}` comes before `{given}` in the sort key and is not given by equality"
            ),
            Self::Strong => {
                formatter.write_str("it is a global index, and the pattern is strongly consistent")
            }
            Self::NotHeld { attributes } => {
                write!(formatter, "it does not hold {}, which the pattern filters by", attributes.join(", "))
            }
            Self::Other(sentence) => formatter.write_str(sentence),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.cause)
    }
}

impl Plan<'_> {
    /// Whether the request names an attribute: the index stores it, or it is fetched from the table.
    pub(super) fn asks_for(&self, name: &str, lacking: &BTreeSet<String>) -> bool {
        self.index.is_none_or(|index| stores(self.table, index, name)) || lacking.contains(name)
    }

    /// The wanted attributes that a local index fetches from the table.
    pub(super) fn fetched(&self, entities: &[&Entity], read: &Read) -> BTreeSet<String> {
        let local = self.index.filter(|index| index.kind == IndexKind::Local);
        let lacking =
            |index| entities.iter().flat_map(move |entity| missing(self.table, index, entity, read));
        local.into_iter().flat_map(lacking).collect()
    }
}

/// Whether an index stores an attribute by its own name.
fn stores(table: &Table, index: &Index, name: &str) -> bool {
    let key = || index.key_parts().chain(table.key_parts()).any(|part| part.name == name);
    match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => key(),
        Projection::Include(names) => names.contains(name) || key(),
    }
}

/// Plans the request for a pattern whose given values are known.
pub(super) fn plan<'a>(
    model: &'a Model,
    pattern: &Pattern,
    read: &Read,
    known: &[Known],
) -> Result<Plan<'a>, NoPlan> {
    let entities: Vec<&Entity> = read.entities.iter().filter_map(|name| model.entity(name)).collect();
    let table = entities.first().and_then(|entity| model.table(&entity.table));
    let Some(table) = table else {
        let cause = Cause::Other("its entities have no table".to_owned());
        return Err(NoPlan { refusals: vec![Refusal { path: "-".to_owned(), cause }] });
    };
    let question = Question { model, table, read, known, entities };
    let mut plans = Vec::new();
    let mut refusals = Vec::new();
    for index in question.sources(pattern.uses.as_deref()) {
        let found = if read.kind == ReadKind::Scan { Ok(question.scan(index)) } else { question.on(index) };
        match found.and_then(|plan| question.allowed(plan)) {
            Ok(plan) => plans.push(plan),
            Err(cause) => {
                let path = index.map_or(&table.name, |index| &index.name).clone();
                refusals.push(Refusal { path, cause });
            }
        }
    }
    let ranked = |plan: &Plan<'_>| (lacks(plan), !question.sorts(plan), rank(plan));
    plans.into_iter().min_by_key(ranked).ok_or(NoPlan { refusals })
}

/// Whether an index cannot answer the whole pattern. A local index fetches what it does not hold: that is
/// expensive, but it answers.
fn lacks(plan: &Plan<'_>) -> bool {
    !plan.covers && plan.index.is_none_or(|index| index.kind == IndexKind::Global)
}

/// Less is better: no filter, a GetItem, more of the sort key bound, nothing to fetch, the table itself.
fn rank(plan: &Plan<'_>) -> (usize, bool, std::cmp::Reverse<usize>, bool, bool) {
    let bound = match &plan.access {
        Access::Query { sort, .. } => sort.iter().filter(|(_, bound)| *bound != Bound::Free).count(),
        Access::Get(_) | Access::Scan => 0,
    };
    let get = matches!(plan.access, Access::Get(_));
    let bound = std::cmp::Reverse(bound);
    (plan.residual.len(), !get, bound, !plan.covers, plan.index.is_some())
}

struct Question<'a, 'b> {
    model: &'a Model,
    table: &'a Table,
    read: &'b Read,
    known: &'b [Known],
    entities: Vec<&'a Entity>,
}

impl<'a> Question<'a, '_> {
    /// The table and its indexes, or the one that the pattern names. A get reads the table; so does a scan,
    /// unless it names an index.
    fn sources(&self, uses: Option<&str>) -> Vec<Option<&'a Index>> {
        match (uses, self.read.kind) {
            (Some(name), _) => vec![self.table.index(name)],
            (None, ReadKind::Get | ReadKind::Scan) => vec![None],
            (None, ReadKind::Query | ReadKind::ScatterGather) => {
                std::iter::once(None).chain(self.table.indexes.iter().map(Some)).collect()
            }
        }
    }

    /// Whether the key returns items in the pattern's order: the first sort-key attribute that is not given
    /// by equality is the one that the pattern orders by.
    fn sorts(&self, plan: &Plan<'_>) -> bool {
        let Some(by) = &self.read.order_by else { return true };
        let sort = match plan.index {
            Some(index) => index.sort.as_slice(),
            None => self.table.sort.as_slice(),
        };
        let given = |name: &str| {
            self.known.iter().any(|known| known.op == keywright_model::GivenOp::Eq && known.attribute == name)
        };
        let first = |entity: &Entity| -> Option<String> {
            let templates = sort.iter().filter_map(|part| entity.template(&part.name));
            let mut names =
                templates.flat_map(|template| template.attributes().map(str::to_owned).collect::<Vec<_>>());
            names.find(|name| !given(name))
        };
        self.entities.iter().all(|entity| first(entity).is_none_or(|name| name == by.attribute))
    }

    fn scan(&self, index: Option<&'a Index>) -> Plan<'a> {
        let residual = self.residual(&[], false);
        Plan { table: self.table, index, access: Access::Scan, residual, covers: true }
    }

    /// A global index cannot be read strongly, nor filtered by an attribute that it lacks.
    fn allowed(&self, plan: Plan<'a>) -> Result<Plan<'a>, Cause> {
        let Some(index) = plan.index.filter(|index| index.kind == IndexKind::Global) else { return Ok(plan) };
        if self.read.consistency == Consistency::Strong {
            return Err(Cause::Strong);
        }
        let own = self.read.filter.iter().flat_map(ConditionExpression::attributes).map(str::to_owned);
        let left = plan.residual.iter().map(|left| left.known.attribute.clone());
        let attributes: BTreeSet<String> =
            own.chain(left).filter(|name| !stores(self.table, index, name)).collect();
        if attributes.is_empty() {
            return Ok(plan);
        }
        Err(Cause::NotHeld { attributes: attributes.into_iter().collect() })
    }

    fn on(&self, index: Option<&'a Index>) -> Result<Plan<'a>, Cause> {
        let (partition, sort): (Vec<&KeyAttribute>, Vec<&KeyAttribute>) = match index {
            None => (vec![&self.table.partition], self.table.sort.iter().collect()),
            Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
        };
        assert!(!self.entities.is_empty(), "a read names an entity");
        let mut partitions: Option<Vec<Vec<(String, AttributeValue)>>> = None;
        let mut bounds: Vec<Vec<(String, Bound)>> = Vec::new();
        let mut used: Vec<Used> = Vec::new();
        for entity in &self.entities {
            let mut own = Used::default();
            let rows = self.partitions(entity, &partition, &mut own.partition)?;
            if partitions.as_ref().is_some_and(|others| *others != rows) {
                return Err(Cause::Other("the entities do not share a partition".to_owned()));
            }
            partitions = Some(rows);
            bounds.push(self.sort(entity, &sort, &mut own.sort)?);
            used.push(own);
        }
        let partitions = partitions.unwrap_or_default();
        let same = bounds.windows(2).all(|pair| matches!(pair, [one, other] if one == other));
        let residual = self.residual(&used, same);
        if let Some(key) = residual
            .iter()
            .find(|left| partition.iter().chain(&sort).any(|part| part.name == left.known.attribute))
        {
            return Err(Self::unfilterable(&key.known.attribute, &sort, &bounds));
        }
        let sort = self.together(index, &partition, &sort, bounds);
        let access =
            self.get(index, &partitions, &sort, &residual).unwrap_or(Access::Query { partitions, sort });
        if self.read.kind == ReadKind::Get {
            self.whole_key()?;
        }
        Ok(Plan { table: self.table, index, access, residual, covers: self.covers(index) })
    }

    /// Why a given key attribute is not bound: an unbound one stands before it, or the entities' templates
    /// differ.
    fn unfilterable(name: &str, sort: &[&KeyAttribute], bounds: &[Vec<(String, Bound)>]) -> Cause {
        let equal = |row: &Vec<(String, Bound)>, part: &KeyAttribute| {
            row.iter().any(|(known, bound)| *known == part.name && matches!(bound, Bound::Equal(_)))
        };
        let before = sort.iter().take_while(|part| part.name != name);
        for part in before {
            if bounds.iter().any(|row| !equal(row, part)) {
                return Cause::LeftToRight { given: name.to_owned(), before: part.name.clone() };
            }
        }
        Cause::Other(format!(
            "the entities do not share a range of `{name}`, and no filter can name a key attribute"
        ))
    }

    /// A GetItem needs the table's whole key.
    fn whole_key(&self) -> Result<(), Cause> {
        let lacking: BTreeSet<String> = self
            .entities
            .iter()
            .flat_map(|entity| entity.key_not_given(self.table, &self.read.given))
            .map(|name| format!("`{name}`"))
            .collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let lacking = lacking.into_iter().collect::<Vec<_>>().join(" and ");
        Err(Cause::Other(format!(
            "a get takes the table's whole key, and {lacking} is not given by equality: add it to `given`, or write `query`"
        )))
    }

    /// The filters: given attributes that the key condition does not use, and those whose sort-key ranges
    /// differ between entities. One condition that covers all ranges returns further items.
    fn residual(&self, used: &[Used], same: bool) -> Vec<Residual> {
        let is_scan = used.is_empty();
        assert!(is_scan || used.len() == self.entities.len(), "a key is planned for every entity");
        let nothing = Used::default();
        let mut left = Vec::new();
        for known in self.known {
            let name = &known.attribute;
            let having: Vec<&Used> = (0..self.entities.len())
                .zip(&self.entities)
                .filter(|(_, entity)| entity.attribute(name).is_some())
                .map(|(place, _)| used.get(place).unwrap_or(&nothing))
                .collect();
            let taken = |used: &&Used| used.partition.contains(name) || (same && used.sort.contains(name));
            if !having.iter().all(taken) {
                left.push(Residual { known: known.clone(), of_all: having.len() == self.entities.len() });
            }
        }
        left
    }

    /// A whole table key is a GetItem, unless the author wants a query or a filter remains.
    fn get(
        &self,
        index: Option<&Index>,
        partitions: &[Vec<(String, AttributeValue)>],
        sort: &[(String, Bound)],
        residual: &[Residual],
    ) -> Option<Access> {
        let [row] = partitions else { return None };
        if !residual.is_empty() {
            return None;
        }
        if index.is_some() || self.read.kind != ReadKind::Get {
            return None;
        }
        let sort = sort.iter().map(|(name, bound)| match bound {
            Bound::Equal(value) => Some((name.clone(), value.clone())),
            _ => None,
        });
        let key: Option<Item> = row.iter().cloned().map(Some).chain(sort).collect();
        key.map(Access::Get)
    }

    fn template(entity: &Entity, part: &KeyAttribute) -> Result<Template, String> {
        entity.template(&part.name).ok_or_else(|| format!("{} is not in it", entity.name))
    }

    fn partitions(
        &self,
        entity: &Entity,
        parts: &[&KeyAttribute],
        used: &mut Vec<String>,
    ) -> Result<Vec<Vec<(String, AttributeValue)>>, String> {
        let mut rows: Vec<Vec<(String, AttributeValue)>> = vec![Vec::new()];
        for part in parts {
            let template = Self::template(entity, part)?;
            let mut values = Vec::new();
            for variant in self.shards(&template)? {
                let bounded = bound(&variant, part.key_type, self.known)?;
                let Bound::Equal(value) = bounded.bound else {
                    return Err(self.unbound(&template, part));
                };
                values.push(value);
                used.extend(bounded.used);
            }
            rows = rows
                .iter()
                .flat_map(|row| {
                    values.iter().map(|value| {
                        let mut row = row.clone();
                        row.push((part.name.clone(), value.clone()));
                        row
                    })
                })
                .collect();
        }
        Ok(rows)
    }

    fn unbound(&self, template: &Template, part: &KeyAttribute) -> String {
        let equal = |name: &str| {
            self.known.iter().any(|given| given.attribute == name && given.op == keywright_model::GivenOp::Eq)
        };
        let missing: Vec<&str> = template.attributes().filter(|name| !equal(name)).collect();
        format!(
            "its partition key `{}` is `{template}`, and {} is not given by equality",
            part.name,
            missing.join(", ")
        )
    }

    /// The template once for each shard, if the pattern gathers and does not give the shard.
    fn shards(&self, template: &Template) -> Result<Vec<Template>, String> {
        let place = template.parts.iter().position(|part| match part {
            Part::Shard { name, .. } => !self.known.iter().any(|given| given.attribute == *name),
            _ => false,
        });
        let Some((place, Part::Shard { shards, .. })) =
            place.and_then(|place| Some((place, template.parts.get(place)?)))
        else {
            return Ok(vec![template.clone()]);
        };
        if self.read.kind != ReadKind::ScatterGather {
            return Err(format!(
                "`{template}` has {shards} shards: one query reads one; write `scatter-gather`"
            ));
        }
        let variant = |shard: u32| {
            let mut variant = template.clone();
            if let Some(part) = variant.parts.get_mut(place) {
                *part = Part::Literal(shard.to_string());
            }
            variant
        };
        Ok((0..*shards).map(variant).collect())
    }

    fn sort(
        &self,
        entity: &Entity,
        parts: &[&KeyAttribute],
        used: &mut Vec<String>,
    ) -> Result<Vec<(String, Bound)>, String> {
        let mut bounds = Vec::new();
        for part in parts {
            let bounded = bound(&Self::template(entity, part)?, part.key_type, self.known)?;
            if bounded.bound == Bound::Free {
                break;
            }
            let last = !matches!(bounded.bound, Bound::Equal(_));
            used.extend(bounded.used);
            bounds.push((part.name.clone(), bounded.bound));
            if last {
                break;
            }
        }
        Ok(bounds)
    }

    /// One sort condition for all entities. None is needed if the partition holds no other entities.
    fn together(
        &self,
        index: Option<&Index>,
        partition: &[&KeyAttribute],
        sort: &[&KeyAttribute],
        bounds: Vec<Vec<(String, Bound)>>,
    ) -> Vec<(String, Bound)> {
        if let [only] = bounds.as_slice() {
            return only.clone();
        }
        if self.alone(index, partition) && !self.ranged() {
            return Vec::new();
        }
        let firsts: Vec<Bound> =
            bounds.iter().map(|row| row.first().map_or(Bound::Free, |(_, bound)| bound.clone())).collect();
        let mut rows = bounds.into_iter();
        if let Some(first) = rows.next().filter(|first| rows.all(|row| row == *first)) {
            return first;
        }
        match (cover(&firsts), sort.first()) {
            (Bound::Free, _) | (_, None) => Vec::new(),
            (bound, Some(part)) => vec![(part.name.clone(), bound)],
        }
    }

    fn ranged(&self) -> bool {
        self.known.len() > 1
    }

    /// Whether these partitions hold no entity other than the pattern's.
    fn alone(&self, index: Option<&Index>, partition: &[&KeyAttribute]) -> bool {
        let shapes = |entity: &Entity| -> Option<Vec<Template>> {
            let in_index =
                index.is_none_or(|index| index.key_parts().all(|part| entity.template(&part.name).is_some()));
            if !in_index {
                return None;
            }
            partition.iter().map(|part| entity.template(&part.name)).collect()
        };
        let own: Vec<Option<Vec<Template>>> = self.entities.iter().map(|entity| shapes(entity)).collect();
        let mut others = self
            .model
            .entities_of(&self.table.name)
            .filter(|entity| !self.entities.iter().any(|own| own.name == entity.name));
        !others.any(|other| shapes(other).is_some_and(|shape| own.contains(&Some(shape))))
    }

    fn covers(&self, index: Option<&Index>) -> bool {
        index.is_none_or(|index| {
            self.entities.iter().all(|entity| missing(self.table, index, entity, self.read).is_empty())
        })
    }
}

/// The attributes of an entity that a pattern wants and an index does not hold; a pattern that names none
/// wants all. Attributes in an index key count as held.
pub(crate) fn missing(table: &Table, index: &Index, entity: &Entity, read: &Read) -> Vec<String> {
    let included = match &index.projection {
        Projection::All => return Vec::new(),
        Projection::KeysOnly => None,
        Projection::Include(names) => Some(names),
    };
    let in_keys = entity.attributes_in_keys(table.key_parts().chain(index.key_parts()));
    let held = |name: &str| included.is_some_and(|names| names.contains(name)) || in_keys.contains(name);
    let wanted: Vec<&String> = if read.attributes.is_empty() {
        entity.attributes.iter().map(|attribute| &attribute.name).collect()
    } else {
        read.attributes.iter().filter(|name| entity.attribute(name).is_some()).collect()
    };
    wanted.into_iter().filter(|name| !held(name)).cloned().collect()
}
