//! The checks that several operations share. Each operation's `validate` decides their order.
//!
//! They do not know tables.

use std::num::NonZeroU32;

use super::parts::{
    AttributeMapPart, ConditionParts, ConditionalOperator, ExpectedAttributeValueParts, ReturnValue,
    ReturnValuesOnConditionCheckFailure, Select, ValuePart,
};
use super::{OnConditionFailure, SelectMode};
use crate::error::{Error, ErrorKind};
use crate::expression::{Condition, ConditionKind, Placeholders, Projection, legacy};
use crate::expression::{parse_condition, parse_projection};
use crate::limits::{ATTRIBUTE_NAME_BYTES_MAX, ITEM_BYTES_MAX};
use crate::messages::{Wording, data_plane, item as messages, shape, value as value_messages};
use crate::size::item_bytes;
use crate::value::{AttributeValue, Item, ValueFault};

/// A request member of the legacy dialect or of the expressions, and whether the request has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    name: &'static str,
    present: bool,
}

impl Member {
    pub(super) const fn of<T>(name: &'static str, value: Option<&T>) -> Self {
        Self { name, present: value.is_some() }
    }
}

/// The members of a request in either dialect. Lists are in the order in which messages name the members.
#[derive(Debug)]
pub(super) struct Dialects<'r> {
    pub legacy: &'r [Member],
    /// Expressions without values.
    pub projection: &'r [Member],
    /// Expressions that may use values.
    pub expressions: &'r [Member],
    pub names: Member,
    pub values: Member,
    pub wording: Wording,
}

/// The member of an operation that has no `ExpressionAttributeValues`.
pub(super) const NO_VALUES: Member = Member { name: "ExpressionAttributeValues", present: false };

pub(super) fn names(map: Option<&Vec<(String, String)>>) -> Member {
    Member::of("ExpressionAttributeNames", map)
}

pub(super) fn values(map: Option<&AttributeMapPart>) -> Member {
    Member::of("ExpressionAttributeValues", map)
}

impl Dialects<'_> {
    /// A request has only one dialect, and placeholders only together with an expression that can use them.
    pub(super) fn check(&self) -> Result<(), Error> {
        let any = |members: &[Member]| members.iter().any(|member| member.present);
        let has_expression = any(self.projection) || any(self.expressions);
        if has_expression && any(self.legacy) {
            let mut expressions = present(self.projection);
            expressions.extend(present(self.expressions));
            return Err(Error::validation(messages::mixed_parameters(&present(self.legacy), &expressions)));
        }
        if self.names.present && !has_expression {
            return Err(Error::validation(messages::NAMES_WITHOUT_EXPRESSION));
        }
        if self.values.present && !any(self.expressions) {
            let all: Vec<&str> = self.expressions.iter().map(|member| member.name).collect();
            return Err(Error::validation(match self.wording {
                Wording::Present => messages::VALUES_WITHOUT_EXPRESSION.to_owned(),
                Wording::Legacy => messages::values_without_expression(&all),
            }));
        }
        Ok(())
    }
}

fn present(members: &[Member]) -> Vec<&'static str> {
    members.iter().filter(|member| member.present).map(|member| member.name).collect()
}

/// The wording of the faults of a PutItem, UpdateItem or DeleteItem with these values. Observed: the legacy
/// validator answers requests with a value that the present one cannot read.
pub(super) fn wording_for<'p>(mut values: impl Iterator<Item = &'p ValuePart>) -> Wording {
    let unreadable = |value: &ValuePart| matches!(value, Err(ValueFault::TooDeepToRead));
    if values.any(unreadable) { Wording::Legacy } else { Wording::Present }
}

/// Every value of an attribute map.
pub(super) fn each_value(part: Option<&AttributeMapPart>) -> impl Iterator<Item = &ValuePart> {
    part.into_iter().flatten().map(|(_, value)| value)
}

/// Every value of the legacy `Expected`.
pub(super) fn each_expected(
    conditions: Option<&Vec<(String, ExpectedAttributeValueParts)>>,
) -> impl Iterator<Item = &ValuePart> {
    let conditions = conditions.into_iter().flatten();
    conditions.flat_map(|(_, parts)| parts.value.iter().chain(parts.attribute_value_list.iter().flatten()))
}

/// The envelope that PutItem, UpdateItem and DeleteItem put around every fault that needs no table.
pub(super) fn enveloped(error: Error, wording: Wording) -> Error {
    match (wording, error.kind) {
        (Wording::Present, ErrorKind::Validation) => Error::validation(messages::enveloped(&error.message)),
        _ => error,
    }
}

/// An item or a key. Names are checked before values; the first fault is the error.
pub(super) fn item(part: AttributeMapPart, wording: Wording) -> Result<Item, Error> {
    check_names(&part)?;
    if let Some(fault) = part.iter().find_map(|(_, value)| value.as_ref().err()) {
        return Err(value_error(fault, wording));
    }
    Ok(part.into_iter().filter_map(|(name, value)| Some((name, value.ok()?))).collect())
}

/// The attributes of an item or a key, as the client wrote them.
pub(super) fn attributes(
    part: AttributeMapPart,
    wording: Wording,
) -> Result<Vec<(String, AttributeValue)>, Error> {
    check_names(&part)?;
    let values = part.into_iter().map(|(name, value)| match value {
        Ok(value) => Ok((name, value)),
        Err(fault) => Err(value_error(&fault, wording)),
    });
    values.collect()
}

/// Checks the size of a whole item. Older recordings of PutItem and BatchWriteItem show that it precedes the
/// table.
pub(super) fn check_item_size(item: &Item) -> Result<(), Error> {
    if item_bytes(item) > ITEM_BYTES_MAX {
        return Err(Error::validation(data_plane::ITEM_TOO_LARGE));
    }
    Ok(())
}

/// Like [`item`], for parts that are kept to be returned to the client.
pub(super) fn item_ref(part: &AttributeMapPart, wording: Wording) -> Result<Item, Error> {
    check_names(part)?;
    let mut attributes = Vec::with_capacity(part.len());
    for (name, value) in part {
        let value = value.as_ref().map_err(|fault| value_error(fault, wording))?;
        attributes.push((name.clone(), value.clone()));
    }
    Ok(attributes.into_iter().collect())
}

fn check_names(part: &AttributeMapPart) -> Result<(), Error> {
    part.iter().try_for_each(|(name, _)| check_name(name))
}

/// Checks the name of an attribute.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() {
        return Err(Error::validation(messages::EMPTY_ATTRIBUTE_NAME));
    }
    if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
        return Err(Error::validation(messages::ATTRIBUTE_NAME_TOO_LARGE));
    }
    Ok(())
}

fn value_error(fault: &ValueFault, wording: Wording) -> Error {
    Error::validation(value_messages::fault(fault, wording))
}

/// A starting key. Observed: faults of numbers, sets of numbers and repeated members are reported without a
/// prefix.
pub(super) fn starting_key(part: Option<AttributeMapPart>, wording: Wording) -> Result<Option<Item>, Error> {
    let Some(part) = part else { return Ok(None) };
    let values = part.into_iter().map(|(name, value)| Ok((name, value?)));
    let item = values.collect::<Result<Item, ValueFault>>().map_err(|fault| {
        let text = value_messages::fault(&fault, wording);
        let text = if has_prefix(&fault) { messages::starting_key_invalid(&text) } else { text };
        Error::validation(text)
    })?;
    Ok(Some(item))
}

fn has_prefix(fault: &ValueFault) -> bool {
    match fault {
        ValueFault::Number { .. } | ValueFault::DuplicateInSet { .. } => false,
        ValueFault::EmptySet(set_type) => *set_type != crate::value::ValueType::Ns,
        ValueFault::Empty
        | ValueFault::SeveralTypes
        | ValueFault::NullNotTrue
        | ValueFault::EmptyStringInSet
        | ValueFault::EmptyBinaryInSet
        | ValueFault::TooDeep
        | ValueFault::TooDeepByOne(_)
        | ValueFault::TooDeepToRead => true,
    }
}

/// `ReturnValues` of the operations that have no new image to return.
pub(super) fn return_old(value: Option<ReturnValue>) -> Result<ReturnValue, Error> {
    match value {
        None | Some(ReturnValue::None) => Ok(ReturnValue::None),
        Some(ReturnValue::AllOld) => Ok(ReturnValue::AllOld),
        Some(ReturnValue::UpdatedOld | ReturnValue::AllNew | ReturnValue::UpdatedNew) => {
            Err(Error::validation(messages::RETURN_VALUES_OLD_ONLY))
        }
    }
}

pub(super) const fn on_condition_failure(
    value: Option<ReturnValuesOnConditionCheckFailure>,
) -> OnConditionFailure {
    match value {
        Some(ReturnValuesOnConditionCheckFailure::AllOld) => OnConditionFailure::ReturnItem,
        Some(ReturnValuesOnConditionCheckFailure::None) | None => OnConditionFailure::Nothing,
    }
}

/// Validates the legacy `Expected`, then the operator that joins its conditions.
pub(super) fn expected(
    conditions: Option<&Vec<(String, ExpectedAttributeValueParts)>>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Box<Condition>>, Error> {
    let Some(conditions) = conditions else {
        check_operator(operator, 0)?;
        return Ok(None);
    };
    conditions.iter().try_for_each(|(name, _)| check_name(name))?;
    let condition = legacy::expected(conditions, operator)?;
    check_operator(operator, conditions.len())?;
    Ok(condition.map(Box::new))
}

/// Validates the legacy `QueryFilter` or `ScanFilter`, then the operator that joins its conditions.
pub(super) fn filter(
    conditions: Option<&Vec<(String, ConditionParts)>>,
    operator: Option<ConditionalOperator>,
    wording: Wording,
) -> Result<Option<Condition>, Error> {
    let filter =
        conditions.map(|conditions| legacy::filter(conditions, operator, wording)).transpose()?.flatten();
    check_operator(operator, conditions.map_or(0, Vec::len))?;
    Ok(filter)
}

/// `ConditionalOperator` joins at least two conditions. Observed: it is checked after the conditions
/// themselves.
fn check_operator(operator: Option<ConditionalOperator>, conditions: usize) -> Result<(), Error> {
    match (operator, conditions) {
        (Some(_), 0) => Err(Error::validation(messages::OPERATOR_WITHOUT_CONDITIONS)),
        (Some(_), 1) => Err(Error::validation(messages::OPERATOR_WITH_ONE_CONDITION)),
        _ => Ok(()),
    }
}

/// Parses the condition or filter of a request, if there is one.
pub(super) fn condition(
    text: Option<&String>,
    kind: ConditionKind,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Condition>, Error> {
    text.map(|text| parse_condition(text, kind, placeholders)).transpose()
}

/// The projection of either dialect. `attributes_to_get` has been checked before.
pub(super) fn projection(
    text: Option<&String>,
    attributes: Option<&Vec<String>>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Projection>, Error> {
    match text {
        Some(text) => parse_projection(text, placeholders).map(Some),
        None => Ok(attributes.map(|names| Projection::from_attributes(names))),
    }
}

/// The legacy `AttributesToGet` names each attribute once.
pub(super) fn check_attributes_to_get(names: Option<&Vec<String>>) -> Result<(), Error> {
    let Some(names) = names else { return Ok(()) };
    names.iter().try_for_each(|name| check_name(name))?;
    let mut seen = std::collections::BTreeSet::new();
    let repeated = names.iter().find(|name| !seen.insert(name.as_str()));
    repeated.map_or(Ok(()), |name| Err(Error::validation(messages::attribute_repeated(name))))
}

/// The members of a Query or Scan that decide whether its `Select` is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<'r> {
    pub select: Option<Select>,
    pub projection_expression: Option<&'r String>,
    pub attributes_to_get: Option<&'r Vec<String>>,
    pub index: Option<&'r String>,
}

impl Selection<'_> {
    /// The mode, or the message that names the conflicting member.
    pub(super) fn mode(self) -> Result<Option<SelectMode>, String> {
        let Some(select) = self.select else { return Ok(None) };
        let parameter = match (self.projection_expression, self.attributes_to_get) {
            (Some(_), _) => Some("ProjectionExpression"),
            (None, Some(_)) => Some("AttributesToGet"),
            (None, None) => None,
        };
        match (select, parameter) {
            (Select::AllAttributes | Select::AllProjectedAttributes, Some(parameter)) => {
                Err(messages::selection_not_allowed(parameter, select.name()))
            }
            (Select::Count, Some(parameter)) => {
                Err(messages::selection_not_allowed(parameter, messages::ONLY_THE_COUNT))
            }
            (Select::SpecificAttributes, None) => Err(messages::SELECTION_MISSING.to_owned()),
            (Select::AllProjectedAttributes, None) if self.index.is_none() => {
                Err(messages::PROJECTED_WITHOUT_INDEX.to_owned())
            }
            (Select::AllAttributes, None) => Ok(Some(SelectMode::AllAttributes)),
            (Select::AllProjectedAttributes, None) => Ok(Some(SelectMode::AllProjectedAttributes)),
            (Select::SpecificAttributes, Some(_)) => Ok(Some(SelectMode::SpecificAttributes)),
            (Select::Count, None) => Ok(Some(SelectMode::Count)),
        }
    }
}

/// A page's `Limit`, at least 1. Limits beyond 32 bits are cut, because no page is that long. Query and Scan
/// word a violation differently.
pub(super) fn limit(
    value: Option<i64>,
    violation: fn(i64, &str) -> String,
) -> Result<Option<NonZeroU32>, Error> {
    let Some(value) = value else { return Ok(None) };
    let bounded = u32::try_from(value.min(i64::from(u32::MAX))).ok().and_then(NonZeroU32::new);
    match bounded {
        Some(limit) => Ok(Some(limit)),
        None => Err(Error::validation(shape::violations(&[violation(value, &shape::value_at_least(1))]))),
    }
}

/// The error of a number outside the service model's bounds, for callers that have not checked the request's
/// shape.
pub(super) fn out_of_bounds(path: &str, value: i64, constraint: &str) -> Error {
    let violation = shape::echoed_violation(&value.to_string(), path, constraint);
    Error::validation(shape::violations(&[violation]))
}
