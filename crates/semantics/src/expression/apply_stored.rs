//! Applies an update to an item in its stored form, where that needs no tree of it.
//!
//! Most updates set, remove or add to whole attributes. The other attributes are copied as they are stored.
//! What else an update does, and every fault, is left to `apply`.

use super::path::DocumentPath;
use super::syntax::Arithmetic;
use super::update::{Action, Change, SetOperand, SetValue, Update};
use crate::codec::{EncodedItem, MapRef, NewValue, ValueRef};
use crate::limits::UPDATE_WRITTEN_BYTES_MAX;
use crate::number::Number;
use crate::value::AttributeValue;

impl Update {
    /// The item after the update, as [`Update::apply`] makes it. `None` if that takes a tree, or if the
    /// update does not apply to the item.
    pub fn apply_stored(&self, old: &EncodedItem) -> Option<EncodedItem> {
        let item = old.view();
        let mut left = UPDATE_WRITTEN_BYTES_MAX;
        let mut changes = Vec::with_capacity(self.actions.len());
        for action in &self.actions {
            let name = whole(&action.path)?;
            let value = match outcome(action, name, item)? {
                Outcome::Written(value) => Some(value),
                Outcome::Removed => None,
            };
            left = left.checked_sub(value.as_ref().map_or(0, NewValue::size_bytes))?;
            changes.push((name, value));
        }
        changes.sort_unstable_by_key(|(name, _)| *name);
        old.with_changes(&changes)
    }
}

/// The name of a whole attribute.
fn whole(path: &DocumentPath) -> Option<&str> {
    if path.is_nested() { None } else { Some(&path.attribute) }
}

/// What an action does to its attribute.
enum Outcome<'v> {
    Written(NewValue<'v>),
    Removed,
}

fn outcome<'v>(action: &'v Action, name: &str, item: MapRef<'v>) -> Option<Outcome<'v>> {
    let value = match &action.change {
        Change::Remove => return Some(Outcome::Removed),
        Change::Delete(_) => return None,
        Change::Add(added) => match (item.get(name), &**added) {
            (None, added) => of_request(added)?,
            (Some(ValueRef::N(old)), AttributeValue::N(added)) => number(old.checked_add(*added).ok()?),
            (Some(_), _) => return None,
        },
        Change::Set(SetValue::Operand(operand)) => resolve(operand, item)?,
        Change::Set(SetValue::Arithmetic { operator, left, right }) => {
            let (left, right) = (operand_number(left, item)?, operand_number(right, item)?);
            number(match operator {
                Arithmetic::Plus => left.checked_add(right).ok()?,
                Arithmetic::Minus => left.checked_sub(right).ok()?,
            })
        }
    };
    Some(Outcome::Written(value))
}

const fn number(value: Number) -> NewValue<'static> {
    NewValue::Stored(ValueRef::N(value))
}

/// A value of the request. One that is too deep is refused by the other way.
fn of_request(value: &AttributeValue) -> Option<NewValue<'_>> {
    if value.is_too_deep() { None } else { Some(NewValue::Given(value)) }
}

fn resolve<'v>(operand: &'v SetOperand, item: MapRef<'v>) -> Option<NewValue<'v>> {
    match operand {
        SetOperand::Value(value) => of_request(value),
        SetOperand::Path(path) => item.get(whole(path)?).map(NewValue::Stored),
        SetOperand::IfNotExists(path, otherwise) => match item.get(whole(path)?) {
            Some(value) => Some(NewValue::Stored(value)),
            None => resolve(otherwise, item),
        },
        SetOperand::ListAppend(..) => None,
    }
}

fn operand_number(operand: &SetOperand, item: MapRef<'_>) -> Option<Number> {
    match resolve(operand, item)? {
        NewValue::Stored(ValueRef::N(number)) => Some(number),
        NewValue::Given(AttributeValue::N(number)) => Some(*number),
        NewValue::Stored(_) | NewValue::Given(_) => None,
    }
}
