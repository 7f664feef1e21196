//! Document paths: positions in an item that an expression names.
//!
//! Placeholders are already replaced here; how a path was written is not known.

use std::collections::{HashMap, HashSet};

use super::checks::index_value;
use super::fault::Fault;
use super::placeholders::Placeholders;
use super::syntax::{RawPath, RawStep};
use crate::codec::{MapRef, ValueRef};
use crate::limits::DOCUMENT_PATH_STEPS_MAX;
use crate::messages::expression as messages;
use crate::value::{AttributeValue, Item};

/// One step below a top-level attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep {
    /// `.name`: a map's entry.
    Field(String),
    /// `[n]`: a list's element.
    Index(usize),
}

impl PathStep {
    /// The value that this step leads to from another value.
    pub(super) fn follow<'v>(&self, value: &'v AttributeValue) -> Option<&'v AttributeValue> {
        match (value, self) {
            (AttributeValue::M(map), Self::Field(name)) => map.get(name),
            (AttributeValue::L(list), Self::Index(index)) => list.get(*index),
            _ => None,
        }
    }
}

/// A position in an item: a top-level attribute and the steps below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentPath {
    /// The top-level attribute's name, with its placeholder replaced.
    pub attribute: String,
    /// The steps below the attribute, outermost first; empty for the attribute itself.
    pub steps: Vec<PathStep>,
}

impl DocumentPath {
    /// The path of a top-level attribute.
    pub fn top_level(attribute: impl Into<String>) -> Self {
        Self { attribute: attribute.into(), steps: Vec::new() }
    }

    /// Whether the path goes below its top-level attribute.
    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The value at this path in an item's stored form.
    pub fn find<'v>(&self, item: MapRef<'v>) -> Option<ValueRef<'v>> {
        let top = item.get(&self.attribute)?;
        self.steps.iter().try_fold(top, |value, step| match (value, step) {
            (ValueRef::M(map), PathStep::Field(name)) => map.get(name),
            (ValueRef::L(list), PathStep::Index(index)) => list.get(*index),
            _ => None,
        })
    }

    /// The value at this path in an item's tree.
    pub(super) fn find_in_tree<'v>(&self, item: &'v Item) -> Option<&'v AttributeValue> {
        let top = item.get(&self.attribute)?;
        self.steps.iter().try_fold(top, |value, step| step.follow(value))
    }

    /// Replaces the placeholders of a written path.
    pub(super) fn bind(raw: &RawPath<'_>, placeholders: &mut Placeholders<'_>) -> Result<Self, Fault> {
        let levels = raw.rest.len() + 1;
        let attribute = match &raw.first {
            RawStep::Placeholder(placeholder) => placeholders.name(placeholder)?.to_owned(),
            RawStep::Name(name) | RawStep::Index(name) => name.clone().into_owned(),
        };
        let steps = raw.rest.iter().map(|step| bind_step(step, placeholders)).collect::<Result<_, _>>()?;
        if levels > DOCUMENT_PATH_STEPS_MAX {
            return Err(Fault::new(messages::too_deep_path(levels)));
        }
        Ok(Self { attribute, steps })
    }
}

fn bind_step(step: &RawStep<'_>, placeholders: &mut Placeholders<'_>) -> Result<PathStep, Fault> {
    Ok(match step {
        RawStep::Name(name) => PathStep::Field(name.clone().into_owned()),
        RawStep::Placeholder(placeholder) => PathStep::Field(placeholders.name(placeholder)?.to_owned()),
        RawStep::Index(digits) => match index_value(digits) {
            Some(index) => PathStep::Index(index),
            None => return Err(Fault::new(messages::list_index_out_of_range(digits))),
        },
    })
}

/// The form of paths in error texts: `[a, b, [0]]`.
impl std::fmt::Display for DocumentPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{}", self.attribute)?;
        for step in &self.steps {
            match step {
                PathStep::Field(name) => write!(formatter, ", {name}")?,
                PathStep::Index(index) => write!(formatter, ", [{index}]")?,
            }
        }
        formatter.write_str("]")
    }
}

/// How two paths of one expression relate.
enum Clash {
    /// One is the other, or contains it.
    Overlap,
    /// At one position, one path has a field and the other an index.
    Conflict,
}

fn clash(first: &DocumentPath, second: &DocumentPath) -> Option<Clash> {
    if first.attribute != second.attribute {
        return None;
    }
    for (left, right) in first.steps.iter().zip(&second.steps) {
        match (left, right) {
            (PathStep::Field(_), PathStep::Index(_)) | (PathStep::Index(_), PathStep::Field(_)) => {
                return Some(Clash::Conflict);
            }
            _ if left != right => return None,
            _ => {}
        }
    }
    Some(Clash::Overlap)
}

/// The paths of an update or projection must neither overlap nor conflict; overlaps are reported first.
pub(super) fn check_distinct<'p>(paths: impl IntoIterator<Item = &'p DocumentPath>) -> Result<(), Fault> {
    let mut paths = paths.into_iter();
    // Most updates and projections have few paths, and one path is distinct.
    let (Some(first), Some(second)) = (paths.next(), paths.next()) else { return Ok(()) };
    let mut by_attribute: HashMap<&str, Vec<&DocumentPath>> = HashMap::new();
    let mut conflict = None;
    for path in [first, second].into_iter().chain(paths) {
        let earlier = by_attribute.entry(&path.attribute).or_default();
        for other in earlier.iter() {
            match clash(other, path) {
                Some(Clash::Overlap) => return Err(Fault::new(messages::paths_overlap(other, path))),
                Some(Clash::Conflict) if conflict.is_none() => {
                    conflict = Some(messages::paths_conflict(other, path));
                }
                Some(Clash::Conflict) | None => {}
            }
        }
        earlier.push(path);
    }
    conflict.map_or(Ok(()), |text| Err(Fault::new(text)))
}

/// The top-level attributes of paths, each once, in order.
pub(super) fn distinct_attributes<'p>(paths: impl IntoIterator<Item = &'p DocumentPath>) -> Vec<&'p str> {
    let mut seen = HashSet::new();
    let attributes = paths.into_iter().map(|path| path.attribute.as_str());
    attributes.filter(|attribute| seen.insert(*attribute)).collect()
}
