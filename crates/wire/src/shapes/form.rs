//! The form of a request as far as readers outside of this crate may walk it: which members there are and
//! what kind of value each has. It judges nothing.

use super::{Kind, Pattern, Shape, table};
use crate::operation::Operation;

/// The form of a value in a request.
#[derive(Clone, Copy, Debug)]
pub struct Form(&'static Shape);

/// What kind of value a form has.
#[derive(Clone, Copy, Debug)]
pub enum FormKind {
    /// The name of a table or index, where an ARN may stand too.
    Name,
    /// Any other text.
    Text,
    /// A number, a truth value, or a time.
    Plain,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A value of an item.
    Value,
    /// A list of values of this form.
    List(Form),
    /// Keys and values of these forms.
    Map(Form, Form),
    /// Members by their names.
    Structure,
}

impl Form {
    /// The form of an operation's input; none for an operation that is not decoded.
    pub fn of(operation: Operation) -> Option<Self> {
        table::input(operation).map(|input| Self(input.shape))
    }

    /// What kind of value it is.
    pub const fn kind(self) -> FormKind {
        match self.0.kind {
            Kind::Text => match self.0.pattern {
                Some(Pattern::Name | Pattern::NameOrEmpty) => FormKind::Name,
                _ => FormKind::Text,
            },
            Kind::Integer | Kind::Long | Kind::Double | Kind::Boolean | Kind::Timestamp => FormKind::Plain,
            Kind::Choice(values) => FormKind::Choice(values),
            Kind::AttributeValue => FormKind::Value,
            Kind::List(element) => FormKind::List(Self(element)),
            Kind::Map { key, value } => FormKind::Map(Self(key), Self(value)),
            Kind::Structure { .. } => FormKind::Structure,
        }
    }

    /// The form of a structure's member.
    pub fn member(self, name: &str) -> Option<Self> {
        let Kind::Structure { members, .. } = self.0.kind else { return None };
        members.iter().find(|member| member.name == name).map(|member| Self(member.shape))
    }
}
