//! Applies an update to an item.
//!
//! Every operand and every path is read from the old item first. Then the item is changed: values in place,
//! list elements beyond the end, removals. So the indexes in an expression always mean the old item's
//! elements.
//!
//! An expression of 4 KB can name one list of the item hundreds of times. So operands are borrowed, their
//! sizes are added up, and nothing is copied for an update whose result could not be stored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::fault::Fault;
use super::path::{DocumentPath, PathStep};
use super::selection::ItemSelection;
use super::syntax::Arithmetic;
use super::update::{Action, Change, Dialect, SetOperand, SetValue, Update};
use crate::error::Error;
use crate::limits::UPDATE_WRITTEN_BYTES_MAX;
use crate::messages::{data_plane, expression as messages};
use crate::number::{Number, NumberFault};
use crate::size::value_bytes;
use crate::value::{AttributeValue, Item};

/// The result of an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The whole item after the update.
    pub new: Item,
}

/// A change with its value, at a path whose parent exists.
enum Step<'u, V> {
    Put(&'u DocumentPath, V),
    /// A list element beyond the list's end.
    Append(&'u DocumentPath, V),
    Clear(&'u DocumentPath),
}

/// A value that an update writes, not yet copied.
enum Written<'v> {
    Value(Cow<'v, AttributeValue>),
    /// `list_append`: the elements of lists, one list after the other.
    Elements(Vec<&'v [AttributeValue]>),
}

impl<'v> Written<'v> {
    /// The elements of a list; a fault for a value of another type.
    fn into_elements(self) -> Result<Vec<&'v [AttributeValue]>, Fault> {
        match self {
            Self::Elements(lists) => Ok(lists),
            // Owned values are sums and sets, and `list_append` takes neither.
            Self::Value(Cow::Borrowed(AttributeValue::L(list))) => Ok(vec![list]),
            Self::Value(_) => Err(Fault::new(messages::update_operand_type())),
        }
    }

    /// Subtracts the value's bytes from the budget; `None` if the budget does not suffice.
    fn count(&self, left: usize) -> Option<usize> {
        match self {
            Self::Value(value) => left.checked_sub(value_bytes(value)),
            Self::Elements(lists) => lists
                .iter()
                .flat_map(|list| list.iter())
                .try_fold(left, |left, element| left.checked_sub(value_bytes(element).max(1))),
        }
    }

    fn into_value(self) -> AttributeValue {
        match self {
            Self::Value(value) => value.into_owned(),
            Self::Elements(lists) => AttributeValue::L(lists.concat()),
        }
    }
}

impl Update {
    /// Applies the update to the old item, or to a new item that has only its key. All operands read the old
    /// item.
    pub fn apply(&self, old: Option<&Item>, key: &Item) -> Result<Updated, Error> {
        let base = old.unwrap_or(key);
        let mut steps = Vec::with_capacity(self.actions.len());
        let values = self.actions.iter().map(|action| set_value(action, base));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(Fault::without_parameter)?;
        for (action, value) in self.actions.iter().zip(values) {
            // Observed: without an item, a removal below an attribute is no fault.
            if old.is_none() && matches!(action.change, Change::Remove) {
                continue;
            }
            steps.extend(self.step(action, value, base).map_err(Fault::without_parameter)?);
        }
        check_written(&steps)?;
        let steps = steps.into_iter().map(Step::into_owned).collect();
        let mut new = base.clone();
        run(&mut new, steps);
        Ok(Updated { new })
    }

    /// What an item holds at the paths that the update touches, within the maps and lists that hold them: of
    /// the old item the `UPDATED_OLD` image, of the new one `UPDATED_NEW`. The paths are read literally in
    /// the new item (observed): an element appended beyond the end is not at the index that the expression
    /// gave, and a removed index shows the element that moved up.
    pub fn touched_in(&self, item: &Item) -> Item {
        let paths: Vec<DocumentPath> = self.actions.iter().map(|action| action.path.clone()).collect();
        ItemSelection::new(&paths).of_tree(item)
    }

    fn step<'u>(
        &self,
        action: &'u Action,
        value: Option<Written<'u>>,
        base: &'u Item,
    ) -> Result<Option<Step<'u, Written<'u>>>, Fault> {
        let made = |value| Some(Written::Value(Cow::Owned(value)));
        let path = &action.path;
        let slot = Slot::of(path, base).ok_or_else(|| Fault::new(messages::update_path_invalid()))?;
        let value = match (&action.change, slot) {
            (Change::Set(_), _) => value,
            (Change::Remove, Slot::Holds(_)) => return Ok(Some(Step::Clear(path))),
            (Change::Add(added), Slot::Holds(old)) => made(self.sum(old, added)?),
            (Change::Add(added), Slot::Free | Slot::BeyondEnd) => {
                Some(Written::Value(Cow::Borrowed(&**added)))
            }
            (Change::Delete(removed), Slot::Holds(old)) => match self.difference(old, removed)? {
                Some(rest) => made(rest),
                None => return Ok(Some(Step::Clear(path))),
            },
            (Change::Remove | Change::Delete(_), Slot::Free | Slot::BeyondEnd) => None,
        };
        Ok(value.map(|value| match slot {
            Slot::BeyondEnd => Step::Append(path, value),
            Slot::Holds(_) | Slot::Free => Step::Put(path, value),
        }))
    }

    fn type_fault(&self) -> Fault {
        Fault::new(match self.dialect {
            Dialect::Expression => messages::update_operand_type(),
            Dialect::Legacy => messages::legacy_update_type_mismatch(),
        })
    }

    /// ADD on an existing value.
    fn sum(&self, old: &AttributeValue, added: &AttributeValue) -> Result<AttributeValue, Fault> {
        Ok(match (old, added) {
            (AttributeValue::N(old), AttributeValue::N(added)) => {
                AttributeValue::N(old.checked_add(*added).map_err(number_fault)?)
            }
            (AttributeValue::Ss(old), AttributeValue::Ss(added)) => AttributeValue::Ss(union(old, added)),
            (AttributeValue::Ns(old), AttributeValue::Ns(added)) => AttributeValue::Ns(union(old, added)),
            (AttributeValue::Bs(old), AttributeValue::Bs(added)) => AttributeValue::Bs(union(old, added)),
            // Observed: the legacy ADD appends to lists.
            (AttributeValue::L(old), AttributeValue::L(added)) if self.dialect == Dialect::Legacy => {
                AttributeValue::L(old.iter().chain(added).cloned().collect())
            }
            _ => return Err(self.type_fault()),
        })
    }

    /// DELETE on an existing value; `None` when nothing is left.
    fn difference(
        &self,
        old: &AttributeValue,
        removed: &AttributeValue,
    ) -> Result<Option<AttributeValue>, Fault> {
        Ok(match (old, removed) {
            (AttributeValue::Ss(old), AttributeValue::Ss(removed)) => {
                rest(old, removed).map(AttributeValue::Ss)
            }
            (AttributeValue::Ns(old), AttributeValue::Ns(removed)) => {
                rest(old, removed).map(AttributeValue::Ns)
            }
            (AttributeValue::Bs(old), AttributeValue::Bs(removed)) => {
                rest(old, removed).map(AttributeValue::Bs)
            }
            _ => return Err(self.type_fault()),
        })
    }
}

/// Refuses an update that writes much more than an item can hold, before anything is copied.
fn check_written(steps: &[Step<'_, Written<'_>>]) -> Result<(), Error> {
    let mut left = UPDATE_WRITTEN_BYTES_MAX;
    for step in steps {
        let (Step::Put(_, value) | Step::Append(_, value)) = step else { continue };
        let Some(less) = value.count(left) else {
            return Err(Error::validation(data_plane::UPDATED_ITEM_TOO_LARGE));
        };
        left = less;
    }
    Ok(())
}

impl<'u> Step<'u, Written<'_>> {
    fn into_owned(self) -> Step<'u, AttributeValue> {
        match self {
            Self::Put(path, value) => Step::Put(path, value.into_value()),
            Self::Append(path, value) => Step::Append(path, value.into_value()),
            Self::Clear(path) => Step::Clear(path),
        }
    }
}

/// The value of a SET action; other actions have none yet.
fn set_value<'v>(action: &'v Action, base: &'v Item) -> Result<Option<Written<'v>>, Fault> {
    let value = match &action.change {
        Change::Set(SetValue::Operand(operand)) => operand.resolve(base)?,
        Change::Set(SetValue::Arithmetic { operator, left, right }) => {
            let left = number(&left.resolve(base)?)?;
            let right = number(&right.resolve(base)?)?;
            let result = match operator {
                Arithmetic::Plus => left.checked_add(right),
                Arithmetic::Minus => left.checked_sub(right),
            };
            Written::Value(Cow::Owned(AttributeValue::N(result.map_err(number_fault)?)))
        }
        Change::Remove | Change::Add(_) | Change::Delete(_) => return Ok(None),
    };
    Ok(Some(value))
}

/// A sum or difference that no number can hold. Observed: too many digits are reported as an overflow.
fn number_fault(fault: NumberFault) -> Fault {
    let reported = match fault {
        NumberFault::TooManyDigits => NumberFault::Overflow,
        NumberFault::NotNumeric | NumberFault::Overflow | NumberFault::Underflow => fault,
    };
    Fault::new(crate::messages::value::number(reported, ""))
}

fn union<T: Ord + Clone>(left: &[T], right: &[T]) -> Vec<T> {
    let mut all: Vec<T> = left.iter().chain(right).cloned().collect();
    all.sort();
    all.dedup();
    assert!(all.len() >= left.len().max(right.len()), "a union has every member of both sets");
    all
}

fn rest<T: Ord + Clone>(from: &[T], removed: &[T]) -> Option<Vec<T>> {
    let rest: Vec<T> = from.iter().filter(|member| removed.binary_search(member).is_err()).cloned().collect();
    assert!(rest.len() + removed.len() >= from.len(), "each removed member takes away at most one");
    (!rest.is_empty()).then_some(rest)
}

fn number(value: &Written<'_>) -> Result<Number, Fault> {
    match value {
        Written::Value(Cow::Borrowed(AttributeValue::N(number)) | Cow::Owned(AttributeValue::N(number))) => {
            Ok(*number)
        }
        Written::Value(_) | Written::Elements(_) => Err(Fault::new(messages::update_operand_type())),
    }
}

impl SetOperand {
    fn resolve<'v>(&'v self, base: &'v Item) -> Result<Written<'v>, Fault> {
        let borrowed = |value: &'v AttributeValue| Ok(Written::Value(Cow::Borrowed(value)));
        match self {
            Self::Value(value) => borrowed(value),
            Self::Path(path) => match path.find_in_tree(base) {
                Some(value) => borrowed(value),
                None => Err(Fault::new(messages::update_operand_missing())),
            },
            Self::IfNotExists(path, otherwise) => match path.find_in_tree(base) {
                Some(value) => borrowed(value),
                None => otherwise.resolve(base),
            },
            Self::ListAppend(first, second) => {
                let (first, second) = (first.resolve(base)?, second.resolve(base)?);
                let mut lists = first.into_elements()?;
                lists.append(&mut second.into_elements()?);
                Ok(Written::Elements(lists))
            }
        }
    }
}

/// The state of a path whose parent exists.
#[derive(Clone, Copy)]
enum Slot<'v> {
    Holds(&'v AttributeValue),
    /// A map without that entry, or an item without that attribute.
    Free,
    /// A list that is not that long.
    BeyondEnd,
}

impl<'v> Slot<'v> {
    /// `None` when the parent is missing, or is not of the type that the last step needs.
    fn of(path: &DocumentPath, base: &'v Item) -> Option<Self> {
        let Some((final_step, parents)) = path.steps.split_last() else {
            return Some(base.get(&path.attribute).map_or(Slot::Free, Slot::Holds));
        };
        let top = base.get(&path.attribute)?;
        let parent = parents.iter().try_fold(top, |value, step| step.follow(value))?;
        match (parent, final_step) {
            (AttributeValue::M(map), PathStep::Field(name)) => {
                Some(map.get(name).map_or(Slot::Free, Slot::Holds))
            }
            (AttributeValue::L(list), PathStep::Index(index)) => {
                Some(list.get(*index).map_or(Slot::BeyondEnd, Slot::Holds))
            }
            _ => None,
        }
    }
}

fn run(item: &mut Item, steps: Vec<Step<'_, AttributeValue>>) {
    let (mut added, mut appends, mut clears) = (Added::new(), Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Put(path, value) => put(item, path, value, &mut added),
            Step::Append(path, value) => appends.push((path, value)),
            Step::Clear(path) => clears.push(path),
        }
    }
    for (parent, members) in added {
        if let Some(map) = map_mut(item, parent) {
            map.extend(members);
        }
    }
    // Elements beyond the end are appended in the order of their indexes (developer guide). Removals run from
    // the back, so that none moves an element that another path means.
    appends.sort_by_key(|(path, _)| *path);
    for (path, value) in appends {
        if let Some(Container::List(list, _)) = container(item, path) {
            list.push(value);
        }
    }
    clears.sort_by(|left, right| right.cmp(left));
    clear_all(item, &clears);
}

/// The attribute that a path begins with, and the steps from there to the map or list that directly holds the
/// path's value. None for the path of an attribute, which the item holds.
type Parent<'p> = Option<(&'p str, &'p [PathStep])>;

/// Members that maps do not have yet.
type Added<'p> = BTreeMap<Parent<'p>, Vec<(String, AttributeValue)>>;

/// Removes the values at these paths, the last one first. Members of one map and elements of one list are
/// removed in one pass: removed one by one, each would move all later ones.
fn clear_all(item: &mut Item, paths: &[&DocumentPath]) {
    let mut names: BTreeMap<Parent<'_>, BTreeSet<&str>> = BTreeMap::new();
    let mut elements: BTreeMap<(&str, &[PathStep]), Vec<usize>> = BTreeMap::new();
    for path in paths {
        let attribute = path.attribute.as_str();
        match path.steps.split_last() {
            Some((PathStep::Index(index), parents)) => {
                elements.entry((attribute, parents)).or_default().push(*index);
            }
            Some((PathStep::Field(name), parents)) => {
                names.entry(Some((attribute, parents))).or_default().insert(name);
            }
            None => {
                names.entry(None).or_default().insert(attribute);
            }
        }
    }
    for (parent, names) in names {
        if let Some(map) = map_mut(item, parent) {
            map.retain(|name, _| !names.contains(name.as_str()));
        }
    }
    // Paths do not overlap, but one list can lie within an element of another: the longer path comes first.
    for ((attribute, parents), indexes) in elements.iter().rev() {
        if let Some(AttributeValue::L(list)) = follow_mut(item, attribute, parents) {
            remove_elements(list, indexes);
        }
    }
}

/// Removes elements from a list; the indexes descend.
fn remove_elements(list: &mut Vec<AttributeValue>, indexes: &[usize]) {
    let descend = indexes.is_sorted_by(|one, next| one > next);
    assert!(descend, "indexes to remove descend and none repeats");
    let mut wanted = indexes.iter().rev().peekable();
    let mut position = 0;
    list.retain(|_| {
        let is_removed = wanted.next_if(|index| **index == position).is_some();
        position += 1;
        !is_removed
    });
}

fn follow_mut<'i>(root: &'i mut Item, attribute: &str, steps: &[PathStep]) -> Option<&'i mut AttributeValue> {
    let top = root.get_mut(attribute)?;
    steps.iter().try_fold(top, |value, step| match (value, step) {
        (AttributeValue::M(map), PathStep::Field(name)) => map.get_mut(name),
        (AttributeValue::L(list), PathStep::Index(index)) => list.get_mut(*index),
        _ => None,
    })
}

/// The map that this parent is.
fn map_mut<'i>(root: &'i mut Item, parent: Parent<'_>) -> Option<&'i mut Item> {
    let Some((attribute, steps)) = parent else { return Some(root) };
    match follow_mut(root, attribute, steps) {
        Some(AttributeValue::M(map)) => Some(map),
        _ => None,
    }
}

/// The map or list that directly holds a path's value.
enum Container<'i, 'p> {
    Map(&'i mut Item, &'p str),
    List(&'i mut Vec<AttributeValue>, usize),
}

fn container<'i, 'p>(root: &'i mut Item, path: &'p DocumentPath) -> Option<Container<'i, 'p>> {
    let Some((final_step, parents)) = path.steps.split_last() else {
        return Some(Container::Map(root, &path.attribute));
    };
    let parent = follow_mut(root, &path.attribute, parents)?;
    match (parent, final_step) {
        (AttributeValue::M(map), PathStep::Field(name)) => Some(Container::Map(map, name)),
        (AttributeValue::L(list), PathStep::Index(index)) => Some(Container::List(list, *index)),
        _ => None,
    }
}

/// Replaces the value at a path. A member that its map does not have yet is added later, with the others of
/// that map: added one by one, each would move all later ones.
fn put<'p>(item: &mut Item, path: &'p DocumentPath, value: AttributeValue, added: &mut Added<'p>) {
    let container = container(item, path);
    assert!(container.is_some(), "no change removes the parent of another path");
    match container {
        Some(Container::Map(map, name)) => {
            if let Some(old) = map.get_mut(name) {
                *old = value;
            } else {
                let parent = path.steps.split_last().map(|(_, parents)| (path.attribute.as_str(), parents));
                added.entry(parent).or_default().push((name.to_owned(), value));
            }
        }
        Some(Container::List(list, index)) => {
            if let Some(element) = list.get_mut(index) {
                *element = value;
            }
        }
        None => {}
    }
}
