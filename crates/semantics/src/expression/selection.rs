//! The parts of a document that a set of paths leads to, as one tree, so that a document is walked once.

use std::collections::BTreeMap;

use super::path::{DocumentPath, PathStep};
use crate::codec::{EncodedItem, EncodedItemBuilder, EncodedValue, MapRef, ValueRef};
use crate::value::{AttributeValue, Item};

/// The selected parts of one value. List elements move together: `[2]` and `[0]` select a list of two.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Selection {
    All,
    Fields(BTreeMap<String, Selection>),
    Elements(BTreeMap<usize, Selection>),
}

/// The selected parts of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ItemSelection {
    attributes: BTreeMap<String, Selection>,
    /// Whether a part of an attribute is selected.
    has_parts: bool,
}

impl ItemSelection {
    /// The selection of these paths. Where paths overlap or conflict, the earlier one counts.
    pub(super) fn new<'p>(paths: impl IntoIterator<Item = &'p DocumentPath>) -> Self {
        let mut attributes = BTreeMap::new();
        for path in paths {
            if let Some(selection) = attributes.get_mut(&path.attribute) {
                extend(selection, &path.steps);
            } else {
                attributes.insert(path.attribute.clone(), chain(&path.steps));
            }
        }
        let has_parts = attributes.values().any(|selection| *selection != Selection::All);
        Self { attributes, has_parts }
    }

    /// The selected parts of an item in its stored form.
    pub(super) fn of_encoded(&self, item: MapRef<'_>) -> EncodedItem {
        if !self.has_parts {
            return item.encode_subset(|name| self.attributes.contains_key(name));
        }
        let nested: Vec<(&str, EncodedValue)> = self
            .attributes
            .iter()
            .filter(|(_, selection)| **selection != Selection::All)
            .filter_map(|(name, selection)| {
                let part = part_of_encoded(item.get(name)?, selection)?;
                Some((name.as_str(), EncodedValue::encode(&part)))
            })
            .collect();
        let mut builder = EncodedItemBuilder::new();
        for (name, selection) in &self.attributes {
            if let (Selection::All, Some(value)) = (selection, item.get(name)) {
                builder.push(name, value);
            }
        }
        for (name, part) in &nested {
            builder.push(name, part.view());
        }
        builder.finish()
    }

    /// The selected parts of an item.
    pub(super) fn of_tree(&self, item: &Item) -> Item {
        parts_of_map(item, &self.attributes)
    }
}

/// The selection of one path.
fn chain(steps: &[PathStep]) -> Selection {
    match steps.split_first() {
        None => Selection::All,
        Some((PathStep::Field(name), rest)) => {
            Selection::Fields(BTreeMap::from([(name.clone(), chain(rest))]))
        }
        Some((PathStep::Index(index), rest)) => Selection::Elements(BTreeMap::from([(*index, chain(rest))])),
    }
}

fn extend(selection: &mut Selection, steps: &[PathStep]) {
    match (selection, steps.split_first()) {
        (Selection::Fields(fields), Some((PathStep::Field(name), rest))) => match fields.get_mut(name) {
            Some(inner) => extend(inner, rest),
            None => drop(fields.insert(name.clone(), chain(rest))),
        },
        (Selection::Elements(elements), Some((PathStep::Index(index), rest))) => {
            match elements.get_mut(index) {
                Some(inner) => extend(inner, rest),
                None => drop(elements.insert(*index, chain(rest))),
            }
        }
        _ => {}
    }
}

/// The selected part of a value; `None` if no path leads to a value.
fn part_of_encoded(value: ValueRef<'_>, selection: &Selection) -> Option<AttributeValue> {
    match (selection, value) {
        (Selection::All, value) => Some(value.to_value()),
        (Selection::Fields(fields), ValueRef::M(map)) => {
            let parts: Item = fields
                .iter()
                .filter_map(|(name, inner)| Some((name.clone(), part_of_encoded(map.get(name)?, inner)?)))
                .collect();
            (!parts.is_empty()).then_some(AttributeValue::M(parts))
        }
        (Selection::Elements(elements), ValueRef::L(list)) => {
            let parts: Vec<AttributeValue> = list
                .select(elements.keys())
                .filter_map(|(index, value)| part_of_encoded(value, elements.get(&index)?))
                .collect();
            (!parts.is_empty()).then_some(AttributeValue::L(parts))
        }
        (Selection::Fields(_) | Selection::Elements(_), _) => None,
    }
}

fn part_of_tree(value: &AttributeValue, selection: &Selection) -> Option<AttributeValue> {
    match (selection, value) {
        (Selection::All, value) => Some(value.clone()),
        (Selection::Fields(fields), AttributeValue::M(map)) => {
            let parts = parts_of_map(map, fields);
            (!parts.is_empty()).then_some(AttributeValue::M(parts))
        }
        (Selection::Elements(elements), AttributeValue::L(list)) => {
            let parts: Vec<AttributeValue> =
                elements.iter().filter_map(|(index, inner)| part_of_tree(list.get(*index)?, inner)).collect();
            (!parts.is_empty()).then_some(AttributeValue::L(parts))
        }
        (Selection::Fields(_) | Selection::Elements(_), _) => None,
    }
}

fn parts_of_map(map: &Item, fields: &BTreeMap<String, Selection>) -> Item {
    fields
        .iter()
        .filter_map(|(name, inner)| Some((name.clone(), part_of_tree(map.get(name)?, inner)?)))
        .collect()
}
