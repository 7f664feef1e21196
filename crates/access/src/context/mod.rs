//! What a request brings for conditions: a value for each key, or that it is absent or not known yet.
//!
//! It does not know operators, nor how a server learns the values.

mod key;

use std::borrow::Cow;
use std::fmt;

pub use key::{Key, Known, OF_CONNECTION, UNBOUND};

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

/// The head of a request: values that are written out only if a policy asks for them.
pub trait Head: Sync {
    /// The one value of a key; none if the request has none.
    fn value(&self, key: Known) -> Option<&str>;
}

#[derive(Clone, Copy)]
struct HeadRef<'r>(&'r dyn Head);

impl fmt::Debug for HeadRef<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Head")
    }
}

/// The tags that a request's conditions see.
pub type Tags<'r> = &'r [(String, String)];

/// What a request brings for conditions. A key that is not given is absent, unless it is unknown, follows
/// from the principal or the resource, or the head has it.
#[derive(Clone, Debug, Default)]
pub struct Context<'r> {
    known: Vec<(Known, Value<'r>)>,
    /// The bits of keys that are not known yet.
    unknown: u64,
    head: Option<HeadRef<'r>>,
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
        self.without(&UNBOUND)
    }

    /// Makes keys unknown.
    #[must_use]
    pub fn without(mut self, keys: &[Known]) -> Self {
        self.known.retain(|(known, _)| !keys.contains(known));
        self.unknown = keys.iter().fold(self.unknown, |bits, key| bits | key.bit());
        self
    }

    /// What the head of the request says, if nothing else says it.
    #[must_use]
    pub fn with_head(mut self, head: &'r dyn Head) -> Self {
        self.head = Some(HeadRef(head));
        self
    }

    fn is_unknown(&self, key: &Key) -> bool {
        matches!(key, Key::Known(known) if self.unknown & known.bit() != 0)
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
            None if self.context.is_unknown(key) => Found::Unknown,
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
            Key::Known(known) => self.context.head?.0.value(*known),
            Key::Other(_) => None,
        }
    }
}

/// The value of a tag. Conditions find keys of tags without regard to case.
fn tagged<'c>(tags: Tags<'c>, key: &str) -> Option<&'c str> {
    let exact = tags.iter().find(|(tag, _)| tag == key);
    let found = exact.or_else(|| tags.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(key)));
    found.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::Named;

    struct Agent;

    impl Head for Agent {
        fn value(&self, key: Known) -> Option<&str> {
            (key == Known::UserAgent).then_some("curl")
        }
    }

    #[test]
    fn what_is_given_comes_before_what_is_unknown_and_both_before_the_head() {
        let principal = Principal::user("123456789012", Named { path: "/", name: "ann" }, "AIDA1");
        let target = Target::Everything;
        let find = |context: Context<'_>, key: Known| match (Facts {
            context: &context,
            principal: &principal,
            target: &target,
        })
        .find(&Key::Known(key))
        {
            Found::Absent => "absent".to_owned(),
            Found::Unknown => "unknown".to_owned(),
            Found::One(text) => text.to_owned(),
            Found::Many(texts) => texts.join(","),
        };
        let head = || Context::default().with_head(&Agent);
        assert_eq!(find(head(), Known::UserAgent), "curl");
        assert_eq!(find(head(), Known::Referer), "absent");
        assert_eq!(find(head(), Known::Username), "ann");
        assert_eq!(find(head().without(&[Known::UserAgent]), Known::UserAgent), "unknown");
        assert_eq!(find(head().with(Known::UserAgent, Value::Absent), Known::UserAgent), "absent");
        let select = || head().with(Known::Select, Value::one("COUNT"));
        assert_eq!(find(select().without(&[Known::Select]), Known::Select), "unknown");
        assert_eq!(find(head().unbound().with(Known::LeadingKeys, Value::one("a")), Known::LeadingKeys), "a");
        assert_eq!(find(select().unbound(), Known::Attributes), "unknown");
        assert_eq!(find(select().unbound(), Known::Select), "COUNT");
    }
}
