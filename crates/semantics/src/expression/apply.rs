//! What an update makes of an item.
//!
//! Every operand and every path is read from the old item first; only then the item is changed: values in place, then
//! list elements beyond the end, then removals. So the indexes in an expression always mean the old item's elements.

use super::fault::Fault;
use super::path::{DocumentPath, PathStep};
use super::selection::ItemSelection;
use super::syntax::Arithmetic;
use super::update::{Action, Change, Dialect, SetOperand, SetValue, Update};
use crate::error::Error;
use crate::messages::expression as messages;
use crate::number::{Number, NumberFault};
use crate::value::{AttributeValue, Item};

/// What an update made of an item, and which places it touched.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    pub new: Item,
    touched: Vec<DocumentPath>,
}

impl Updated {
    /// The places the update touched, in the order written.
    pub fn touched(&self) -> &[DocumentPath] {
        &self.touched
    }

    /// The `UPDATED_OLD` image: what was at the touched places before, within the maps and lists that hold them.
    pub fn updated_old(&self, old: &Item) -> Item {
        ItemSelection::new(&self.touched).of_tree(old)
    }

    /// The `UPDATED_NEW` image: what is at the touched places now. The places are read literally in the new item
    /// (observed): an element appended beyond the end is not at the index it was given, and at a removed index stands
    /// the element that moved up.
    pub fn updated_new(&self, new: &Item) -> Item {
        ItemSelection::new(&self.touched).of_tree(new)
    }
}

/// A change whose value is known, at a place that exists.
enum Step<'u> {
    Put(&'u DocumentPath, AttributeValue),
    /// A list element beyond the list's end.
    Append(&'u DocumentPath, AttributeValue),
    Clear(&'u DocumentPath),
}

impl Update {
    /// Applies the update to the old item, or to a new one that has only its key. All operands read the old item.
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
        let mut new = base.clone();
        run(&mut new, steps);
        let touched = self.actions.iter().map(|action| action.path.clone()).collect();
        Ok(Updated { new, touched })
    }

    fn step<'u>(
        &self,
        action: &'u Action,
        value: Option<AttributeValue>,
        base: &Item,
    ) -> Result<Option<Step<'u>>, Fault> {
        let path = &action.path;
        let slot = Slot::of(path, base).ok_or_else(|| Fault::new(messages::update_path_invalid()))?;
        let value = match (&action.change, slot) {
            (Change::Set(_), _) => value,
            (Change::Remove, Slot::Holds(_)) => return Ok(Some(Step::Clear(path))),
            (Change::Add(added), Slot::Holds(old)) => Some(self.sum(old, added)?),
            (Change::Add(added), Slot::Free | Slot::BeyondEnd) => Some(added.clone()),
            (Change::Delete(removed), Slot::Holds(old)) => match self.difference(old, removed)? {
                Some(rest) => Some(rest),
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

/// The value of a SET action; other actions have none yet.
fn set_value(action: &Action, base: &Item) -> Result<Option<AttributeValue>, Fault> {
    let value = match &action.change {
        Change::Set(SetValue::Operand(operand)) => operand.resolve(base)?,
        Change::Set(SetValue::Arithmetic { operator, left, right }) => {
            let left = number(&left.resolve(base)?)?;
            let right = number(&right.resolve(base)?)?;
            let result = match operator {
                Arithmetic::Plus => left.checked_add(right),
                Arithmetic::Minus => left.checked_sub(right),
            };
            AttributeValue::N(result.map_err(number_fault)?)
        }
        Change::Remove | Change::Add(_) | Change::Delete(_) => return Ok(None),
    };
    Ok(Some(value))
}

/// A sum or difference that no number can hold. Observed: one with too many digits is told as one too large.
fn number_fault(fault: NumberFault) -> Fault {
    let told = match fault {
        NumberFault::TooManyDigits => NumberFault::Overflow,
        NumberFault::NotNumeric | NumberFault::Overflow | NumberFault::Underflow => fault,
    };
    Fault::new(crate::messages::value::number(told, ""))
}

fn union<T: Ord + Clone>(left: &[T], right: &[T]) -> Vec<T> {
    let mut all: Vec<T> = left.iter().chain(right).cloned().collect();
    all.sort();
    all.dedup();
    all
}

fn rest<T: Ord + Clone>(from: &[T], removed: &[T]) -> Option<Vec<T>> {
    let rest: Vec<T> = from.iter().filter(|member| removed.binary_search(member).is_err()).cloned().collect();
    (!rest.is_empty()).then_some(rest)
}

fn number(value: &AttributeValue) -> Result<Number, Fault> {
    match value {
        AttributeValue::N(number) => Ok(*number),
        _ => Err(Fault::new(messages::update_operand_type())),
    }
}

impl SetOperand {
    fn resolve(&self, base: &Item) -> Result<AttributeValue, Fault> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Path(path) => {
                path.find_in_tree(base).cloned().ok_or_else(|| Fault::new(messages::update_operand_missing()))
            }
            Self::IfNotExists(path, otherwise) => match path.find_in_tree(base) {
                Some(value) => Ok(value.clone()),
                None => otherwise.resolve(base),
            },
            Self::ListAppend(first, second) => match (first.resolve(base)?, second.resolve(base)?) {
                (AttributeValue::L(mut first), AttributeValue::L(second)) => {
                    first.extend(second);
                    Ok(AttributeValue::L(first))
                }
                _ => Err(Fault::new(messages::update_operand_type())),
            },
        }
    }
}

/// What is at the end of a path whose parent exists.
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

fn run(item: &mut Item, steps: Vec<Step<'_>>) {
    let mut appends = Vec::new();
    let mut clears = Vec::new();
    for step in steps {
        match step {
            Step::Put(path, value) => put(item, path, value),
            Step::Append(path, value) => appends.push((path, value)),
            Step::Clear(path) => clears.push(path),
        }
    }
    // Elements beyond the end are appended in the order of their indexes (guide), and removed ones taken from the
    // back, so that no removal moves what another path means.
    appends.sort_by_key(|(path, _)| *path);
    for (path, value) in appends {
        if let Some(Container::List(list, _)) = container(item, path) {
            list.push(value);
        }
    }
    clears.sort_by(|left, right| right.cmp(left));
    for path in clears {
        clear(item, path);
    }
}

/// What directly holds a path's value.
enum Container<'i, 'p> {
    Map(&'i mut Item, &'p str),
    List(&'i mut Vec<AttributeValue>, usize),
}

fn container<'i, 'p>(root: &'i mut Item, path: &'p DocumentPath) -> Option<Container<'i, 'p>> {
    let Some((final_step, parents)) = path.steps.split_last() else {
        return Some(Container::Map(root, &path.attribute));
    };
    let top = root.get_mut(&path.attribute)?;
    let parent = parents.iter().try_fold(top, |value, step| match (value, step) {
        (AttributeValue::M(map), PathStep::Field(name)) => map.get_mut(name),
        (AttributeValue::L(list), PathStep::Index(index)) => list.get_mut(*index),
        _ => None,
    })?;
    match (parent, final_step) {
        (AttributeValue::M(map), PathStep::Field(name)) => Some(Container::Map(map, name)),
        (AttributeValue::L(list), PathStep::Index(index)) => Some(Container::List(list, *index)),
        _ => None,
    }
}

fn put(item: &mut Item, path: &DocumentPath, value: AttributeValue) {
    match container(item, path) {
        Some(Container::Map(map, name)) => {
            map.insert(name.to_owned(), value);
        }
        Some(Container::List(list, index)) => {
            if let Some(element) = list.get_mut(index) {
                *element = value;
            }
        }
        None => {}
    }
}

fn clear(item: &mut Item, path: &DocumentPath) {
    match container(item, path) {
        Some(Container::Map(map, name)) => {
            map.remove(name);
        }
        Some(Container::List(list, index)) if index < list.len() => {
            list.remove(index);
        }
        Some(Container::List(..)) | None => {}
    }
}
