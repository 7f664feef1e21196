//! Values that depend on how an action's own request ends: keys made of the updated item, and operands with
//! which its condition holds.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::number::Number;
use keywright_semantics::value::AttributeValue;

use super::action::Action;
use super::derive::{Derived, derived, updated};
use super::requests::{self, update_parts};
use keywright_model::expression::{Clause, Comparator, ConditionExpression, Effect};
use keywright_model::{Node, Write};

impl Action<'_> {
    /// Sets the key attributes of an update by applying their templates to the updated item.
    pub(super) fn derive(&mut self, step: &Write, example: &[(String, Node)]) -> Result<(), String> {
        let made = derived(self.table, self.entity, step, example);
        if made.is_empty() {
            return Ok(());
        }
        let Some(item) = updated(update_parts(self), &self.item, &self.key)? else { return Ok(()) };
        let mut found: Vec<(&Derived, AttributeValue)> = Vec::new();
        for own in &made {
            let Some(value) = own.value(&item) else {
                if own.owner.is_some() || self.item.contains_key(&own.attribute) {
                    continue;
                }
                return Err(format!(
                    "no value for `{}`: the item lacks what `{}` is made of",
                    own.placeholder, own.attribute
                ));
            };
            if let Some(owner) = &own.owner {
                if item.get(&own.attribute) != Some(&value) {
                    return Err(own.not_also(owner));
                }
                continue;
            }
            let twin = found.iter().find(|(other, _)| other.placeholder == own.placeholder);
            if let Some((other, _)) = twin.filter(|(_, known)| *known != value) {
                return Err(own.not_also(&other.attribute));
            }
            for (_, known) in self.values.iter_mut().filter(|(name, _)| *name == own.placeholder) {
                *known = Ok(value.clone());
            }
            found.push((own, value));
        }
        Ok(())
    }

    /// With other values for the placeholders that no example gives, where its condition compares them with
    /// the stored item and does not hold: `until < :now` needs a later time than the item's.
    pub(super) fn with_fitting_values(mut self, step: &Write, example: &[(String, Node)]) -> Self {
        if self.holds() {
            return self;
        }
        let clauses = step.expression().map(ConditionExpression::clauses).unwrap_or_default();
        for (comparator, attribute, name) in clauses.into_iter().filter_map(Clause::compared) {
            let changes = step.effects.iter().flat_map(Effect::values).any(|own| own == name);
            if changes || example.iter().any(|(known, _)| known == name) {
                continue;
            }
            let beyond = self.found().get(attribute).and_then(|own| beyond(own, comparator));
            let placeholder = format!(":{name}");
            let known = self.values.iter_mut().find(|(known, _)| *known == placeholder);
            if let (Some((_, value)), Some(beyond)) = (known, beyond) {
                *value = Ok(beyond);
            }
        }
        self
    }

    /// Whether its condition holds on the stored item.
    pub(super) fn holds(&self) -> bool {
        if self.condition.is_none() {
            return true;
        }
        requests::condition(self).is_ok_and(|condition| {
            condition.is_none_or(|own| own.evaluate(Some(EncodedItem::encode(self.found()).view())))
        })
    }
}

/// A value that an item's own compares with in this way; `None` for comparisons that are no order.
fn beyond(own: &AttributeValue, comparator: Comparator) -> Option<AttributeValue> {
    let is_upper = match comparator {
        Comparator::Lt | Comparator::Le => true,
        Comparator::Gt | Comparator::Ge => false,
        Comparator::Eq | Comparator::Ne => return None,
    };
    match own {
        AttributeValue::N(number) => {
            let step = Number::from(if is_upper { 1_i64 } else { -1 });
            number.checked_add(step).ok().map(AttributeValue::N)
        }
        AttributeValue::S(text) if is_upper => Some(AttributeValue::S(format!("{text}~"))),
        AttributeValue::S(text) => {
            let mut less = text.clone();
            less.pop();
            Some(AttributeValue::S(less))
        }
        _ => None,
    }
}
