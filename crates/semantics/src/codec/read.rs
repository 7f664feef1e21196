//! Reading the stored form: borrowed views, decoded as they are walked.

use super::write::EncodedItemBuilder;
use super::{
    EncodedItem, TAG_B, TAG_BS, TAG_FALSE, TAG_L, TAG_M, TAG_N, TAG_NS, TAG_NULL, TAG_S, TAG_SS, TAG_TRUE,
};
use crate::number::Number;
use crate::size::{DOCUMENT_OVERHEAD_BYTES, ELEMENT_OVERHEAD_BYTES};
use crate::value::{AttributeValue, Item, ValueType};

/// One stored value, seen in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    S(&'a str),
    N(Number),
    B(&'a [u8]),
    Bool(bool),
    Null,
    L(ListRef<'a>),
    M(MapRef<'a>),
    Ss(StringSetRef<'a>),
    Ns(NumberSetRef<'a>),
    Bs(BinarySetRef<'a>),
}

macro_rules! sequence {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            /// Count and members, as stored: equal sequences have equal bytes.
            raw: &'a [u8],
        }

        impl<'a> $name<'a> {
            pub(super) const fn read(raw: &'a [u8]) -> Self {
                Self { raw }
            }

            pub(super) const fn raw(&self) -> &'a [u8] {
                self.raw
            }

            pub fn len(&self) -> usize {
                split_varint(self.raw).map_or(0, |(count, _)| count)
            }

            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

sequence!(
    /// A stored list.
    ListRef
);
sequence!(
    /// A stored map, or an item's attributes.
    MapRef
);
sequence!(
    /// A stored string set.
    StringSetRef
);
sequence!(
    /// A stored number set.
    NumberSetRef
);
sequence!(
    /// A stored binary set.
    BinarySetRef
);

fn split_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_usize;
    for (place, &byte) in bytes.iter().enumerate().take(5) {
        number |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(place + 1..)?));
        }
    }
    None
}

fn split_blob(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split_varint(bytes)?;
    rest.split_at_checked(length)
}

fn split_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (blob, rest) = split_blob(bytes)?;
    Some((std::str::from_utf8(blob).ok()?, rest))
}

fn split_sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// The first value of the bytes, and what follows it.
pub(super) fn split_value(bytes: &[u8]) -> Option<(ValueRef<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let sized = |view: fn(&[u8]) -> ValueRef<'_>| split_sized(rest).map(|(raw, after)| (view(raw), after));
    match tag {
        TAG_S => split_text(rest).map(|(text, after)| (ValueRef::S(text), after)),
        TAG_N => Number::decode(rest).map(|(number, after)| (ValueRef::N(number), after)),
        TAG_B => split_blob(rest).map(|(blob, after)| (ValueRef::B(blob), after)),
        TAG_FALSE => Some((ValueRef::Bool(false), rest)),
        TAG_TRUE => Some((ValueRef::Bool(true), rest)),
        TAG_NULL => Some((ValueRef::Null, rest)),
        TAG_L => sized(|raw| ValueRef::L(ListRef::read(raw))),
        TAG_M => sized(|raw| ValueRef::M(MapRef::read(raw))),
        TAG_SS => sized(|raw| ValueRef::Ss(StringSetRef::read(raw))),
        TAG_NS => sized(|raw| ValueRef::Ns(NumberSetRef::read(raw))),
        TAG_BS => sized(|raw| ValueRef::Bs(BinarySetRef::read(raw))),
        _ => None,
    }
}

/// Walks members with a splitter until the count is used up or the bytes end.
fn walk<'a, T>(raw: &'a [u8], split: impl Fn(&'a [u8]) -> Option<(T, &'a [u8])>) -> impl Iterator<Item = T> {
    let (mut left, mut bytes) = split_varint(raw).unwrap_or_default();
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let (member, rest) = split(bytes)?;
        bytes = rest;
        Some(member)
    })
}

fn split_member(bytes: &[u8]) -> Option<((&str, ValueRef<'_>), &[u8])> {
    let (name, rest) = split_text(bytes)?;
    let (value, rest) = split_value(rest)?;
    Some(((name, value), rest))
}

impl<'a> ListRef<'a> {
    pub fn iter(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        walk(self.raw, split_value)
    }

    pub fn get(&self, index: usize) -> Option<ValueRef<'a>> {
        self.iter().nth(index)
    }
}

impl<'a> MapRef<'a> {
    /// Members by ascending name.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, ValueRef<'a>)> + use<'a> {
        walk(self.raw, split_member)
    }

    pub fn get(&self, name: &str) -> Option<ValueRef<'a>> {
        self.iter().find_map(|(member, value)| (member == name).then_some(value))
    }

    pub fn to_item(&self) -> Item {
        self.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect()
    }

    /// An item of the members whose names are wanted.
    pub fn encode_subset(&self, wanted: impl Fn(&str) -> bool) -> EncodedItem {
        let mut builder = EncodedItemBuilder::new();
        for (name, value) in self.iter().filter(|(name, _)| wanted(name)) {
            builder.push(name, value);
        }
        builder.finish()
    }

    /// As an item counts: names and values, no overhead.
    pub fn item_bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.size_bytes()).sum()
    }
}

impl<'a> StringSetRef<'a> {
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        walk(self.raw, split_text)
    }

    pub fn contains(&self, member: &str) -> bool {
        self.iter().any(|other| other == member)
    }
}

impl<'a> NumberSetRef<'a> {
    pub fn iter(&self) -> impl Iterator<Item = Number> + use<'a> {
        walk(self.raw, Number::decode)
    }

    pub fn contains(&self, member: Number) -> bool {
        self.iter().any(|other| other == member)
    }
}

impl<'a> BinarySetRef<'a> {
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        walk(self.raw, split_blob)
    }

    pub fn contains(&self, member: &[u8]) -> bool {
        self.iter().any(|other| other == member)
    }
}

impl ValueRef<'_> {
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

    pub const fn type_name(&self) -> &'static str {
        self.value_type().name()
    }

    /// As `size::value_bytes` counts the decoded value.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::S(text) => text.len(),
            Self::N(number) => number.size_bytes(),
            Self::B(bytes) => bytes.len(),
            Self::Bool(_) | Self::Null => 1,
            Self::L(list) => {
                DOCUMENT_OVERHEAD_BYTES
                    + list.iter().map(|element| ELEMENT_OVERHEAD_BYTES + element.size_bytes()).sum::<usize>()
            }
            Self::M(map) => {
                let overhead = DOCUMENT_OVERHEAD_BYTES + map.len() * ELEMENT_OVERHEAD_BYTES;
                overhead + map.item_bytes()
            }
            Self::Ss(set) => set.iter().map(str::len).sum(),
            Self::Ns(set) => set.iter().map(|member| member.size_bytes()).sum(),
            Self::Bs(set) => set.iter().map(<[u8]>::len).sum(),
        }
    }

    pub fn to_value(&self) -> AttributeValue {
        match self {
            Self::S(text) => AttributeValue::S((*text).to_owned()),
            Self::N(number) => AttributeValue::N(*number),
            Self::B(bytes) => AttributeValue::B(bytes.to_vec()),
            Self::Bool(flag) => AttributeValue::Bool(*flag),
            Self::Null => AttributeValue::Null,
            Self::L(list) => AttributeValue::L(list.iter().map(|element| element.to_value()).collect()),
            Self::M(map) => AttributeValue::M(map.to_item()),
            Self::Ss(set) => AttributeValue::Ss(set.iter().map(str::to_owned).collect()),
            Self::Ns(set) => AttributeValue::Ns(set.iter().collect()),
            Self::Bs(set) => AttributeValue::Bs(set.iter().map(<[u8]>::to_vec).collect()),
        }
    }
}
