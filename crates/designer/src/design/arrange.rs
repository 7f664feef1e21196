//! Changes items so that the conditions of a write hold: a refused write verifies nothing.

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};

use super::verify::plain;
use super::verify_writes::bare;
use keywright_model::data::{Sample, complete};
use keywright_model::expression::{Clause, Comparator};
use keywright_model::value::{from_node, from_untyped_node};
use keywright_model::{Condition, Entity, Model, Node, Pattern, Write, WriteKind};

/// The samples, with the pattern's items changed so that its conditions hold. Supported are clauses joined by
/// `and` that compare an attribute with a value or test its existence.
pub(super) fn arranged(model: &Model, samples: &[Sample], pattern: &Pattern) -> Vec<Sample> {
    let mut samples = samples.to_vec();
    for step in pattern.steps() {
        let Some(entity) = model.entity(&step.entity) else { continue };
        match (&step.condition, step.kind) {
            (Some(Condition::NotExists), WriteKind::Put) => {
                samples.retain(|sample| sample.entity.as_ref() != Some(&entity.name));
            }
            (Some(Condition::NotExists), _) => samples.retain(|sample| !is_of(sample, entity, step)),
            (Some(Condition::Expression(condition)), _) => {
                for clause in condition.clauses() {
                    let Some(change) = Change::of(clause, entity, pattern, step) else { continue };
                    let other = other(&samples, entity, &change.attribute);
                    let mine = samples.iter_mut().filter(|sample| is_of(sample, entity, step));
                    mine.for_each(|sample| change.apply(model, entity, other.clone(), sample));
                    alone(&mut samples, entity, step);
                }
            }
            _ => {}
        }
    }
    plain(model, &samples)
}

/// Whether the step's own examples name the item, as those of bound steps do.
fn is_of(sample: &Sample, entity: &Entity, step: &Write) -> bool {
    let names: Vec<&str> = entity.key_attributes().collect();
    let says = |row: &Vec<(String, Node)>| {
        names.iter().all(|name| {
            let given = row.iter().find(|(known, _)| known == name).map(|(_, node)| node);
            let kind = entity.attribute(name).map(|own| own.value_type);
            given.zip(kind).and_then(|(node, kind)| from_node(node, kind).ok()).as_ref()
                == sample.item.get(*name)
        })
    };
    sample.entity.as_ref() == Some(&entity.name) && step.examples.iter().any(says)
}

/// Removes other items that share a unique value with the item of a step.
fn alone(samples: &mut Vec<Sample>, entity: &Entity, step: &Write) {
    let values = |sample: &Sample, names: &[String]| -> Option<Vec<AttributeValue>> {
        names.iter().map(|name| sample.item.get(name.as_str()).cloned()).collect()
    };
    for names in &entity.unique {
        let mine = samples.iter().filter(|sample| is_of(sample, entity, step));
        let taken: Vec<Vec<AttributeValue>> = mine.filter_map(|sample| values(sample, names)).collect();
        samples.retain(|sample| {
            let clashes = || values(sample, names).is_some_and(|own| taken.contains(&own));
            sample.entity.as_ref() != Some(&entity.name) || is_of(sample, entity, step) || !clashes()
        });
    }
}

fn other(samples: &[Sample], entity: &Entity, attribute: &str) -> Option<AttributeValue> {
    let mut own = samples.iter().filter(|sample| sample.entity.as_ref() == Some(&entity.name));
    own.find_map(|sample| sample.item.get(attribute)).cloned()
}

/// What one clause requires of an attribute.
struct Change {
    attribute: String,
    asks: Asks,
}

enum Asks {
    There,
    NotThere,
    /// It compares so with this value.
    Is(Comparator, AttributeValue),
}

impl Change {
    fn of(clause: &Clause, entity: &Entity, pattern: &Pattern, step: &Write) -> Option<Self> {
        if let Clause::Call(call) = clause {
            let (path, asks) = match (call.excluded(), call.required()) {
                (Some(path), _) => (path, Asks::NotThere),
                (None, Some(path)) => (path, Asks::There),
                (None, None) => return None,
            };
            let attribute = path.whole().filter(|name| entity.attribute(name).is_some())?;
            return Some(Self { attribute: attribute.to_owned(), asks });
        }
        let (comparator, attribute, value) = clause.compared()?;
        let asks = match value_of(value, entity, attribute, pattern, step) {
            Some(value) => Asks::Is(comparator, value),
            // A value that no example gives is taken from the item itself.
            None if comparator == Comparator::Eq => Asks::There,
            None => return None,
        };
        Some(Self { attribute: attribute.to_owned(), asks })
    }

    fn apply(&self, model: &Model, entity: &Entity, other: Option<AttributeValue>, sample: &mut Sample) {
        let name = self.attribute.as_str();
        let mut item: Item = bare(entity, &sample.item);
        match &self.asks {
            Asks::There if item.contains_key(name) => {}
            Asks::There => item.extend(other.map(|value| (name.to_owned(), value))),
            Asks::NotThere => {
                item.remove(name);
            }
            Asks::Is(comparator, value) => {
                if item.get(name).is_none_or(|own| !holds(own, *comparator, value)) {
                    item.extend(fitting(*comparator, value).map(|value| (name.to_owned(), value)));
                }
            }
        }
        if let Ok(item) = complete(model, entity, item) {
            sample.item = item;
        }
    }
}

/// The value of a placeholder: from the example; without one, the number on the other side of the comparison.
fn value_of(
    name: &str,
    entity: &Entity,
    attribute: &str,
    pattern: &Pattern,
    step: &Write,
) -> Option<AttributeValue> {
    let kind = entity.attribute(attribute)?.value_type;
    let given = step.examples.iter().flatten().chain(&pattern.example).find(|(known, _)| known == name);
    match given {
        Some((_, node)) => from_node(node, kind).or_else(|_| from_untyped_node(node)).ok(),
        None if kind == keywright_semantics::value::ValueType::N => Some(AttributeValue::from(1)),
        None => None,
    }
}

fn holds(own: &AttributeValue, comparator: Comparator, value: &AttributeValue) -> bool {
    let order = match (own, value) {
        (AttributeValue::S(own), AttributeValue::S(value)) => own.cmp(value),
        (AttributeValue::N(own), AttributeValue::N(value)) => own.cmp(value),
        _ => return (own == value) == (comparator == Comparator::Eq),
    };
    match comparator {
        Comparator::Eq => order.is_eq(),
        Comparator::Ne => order.is_ne(),
        Comparator::Lt => order.is_lt(),
        Comparator::Le => order.is_le(),
        Comparator::Gt => order.is_gt(),
        Comparator::Ge => order.is_ge(),
    }
}

/// A value for which the comparison holds.
fn fitting(comparator: Comparator, value: &AttributeValue) -> Option<AttributeValue> {
    let moved = |by: i64| match value {
        AttributeValue::N(number) => number.checked_add(Number::from(by)).ok().map(AttributeValue::N),
        AttributeValue::S(text) if by > 0 => Some(AttributeValue::S(format!("{text}x"))),
        _ => None,
    };
    match comparator {
        Comparator::Eq | Comparator::Le | Comparator::Ge => Some(value.clone()),
        Comparator::Lt => moved(-1),
        Comparator::Ne | Comparator::Gt => moved(1),
    }
}
