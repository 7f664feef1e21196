//! From literals and parameters to attribute values.

use super::PartiqlFault;
use super::lexer::{Span, place};
use super::syntax::{Term, TermKind};
use crate::limits::NESTING_LEVELS_MAX;
use crate::messages::Wording;
use crate::messages::item::EMPTY_ATTRIBUTE_NAME;
use crate::messages::{partiql as messages, value as value_messages};
use crate::number::{Number, NumberFault};
use crate::value::{AttributeValue, Item, ValueFault, ValueType};

/// The statement's text, for positions, and its parameters.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub text: &'s str,
    pub parameters: &'s [AttributeValue],
}

impl<'s> Scope<'s> {
    pub(super) fn place(&self, span: Span) -> String {
        place(self.text, span)
    }

    pub(super) fn parameter(&self, place: usize) -> Result<&'s AttributeValue, PartiqlFault> {
        self.parameters.get(place).ok_or_else(|| PartiqlFault::new(messages::PARAMETER_COUNT))
    }

    /// The value of a literal or parameter that is a whole attribute.
    pub(super) fn value(&self, term: &Term) -> Result<AttributeValue, PartiqlFault> {
        match &term.kind {
            TermKind::Parameter(place) => self.parameter(*place).cloned(),
            _ => self.literal(term, "root", 0),
        }
    }

    /// The value of a literal inside `depth` other ones. Observed: literals cannot contain parameters.
    fn literal(&self, term: &Term, path: &str, depth: usize) -> Result<AttributeValue, PartiqlFault> {
        if depth >= NESTING_LEVELS_MAX {
            return Err(PartiqlFault::new(messages::nested_too_deep(path)));
        }
        Ok(match &term.kind {
            TermKind::Text(text) => AttributeValue::S(text.clone()),
            TermKind::Number(text) => AttributeValue::N(number(text, path)?),
            TermKind::Bool(value) => AttributeValue::Bool(*value),
            TermKind::Null => AttributeValue::Null,
            TermKind::List(elements) => {
                let element =
                    |(place, element)| self.literal(element, &format!("{path}[{place}]"), depth + 1);
                AttributeValue::L(elements.iter().enumerate().map(element).collect::<Result<_, _>>()?)
            }
            TermKind::Struct(members) => {
                let member =
                    |name: &str, term: &Term| self.literal(term, &format!("{path}.{name}"), depth + 1);
                AttributeValue::M(members_of(members, path, member)?)
            }
            TermKind::Bag(elements) => self.set(elements, path, depth + 1)?,
            _ => return Err(self.unsupported(term, path)),
        })
    }

    /// The item of an INSERT.
    pub(super) fn item(&self, term: &Term) -> Result<Item, PartiqlFault> {
        let item = match &term.kind {
            TermKind::Struct(members) => members_of(members, "root", |_, term| self.value(term))?,
            TermKind::Parameter(place) => match self.parameter(*place)? {
                AttributeValue::M(item) => item.clone(),
                _ => return Err(self.unsupported(term, "root")),
            },
            _ => return Err(self.unsupported(term, "root")),
        };
        if item.contains_key("") {
            return Err(PartiqlFault::new(EMPTY_ATTRIBUTE_NAME));
        }
        Ok(item)
    }

    /// The set of a bag, whose members are all texts or all numbers.
    fn set(&self, elements: &[Term], path: &str, depth: usize) -> Result<AttributeValue, PartiqlFault> {
        if elements.is_empty() {
            return Err(PartiqlFault::new(messages::EMPTY_BAG));
        }
        let (mut texts, mut numbers) = (Vec::new(), Vec::new());
        for element in elements {
            match self.literal(element, path, depth)? {
                AttributeValue::S(text) => texts.push(text),
                AttributeValue::N(number) => numbers.push(number),
                _ => return Err(PartiqlFault::new(messages::MIXED_BAG)),
            }
        }
        let set = match (texts.is_empty(), numbers.is_empty()) {
            (false, true) => AttributeValue::string_set(texts),
            (true, false) => AttributeValue::number_set(numbers),
            _ => return Err(PartiqlFault::new(messages::MIXED_BAG)),
        };
        set.map_err(|fault| match fault {
            ValueFault::DuplicateInSet { set_type: ValueType::Ns, .. } => {
                let written: Vec<String> = elements.iter().map(ToString::to_string).collect();
                PartiqlFault::new(messages::duplicate_number(&written.join(", "), path))
            }
            fault => PartiqlFault::new(value_messages::fault(&fault, Wording::Legacy)),
        })
    }

    fn unsupported(&self, term: &Term, path: &str) -> PartiqlFault {
        let what = match &term.kind {
            TermKind::Parameter(_) => "Parameter".to_owned(),
            TermKind::Call { name, .. } => name.to_ascii_lowercase(),
            _ => term.to_string(),
        };
        PartiqlFault::new(messages::unsupported_data_type(&what, path, &self.place(term.span)))
    }
}

/// The members of a map by their names; a repeated name is a fault.
fn members_of(
    members: &[(String, Term)],
    path: &str,
    value: impl Fn(&str, &Term) -> Result<AttributeValue, PartiqlFault>,
) -> Result<Item, PartiqlFault> {
    let mut found = Item::new();
    for (name, term) in members {
        if found.insert(name.clone(), value(name, term)?).is_some() {
            return Err(PartiqlFault::new(messages::duplicate_member(name, path)));
        }
    }
    Ok(found)
}

/// Parses a number like the service: a literal with an exponent or a scale beyond 32 bits is malformed.
fn number(text: &str, path: &str) -> Result<Number, PartiqlFault> {
    let unreadable = || PartiqlFault::new(messages::not_well_formed(""));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| unreadable())?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let fraction = i32::try_from(fraction).map_err(|_| unreadable())?;
    fraction.checked_sub(exponent).ok_or_else(unreadable)?;
    let whole = mantissa.replace('.', "");
    let scaled = format!("{whole}e{}", i64::from(exponent) - i64::from(fraction));
    Number::parse(&scaled).map_err(|fault: NumberFault| {
        PartiqlFault::new(messages::number_under(&value_messages::number(fault, text), path))
    })
}
