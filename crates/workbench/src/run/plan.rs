//! Which one request answers a question: every key that could serve is tried, the best is taken.

use keywright_semantics::value::{AttributeValue, Item};

use super::range::{Bound, Known, bound, cover};
use crate::model::{
    Consistency, Entity, Index, IndexKind, KeyPart, Model, Part, Pattern, Projection, Read, ReadKind, Table,
    Template,
};

/// How a question is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan<'a> {
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    pub(super) access: Access,
    /// Givens that no key takes: they filter what was read.
    pub(super) residual: Vec<Residual>,
    /// Whether the index holds every attribute that is wanted.
    pub(super) covers: bool,
}

/// A given that filters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Residual {
    pub(super) known: Known,
    /// Whether all entities of the question have the attribute; those that do not have it are not filtered by it.
    pub(super) of_all: bool,
}

/// The givens that one entity's key takes.
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

/// Why nothing serves: one sentence for each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoPlan {
    pub(super) reasons: Vec<String>,
}

impl Plan<'_> {
    /// Whether an attribute can be asked of the path by its name.
    pub(super) fn holds(&self, name: &str) -> bool {
        let keys = self.index.into_iter().flat_map(Index::key_parts).chain(self.table.key_parts());
        // A local index fetches from its table what it does not hold.
        let global = self.index.filter(|index| index.kind == IndexKind::Global);
        match global.map(|index| &index.projection) {
            None | Some(Projection::All) => true,
            Some(Projection::KeysOnly) => keys.into_iter().any(|part| part.name == name),
            Some(Projection::Include(names)) => {
                names.iter().any(|included| included == name)
                    || keys.into_iter().any(|part| part.name == name)
            }
        }
    }
}

/// Chooses the request for a question whose given values are known.
pub(super) fn plan<'a>(
    model: &'a Model,
    pattern: &Pattern,
    read: &Read,
    known: &[Known],
) -> Result<Plan<'a>, NoPlan> {
    let entities: Vec<&Entity> = read.entities.iter().filter_map(|name| model.entity(name)).collect();
    let table = entities.first().and_then(|entity| model.table(&entity.table));
    let Some(table) = table else {
        return Err(NoPlan { reasons: vec!["its entities have no table".to_owned()] });
    };
    let question = Question { model, table, read, known, entities };
    if read.kind == ReadKind::Scan {
        let index = pattern.uses.as_deref().and_then(|name| table.index(name));
        let residual = question.residual(&[], false);
        return Ok(Plan { table, index, access: Access::Scan, residual, covers: true });
    }
    let mut plans = Vec::new();
    let mut reasons = Vec::new();
    for index in question.sources(pattern.uses.as_deref()) {
        match question.on(index) {
            Ok(plan) => plans.push(plan),
            Err(reason) => {
                let name = index.map_or(&table.name, |index| &index.name);
                reasons.push(format!("{name}: {reason}"));
            }
        }
    }
    plans.into_iter().min_by_key(rank).ok_or(NoPlan { reasons })
}

/// Less is better: all attributes there, no filter, a GetItem, more of the sort key bound, the table itself.
fn rank(plan: &Plan<'_>) -> (bool, usize, bool, std::cmp::Reverse<usize>, bool) {
    let bound = match &plan.access {
        Access::Query { sort, .. } => sort.iter().filter(|(_, bound)| *bound != Bound::Free).count(),
        Access::Get(_) | Access::Scan => 0,
    };
    let get = matches!(plan.access, Access::Get(_));
    (!plan.covers, plan.residual.len(), !get, std::cmp::Reverse(bound), plan.index.is_some())
}

struct Question<'a, 'b> {
    model: &'a Model,
    table: &'a Table,
    read: &'b Read,
    known: &'b [Known],
    entities: Vec<&'a Entity>,
}

impl<'a> Question<'a, '_> {
    /// The table and its indexes, or what the pattern says it uses. Strong reads have no global indexes to choose from.
    fn sources(&self, uses: Option<&str>) -> Vec<Option<&'a Index>> {
        if let Some(name) = uses {
            return vec![self.table.index(name)];
        }
        let strong = self.read.consistency == Consistency::Strong;
        let indexes = self.table.indexes.iter().filter(|index| !strong || index.kind == IndexKind::Local);
        std::iter::once(None).chain(indexes.map(Some)).collect()
    }

    fn on(&self, index: Option<&'a Index>) -> Result<Plan<'a>, String> {
        let (partition, sort): (Vec<&KeyPart>, Vec<&KeyPart>) = match index {
            None => (vec![&self.table.partition], self.table.sort.iter().collect()),
            Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
        };
        let mut partitions: Option<Vec<Vec<(String, AttributeValue)>>> = None;
        let mut bounds: Vec<Vec<(String, Bound)>> = Vec::new();
        let mut used: Vec<Used> = Vec::new();
        for entity in &self.entities {
            let mut own = Used::default();
            let rows = self.partitions(entity, &partition, &mut own.partition)?;
            if partitions.as_ref().is_some_and(|others| *others != rows) {
                return Err("the entities do not share a partition".to_owned());
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
            let name = &key.known.attribute;
            return Err(format!(
                "the entities do not share a range of `{name}`, and no filter can name a key attribute"
            ));
        }
        let sort = self.together(index, &partition, &sort, bounds);
        let access =
            self.get(index, &partitions, &sort, &residual).unwrap_or(Access::Query { partitions, sort });
        Ok(Plan { table: self.table, index, access, residual, covers: self.covers(index) })
    }

    /// What filters: givens that no key takes, and those whose range in the sort key is not the same for all entities,
    /// so that one condition that covers them lets more through.
    fn residual(&self, used: &[Used], same: bool) -> Vec<Residual> {
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

    /// A whole key of the table is a GetItem, unless the author asks for a query or something is left to filter by.
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

    fn template(entity: &Entity, part: &KeyPart) -> Result<Template, String> {
        entity.template(&part.name).ok_or_else(|| format!("{} is not in it", entity.name))
    }

    fn partitions(
        &self,
        entity: &Entity,
        parts: &[&KeyPart],
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

    fn unbound(&self, template: &Template, part: &KeyPart) -> String {
        let equal = |name: &str| {
            self.known.iter().any(|given| given.attribute == name && given.op == crate::model::GivenOp::Eq)
        };
        let missing: Vec<&str> = template.attributes().filter(|name| !equal(name)).collect();
        format!(
            "its partition key `{}` is `{template}`, and {} is not given by equality",
            part.name,
            missing.join(", ")
        )
    }

    /// The template once for each shard, where the pattern gathers and does not know the shard.
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
        parts: &[&KeyPart],
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

    /// The sort condition for all entities together. None is needed when a partition holds no others.
    fn together(
        &self,
        index: Option<&Index>,
        partition: &[&KeyPart],
        sort: &[&KeyPart],
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

    /// Whether no entity besides the pattern's can be in these partitions.
    fn alone(&self, index: Option<&Index>, partition: &[&KeyPart]) -> bool {
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
            index.kind == IndexKind::Local
                || self.entities.iter().all(|entity| missing(self.table, index, entity, self.read).is_empty())
        })
    }
}

/// The attributes a question wants of an entity that an index does not hold; all are wanted when none is named. Attributes
/// that stand in a key are held by it.
pub(crate) fn missing(table: &Table, index: &Index, entity: &Entity, read: &Read) -> Vec<String> {
    let included: &[String] = match &index.projection {
        Projection::All => return Vec::new(),
        Projection::KeysOnly => &[],
        Projection::Include(names) => names,
    };
    let told = entity.told_by(table.key_parts().chain(index.key_parts()));
    let held = |name: &str| included.iter().any(|included| included == name) || told.contains(name);
    let wanted: Vec<&String> = if read.attributes.is_empty() {
        entity.attributes.iter().map(|attribute| &attribute.name).collect()
    } else {
        read.attributes.iter().filter(|name| entity.attribute(name).is_some()).collect()
    };
    wanted.into_iter().filter(|name| !held(name)).cloned().collect()
}
