//! Attribute values as trees, and what can be wrong with one that a client sent.
//!
//! It does not know how a value is stored (`codec`) or written on the wire (the `wire` crate).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::limits::NESTING_LEVELS_MAX;
use crate::number::{Number, NumberFault};

/// An item: attribute name to value.
pub type Item = BTreeMap<String, AttributeValue>;

/// One attribute value. Invariant of sets: not empty, sorted, no duplicates; the set constructors keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// String.
    S(String),
    /// Number.
    N(Number),
    /// Binary.
    B(Vec<u8>),
    /// Boolean.
    Bool(bool),
    /// Null.
    Null,
    /// List.
    L(Vec<AttributeValue>),
    /// Map.
    M(Item),
    /// String set.
    Ss(Vec<String>),
    /// Number set.
    Ns(Vec<Number>),
    /// Binary set.
    Bs(Vec<Vec<u8>>),
}

/// The ten types a value can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// List.
    L,
    /// Map.
    M,
    /// String set.
    Ss,
    /// Number set.
    Ns,
    /// Binary set.
    Bs,
}

impl ValueType {
    /// All types, scalars first.
    pub const ALL: [Self; 10] =
        [Self::S, Self::N, Self::B, Self::Bool, Self::Null, Self::L, Self::M, Self::Ss, Self::Ns, Self::Bs];

    /// The name on the wire and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::L => "L",
            Self::M => "M",
            Self::Ss => "SS",
            Self::Ns => "NS",
            Self::Bs => "BS",
        }
    }

    /// The type of this wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value_type| value_type.name() == name)
    }
}

/// What is wrong with a value that a client sent. Texts are in `messages::value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueFault {
    /// `{}`: no type at all.
    Empty,
    /// More than one type.
    SeveralTypes,
    /// `{"NULL": false}`.
    NullNotTrue,
    /// A number that cannot be read or stored.
    Number {
        /// What is wrong with it.
        fault: NumberFault,
        /// The number as the client wrote it.
        text: String,
    },
    /// A set without members, of this type.
    EmptySet(ValueType),
    /// The set as the client wrote it, rendered for the message.
    DuplicateInSet {
        /// The set's type.
        set_type: ValueType,
        /// As the client wrote them, binary as base64.
        members: Vec<String>,
    },
    /// A null where a set has its members.
    EmptyStringInSet,
    /// An empty or null member of a binary set.
    EmptyBinaryInSet,
    /// Deeper than [`NESTING_LEVELS_MAX`] by more than one level.
    TooDeep,
    /// By one level. The former validation takes such a value among those of an expression (observed: 32 maps around a
    /// text, in transactions), so the value is kept.
    TooDeepByOne(Box<AttributeValue>),
    /// So deep that the present validation cannot read the request, and the former one answers it (observed: 63 maps).
    TooDeepToRead,
}

impl AttributeValue {
    /// The type of the value.
    pub const fn value_type(&self) -> ValueType {
        match self {
            Self::S(_) => ValueType::S,
            Self::N(_) => ValueType::N,
            Self::B(_) => ValueType::B,
            Self::Bool(_) => ValueType::Bool,
            Self::Null => ValueType::Null,
            Self::L(_) => ValueType::L,
            Self::M(_) => ValueType::M,
            Self::Ss(_) => ValueType::Ss,
            Self::Ns(_) => ValueType::Ns,
            Self::Bs(_) => ValueType::Bs,
        }
    }

    /// The type's name on the wire: `S`, `N`, `BOOL`, ….
    pub const fn type_name(&self) -> &'static str {
        self.value_type().name()
    }

    /// Reads a number as a client writes it.
    pub fn number(text: &str) -> Result<Self, ValueFault> {
        Number::parse(text).map(Self::N).map_err(|fault| ValueFault::Number { fault, text: text.to_owned() })
    }

    /// A string set, sorted; empty sets and duplicates are faults.
    pub fn string_set(members: Vec<String>) -> Result<Self, ValueFault> {
        sorted_set(members, ValueType::Ss, Clone::clone).map(Self::Ss)
    }

    /// A number set, sorted by value; `1` and `1.0` are duplicates.
    pub fn number_set(members: Vec<Number>) -> Result<Self, ValueFault> {
        sorted_set(members, ValueType::Ns, ToString::to_string).map(Self::Ns)
    }

    /// A binary set, sorted by bytes.
    pub fn binary_set(members: Vec<Vec<u8>>) -> Result<Self, ValueFault> {
        sorted_set(members, ValueType::Bs, |bytes| BASE64.encode(bytes)).map(Self::Bs)
    }

    /// Levels of values: a scalar is one, a list or a map one more than the deepest value inside it.
    pub fn nesting_levels(&self) -> usize {
        match self {
            Self::L(elements) => 1 + elements.iter().map(Self::nesting_levels).max().unwrap_or(0),
            Self::M(members) => 1 + members.values().map(Self::nesting_levels).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether every set within is as the constructors make it: not empty, sorted, no duplicates.
    pub(crate) fn has_true_sets(&self) -> bool {
        match self {
            Self::L(elements) => elements.iter().all(Self::has_true_sets),
            Self::M(members) => members.values().all(Self::has_true_sets),
            Self::Ss(members) => is_true_set(members),
            Self::Ns(members) => is_true_set(members),
            Self::Bs(members) => is_true_set(members),
            _ => true,
        }
    }

    /// Whether values nest deeper than the service allows.
    pub fn is_too_deep(&self) -> bool {
        self.nesting_levels() > NESTING_LEVELS_MAX
    }
}

fn is_true_set<T: Ord>(members: &[T]) -> bool {
    !members.is_empty() && members.is_sorted_by(|one, next| one < next)
}

fn sorted_set<T: Ord>(
    mut members: Vec<T>,
    set_type: ValueType,
    render: impl Fn(&T) -> String,
) -> Result<Vec<T>, ValueFault> {
    if members.is_empty() {
        return Err(ValueFault::EmptySet(set_type));
    }
    if is_true_set(&members) {
        return Ok(members);
    }
    let duplicate = {
        let mut places: Vec<&T> = members.iter().collect();
        places.sort();
        places.array_windows::<2>().any(|[one, next]| one == next)
    };
    if duplicate {
        return Err(ValueFault::DuplicateInSet { set_type, members: members.iter().map(render).collect() });
    }
    members.sort();
    Ok(members)
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::S(text.to_owned())
    }
}

impl From<i64> for AttributeValue {
    fn from(value: i64) -> Self {
        Self::N(Number::from(value))
    }
}
