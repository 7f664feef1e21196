//! The sort order of the entities in one item collection: which foreign items a read returns, where a page's
//! parent sorts, and which sort-key prefix for a member makes no read worse.
//!
//! Keys are compared by their leading text only: this module knows templates and patterns, not items.

use std::collections::BTreeSet;

use super::context::Context;
use crate::run::{OperationKind, PatternReport};
use keywright_model::overlap::{Side, can_be_equal};
use keywright_model::{Entity, GivenOp, KeyType, Order, Part, Pattern, Read, Template};

/// Sorts above every text that continues a prefix.
const LAST: char = '\u{10ffff}';
/// Stands for a value that the pattern gives.
const GIVEN: char = '\u{1}';
/// Prefixes that sort before alphabetic prefixes, and after them.
const BEFORE: [&str; 2] = ["#", "!"];
const AFTER: &str = "~";

/// An alternative sort-key template for an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opening<'a> {
    pub(super) key: String,
    pub(super) entity: &'a str,
    pub(super) template: Template,
}

/// The fix's text: the template to write for each entity.
pub(super) fn written(openings: &[Opening<'_>]) -> String {
    let one = |own: &Opening<'_>| format!("`{}: \"{}\"` for {}", own.key, own.template, own.entity);
    format!("write {}", openings.iter().map(one).collect::<Vec<_>>().join(" and "))
}

/// The entities that share a collection of a table or an index, and the patterns that read it.
pub(super) struct Collection<'a> {
    key: String,
    members: Vec<(&'a Entity, Template)>,
    questions: Vec<(&'a Pattern, &'a Read, bool)>,
}

/// A defect of a collection's sort order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble<'a> {
    /// A read for other entities returns this entity's items.
    Stranger { pattern: &'a str, entity: usize },
    /// A page begins with this child and not with its parent.
    Late { pattern: &'a str, parent: usize, child: usize },
}

impl<'a> Collection<'a> {
    /// The collection that a pattern reads; `None` if its sort key is not one text attribute.
    pub(super) fn of(context: &Context<'a>, report: &PatternReport) -> Option<Self> {
        let table = context.model.table(&report.table)?;
        let index = report.index.as_ref().and_then(|name| table.index(name));
        let (partition, sort) = match index {
            Some(index) => (index.partition.as_slice(), index.sort.as_slice()),
            None => (std::slice::from_ref(&table.partition), table.sort.as_slice()),
        };
        let ([partition], [sort]) = (partition, sort) else { return None };
        if sort.key_type != KeyType::S {
            return None;
        }
        let asked: Vec<&Entity> =
            report.entities.iter().filter_map(|name| context.model.entity(name)).collect();
        let first = *asked.first()?;
        let own = first.template(&partition.name)?;
        let shares_partition = |entity: &Entity| {
            entity.template(&partition.name).is_some_and(|template| {
                let side = |entity, template| Side { entity, template, stored: &[] };
                can_be_equal(side(first, &own), side(entity, &template))
            })
        };
        let entities = context.model.entities.iter().filter(|entity| entity.table == table.name);
        let members: Vec<(&Entity, Template)> = entities
            .filter(|entity| shares_partition(entity))
            .filter_map(|entity| Some((entity, entity.template(&sort.name)?)))
            .collect();
        let here = |own: &&Entity| members.iter().any(|(entity, _)| entity.name == own.name);
        if !asked.iter().all(here) {
            return None;
        }
        let questions = context.reads().filter(|(_, _, other)| {
            other.table == report.table
                && other.index == report.index
                && other.operation != OperationKind::Scan
        });
        let questions = questions
            .map(|(pattern, read, other)| (pattern, read, page(pattern, read, other).is_some()))
            .collect();
        Some(Self { key: sort.name.clone(), members, questions })
    }

    /// Sort keys with which the read returns its own entities only: other ones for the foreign entities it
    /// returns, else another one for one of its own entities.
    pub(super) fn apart(&self, pattern: &str) -> Option<Vec<Opening<'a>>> {
        let strangers: Vec<usize> = self
            .troubles(&[])
            .into_iter()
            .filter_map(|trouble| match trouble {
                Trouble::Stranger { pattern: own, entity } if own == pattern => Some(entity),
                Trouble::Stranger { .. } | Trouble::Late { .. } => None,
            })
            .collect();
        let all = [AFTER].into_iter().chain(BEFORE).map(|mark| self.marked(&strangers, mark));
        let singles = strangers.iter().copied().chain(self.asked(pattern)).flat_map(|own| self.moves(own));
        self.first_good(pattern, all.chain(singles).chain(self.pairs()))
    }

    /// Sort keys with which the read's pages begin with the parent: another one for the parent, else for one
    /// child.
    pub(super) fn parent_first(&self, pattern: &str, parent: &str) -> Option<Vec<Opening<'a>>> {
        let place = self.members.iter().position(|(entity, _)| entity.name == parent)?;
        let others = self.asked(pattern).filter(|own| *own != place);
        let singles = [place].into_iter().chain(others).flat_map(|own| self.moves(own));
        self.first_good(pattern, singles.chain(self.pairs()))
    }

    fn first_good(
        &self,
        pattern: &str,
        mut candidates: impl Iterator<Item = Vec<(usize, Template)>>,
    ) -> Option<Vec<Opening<'a>>> {
        let now = self.troubles(&[]);
        let good = |changes: &Vec<(usize, Template)>| {
            let after = self.troubles(changes);
            let own = |trouble: &Trouble<'_>| match trouble {
                Trouble::Stranger { pattern: own, .. } | Trouble::Late { pattern: own, .. } => {
                    *own == pattern
                }
            };
            !changes.is_empty()
                && after.is_subset(&now)
                && !after.iter().any(own)
                && changes.iter().all(|(place, _)| self.stands_alone(*place, changes))
        };
        let found = candidates.find(good)?;
        let opening = |(place, template): (usize, Template)| {
            let (entity, _) = self.members.get(place)?;
            Some(Opening { key: self.key.clone(), entity: &entity.name, template })
        };
        Some(found.into_iter().filter_map(opening).collect())
    }

    /// The members that a pattern reads.
    fn asked(&self, pattern: &str) -> impl Iterator<Item = usize> {
        let read = self.questions.iter().find(|(own, _, _)| own.id == pattern).map(|(_, read, _)| *read);
        self.members
            .iter()
            .enumerate()
            .filter(move |(_, (entity, _))| read.is_some_and(|read| read.entities.contains(&entity.name)))
            .map(|(place, _)| place)
    }

    /// The positions that a member could move to: before or after all others, or next to one of them.
    fn moves(&self, own: usize) -> Vec<Vec<(usize, Template)>> {
        let others = self.members.iter().enumerate().filter(|(place, _)| *place != own);
        let next_to_others = others.flat_map(|(_, (_, template))| {
            let word = template.prefix().trim_end_matches(|letter: char| !letter.is_alphanumeric());
            let marks: &[&str] = if word.is_empty() { &[] } else { &[AFTER, "!"] };
            marks.iter().map(move |mark| format!("{word}{mark}"))
        });
        let ends = BEFORE.into_iter().chain([AFTER]).map(str::to_owned);
        ends.chain(next_to_others).map(|mark| self.marked(&[own], &mark)).collect()
    }

    /// Two members, each moved before or after all others.
    fn pairs(&self) -> impl Iterator<Item = Vec<(usize, Template)>> {
        let places = 0..self.members.len();
        let pairs = places.flat_map(move |one| (0..one).map(move |other| (one, other)));
        pairs.flat_map(move |(one, other)| {
            let ends = || BEFORE.into_iter().chain([AFTER]);
            let both = |mark: &str, other_mark: &str| {
                [self.marked(&[one], mark), self.marked(&[other], other_mark)].concat()
            };
            let found = ends().flat_map(|mark| ends().map(move |other_mark| (mark, other_mark)));
            found.map(|(mark, other_mark)| both(mark, other_mark)).collect::<Vec<_>>()
        })
    }

    /// The templates of some members with a prefix added.
    fn marked(&self, places: &[usize], mark: &str) -> Vec<(usize, Template)> {
        let with = |place: &usize| {
            let (_, template) = self.members.get(*place)?;
            Some((*place, Template::parse(&format!("{mark}{template}")).ok()?))
        };
        places.iter().filter_map(with).collect()
    }

    fn template<'b>(&'b self, place: usize, changes: &'b [(usize, Template)]) -> Option<&'b Template> {
        let new = changes.iter().find(|(own, _)| *own == place).map(|(_, template)| template);
        new.or_else(|| self.members.get(place).map(|(_, template)| template))
    }

    /// Whether no other member's key begins like a changed key.
    fn stands_alone(&self, place: usize, changes: &[(usize, Template)]) -> bool {
        let span = |place: usize| self.template(place, changes).map(|template| span(template, None));
        let Some(own) = span(place) else { return false };
        (0..self.members.len())
            .filter(|other| *other != place)
            .filter_map(span)
            .all(|other| !meet(&own, &other))
    }

    fn troubles(&self, changes: &[(usize, Template)]) -> BTreeSet<Trouble<'a>> {
        let mut found = BTreeSet::new();
        for (pattern, read, paged) in &self.questions {
            let spans: Vec<(usize, bool, (String, String))> = self
                .members
                .iter()
                .enumerate()
                .filter_map(|(place, (entity, _))| {
                    let template = self.template(place, changes)?;
                    Some((place, read.entities.contains(&entity.name), span(template, Some(read))))
                })
                .collect();
            let own = || spans.iter().filter(|(_, asked, _)| *asked).map(|(_, _, span)| span);
            let (Some(low), Some(high)) = (own().map(|span| &span.0).min(), own().map(|span| &span.1).max())
            else {
                continue;
            };
            let range = (low.clone(), high.clone());
            let strangers = spans.iter().filter(|(_, asked, span)| !*asked && meet(&range, span));
            found.extend(
                strangers.map(|(entity, _, _)| Trouble::Stranger { pattern: &pattern.id, entity: *entity }),
            );
            let asked: Vec<usize> =
                spans.iter().filter(|(_, asked, _)| *asked).map(|(place, _, _)| *place).collect();
            for (parent, child) in self.families(&asked).into_iter().filter(|_| *paged) {
                let templates = (self.template(parent, changes), self.template(child, changes));
                let (Some(first), Some(other)) = templates else { continue };
                if begins_with_parent(first, other, read, Reading::of(read)) == Some(false) {
                    found.insert(Trouble::Late { pattern: &pattern.id, parent, child });
                }
            }
        }
        found
    }

    /// The parents among some members, each paired with each of its children.
    fn families(&self, asked: &[usize]) -> Vec<(usize, usize)> {
        let entity = |place: usize| self.members.get(place).map(|(entity, _)| *entity);
        let is_parent = |parent: usize, child: usize| {
            let (Some(parent), Some(child)) = (entity(parent), entity(child)) else { return false };
            parent.name != child.name && child.parents.contains(&parent.name)
        };
        let pairs = asked.iter().flat_map(|parent| asked.iter().map(move |child| (*parent, *child)));
        pairs.filter(|(parent, child)| is_parent(*parent, *child)).collect()
    }
}

/// The end of a range at which a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Forwards,
    Backwards,
}

impl Reading {
    pub(super) fn of(read: &Read) -> Self {
        if read.order == Some(Order::Descending) { Self::Backwards } else { Self::Forwards }
    }
}

/// The page size of a read that may need several pages.
pub(super) fn page(pattern: &Pattern, read: &Read, report: &PatternReport) -> Option<u64> {
    let returns = pattern.returns.unwrap_or_default();
    let page = read.limit.into_iter().chain(returns.page).min()?;
    // If everything always fits into one page, the parent is on it, wherever it sorts.
    let whole = returns.max.is_some_and(|max| max <= page) && !report.more;
    (!whole).then_some(page)
}

/// Whether a parent's key sorts where reading starts; `None` if both sort alike by what the pattern gives.
pub(super) fn begins_with_parent(
    parent: &Template,
    child: &Template,
    read: &Read,
    reading: Reading,
) -> Option<bool> {
    let (own, other) = (lead(parent, Some(read)), lead(child, Some(read)));
    if own.0 == other.0 {
        // A parent whose key is a prefix of its children's keys sorts right before them.
        let goes_on = own.1 || child.parts.starts_with(&parent.parts);
        if goes_on && reading == Reading::Forwards {
            return Some(true);
        }
        let sorted = read.order_by.is_some() || read.given.iter().any(|given| given.op != GivenOp::Eq);
        return (!sorted).then_some(false);
    }
    Some(if reading == Reading::Backwards { own.0 > other.0 } else { own.0 < other.0 })
}

/// The leading text of a template's values, as far as the template or the pattern fixes it, and whether that
/// is the whole value.
fn lead(template: &Template, read: Option<&Read>) -> (String, bool) {
    let given = |name: &str| {
        let mut equal = read.iter().flat_map(|read| &read.given).filter(|given| given.op == GivenOp::Eq);
        equal.any(|given| given.attribute == name)
    };
    let mut text = String::new();
    for part in &template.parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Attribute { name, .. } | Part::Shard { name, .. } if given(name) => text.push(GIVEN),
            Part::Attribute { .. } | Part::Shard { .. } => return (text, false),
        }
    }
    (text, true)
}

fn span(template: &Template, read: Option<&Read>) -> (String, String) {
    let (low, whole) = lead(template, read);
    let high = if whole { low.clone() } else { format!("{low}{LAST}") };
    (low, high)
}

fn meet(one: &(String, String), other: &(String, String)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}
