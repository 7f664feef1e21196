//! Groups items into entities: by a type attribute, otherwise by the shape of their keys.

use std::collections::BTreeMap;

use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::{AttributeValue, Item};

use super::literals::Lexicon;
use keywright_model::tables::TableDefinition;

/// Attributes that designs and object mappers use for the entity type.
pub(super) const TYPE_ATTRIBUTES: [&str; 10] = [
    "EntityType",
    "entityType",
    "entity_type",
    // Amplify and other GraphQL resolvers.
    "__typename",
    // OneTable.
    "_type",
    "recordType",
    // ElectroDB.
    "__edb_e__",
    // DynamoDB Toolbox.
    "_et",
    // TypeDORM.
    "__en",
    "_entity",
];

/// Names that often hold the entity type, and as often something else.
const DOUBTFUL_TYPE_ATTRIBUTES: [&str; 5] = ["type", "Type", "entity", "Entity", "cls"];

/// Up to this number, a design's examples can consist of one item per entity.
const FEW_ITEMS: usize = 12;

/// Words that stand for "the item itself" and name no entity.
const SELF_WORDS: [&str; 8] = ["meta", "metadata", "info", "root", "self", "detail", "details", "profile"];

/// The items of one entity, as indexes into the list of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<usize>,
}

/// Sorts items into groups, in the order of their first items.
pub(crate) fn classify(table: &TableDefinition, items: &[&Item]) -> Vec<Group> {
    if items.is_empty() {
        return Vec::new();
    }
    let groups = by_type_attribute(items)
        .or_else(|| partly_by_type(table, items))
        .unwrap_or_else(|| by_shape(table, items));
    let members = groups.iter().map(|group| group.members.len()).sum::<usize>();
    assert_eq!(members, items.len(), "an item is in one group");
    assert!(groups.iter().all(|group| !group.members.is_empty()), "a group has an item");
    groups
}

/// Groups most items by their type attribute, the others by the shape of their keys: mappers keep items
/// without a type, such as uniqueness guards.
fn partly_by_type(table: &TableDefinition, items: &[&Item]) -> Option<Vec<Group>> {
    let attribute = TYPE_ATTRIBUTES.into_iter().find(|attribute| {
        items.iter().filter(|item| text(item, attribute).is_some()).count() * 2 > items.len()
    })?;
    let (typed, others): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|at| items.get(*at).is_some_and(|item| text(item, attribute).is_some()));
    let of =
        |places: &[usize]| -> Vec<&Item> { places.iter().filter_map(|at| items.get(*at).copied()).collect() };
    let placed = |groups: Vec<Group>, places: &[usize]| {
        let own = groups.into_iter().map(|group| Group {
            members: group.members.iter().filter_map(|at| places.get(*at).copied()).collect(),
            ..group
        });
        own.collect::<Vec<_>>()
    };
    let mut groups = placed(by_type_attribute(&of(&typed))?, &typed);
    for mut group in placed(by_shape(table, &of(&others)), &others) {
        while groups.iter().any(|known| known.name.eq_ignore_ascii_case(&group.name)) {
            group.name.push_str("Item");
        }
        groups.push(group);
    }
    groups.sort_by_key(|group| group.members.first().copied());
    Some(groups)
}

fn by_type_attribute(items: &[&Item]) -> Option<Vec<Group>> {
    let sure = TYPE_ATTRIBUTES.into_iter().map(|attribute| (attribute, true));
    let doubtful = DOUBTFUL_TYPE_ATTRIBUTES.into_iter().map(|attribute| (attribute, false));
    sure.chain(doubtful).find_map(|(attribute, sure)| {
        let types: Option<Vec<String>> =
            items.iter().map(|item| text(item, attribute).map(str::to_owned)).collect();
        let groups = collect(types?);
        // An attribute with as many values as items is an
        // identifier that happens to have such a name, not a type.
        let few = sure && items.len() <= FEW_ITEMS;
        (few || groups.len() == 1 || groups.len() * 2 <= items.len()).then_some(groups)
    })
}

fn collect(names: Vec<String>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, name) in names.into_iter().enumerate() {
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.members.push(at),
            None => groups.push(Group { name, members: vec![at] }),
        }
    }
    groups
}

fn by_shape(table: &TableDefinition, items: &[&Item]) -> Vec<Group> {
    let lexicon = Lexicon::of(table, items);
    let shapes = |key: Option<&KeyAttribute>| -> Vec<String> {
        let shape = |item: &Item| {
            key.and_then(|key| Some(lexicon.shape(&key.name, text(item, &key.name)?))).unwrap_or_default()
        };
        items.iter().map(|item| shape(item)).collect()
    };
    let partitions = shapes(table.schema.key.partition.first());
    let sorts = shapes(table.schema.key.sort.first());
    let both = partitions.iter().zip(&sorts).map(|(partition, sort)| format!("{partition}\n{sort}"));
    let mut groups = collect(both.collect());
    if groups.len() > 3 && groups.len() * 3 > items.len() * 2 {
        groups = collect(partitions.iter().map(|partition| format!("{partition}\n")).collect());
    }
    name_groups(&table.name, &mut groups);
    groups
}

/// Replaces key shapes used as group names by words from the keys, each used once.
fn name_groups(table: &str, groups: &mut [Group]) {
    let candidates: Vec<Vec<String>> = groups.iter().map(|group| candidates(&group.name)).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for candidate in candidates.iter().flatten() {
        *uses.entry(candidate).or_default() += 1;
    }
    let mut taken: Vec<String> = Vec::new();
    // The main item is named like its partition (a user's profile is the user), so its name is chosen first.
    let itself = |own: &[String]| own.iter().any(|name| is_self(name));
    let mut order: Vec<(&mut Group, &Vec<String>)> = groups.iter_mut().zip(&candidates).collect();
    order.sort_by_key(|(_, own)| !itself(own));
    for (group, own) in order {
        let alone = own.iter().find(|name| !itself(own) && uses.get(name.as_str()) == Some(&1));
        let free = own.iter().find(|name| !taken.contains(name));
        let base = alone.or(free).cloned().unwrap_or_else(|| identifier(table));
        let mut name = base.clone();
        let mut number = 2;
        while taken.contains(&name) {
            name = format!("{base}{number}");
            number += 1;
        }
        taken.push(name.clone());
        group.name = name;
    }
}

/// Candidate names from a group's shape, best first: the last word of a composed partition key, the words of
/// the sort key, the first word of the partition key. Words that stand for "the item itself" come last.
fn candidates(shape: &str) -> Vec<String> {
    let (partition, sort) = shape.split_once('\n').unwrap_or((shape, ""));
    let partition_words = words(partition);
    let sort_words = words(sort);
    let mut found = Vec::new();
    if partition_words.len() > 1 {
        found.extend(partition_words.last().cloned());
    }
    found.extend(sort_words.first().cloned());
    found.extend(partition_words.first().cloned());
    found.extend(sort_words.into_iter().skip(1));
    found.extend(partition_words.into_iter().skip(1));
    found.sort_by_key(|word| is_self(word));
    found
}

pub(super) fn is_self(word: &str) -> bool {
    SELF_WORDS.contains(&word.to_lowercase().as_str())
}

fn words(shape: &str) -> Vec<String> {
    shape
        .split(['#', '|', ':', '/'])
        .filter(|part| *part != "*")
        .map(identifier)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The text reduced to letters, digits and underscores.
pub(crate) fn identifier(text: &str) -> String {
    text.chars()
        .filter_map(|letter| match letter {
            '-' | ' ' | '.' => Some('_'),
            letter if letter.is_alphanumeric() || letter == '_' => Some(letter),
            _ => None,
        })
        .collect()
}

/// The text of a string attribute.
pub(crate) fn text<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
    match item.get(attribute) {
        Some(AttributeValue::S(text)) => Some(text),
        _ => None,
    }
}
