//! The legacy request members that expressions replaced, desugared to the same types.
//!
//! `Expected`, `QueryFilter` and `ScanFilter` become conditions, `KeyConditions` a key condition,
//! `AttributeUpdates` an update. They name top-level attributes only, and they have error messages of their
//! own.

use std::cmp::Ordering;
use std::sync::Arc;

use super::condition::{Condition, Expr, Operand};
use super::evaluate;
use super::fault::Fault;
use super::key_condition::{KeyClause, KeyCondition, KeyPredicate};
use super::lexer::Comparator;
use super::path::DocumentPath;
use super::update::{Action, Change, Dialect, SetOperand, SetValue, Update};
use crate::codec::EncodedValue;
use crate::error::Error;
use crate::limits::EXPRESSION_OPERATORS_MAX;
use crate::messages::{Wording, expression as messages};
use crate::request::parts::{
    AttributeAction, AttributeValueUpdateParts, ComparisonOperator, ConditionParts, ConditionalOperator,
    ExpectedAttributeValueParts, ValuePart,
};
use crate::value::AttributeValue;

/// `Expected` and `ConditionalOperator`; an empty map is no condition.
pub fn expected(
    conditions: &[(String, ExpectedAttributeValueParts)],
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, Error> {
    let clauses = conditions.iter().map(|(attribute, parts)| expected_clause(attribute, parts));
    Ok(joined(clauses.collect::<Result<_, _>>().map_err(Fault::without_parameter)?, operator))
}

/// `QueryFilter` or `ScanFilter` and `ConditionalOperator`; an empty map is no filter.
pub fn filter(
    conditions: &[(String, ConditionParts)],
    operator: Option<ConditionalOperator>,
    wording: Wording,
) -> Result<Option<Condition>, Error> {
    let clauses = conditions.iter().map(|(attribute, parts)| {
        let operands = parts.attribute_value_list.as_deref();
        let operands = checked_operands(parts.comparison_operator, operands, wording)?;
        clause(attribute, parts.comparison_operator, &operands)
    });
    Ok(joined(clauses.collect::<Result<_, _>>().map_err(Fault::without_parameter)?, operator))
}

/// `KeyConditions`. Their number is checked later, with the table: the key of an index can have up to eight
/// attributes.
pub fn key_conditions(conditions: &[(String, ConditionParts)]) -> Result<KeyCondition, Error> {
    let clauses = conditions.iter().map(|(attribute, parts)| {
        let operands = parts.attribute_value_list.as_deref();
        let operands = checked_operands(parts.comparison_operator, operands, Wording::Present)?;
        let predicate = key_predicate(parts.comparison_operator, operands)?;
        Ok(KeyClause { attribute: attribute.clone(), predicate })
    });
    let clauses: Vec<KeyClause> = clauses.collect::<Result<_, _>>().map_err(Fault::without_parameter)?;
    if clauses.is_empty() {
        return Err(Error::validation(messages::legacy_key_condition_count()));
    }
    Ok(KeyCondition { clauses })
}

/// `AttributeUpdates`; an empty map is an update that changes nothing, but creates a missing item.
pub fn attribute_updates(updates: &[(String, AttributeValueUpdateParts)]) -> Result<Update, Error> {
    let actions = updates.iter().map(|(attribute, parts)| {
        Ok(Action { path: DocumentPath::top_level(attribute), change: change(parts)? })
    });
    let mut actions: Vec<Action> = actions.collect::<Result<_, _>>().map_err(Fault::without_parameter)?;
    actions.sort_by_key(|action| match action.change {
        Change::Set(_) => 0,
        Change::Remove => 1,
        Change::Add(_) => 2,
        Change::Delete(_) => 3,
    });
    Ok(Update { actions, dialect: Dialect::Legacy })
}

fn joined(clauses: Vec<Expr>, operator: Option<ConditionalOperator>) -> Option<Condition> {
    let join = match operator {
        Some(ConditionalOperator::Or) => Expr::Or,
        Some(ConditionalOperator::And) | None => Expr::And,
    };
    chained(clauses, join).map(|root| Condition { root })
}

/// Joins clauses from left to right. The number of legacy conditions has no known bound. So a chain of more
/// clauses than an expression may have operators is halved, which keeps the tree about as shallow as that of
/// an expression.
fn chained(mut clauses: Vec<Expr>, join: fn(Box<Expr>, Box<Expr>) -> Expr) -> Option<Expr> {
    if clauses.len() <= EXPRESSION_OPERATORS_MAX {
        return clauses.into_iter().reduce(|left, right| join(Box::new(left), Box::new(right)));
    }
    let second = clauses.split_off(clauses.len().div_ceil(2));
    let (left, right) = (chained(clauses, join)?, chained(second, join)?);
    Some(join(Box::new(left), Box::new(right)))
}

fn expected_clause(attribute: &str, parts: &ExpectedAttributeValueParts) -> Result<Expr, Fault> {
    if parts.value.is_some() && parts.attribute_value_list.is_some() {
        return Err(Fault::new(messages::legacy_value_and_list(attribute)));
    }
    let Some(operator) = parts.comparison_operator else {
        return expected_without_operator(attribute, parts);
    };
    if parts.exists.is_some() {
        return Err(Fault::new(messages::legacy_exists_and_operator(attribute)));
    }
    let operands = parts.attribute_value_list.as_deref().or(parts.value.as_slice_of_one());
    if operands.is_none() && !matches!(operator, ComparisonOperator::Null | ComparisonOperator::NotNull) {
        return Err(Fault::new(messages::legacy_operator_without_value(operator.name(), attribute)));
    }
    clause(attribute, operator, &checked_operands(operator, operands, Wording::Present)?)
}

/// An optional value as a list of one.
trait AsSliceOfOne {
    fn as_slice_of_one(&self) -> Option<&[ValuePart]>;
}

impl AsSliceOfOne for Option<ValuePart> {
    fn as_slice_of_one(&self) -> Option<&[ValuePart]> {
        self.as_ref().map(std::slice::from_ref)
    }
}

fn expected_without_operator(attribute: &str, parts: &ExpectedAttributeValueParts) -> Result<Expr, Fault> {
    if parts.attribute_value_list.is_some() {
        return Err(Fault::new(messages::legacy_list_without_operator(attribute)));
    }
    match (parts.exists, &parts.value) {
        (Some(false), None) => clause(attribute, ComparisonOperator::Null, &[]),
        (Some(false), Some(_)) => Err(Fault::new(messages::legacy_not_exists_with_value(attribute))),
        (Some(true), None) => Err(Fault::new(messages::legacy_exists_without_value("true", attribute))),
        (None, None) => Err(Fault::new(messages::legacy_exists_without_value("null", attribute))),
        (Some(true) | None, Some(value)) => {
            clause(attribute, ComparisonOperator::Eq, &[valid(value, Wording::Present)?.clone()])
        }
    }
}

fn valid(part: &ValuePart, wording: Wording) -> Result<&AttributeValue, Fault> {
    part.as_ref().map_err(|fault| Fault::new(crate::messages::value::fault(fault, wording)))
}

/// The operands, if their number and types are those that the operator takes.
fn checked_operands(
    operator: ComparisonOperator,
    parts: Option<&[ValuePart]>,
    wording: Wording,
) -> Result<Vec<AttributeValue>, Fault> {
    let operands = parts.unwrap_or_default().iter().map(|part| valid(part, wording).cloned());
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    let counts = match operator {
        ComparisonOperator::Null | ComparisonOperator::NotNull => operands.is_empty(),
        ComparisonOperator::In => !operands.is_empty(),
        ComparisonOperator::Between => operands.len() == 2,
        _ => operands.len() == 1,
    };
    if !counts {
        return Err(Fault::new(messages::legacy_argument_count(operator.name())));
    }
    let mut types = operands.iter().map(AttributeValue::type_name);
    if let Some(first) = types.next()
        && types.any(|other| other != first)
    {
        return Err(Fault::new(messages::legacy_argument_types_differ()));
    }
    for operand in &operands {
        if !allowed_types(operator).is_none_or(|allowed| allowed.contains(&operand.type_name())) {
            return Err(Fault::new(messages::legacy_argument_type(operator.name(), operand.type_name())));
        }
    }
    if let (ComparisonOperator::Between, [lower, upper]) = (operator, operands.as_slice()) {
        check_bounds(lower, upper)?;
    }
    Ok(operands)
}

/// The operand types of an operator; `None` means any type.
const fn allowed_types(operator: ComparisonOperator) -> Option<&'static [&'static str]> {
    match operator {
        ComparisonOperator::Eq
        | ComparisonOperator::Ne
        | ComparisonOperator::Null
        | ComparisonOperator::NotNull => None,
        ComparisonOperator::BeginsWith => Some(&["S", "B"]),
        ComparisonOperator::Le
        | ComparisonOperator::Lt
        | ComparisonOperator::Ge
        | ComparisonOperator::Gt
        | ComparisonOperator::Between
        | ComparisonOperator::In
        | ComparisonOperator::Contains
        | ComparisonOperator::NotContains => Some(&["S", "N", "B"]),
    }
}

fn check_bounds(lower: &AttributeValue, upper: &AttributeValue) -> Result<(), Fault> {
    let (lower, upper) = (EncodedValue::encode(lower), EncodedValue::encode(upper));
    if evaluate::order(Some(lower.view()), Some(upper.view())) == Some(Ordering::Greater) {
        return Err(Fault::new(messages::legacy_between_reversed()));
    }
    Ok(())
}

/// One attribute's condition; the operands are checked.
fn clause(attribute: &str, operator: ComparisonOperator, operands: &[AttributeValue]) -> Result<Expr, Fault> {
    let path = || DocumentPath::top_level(attribute);
    let subject = || Operand::Path(path());
    let value = |position: usize| match operands.get(position) {
        Some(value) => Ok(Operand::Value(EncodedValue::encode(value))),
        None => Err(Fault::new(messages::legacy_argument_count(operator.name()))),
    };
    let compare = |comparator| Ok(Expr::Compare { comparator, left: subject(), right: value(0)? });
    match operator {
        ComparisonOperator::Eq => compare(Comparator::Eq),
        ComparisonOperator::Ne => compare(Comparator::Ne),
        ComparisonOperator::Le => compare(Comparator::Le),
        ComparisonOperator::Lt => compare(Comparator::Lt),
        ComparisonOperator::Ge => compare(Comparator::Ge),
        ComparisonOperator::Gt => compare(Comparator::Gt),
        ComparisonOperator::In => {
            let list = operands.iter().map(|value| Operand::Value(EncodedValue::encode(value))).collect();
            Ok(Expr::In { subject: subject(), list })
        }
        ComparisonOperator::Between => {
            Ok(Expr::Between { subject: subject(), lower: value(0)?, upper: value(1)? })
        }
        ComparisonOperator::NotNull => Ok(Expr::Exists(path())),
        ComparisonOperator::Null => Ok(Expr::NotExists(path())),
        ComparisonOperator::Contains => Ok(Expr::Contains(subject(), value(0)?)),
        // Observed: unlike NE, NOT_CONTAINS is false for a missing attribute.
        ComparisonOperator::NotContains => Ok(Expr::And(
            Box::new(Expr::Exists(path())),
            Box::new(Expr::Not(Box::new(Expr::Contains(subject(), value(0)?)))),
        )),
        ComparisonOperator::BeginsWith => Ok(Expr::BeginsWith(subject(), value(0)?)),
    }
}

fn key_predicate(operator: ComparisonOperator, operands: Vec<AttributeValue>) -> Result<KeyPredicate, Fault> {
    let mut operands = operands.into_iter();
    let mut next =
        || operands.next().ok_or_else(|| Fault::new(messages::legacy_argument_count(operator.name())));
    Ok(match operator {
        ComparisonOperator::Eq => KeyPredicate::Eq(next()?),
        ComparisonOperator::Le => KeyPredicate::Le(next()?),
        ComparisonOperator::Lt => KeyPredicate::Lt(next()?),
        ComparisonOperator::Ge => KeyPredicate::Ge(next()?),
        ComparisonOperator::Gt => KeyPredicate::Gt(next()?),
        ComparisonOperator::Between => KeyPredicate::Between(next()?, next()?),
        ComparisonOperator::BeginsWith => KeyPredicate::BeginsWith(next()?),
        ComparisonOperator::Ne
        | ComparisonOperator::In
        | ComparisonOperator::NotNull
        | ComparisonOperator::Null
        | ComparisonOperator::Contains
        | ComparisonOperator::NotContains => KeyPredicate::NotIndexable,
    })
}

fn shared(value: &AttributeValue) -> Arc<AttributeValue> {
    Arc::new(value.clone())
}

fn change(parts: &AttributeValueUpdateParts) -> Result<Change, Fault> {
    let value = parts.value.as_ref().map(|value| valid(value, Wording::Present)).transpose()?;
    let action = parts.action.unwrap_or(AttributeAction::Put);
    let Some(value) = value else {
        return match action {
            AttributeAction::Delete => Ok(Change::Remove),
            AttributeAction::Put | AttributeAction::Add => {
                Err(Fault::new(messages::legacy_update_without_value()))
            }
        };
    };
    match (action, value) {
        (AttributeAction::Put, _) => Ok(Change::Set(SetValue::Operand(SetOperand::Value(shared(value))))),
        (
            AttributeAction::Add,
            AttributeValue::N(_)
            | AttributeValue::L(_)
            | AttributeValue::Ss(_)
            | AttributeValue::Ns(_)
            | AttributeValue::Bs(_),
        ) => Ok(Change::Add(shared(value))),
        (AttributeAction::Add, _) => Err(Fault::new(messages::legacy_add_type(value.type_name()))),
        (AttributeAction::Delete, AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_)) => {
            Ok(Change::Delete(shared(value)))
        }
        (AttributeAction::Delete, _) => Err(Fault::new(messages::legacy_delete_type(value.type_name()))),
    }
}
