//! The values that a pattern is run with: from its example, or from an item of the sample.

use std::borrow::Cow;

use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::range::Known;
use keywright_model::data::{Sample, attributes_from_keys};
use keywright_model::value::{from_node, from_untyped_node};
use keywright_model::{Entity, GivenOp, Model, Node, Pattern, Read};

/// A pattern's values, and whether its author gave them.
pub(super) struct Asked {
    pub(super) known: Vec<Known>,
    pub(super) own: bool,
}

/// Finds a value for every given attribute.
pub(super) fn asked(
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
    read: &Read,
) -> Result<Asked, String> {
    let mut said: Vec<Known> = Vec::new();
    for given in &read.given {
        let value_type = attribute_type(model, &read.entities, &given.attribute);
        let node = pattern.example.iter().find(|(name, _)| *name == given.attribute);
        let Some((_, node)) = node else { continue };
        let values = node
            .elements()
            .iter()
            .map(|element| from_node(element, value_type))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|fault| format!("example of `{}`: {fault}", given.attribute))?;
        let wanted = if given.op == GivenOp::Between { 2 } else { 1 };
        if values.len() < wanted {
            return Err(format!(
                "`{}` needs {wanted} values: write `example: {{{}: …}}`",
                given.attribute, given.attribute
            ));
        }
        said.push(Known { attribute: given.attribute.clone(), op: given.op, values });
    }
    let mut own = true;
    let mut known = Vec::new();
    for given in &read.given {
        if let Some(said) = said.iter().find(|said| said.attribute == given.attribute) {
            known.push(said.clone());
            continue;
        }
        own = false;
        let item = fitting(samples, (pattern, read), model, &said, &given.attribute);
        let value = item.and_then(|item| item.get(&given.attribute).cloned());
        let value = value.ok_or_else(|| nothing(&given.attribute, &said))?;
        known.push(Known {
            attribute: given.attribute.clone(),
            op: given.op,
            values: vec![value.clone(), value],
        });
    }
    Ok(Asked { known, own: own && !read.given.is_empty() })
}

fn nothing(attribute: &str, said: &[Known]) -> String {
    if said.is_empty() {
        return format!(
            "no value for `{attribute}`: write `example: {{{attribute}: …}}` or give sample data"
        );
    }
    format!(
        "no value for `{attribute}`: no item of the data is one that `example` speaks of: write `example: {{{attribute}: …}}` as \
         well, or an `example` that some item agrees with"
    )
}

/// The first item of the pattern's entities that has the attribute and agrees with the example: it is within
/// the ranges and has the other values. A value that is not an attribute of any item may come from its keys.
fn fitting<'a>(
    samples: &'a [Sample],
    (pattern, read): (&Pattern, &Read),
    model: &Model,
    said: &[Known],
    attribute: &str,
) -> Option<Cow<'a, Item>> {
    let agrees = |item: &Item| {
        pattern.example.iter().all(|(name, node)| {
            let value_type = attribute_type(model, &read.entities, name);
            item.get(name).is_none_or(|value| match said.iter().find(|said| said.attribute == *name) {
                Some(said) => said.admits(value),
                None => from_node(node, value_type).is_ok_and(|wanted| wanted == *value),
            })
        })
    };
    let fits = |item: &Item, entity: &str| {
        item.contains_key(attribute)
            && agrees(item)
            && read.given.iter().all(|given| {
                item.contains_key(&given.attribute)
                    || model.entity(entity).is_none_or(|entity| entity.attribute(&given.attribute).is_none())
            })
    };
    let own = |entity: &str| {
        let entity = entity.to_owned();
        let mine = move |sample: &&Sample| sample.entity.as_deref() == Some(entity.as_str());
        samples.iter().filter(mine).map(|sample| &sample.item)
    };
    // Prefer one item for all values: the last entity is most often the child that has all of them.
    let stored = read.entities.iter().rev().find_map(|entity| own(entity).find(|item| fits(item, entity)));
    if let Some(item) = stored {
        return Some(Cow::Borrowed(item));
    }
    read.entities.iter().rev().find_map(|name| {
        let entity = model.entity(name).filter(|entity| entity.attribute(attribute).is_some())?;
        let mut completed = own(name).map(|item| {
            let mut whole = item.clone();
            whole.extend(attributes_from_keys(model, entity, item));
            whole
        });
        completed.find(|item| fits(item, name)).map(Cow::Owned)
    })
}

fn attribute_type(model: &Model, entities: &[String], name: &str) -> ValueType {
    let known = entities
        .iter()
        .filter_map(|entity| model.entity(entity)?.attribute(name))
        .map(|known| known.value_type);
    known.into_iter().next().unwrap_or(ValueType::S)
}

/// The value of a placeholder: the example's, or a guess from the attribute whose value it stands for.
/// `meanings` has the attribute of each placeholder in the expression.
pub(super) fn placeholder(
    entities: &[&Entity],
    meanings: &[(&str, &str)],
    name: &str,
    examples: &[(String, Node)],
    item: Option<&Item>,
) -> Result<AttributeValue, String> {
    let is_known = |name: &&str| entities.iter().any(|entity| entity.attribute(name).is_some());
    let mut sides = meanings.iter().filter(|(value, _)| *value == name).map(|(_, attribute)| *attribute);
    let attribute = sides.clone().find(is_known).or_else(|| sides.next());
    let known = attribute.and_then(|name| entities.iter().find_map(|entity| entity.attribute(name)));
    if let Some((_, node)) = examples.iter().find(|(known, _)| known == name) {
        let value = match known {
            Some(known) => from_node(node, known.value_type).or_else(|_| from_untyped_node(node)),
            None => from_untyped_node(node),
        };
        return value.map_err(|fault| format!("example of `{name}`: {fault}"));
    }
    if let Some(value) = item.zip(attribute).and_then(|(item, attribute)| item.get(attribute)) {
        return Ok(match value {
            AttributeValue::N(_) => AttributeValue::from(1),
            other => other.clone(),
        });
    }
    match known.map(|known| known.value_type) {
        Some(ValueType::N) => Ok(AttributeValue::from(1)),
        Some(ValueType::S) => Ok(AttributeValue::from("x")),
        Some(ValueType::Bool) => Ok(AttributeValue::Bool(true)),
        _ => Err(format!("no value for `:{name}`: write `example: {{{name}: …}}`")),
    }
}
