//! Key templates for a design. The partition key is named after its attributes, so that related entities
//! share partitions. The sort key begins with the entity's own prefix where others may be in the collection,
//! so that no two entities can write the same key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::candidates::spreading;
use super::collection_order::order;
use super::problem::{End, Entity, KeyStyle, Pattern, Prefixes, Problem, Slot};
use super::{Design, Placed, Projected, Sentinel, View};
use keywright_model::Template;

/// Numbers are padded to this many digits inside string keys.
pub(super) const NUMBER_DIGITS: usize = 20;

/// One entity's templates in one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The entity.
    pub entity: String,
    /// The slot.
    pub slot: Slot,
    /// The partition attributes.
    pub by: Vec<String>,
    /// The partition key's template.
    pub partition: String,
    /// The sort key's template; empty if an index needs none.
    pub sort: String,
    /// Which keys of an index are plain attributes.
    pub own: OwnKeys,
    /// The attributes that a derived item holds.
    pub holds: Holds,
}

/// The attributes that a derived item holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Holds {
    /// Everything.
    #[default]
    All,
    /// The attributes that its readers need.
    Only(Vec<String>),
    /// The value that it keeps unique, and the identity of the owner; no pattern reads it.
    Unique(Vec<String>),
}

/// Keys of an index that are plain attributes instead of texts made of them: nothing is stored twice, numbers
/// sort as numbers, and a write of the attribute writes the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnKeys {
    /// The partition key.
    pub partition: bool,
    /// The sort key; also set if the index has none.
    pub sort: bool,
}

/// The templates of every view of a design; kept keys retain their text.
pub fn name(design: &Design) -> Vec<Named> {
    let problem = &design.problem;
    let own_prefixes = prefixes(problem);
    let prefixes = sort_prefixes(design, &own_prefixes);
    assert_eq!(own_prefixes.len(), problem.entities.len(), "each entity has a prefix");
    assert_eq!(prefixes.len(), design.placed.len(), "each key has a prefix");
    let stems = stems(design);
    let owners: Vec<&String> = problem.entities.iter().filter_map(|entity| entity.owner.as_ref()).collect();
    design
        .placed
        .iter()
        .zip(prefixes)
        .filter_map(|(placed, prefix)| {
            let entity = problem.entities.get(placed.view.entity)?;
            let stem = stems.get(&placed.view.partition)?;
            let bare = is_alone(design, placed) && !placed.view.sort.is_empty();
            let prefix = if bare { String::new() } else { format!("{prefix}#") };
            let mark = own_prefixes.get(placed.view.entity).filter(|_| placed.strip.is_some());
            let mut named = templates(entity, (stem, &prefix, mark), &owners, placed);
            let kept = &problem.kept;
            // An entry of a local index is in its item's partition.
            let slot = if matches!(placed.slot, Slot::Local(_)) { Slot::Table } else { placed.slot };
            if let Some(own) = kept.key(placed.view.entity, slot).or_else(|| same(problem, placed, slot)) {
                named.partition = text(&own.partition);
            }
            if let Some(own) = kept.key(placed.view.entity, placed.slot) {
                named.sort = text(&own.sort);
            }
            named.own = own_keys(design, entity, placed);
            named.holds = held(entity, placed);
            let itself = |names: &[String]| {
                names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(" ")
            };
            if named.own.partition {
                named.partition = itself(&placed.view.partition);
            }
            if named.own.sort {
                named.sort = itself(&placed.view.sort);
            }
            Some(named)
        })
        .chain(sentinels(design, &stems, &owners))
        .collect()
}

/// The attributes of a derived item, in the entity's order.
fn held(entity: &Entity, placed: &Placed) -> Holds {
    if placed.slot != Slot::Copy || placed.projected == Projected::All {
        return Holds::All;
    }
    let names = entity.attributes.iter().map(|own| &own.name);
    Holds::Only(names.filter(|name| placed.view.has(entity, &placed.projected, name)).cloned().collect())
}

/// The templates of sentinels.
fn sentinels(design: &Design, stems: &BTreeMap<Vec<String>, String>, owners: &[&String]) -> Vec<Named> {
    let problem = &design.problem;
    let mut taken: Vec<String> = prefixes(problem);
    let mut found = Vec::new();
    for own in &design.sentinels {
        let view = own.view();
        let (Some(entity), Some(stem)) = (problem.entities.get(own.entity), stems.get(&view.partition))
        else {
            continue;
        };
        let all: Vec<Vec<String>> = own.unique.iter().map(|name| words(name)).collect();
        let prefix = shortest(&all, |text| taken.iter().any(|other| other == text));
        let projected = Projected::Only(own.holds(problem).into_iter().collect());
        let placed = Placed { slot: Slot::Copy, view, projected, number: false, several: false, strip: None };
        let named = templates(entity, (stem, &format!("{prefix}#"), None), owners, &placed);
        taken.push(prefix);
        found.push(Named { holds: Holds::Unique(own.holds(problem)), ..named });
    }
    found
}

/// Which keys of a new index are plain attributes: those of one attribute each, if no other entity uses the
/// index. Every item with all key attributes is in the index, so if another entity has them, a template text
/// keeps it out.
fn own_keys(design: &Design, entity: &Entity, placed: &Placed) -> OwnKeys {
    let none = OwnKeys::default();
    if placed.several {
        return OwnKeys { partition: true, sort: true };
    }
    let problem = &design.problem;
    let is_new =
        matches!(placed.slot, Slot::Local(_) | Slot::Global(_)) && problem.kept.index(placed.slot).is_none();
    let table = design.tables.iter().find(|table| table.entities.contains(&placed.view.entity));
    let (true, Some(table)) = (is_new, table) else { return none };
    let here = |own: &&Placed| table.entities.contains(&own.view.entity);
    if design.placed.iter().filter(here).filter(|own| own.slot == placed.slot).count() != 1 {
        return none;
    }
    let alone = |names: &[String]| match names {
        [name] => entity.attribute(name).is_some_and(|own| own.keyable),
        _ => false,
    };
    let global = matches!(placed.slot, Slot::Global(_));
    let partition = global && placed.view.shards == 1 && alone(&placed.view.partition);
    let sort = alone(&placed.view.sort) || (global && placed.view.sort.is_empty());
    // A local index contains every item with its sort attribute, since the table's partition key is always
    // there.
    let names: Vec<&String> =
        if global { placed.view.names().collect() } else { placed.view.sort.iter().collect() };
    let mut others = table.entities.iter().filter(|own| **own != placed.view.entity);
    let strange = others.any(|own| {
        problem.entities.get(*own).is_some_and(|own| names.iter().all(|name| own.attribute(name).is_some()))
    });
    let second =
        design.placed.iter().any(|own| own.slot == Slot::Copy && own.view.entity == placed.view.entity);
    let kept_unique = design.sentinels.iter().any(|own| {
        let held = own.holds(problem);
        own.entity == placed.view.entity && names.iter().all(|name| held.contains(name))
    });
    // A derived item has all or some attributes of its source.
    let open = strange || second || kept_unique;
    // A number that does not sort as text is the key of every item that has it; other entities' partitions
    // are not read by it.
    if placed.number {
        return OwnKeys { partition: partition && !open, sort };
    }
    match (partition, sort) {
        (true, true) if open && placed.view.sort.is_empty() => OwnKeys { partition, sort: false },
        (true, true) if open => OwnKeys { partition: false, sort },
        (false, true) if open && !global => none,
        _ => OwnKeys { partition, sort },
    }
}

/// A kept key of another entity by the same attributes: its text is reused, so that both share partitions.
fn same<'a>(problem: &'a Problem, placed: &Placed, slot: Slot) -> Option<&'a super::KeptKey> {
    problem.kept.keys.iter().find(|own| {
        own.slot.location() == slot.location()
            && own.view.partition == placed.view.partition
            && own.view.shards == placed.view.shards
    })
}

/// Templates from the prefixes of the partition and the sort key, and from what identifies the entity in an
/// order of several.
fn templates(
    entity: &Entity,
    (stem, prefix, mark): (&str, &str, Option<&String>),
    owners: &[&String],
    placed: &Placed,
) -> Named {
    let view = &placed.view;
    let own = |name: &String| match entity.attribute(name) {
        Some(attribute) if attribute.number && !attribute.unpaddable => {
            format!("{{{name}:pad({NUMBER_DIGITS})}}")
        }
        _ => format!("{{{name}}}"),
    };
    let joined = |names: &[String]| names.iter().map(own).collect::<Vec<_>>().join("#");
    // Access policies match key prefixes, so the owner comes first.
    let mut by = view.partition.clone();
    by.sort_by_key(|name| !owners.contains(&name));
    let mut partition = format!("{stem}#{}", joined(&by));
    if let (true, Some(id)) = (view.shards > 1, spreading(entity, (&view.partition, &view.sort))) {
        partition = format!("{partition}#{{{id}|shard({})}}", view.shards);
    }
    let mut sort: Vec<String> = view.sort.iter().map(own).collect();
    if let Some(mark) = mark {
        sort.insert(sort.len().min(1), mark.clone());
    }
    let sort = format!("{prefix}{}", sort.join("#"));
    Named {
        entity: entity.name.clone(),
        slot: placed.slot,
        by: view.partition.clone(),
        partition,
        sort,
        own: OwnKeys::default(),
        holds: Holds::All,
    }
}

/// The prefix of the partition keys by the same attributes, unique per attribute set: `customerId` stands for
/// a customer, whose partitions begin with `c`.
fn stems(design: &Design) -> BTreeMap<Vec<String>, String> {
    let kept = &design.problem.kept.keys;
    // What identifies an entity with a prefix of its own has that prefix.
    let entities = design.problem.entities.iter().rev();
    let fixed: BTreeMap<Vec<String>, String> =
        entities.filter_map(|own| Some((own.id.clone(), own.prefix.clone()?))).collect();
    let mut stems: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let sentinels: Vec<View> = design.sentinels.iter().map(Sentinel::view).collect();
    for by in design.placed.iter().map(|own| &own.view).chain(&sentinels).map(|view| &view.partition) {
        if stems.contains_key(by) {
            continue;
        }
        let bare = |name: &'_ String| -> String {
            let bare = name.strip_suffix("Id").or_else(|| name.strip_suffix("_id")).unwrap_or(name);
            if bare.is_empty() { name.clone() } else { bare.to_owned() }
        };
        let words: Vec<Vec<String>> = by.iter().map(|name| words(&bare(name))).collect();
        let taken = |text: &str| {
            fixed.values().chain(stems.values()).any(|other| other == text)
                || kept.iter().any(|own| own.view.partition != *by && opens(&own.partition, text))
        };
        let found = fixed.get(by).cloned();
        let found = found.unwrap_or_else(|| chosen(design.problem.style, &words, taken));
        stems.insert(by.clone(), found);
    }
    stems
}

/// The prefix of each sort key, in the order of the design's keys. It is the entity's own, unless patterns
/// for several entities would then find other entities between theirs, or a page without its parent; then it
/// is one that sorts the entity to the right place.
fn sort_prefixes(design: &Design, prefixes: &[String]) -> Vec<String> {
    let together = |placed: &Placed| -> Option<String> {
        let pattern = design.problem.patterns.get(placed.strip?)?;
        let taken = |text: &str| prefixes.iter().any(|other| other == text);
        Some(chosen(design.problem.style, &[words(pattern.sorted_by()?)], taken))
    };
    let own = |placed: &Placed| {
        together(placed).or_else(|| prefixes.get(placed.view.entity).cloned()).unwrap_or_default()
    };
    let mut found: Vec<String> = design.placed.iter().map(own).collect();
    if !design.problem.kept.is_empty() {
        return found;
    }
    let mut collections: BTreeMap<(Slot, &Vec<String>, u64), Vec<usize>> = BTreeMap::new();
    for (place, own) in design.placed.iter().enumerate() {
        let View { partition, shards, .. } = &own.view;
        collections.entry((own.slot.location(), partition, *shards)).or_default().push(place);
    }
    for (collection, places) in collections {
        // Entities in one shared order count as one.
        let entity = |place: usize| {
            let own = design.placed.get(place)?;
            let one = own.strip.and_then(|pattern| design.problem.patterns.get(pattern));
            one.and_then(|one| design.problem.places(&one.entities).first().copied())
                .or(Some(own.view.entity))
        };
        let one = |of: usize| -> usize {
            let here = places
                .iter()
                .filter(|place| design.placed.get(**place).is_some_and(|own| own.view.entity == of));
            here.copied().find_map(entity).unwrap_or(of)
        };
        let names: BTreeMap<usize, String> =
            places.iter().filter_map(|place| Some((entity(*place)?, found.get(*place)?.clone()))).collect();
        let Some(names) = sorted(design, collection, &names, one) else { continue };
        for place in places {
            let name = entity(place).and_then(|entity| names.get(&entity));
            if let (Some(own), Some(name)) = (found.get_mut(place), name) {
                own.clone_from(name);
            }
        }
    }
    found
}

/// Prefixes for the entities of one collection with which each pattern there reads adjacent entities; none if
/// the present prefixes suffice.
fn sorted(
    design: &Design,
    (slot, partition, shards): (Slot, &Vec<String>, u64),
    names: &BTreeMap<usize, String>,
    one: impl Fn(usize) -> usize,
) -> Option<BTreeMap<usize, String>> {
    let problem = &design.problem;
    let asked = design
        .asked
        .iter()
        .filter(|own| own.slot == slot && own.partition == *partition && own.shards == shards);
    let asked = asked.filter_map(|own| problem.patterns.iter().find(|pattern| pattern.id == own.pattern));
    let asked: Vec<&Pattern> = asked.filter(|pattern| pattern.entities.len() > 1).collect();
    let places = |own: &&Pattern| problem.places(&own.entities).into_iter().map(&one).collect();
    let sets: Vec<BTreeSet<usize>> = asked.iter().map(places).collect();
    let before = asked.iter().flat_map(|own| parents_first(problem, own));
    let before: Vec<(usize, usize)> = before
        .map(|(parent, child)| (one(parent), one(child)))
        .filter(|(parent, child)| parent != child)
        .collect();
    let by_name = |names: &BTreeMap<usize, String>| -> Vec<usize> {
        let mut places: Vec<usize> = names.keys().copied().collect();
        places.sort_by_key(|place| names.get(place).map(|own| format!("{own}#")));
        places
    };
    let fits = |names: &BTreeMap<usize, String>, before: &[(usize, usize)]| {
        let things = by_name(names);
        order(&things, &sets, before).is_some_and(|found| found == things)
    };
    let things = by_name(names);
    let mut met: Vec<usize> = things.clone();
    met.retain(|own| sets.iter().any(|set| set.contains(own)));
    // If both are impossible together, adjacency wins.
    let before = if order(&met, &sets, &before).is_some() { before.as_slice() } else { &[] };
    let found = order(&met, &sets, before)?;
    if fits(names, before) {
        return None;
    }
    let with = |marked: &dyn Fn(usize, &str) -> String| -> BTreeMap<usize, String> {
        names.iter().map(|(place, own)| (*place, marked(*place, own))).collect()
    };
    let first = found.first();
    let opened = with(&|place, own| {
        if Some(&place) == first { format!("#{own}") } else { own.to_owned() }
    });
    if fits(&opened, before) {
        return Some(opened);
    }
    let digits = found.len().to_string().len();
    Some(with(&|place, own| match found.iter().position(|other| *other == place) {
        Some(rank) => format!("{rank:0digits$}{own}"),
        None => format!("~{own}"),
    }))
}

/// For a pattern that reads at most a page: pairs of entities of which the first must sort before the
/// second, so that the page begins with the parent.
fn parents_first(problem: &Problem, pattern: &Pattern) -> Vec<(usize, usize)> {
    let Some(end) = pattern.page_from.filter(|_| pattern.sorted_by().is_none()) else { return Vec::new() };
    let places = problem.places(&pattern.entities);
    let own = || places.iter().filter_map(|place| Some((*place, problem.entities.get(*place)?)));
    let pairs = own().flat_map(|(child, entity)| {
        let parents = own().filter(|(_, parent)| entity.parents.contains(&parent.name));
        parents.map(move |(parent, _)| if end == End::First { (parent, child) } else { (child, parent) })
    });
    pairs.filter(|(one, other)| one != other).collect()
}

/// The templates of a key of several attributes as one text.
fn text(templates: &[Template]) -> String {
    templates.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The prefix of each entity's sort keys: the given one, or one that no other has. Entities with many items
/// choose first, so that theirs are the shortest.
pub(super) fn prefixes(problem: &Problem) -> Vec<String> {
    let fixed = problem.entities.iter().map(|own| own.prefix.clone().unwrap_or_default());
    let mut found: Vec<String> = fixed.collect();
    let free = problem.entities.iter().enumerate().filter(|(_, own)| own.prefix.is_none());
    let mut entities: Vec<(usize, &Entity)> = free.collect();
    entities.sort_by_key(|(place, entity)| (Reverse(entity.count), *place));
    for (place, entity) in entities {
        let others = || problem.kept.keys.iter().filter(|own| own.view.entity != place);
        let taken = |text: &str| {
            found.iter().any(|other| other == text) || others().any(|own| opens(&own.sort, text))
        };
        let own = chosen(problem.style, &[words(&entity.name)], taken);
        assert!(!found.contains(&own), "no other entity has a chosen prefix");
        if let Some(place) = found.get_mut(place) {
            *place = own;
        }
    }
    found
}

/// Entities whose sort keys cannot have the prefix that the model gives them: their names, and the prefixes
/// that patterns for several entities need instead.
pub(super) fn renamed(design: &Design) -> Vec<(String, String)> {
    let problem = &design.problem;
    let prefixes = sort_prefixes(design, &prefixes(problem));
    let placed = design.placed.iter().zip(prefixes);
    let renamed = placed.filter_map(|(placed, found)| {
        let own = problem.entities.get(placed.view.entity)?;
        let is_kept = problem.kept.key(placed.view.entity, placed.slot).is_some();
        let bare = is_alone(design, placed) && !placed.view.sort.is_empty();
        let differs = own.prefix.as_ref().is_some_and(|prefix| *prefix != found) && !is_kept && !bare;
        differs.then(|| (own.name.clone(), found))
    });
    renamed.collect()
}

/// Whether no other entity shares the partitions of a new index's entry, so that its sort key needs no
/// prefix.
fn is_alone(design: &Design, placed: &Placed) -> bool {
    let kept = &design.problem.kept;
    let partition = |own: &Placed| (own.slot, own.view.partition.clone());
    matches!(placed.slot, Slot::Global(_))
        && kept.index(placed.slot).is_none()
        && design.placed.iter().filter(|own| partition(own) == partition(placed)).count() == 1
}

/// Whether a key begins with a prefix and the delimiter: `o#` and `oi#` differ, as neither begins with the
/// other.
fn opens(key: &[Template], prefix: &str) -> bool {
    let rest = key.first().and_then(|template| template.prefix().strip_prefix(prefix));
    rest.is_some_and(|rest| rest.starts_with('#'))
}

/// The words of a name, in lower case: `orderItem`, `order_item` and `OrderItem` have two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut new = true;
    let mut small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            new = true;
            continue;
        }
        if new || (small && letter.is_uppercase()) {
            words.push(String::new());
            new = false;
        }
        small = !letter.is_uppercase();
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// A free prefix for these names.
fn chosen(style: KeyStyle, names: &[Vec<String>], taken: impl Fn(&str) -> bool) -> String {
    match style.prefixes {
        Prefixes::Short => shortest(names, taken),
        Prefixes::Readable => readable(names, taken),
    }
}

/// All words of the names: `order-item`; numbered if that is taken.
fn readable(names: &[Vec<String>], taken: impl Fn(&str) -> bool) -> String {
    let whole = names.iter().flatten().map(String::as_str).collect::<Vec<_>>().join("-");
    let whole = if whole.is_empty() { "key".to_owned() } else { whole };
    let numbered = (2_u32..).map(|number| format!("{whole}-{number}"));
    std::iter::once(whole.clone()).chain(numbered).find(|text| !taken(text)).unwrap_or_default()
}

/// The shortest free text that still suggests the name: the first letter of each name, then of each word,
/// then more and more letters.
fn shortest(names: &[Vec<String>], taken: impl Fn(&str) -> bool) -> String {
    let initial = |word: &String| word.chars().next();
    let whole: String = names.iter().flatten().map(String::as_str).collect();
    let whole = if whole.is_empty() { "k".to_owned() } else { whole };
    let firsts: String = names.iter().filter_map(|name| name.first().and_then(initial)).collect();
    let initials: String = names.iter().flatten().filter_map(initial).collect();
    let ends = whole.char_indices().map(|(start, letter)| start + letter.len_utf8());
    let openings = ends.filter_map(|end| whole.get(..end)).map(str::to_owned);
    let numbered = (2_u32..).map(|number| format!("{whole}{number}"));
    let mut found = [firsts, initials].into_iter().chain(openings).chain(numbered);
    found.find(|text| !text.is_empty() && !taken(text)).unwrap_or_default()
}
