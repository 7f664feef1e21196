//! The shapes of requests: the members of each structure, their types and bounds.
//!
//! `cargo xtask shapes` generates the table from the public service model and an overlay of the service's
//! deviations. This file knows the form of a row, not its use.

mod file_record;
mod form;
pub(crate) mod table;

pub(crate) use file_record::{ATTRIBUTES, NAMES, TEXT};
pub use form::{Form, FormKind};
pub(crate) use table::input;

/// The kinds of constraints that the table words differently per operation. Absence is always worded alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constraint {
    Length,
    Range,
    Pattern,
    Enum,
    /// The constraints on the keys of a map.
    Keys,
}

impl Constraint {
    const fn bit(self) -> u8 {
        match self {
            Self::Length => 1,
            Self::Range => 2,
            Self::Pattern => 4,
            Self::Enum => 8,
            Self::Keys => 16,
        }
    }
}

/// The input shape of an operation and the wording of its violations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) shape: &'static Shape,
    /// Bits of the constraints whose messages omit the value and use the member's own spelling.
    unechoed: u8,
}

impl Input {
    const fn of(shape: &'static Shape) -> Self {
        Self { shape, unechoed: 0 }
    }

    const fn unechoed(mut self, constraint: Constraint) -> Self {
        self.unechoed |= constraint.bit();
        self
    }

    /// Whether messages about this constraint repeat the value.
    pub(crate) const fn echoes(&self, constraint: Constraint) -> bool {
        self.unechoed & constraint.bit() == 0
    }
}

/// The patterns of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Names of tables and indexes.
    Name,
    /// The same, but it accepts an empty text, whose length is already a violation.
    NameOrEmpty,
    /// Ids of accounts.
    Account,
    /// Names of buckets.
    Bucket,
    /// Tokens of clients that make requests idempotent.
    ClientToken,
    /// The sign between two fields of a CSV file.
    Delimiter,
    /// The name of a field of a CSV file.
    Header,
    /// Where the next page of a list begins.
    PageToken,
    /// Texts without control characters.
    Printed,
    /// Texts that XML can hold.
    Xml,
}

/// Whether each byte is one of those in names of tables and indexes.
#[expect(clippy::indexing_slicing, reason = "the compiler runs it")]
static IS_OF_NAMES: [bool; 256] = {
    let mut is_of_names = [false; 256];
    let (mut place, mut byte) = (0, 0_u8);
    while byte < u8::MAX {
        is_of_names[place] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (place, byte) = (place + 1, byte + 1);
    }
    is_of_names
};

impl Pattern {
    /// The regular expression, as messages show it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Name | Self::NameOrEmpty => "[a-zA-Z0-9_.-]+",
            Self::Account => "[0-9]{12}",
            Self::Bucket => r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$",
            Self::ClientToken => r"^[^\$]+$",
            Self::Delimiter => r"[,;:|\t ]",
            Self::Header => r"[\x20-\x21\x23-\x2B\x2D-\x7E]*",
            Self::PageToken => "([0-9a-f]{16})+",
            Self::Printed => r"\p{Print}+",
            Self::Xml => r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*",
        }
    }

    #[inline]
    pub(crate) fn matches(self, text: &str) -> bool {
        let letter = |byte: u8| IS_OF_NAMES.get(usize::from(byte)).is_some_and(|is| *is);
        match self {
            Self::Name => !text.is_empty() && text.bytes().all(letter),
            Self::NameOrEmpty => text.bytes().all(letter),
            Self::Account => text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Bucket => {
                let ends = [text.bytes().next(), text.bytes().next_back()];
                text.len() > 1
                    && text.bytes().all(letter)
                    && ends.iter().flatten().all(u8::is_ascii_alphanumeric)
            }
            Self::ClientToken => !text.is_empty() && !text.contains('$'),
            Self::Delimiter => matches!(text, "," | ";" | ":" | "|" | "\t" | " "),
            Self::Header => text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !b"\",".contains(&byte)),
            Self::Printed => !text.is_empty() && !text.chars().any(char::is_control),
            Self::Xml => !text.chars().any(|letter| match letter {
                '\r' | '\n' | '\t' => false,
                _ => letter < ' ' || letter == '\u{FFFE}' || letter == '\u{FFFF}',
            }),
            Self::PageToken => {
                !text.is_empty()
                    && text.len().is_multiple_of(16)
                    && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            }
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Integer,
    Long,
    Double,
    Boolean,
    /// Seconds since 1970, as an integer or with a fraction.
    Timestamp,
    /// A text of an enumeration, whose values are in the order of the message.
    Choice(&'static [&'static str]),
    /// The recursive tagged union of the data model. `semantics` finds its faults.
    AttributeValue,
    List(&'static Shape),
    Map {
        key: &'static Shape,
        value: &'static Shape,
    },
    Structure {
        name: &'static str,
        members: &'static [Member],
    },
}

/// A type and its bounds: on the length of texts, lists and maps, on the value of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    /// Whether the bounds apply to names only, and an ARN is checked later.
    pub(crate) arn_passes: bool,
}

impl Shape {
    const fn new(kind: Kind) -> Self {
        Self { kind, min: None, max: None, pattern: None, arn_passes: false }
    }

    const fn text() -> Self {
        Self::new(Kind::Text)
    }

    const fn integer() -> Self {
        Self::new(Kind::Integer)
    }

    const fn long() -> Self {
        Self::new(Kind::Long)
    }

    const fn double() -> Self {
        Self::new(Kind::Double)
    }

    const fn boolean() -> Self {
        Self::new(Kind::Boolean)
    }

    const fn timestamp() -> Self {
        Self::new(Kind::Timestamp)
    }

    pub(crate) const fn attribute_value() -> Self {
        Self::new(Kind::AttributeValue)
    }

    const fn choice(values: &'static [&'static str]) -> Self {
        Self::new(Kind::Choice(values))
    }

    const fn list(element: &'static Self) -> Self {
        Self::new(Kind::List(element))
    }

    const fn map(key: &'static Self, value: &'static Self) -> Self {
        Self::new(Kind::Map { key, value })
    }

    const fn structure(name: &'static str, members: &'static [Member]) -> Self {
        Self::new(Kind::Structure { name, members })
    }

    const fn min(mut self, min: i64) -> Self {
        assert!(self.min.is_none(), "a shape has one lower bound");
        self.min = Some(min);
        self
    }

    const fn max(mut self, max: i64) -> Self {
        assert!(self.max.is_none(), "a shape has one upper bound");
        if let Some(min) = self.min {
            assert!(min <= max, "a shape has values");
        }
        self.max = Some(max);
        self
    }

    const fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    const fn arn_passes(mut self) -> Self {
        self.arn_passes = true;
        self
    }

    /// The member of that name, which the structure must have.
    pub(crate) const fn member(&'static self, name: &str) -> &'static Member {
        let Kind::Structure { mut members, .. } = self.kind else { panic!("only structures have members") };
        while let [member, rest @ ..] = members {
            if is_same(member.name, name) {
                return member;
            }
            members = rest;
        }
        panic!("the structure has no member of that name")
    }

    /// Whether anything bounds the value beyond its type.
    pub(crate) const fn is_bounded(&self) -> bool {
        self.min.is_some() || self.max.is_some() || self.pattern.is_some()
    }
}

/// Equality of texts while the program is compiled.
const fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([first, one_rest @ ..], [second, other_rest @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    one.is_empty() && other.is_empty()
}

/// Whether a member may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Optional,
    /// Its absence is one violation among others.
    Required,
    /// Its absence is reported alone, before any other check.
    RequiredFirst,
}

/// One member of a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: &'static Shape,
    pub(crate) presence: Presence,
}

impl Member {
    const fn optional(name: &'static str, shape: &'static Shape) -> Self {
        Self { name, shape, presence: Presence::Optional }
    }

    const fn required(name: &'static str, shape: &'static Shape) -> Self {
        Self { name, shape, presence: Presence::Required }
    }

    const fn required_first(name: &'static str, shape: &'static Shape) -> Self {
        Self { name, shape, presence: Presence::RequiredFirst }
    }
}
