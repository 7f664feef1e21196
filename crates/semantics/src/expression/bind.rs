//! The second pass over a condition: it replaces placeholders and checks the number, distinctness and types
//! of operands.
//!
//! Each comparison or call is checked by itself, in the order written. Within it the service's order holds:
//! every placeholder first, then counts, then distinctness, then types. The parser and the first pass have
//! run before.

use std::cmp::Ordering;

use super::condition::{Expr, Operand};
use super::evaluate;
use super::fault::Fault;
use super::functions::Function;
use super::lexer::Comparator;
use super::path::DocumentPath;
use super::placeholders::Placeholders;
use super::syntax::{RawCall, RawCondition, RawOperand};
use crate::codec::{EncodedValue, ValueRef};
use crate::limits::EXPRESSION_IN_OPERANDS_MAX;
use crate::messages::expression as messages;

/// An operand with its placeholders replaced and nothing else checked.
enum Bound {
    Path(DocumentPath),
    Value(EncodedValue),
    Call(Function, Vec<Bound>),
}

impl Bound {
    fn new(raw: &RawOperand<'_>, placeholders: &mut Placeholders<'_>) -> Result<Self, Fault> {
        match raw {
            RawOperand::Path(path) => DocumentPath::bind(path, placeholders).map(Self::Path),
            RawOperand::Value(placeholder) => placeholders.encoded_value(placeholder).map(Self::Value),
            RawOperand::Call(call) => {
                let function = function_of(call)?;
                Ok(Self::Call(function, Self::all(&call.arguments, placeholders)?))
            }
        }
    }

    fn all<'o, 't: 'o>(
        raw: impl IntoIterator<Item = &'o RawOperand<'t>>,
        placeholders: &mut Placeholders<'_>,
    ) -> Result<Vec<Self>, Fault> {
        raw.into_iter().map(|operand| Self::new(operand, placeholders)).collect()
    }

    /// The type that is known without an item. A path has none: it can lead to any type.
    fn static_type(&self) -> Option<&'static str> {
        match self {
            Self::Path(_) => None,
            Self::Value(value) => Some(value.type_name()),
            Self::Call(..) => Some("N"),
        }
    }

    fn check_counts(&self) -> Result<(), Fault> {
        let Self::Call(function, arguments) = self else { return Ok(()) };
        arguments.iter().try_for_each(Self::check_counts)?;
        check_count(*function, arguments.len())
    }

    /// The operand, if the arguments of its functions have types that the functions take.
    fn into_operand(self) -> Result<Operand, Fault> {
        let (function, arguments) = match self {
            Self::Path(path) => return Ok(Operand::Path(path)),
            Self::Value(value) => return Ok(Operand::Value(value)),
            Self::Call(function, arguments) => (function, arguments),
        };
        let [argument] = exactly(function, arguments)?;
        let type_name = argument.static_type();
        let inner = argument.into_operand()?;
        match type_name {
            Some(type_name @ ("N" | "BOOL" | "NULL")) => {
                Err(Fault::new(messages::operand_type(function.name(), type_name)))
            }
            _ => Ok(Operand::Size(Box::new(inner))),
        }
    }
}

pub(super) fn condition(raw: &RawCondition<'_>, placeholders: &mut Placeholders<'_>) -> Result<Expr, Fault> {
    match raw {
        RawCondition::And(left, right) => {
            let left = condition(left, placeholders)?;
            Ok(Expr::And(Box::new(left), Box::new(condition(right, placeholders)?)))
        }
        RawCondition::Or(left, right) => {
            let left = condition(left, placeholders)?;
            Ok(Expr::Or(Box::new(left), Box::new(condition(right, placeholders)?)))
        }
        RawCondition::Not(inner) => Ok(Expr::Not(Box::new(condition(inner, placeholders)?))),
        RawCondition::Compare { comparator, left, right } => {
            let operands = [Bound::new(left, placeholders)?, Bound::new(right, placeholders)?];
            check_counts_and_distinctness(comparator.symbol(), &operands)?;
            if !matches!(comparator, Comparator::Eq | Comparator::Ne) {
                check_types(comparator.symbol(), &operands, &["S", "N", "B"])?;
            }
            let [left, right] = operands;
            Ok(Expr::Compare {
                comparator: *comparator,
                left: left.into_operand()?,
                right: right.into_operand()?,
            })
        }
        RawCondition::Between { subject, lower, upper } => between(subject, lower, upper, placeholders),
        RawCondition::In { subject, list } => in_list(subject, list, placeholders),
        RawCondition::Call(call) => condition_call(call, placeholders),
    }
}

fn check_counts_and_distinctness(operator: &str, operands: &[Bound]) -> Result<(), Fault> {
    operands.iter().try_for_each(Bound::check_counts)?;
    check_distinct(operator, operands)
}

fn check_distinct(operator: &str, operands: &[Bound]) -> Result<(), Fault> {
    let Some((Bound::Path(first), rest)) = operands.split_first() else { return Ok(()) };
    let repeated = rest.iter().any(|operand| matches!(operand, Bound::Path(path) if path == first));
    if repeated { Err(Fault::new(messages::operands_not_distinct(operator, first))) } else { Ok(()) }
}

fn check_types(operator: &str, operands: &[Bound], allowed: &[&str]) -> Result<(), Fault> {
    operands.iter().filter_map(Bound::static_type).try_for_each(|type_name| {
        if allowed.contains(&type_name) {
            Ok(())
        } else {
            Err(Fault::new(messages::operand_type(operator, type_name)))
        }
    })
}

fn between(
    subject: &RawOperand<'_>,
    lower: &RawOperand<'_>,
    upper: &RawOperand<'_>,
    placeholders: &mut Placeholders<'_>,
) -> Result<Expr, Fault> {
    let operands = [
        Bound::new(subject, placeholders)?,
        Bound::new(lower, placeholders)?,
        Bound::new(upper, placeholders)?,
    ];
    check_counts_and_distinctness("BETWEEN", &operands)?;
    check_types("BETWEEN", &operands, &["S", "N", "B"])?;
    if let [_, Bound::Value(lower), Bound::Value(upper)] = &operands {
        check_bounds(lower.view(), upper.view())?;
    }
    let [subject, lower, upper] = operands;
    Ok(Expr::Between {
        subject: subject.into_operand()?,
        lower: lower.into_operand()?,
        upper: upper.into_operand()?,
    })
}

fn check_bounds(lower: ValueRef<'_>, upper: ValueRef<'_>) -> Result<(), Fault> {
    match evaluate::order(Some(lower), Some(upper)) {
        Some(Ordering::Greater) => {
            Err(Fault::new(messages::between_bounds_reversed(&bound_text(lower), &bound_text(upper))))
        }
        Some(_) => Ok(()),
        None => Err(Fault::new(messages::between_types_differ(&bound_text(lower), &bound_text(upper)))),
    }
}

fn bound_text(bound: ValueRef<'_>) -> String {
    let type_name = bound.type_name();
    match bound {
        ValueRef::S(text) => messages::between_bound(type_name, &text),
        ValueRef::N(number) => messages::between_bound(type_name, &number),
        ValueRef::B(bytes) => messages::between_bound(type_name, &messages::binary_buffer(bytes.len())),
        _ => messages::between_bound(type_name, &""),
    }
}

fn in_list(
    subject: &RawOperand<'_>,
    list: &[RawOperand<'_>],
    placeholders: &mut Placeholders<'_>,
) -> Result<Expr, Fault> {
    let operands = Bound::all(std::iter::once(subject).chain(list), placeholders)?;
    operands.iter().try_for_each(Bound::check_counts)?;
    if list.len() > EXPRESSION_IN_OPERANDS_MAX {
        return Err(Fault::new(messages::too_many_in_operands(list.len())));
    }
    check_distinct("IN", &operands)?;
    let mut operands = operands.into_iter().map(Bound::into_operand);
    let subject = operands.next().expect("the subject was put first")?;
    Ok(Expr::In { subject, list: operands.collect::<Result<_, _>>()? })
}

fn condition_call(call: &RawCall<'_>, placeholders: &mut Placeholders<'_>) -> Result<Expr, Fault> {
    let function = function_of(call)?;
    let operands = Bound::all(&call.arguments, placeholders)?;
    operands.iter().try_for_each(Bound::check_counts)?;
    check_count(function, operands.len())?;
    check_distinct(function.name(), &operands)?;
    match function {
        Function::AttributeExists => Ok(Expr::Exists(only_path(function, operands)?)),
        Function::AttributeNotExists => Ok(Expr::NotExists(only_path(function, operands)?)),
        Function::AttributeType => has_type(operands),
        Function::BeginsWith => {
            check_types(function.name(), &operands, &["S", "B"])?;
            let [subject, prefix] = exactly(function, operands)?;
            Ok(Expr::BeginsWith(subject.into_operand()?, prefix.into_operand()?))
        }
        Function::Contains => {
            let [container, part] = exactly(function, operands)?;
            Ok(Expr::Contains(container.into_operand()?, part.into_operand()?))
        }
        Function::Size | Function::IfNotExists | Function::ListAppend => {
            Err(Fault::new(messages::function_misplaced(&call.name)))
        }
    }
}

fn only_path(function: Function, operands: Vec<Bound>) -> Result<DocumentPath, Fault> {
    let [operand] = exactly(function, operands)?;
    match operand {
        Bound::Path(path) => Ok(path),
        // Arguments are checked first, so the fault of `attribute_exists(size(:n))` is about the number.
        other => {
            other.into_operand()?;
            Err(Fault::new(messages::operand_not_a_path(function.name())))
        }
    }
}

/// `attribute_type`: the second operand must be a value that names a type.
fn has_type(operands: Vec<Bound>) -> Result<Expr, Fault> {
    const TYPE_NAMES: [&str; 10] = ["B", "BOOL", "BS", "L", "M", "N", "NS", "NULL", "S", "SS"];
    let function = Function::AttributeType;
    let [subject, wanted] = exactly(function, operands)?;
    let subject = subject.into_operand()?;
    let type_name = wanted.static_type().unwrap_or_else(messages::any_type);
    let Operand::Value(wanted) = wanted.into_operand()? else {
        return Err(Fault::new(messages::operand_type(function.name(), type_name)));
    };
    match wanted.view() {
        ValueRef::S(name) if TYPE_NAMES.contains(&name) => {}
        ValueRef::S(name) => return Err(Fault::new(messages::attribute_type_unknown(name))),
        _ => return Err(Fault::new(messages::operand_type(function.name(), type_name))),
    }
    Ok(Expr::HasType(subject, wanted))
}

fn function_of(call: &RawCall<'_>) -> Result<Function, Fault> {
    Function::from_name(&call.name).ok_or_else(|| Fault::new(messages::function_unknown(&call.name)))
}

fn check_count(function: Function, count: usize) -> Result<(), Fault> {
    if count == function.operand_count() {
        Ok(())
    } else {
        Err(Fault::new(messages::operand_count(function.name(), count)))
    }
}

fn exactly<const COUNT: usize>(function: Function, operands: Vec<Bound>) -> Result<[Bound; COUNT], Fault> {
    operands
        .try_into()
        .map_err(|operands: Vec<Bound>| Fault::new(messages::operand_count(function.name(), operands.len())))
}
