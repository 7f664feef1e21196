//! What a request brings for conditions: a value for each key, or that it is absent or not known yet.
//!
//! It does not know operators, nor how a server learns the values.

mod key;

use std::borrow::Cow;

pub use key::{Key, Known, UNBOUND};

use crate::arn::Target;
use crate::principal::Principal;

/// The value of a key in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'r> {
    /// The request has none.
    Absent,
    /// It is known once the request is bound to its table.
    Unknown,
    /// One value.
    One(Cow<'r, str>),
    /// The values of a multivalued key.
    Many(Vec<Cow<'r, str>>),
}

impl<'r> Value<'r> {
    /// One value.
    pub fn one(text: impl Into<Cow<'r, str>>) -> Self {
        Self::One(text.into())
    }

    /// The value of a key with two values.
    pub const fn flag(holds: bool) -> Self {
        Self::One(Cow::Borrowed(if holds { "true" } else { "false" }))
    }
}

/// What a condition finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'c> {
    Absent,
    Unknown,
    One(&'c str),
    Many(&'c [Cow<'c, str>]),
}

/// The tags that a request's conditions see.
pub type Tags<'r> = &'r [(String, String)];

/// What a request brings for conditions. A key that is not given is absent, unless it follows from the
/// principal or the resource.
#[derive(Clone, Debug, Default)]
pub struct Context<'r> {
    known: Vec<(Known, Value<'r>)>,
    others: Vec<(String, Value<'r>)>,
    resource_tags: Tags<'r>,
    request_tags: Tags<'r>,
}

impl<'r> Context<'r> {
    /// Gives a key its value.
    #[must_use]
    pub fn with(mut self, key: Known, value: Value<'r>) -> Self {
        self.known.retain(|(known, _)| *known != key);
        self.known.push((key, value));
        self
    }

    /// Gives a key of any name its value, as in simulations.
    #[must_use]
    pub fn with_named(mut self, name: &str, value: Value<'r>) -> Self {
        let key = match Key::parse(name) {
            Key::Known(known) => return self.with(known, value),
            key => key.to_string().to_ascii_lowercase(),
        };
        self.others.retain(|(other, _)| *other != key);
        self.others.push((key, value));
        self
    }

    /// Makes unknown what only binding can say: the first look.
    #[must_use]
    pub fn unbound(self) -> Self {
        UNBOUND.into_iter().fold(self, |context, key| context.with(key, Value::Unknown))
    }

    /// The tags of the table.
    #[must_use]
    pub const fn with_resource_tags(mut self, tags: Tags<'r>) -> Self {
        self.resource_tags = tags;
        self
    }

    /// The tags that the request gives to a resource.
    #[must_use]
    pub const fn with_request_tags(mut self, tags: Tags<'r>) -> Self {
        self.request_tags = tags;
        self
    }

    fn given(&self, key: &Key) -> Option<&Value<'r>> {
        match key {
            Key::Known(known) => self.known.iter().find(|(given, _)| given == known).map(|(_, value)| value),
            _ if self.others.is_empty() => None,
            other => {
                let name = other.to_string().to_ascii_lowercase();
                self.others.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
            }
        }
    }
}

/// Where conditions look: the request's context, then what follows from its principal and resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) principal: &'c Principal,
    pub(crate) target: &'c Target<'c>,
}

impl<'c> Facts<'c> {
    /// The value of a key.
    pub(crate) fn find(&self, key: &Key) -> Found<'c> {
        match self.context.given(key) {
            Some(Value::Absent) => Found::Absent,
            Some(Value::Unknown) => Found::Unknown,
            Some(Value::One(text)) => Found::One(text),
            Some(Value::Many(values)) if values.is_empty() => Found::Absent,
            Some(Value::Many(values)) => Found::Many(values),
            None => self.derived(key).map_or(Found::Absent, Found::One),
        }
    }

    fn derived(&self, key: &Key) -> Option<&'c str> {
        let principal = self.principal;
        match key {
            Key::Known(Known::PrincipalArn) => Some(principal.condition_arn()),
            Key::Known(Known::PrincipalAccount) => Some(principal.account()),
            Key::Known(Known::PrincipalType) => Some(principal.type_name()),
            Key::Known(Known::UserId) => Some(principal.user_id()),
            Key::Known(Known::Username) => principal.user_name(),
            Key::Known(Known::SourceIdentity) => principal.source_identity(),
            Key::Known(Known::ResourceAccount) => self.target.account(),
            Key::Known(Known::ViaAwsService | Known::PrincipalIsAwsService) => Some("false"),
            Key::PrincipalTag(tag) => tagged(principal.tags(), tag),
            Key::ResourceTag(tag) => tagged(self.context.resource_tags, tag),
            Key::RequestTag(tag) => tagged(self.context.request_tags, tag),
            Key::Known(_) | Key::Other(_) => None,
        }
    }
}

/// The value of a tag. Conditions find keys of tags without regard to case.
fn tagged<'c>(tags: Tags<'c>, key: &str) -> Option<&'c str> {
    let exact = tags.iter().find(|(tag, _)| tag == key);
    let found = exact.or_else(|| tags.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(key)));
    found.map(|(_, value)| value.as_str())
}
