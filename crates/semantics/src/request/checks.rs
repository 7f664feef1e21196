//! The checks that several operations share; each operation's `validate` says in which order.
//!
//! It does not know tables, nor which check comes when.

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
use crate::value::{Item, ValueFault};

/// One request member of the legacy dialect or of the expressions, and whether the request has it.
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

/// Everything a request says in either dialect. Lists are in the order in which messages name their members.
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

/// What an operation without such a map says of it.
pub(super) const NO_VALUES: Member = Member { name: "ExpressionAttributeValues", present: false };

pub(super) fn names(map: Option<&Vec<(String, String)>>) -> Member {
    Member::of("ExpressionAttributeNames", map)
}

pub(super) fn values(map: Option<&AttributeMapPart>) -> Member {
    Member::of("ExpressionAttributeValues", map)
}

impl Dialects<'_> {
    /// Only one dialect, and placeholders only beside an expression that could use them.
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

/// The validation that answers a PutItem, UpdateItem or DeleteItem with these values. Observed: the former one answers
/// those with a value that the present one cannot read.
pub(super) fn wording_for<'p>(mut values: impl Iterator<Item = &'p ValuePart>) -> Wording {
    let unreadable = |value: &ValuePart| matches!(value, Err(ValueFault::TooDeepToRead));
    if values.any(unreadable) { Wording::Legacy } else { Wording::Present }
}

/// Every value of such a map.
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

/// An item or a key: names first, then values, the first fault wins.
pub(super) fn item(part: AttributeMapPart, wording: Wording) -> Result<Item, Error> {
    check_names(&part)?;
    // One by one: `collect` would put them into a list first, to sort it.
    let mut item = Item::new();
    for (name, value) in part {
        item.insert(name, value.map_err(|fault| value_error(&fault, wording))?);
    }
    Ok(item)
}

/// The size of a whole item. Recorded of PutItem and BatchWriteItem in older years: it is looked at before the table.
pub(super) fn check_item_size(item: &Item) -> Result<(), Error> {
    if item_bytes(item) > ITEM_BYTES_MAX {
        return Err(Error::validation(data_plane::ITEM_TOO_LARGE));
    }
    Ok(())
}

/// The same for an item that is also given back as it was sent.
pub(super) fn item_ref(part: &AttributeMapPart, wording: Wording) -> Result<Item, Error> {
    check_names(part)?;
    let values = part.iter().map(|(name, value)| match value {
        Ok(value) => Ok((name.clone(), value.clone())),
        Err(fault) => Err(value_error(fault, wording)),
    });
    values.collect()
}

fn check_names(part: &AttributeMapPart) -> Result<(), Error> {
    part.iter().try_for_each(|(name, _)| check_name(name))
}

/// An attribute's name as any request names it.
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

/// A starting key. Observed: numbers, sets of numbers and repeated members are told without an introduction.
pub(super) fn starting_key(part: Option<AttributeMapPart>, wording: Wording) -> Result<Option<Item>, Error> {
    let Some(part) = part else { return Ok(None) };
    let values = part.into_iter().map(|(name, value)| Ok((name, value?)));
    let item = values.collect::<Result<Item, ValueFault>>().map_err(|fault| {
        let text = value_messages::fault(&fault, wording);
        Error::validation(if is_told_plainly(&fault) { text } else { messages::starting_key_invalid(&text) })
    })?;
    Ok(Some(item))
}

fn is_told_plainly(fault: &ValueFault) -> bool {
    match fault {
        ValueFault::Number { .. } | ValueFault::DuplicateInSet { .. } => true,
        ValueFault::EmptySet(set_type) => *set_type == crate::value::ValueType::Ns,
        ValueFault::Empty
        | ValueFault::SeveralTypes
        | ValueFault::NullNotTrue
        | ValueFault::EmptyStringInSet
        | ValueFault::EmptyBinaryInSet
        | ValueFault::TooDeep
        | ValueFault::TooDeepByOne(_)
        | ValueFault::TooDeepToRead => false,
    }
}

/// `ReturnValues` of the operations that know no new item.
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

/// The legacy `Expected`, then the operator that joins its conditions.
pub(super) fn expected(
    conditions: Option<&Vec<(String, ExpectedAttributeValueParts)>>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Error> {
    conditions.into_iter().flatten().try_for_each(|(name, _)| check_name(name))?;
    let condition =
        conditions.map(|conditions| legacy::expected(conditions, operator)).transpose()?.flatten();
    check_operator(operator, conditions.map_or(0, Vec::len))?;
    Ok(condition)
}

/// The legacy `QueryFilter` or `ScanFilter`, then the operator that joins its conditions.
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

/// `ConditionalOperator` joins at least two conditions. Observed: it is looked at after the conditions themselves.
fn check_operator(operator: Option<ConditionalOperator>, conditions: usize) -> Result<(), Error> {
    match (operator, conditions) {
        (Some(_), 0) => Err(Error::validation(messages::OPERATOR_WITHOUT_CONDITIONS)),
        (Some(_), 1) => Err(Error::validation(messages::OPERATOR_WITH_ONE_CONDITION)),
        _ => Ok(()),
    }
}

/// A condition or filter that the request may have.
pub(super) fn condition(
    text: Option<&String>,
    kind: ConditionKind,
    placeholders: &mut Placeholders<'_>,
) -> Result<Option<Condition>, Error> {
    text.map(|text| parse_condition(text, kind, placeholders)).transpose()
}

/// A projection of either dialect: `attributes_to_get` has been checked.
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
    names.into_iter().flatten().try_for_each(|name| check_name(name))?;
    let mut seen = std::collections::BTreeSet::new();
    let repeated = names.into_iter().flatten().find(|name| !seen.insert(name.as_str()));
    repeated.map_or(Ok(()), |name| Err(Error::validation(messages::attribute_repeated(name))))
}

/// What decides whether a `Select` goes together with the rest of a Query or Scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<'r> {
    pub select: Option<Select>,
    pub projection_expression: Option<&'r String>,
    pub attributes_to_get: Option<&'r Vec<String>>,
    pub index: Option<&'r String>,
}

impl Selection<'_> {
    /// The mode, or what it does not go together with.
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

/// A page's `Limit`, at least 1; one beyond every page means the same as the largest. Query and Scan differ in how they
/// word a violation.
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

/// A number outside the bounds of the service model, for callers that have not looked at them before.
pub(super) fn out_of_bounds(path: &str, value: i64, constraint: &str) -> Error {
    let violation = shape::echoed_violation(&value.to_string(), path, constraint);
    Error::validation(shape::violations(&[violation]))
}
