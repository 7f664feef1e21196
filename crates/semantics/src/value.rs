//! Attribute values as trees, and the faults of values that a client sends.
//!
//! It does not know how a value is stored (`codec`) or rendered (the `wire` crate).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::limits::NESTING_LEVELS_MAX;
use crate::name_map::NameMap;
use crate::number::{Number, NumberFault};

/// An item: attribute name to value.
pub type Item = NameMap<AttributeValue>;

/// One attribute value. Invariant: sets are not empty, sorted and without duplicates, as their constructors
/// make them.
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

/// The fault of a value that a client sent. Its message is in `messages::value`. It is not larger than a
/// value, so that a list of values that may have faults becomes a list of values where it is.
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
        text: Box<str>,
    },
    /// A set without members, of this type.
    EmptySet(ValueType),
    /// A set with one member twice.
    DuplicateInSet {
        /// The set's type.
        set_type: ValueType,
        /// The members as the client wrote them, binary ones as base64.
        members: Box<[String]>,
    },
    /// A null as a member of a string set.
    EmptyStringInSet,
    /// An empty or null member of a binary set.
    EmptyBinaryInSet,
    /// Deeper than [`NESTING_LEVELS_MAX`] by more than one level.
    TooDeep,
    /// Deeper than [`NESTING_LEVELS_MAX`] by one level. The legacy validator accepts such a value among those
    /// of an expression (observed: 32 maps around a text, in transactions), so the value is kept.
    TooDeepByOne(Box<AttributeValue>),
    /// So deep that the present validator cannot read the request and the legacy one answers it (observed: 63
    /// maps).
    TooDeepToRead,
}

const _: () = assert!(
    size_of::<Result<AttributeValue, ValueFault>>() == size_of::<AttributeValue>(),
    "a value that may have a fault takes no more than a value"
);

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

    /// Parses a number as clients write it.
    pub fn number(text: &str) -> Result<Self, ValueFault> {
        Number::parse(text).map(Self::N).map_err(|fault| ValueFault::Number { fault, text: text.into() })
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

    /// Nesting levels: one for a scalar; for a list or map one more than its deepest value.
    pub fn nesting_levels(&self) -> usize {
        match self {
            Self::L(elements) => 1 + elements.iter().map(Self::nesting_levels).max().unwrap_or(0),
            Self::M(members) => 1 + members.values().map(Self::nesting_levels).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether every set inside the value is as the constructors make it.
    pub(crate) fn has_canonical_sets(&self) -> bool {
        match self {
            Self::L(elements) => elements.iter().all(Self::has_canonical_sets),
            Self::M(members) => members.values().all(Self::has_canonical_sets),
            Self::Ss(members) => is_canonical_set(members),
            Self::Ns(members) => is_canonical_set(members),
            Self::Bs(members) => is_canonical_set(members),
            _ => true,
        }
    }

    /// Whether values nest deeper than the service allows.
    pub fn is_too_deep(&self) -> bool {
        self.nesting_levels() > NESTING_LEVELS_MAX
    }
}

fn is_canonical_set<T: Ord>(members: &[T]) -> bool {
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
    if is_canonical_set(&members) {
        return Ok(members);
    }
    let duplicate = {
        let mut sorted: Vec<&T> = members.iter().collect();
        sorted.sort();
        sorted.array_windows::<2>().any(|[one, next]| one == next)
    };
    if duplicate {
        return Err(ValueFault::DuplicateInSet { set_type, members: members.iter().map(render).collect() });
    }
    members.sort();
    assert!(is_canonical_set(&members), "a set is sorted and has no duplicates");
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
