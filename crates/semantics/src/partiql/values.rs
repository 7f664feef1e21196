//! Literals and parameters to attribute values.

use super::PartiqlFault;
use super::lexer::Span;
use super::syntax::{Term, TermKind};
use crate::limits::NESTING_LEVELS_MAX;
use crate::messages::Wording;
use crate::messages::{partiql as messages, value as value_messages};
use crate::number::{Number, NumberFault};
use crate::value::{AttributeValue, Item, ValueFault};

/// What values and places are read from.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub text: &'s str,
    pub parameters: &'s [AttributeValue],
}

impl<'s> Scope<'s> {
    /// Line, column and length, each counted in characters from 1.
    pub(super) fn place(&self, span: Span) -> String {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let length = self.text.get(span.start..span.end).unwrap_or_default().chars().count();
        format!("{line}:{column}:{length}")
    }

    pub(super) fn parameter(&self, place: usize) -> Result<&'s AttributeValue, PartiqlFault> {
        self.parameters.get(place).ok_or_else(|| PartiqlFault::new(messages::PARAMETER_COUNT))
    }

    /// The value of a literal or parameter, at the root of an attribute.
    pub(super) fn value(&self, term: &Term) -> Result<AttributeValue, PartiqlFault> {
        self.value_at(term, "root")
    }

    fn value_at(&self, term: &Term, path: &str) -> Result<AttributeValue, PartiqlFault> {
        let value = match &term.kind {
            TermKind::Text(text) => AttributeValue::S(text.clone()),
            TermKind::Number(text) => AttributeValue::N(number(text, path)?),
            TermKind::Bool(value) => AttributeValue::Bool(*value),
            TermKind::Null => AttributeValue::Null,
            TermKind::Parameter(place) => self.parameter(*place)?.clone(),
            TermKind::List(elements) => {
                let element = |(place, element)| self.value_at(element, &format!("{path}[{place}]"));
                AttributeValue::L(elements.iter().enumerate().map(element).collect::<Result<_, _>>()?)
            }
            TermKind::Struct(members) => {
                AttributeValue::M(self.members(members, |name| format!("{path}.{name}"))?)
            }
            TermKind::Bag(elements) => self.set(elements, path)?,
            _ => return Err(self.unsupported(term, path)),
        };
        if value.nesting_levels() > NESTING_LEVELS_MAX {
            return Err(PartiqlFault::new(value_messages::fault(&ValueFault::TooDeep, Wording::Former)));
        }
        Ok(value)
    }

    /// The item that an INSERT brings.
    pub(super) fn item(&self, term: &Term) -> Result<Item, PartiqlFault> {
        match &term.kind {
            TermKind::Struct(members) => self.members(members, |_| "root".to_owned()),
            TermKind::Parameter(place) => match self.parameter(*place)? {
                AttributeValue::M(item) => Ok(item.clone()),
                _ => Err(self.unsupported(term, "root")),
            },
            _ => Err(self.unsupported(term, "root")),
        }
    }

    fn members(
        &self,
        members: &[(String, Term)],
        path: impl Fn(&str) -> String,
    ) -> Result<Item, PartiqlFault> {
        members.iter().map(|(name, term)| Ok((name.clone(), self.value_at(term, &path(name))?))).collect()
    }

    fn set(&self, elements: &[Term], path: &str) -> Result<AttributeValue, PartiqlFault> {
        let (mut texts, mut numbers, mut binaries) = (Vec::new(), Vec::new(), Vec::new());
        for (place, element) in elements.iter().enumerate() {
            match self.value_at(element, &format!("{path}[{place}]"))? {
                AttributeValue::S(text) => texts.push(text),
                AttributeValue::N(number) => numbers.push(number),
                AttributeValue::B(bytes) => binaries.push(bytes),
                _ => return Err(self.unsupported(element, path)),
            }
        }
        let set = match (texts.is_empty(), numbers.is_empty(), binaries.is_empty()) {
            (true, true, true) => return Err(PartiqlFault::new(messages::EMPTY_BAG)),
            (false, true, true) => AttributeValue::string_set(texts),
            (true, false, true) => AttributeValue::number_set(numbers),
            (true, true, false) => AttributeValue::binary_set(binaries),
            _ => {
                let mixed = elements.first().ok_or_else(|| PartiqlFault::new(messages::EMPTY_BAG))?;
                return Err(self.unsupported(mixed, path));
            }
        };
        set.map_err(|fault| PartiqlFault::new(value_messages::fault(&fault, Wording::Former)))
    }

    fn unsupported(&self, term: &Term, path: &str) -> PartiqlFault {
        let what = match &term.kind {
            TermKind::Call { name, .. } => name.to_ascii_lowercase(),
            _ => term.to_string(),
        };
        PartiqlFault::new(messages::unsupported_data_type(&what, path, &self.place(term.span)))
    }
}

/// A number as the service reads it: an exponent or a scale beyond 32 bits is no literal at all.
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
