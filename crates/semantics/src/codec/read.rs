//! Reading the stored form: borrowed views, decoded as they are walked.

use std::cmp::Ordering;

use super::write;
use super::{
    EncodedItem, TAG_B, TAG_BS, TAG_FALSE, TAG_L, TAG_M, TAG_N, TAG_NS, TAG_NULL, TAG_S, TAG_SS, TAG_TRUE,
    VARINT_BYTES_MAX,
};
use crate::limits::STORED_LEVELS_MAX;
use crate::number::{Number, StoredNumber};
use crate::size::{DOCUMENT_OVERHEAD_BYTES, ELEMENT_OVERHEAD_BYTES};
use crate::value::{AttributeValue, Item, ValueType};

/// One stored value, borrowed from the stored bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// UTF-8 text.
    S(&'a str),
    /// A number, decoded.
    N(Number),
    /// Binary bytes.
    B(&'a [u8]),
    /// A boolean.
    Bool(bool),
    /// The null value.
    Null,
    /// A list, decoded as it is walked.
    L(ListRef<'a>),
    /// A map, decoded as it is walked.
    M(MapRef<'a>),
    /// A string set.
    Ss(StringSetRef<'a>),
    /// A number set.
    Ns(NumberSetRef<'a>),
    /// A binary set.
    Bs(BinarySetRef<'a>),
}

/// The bytes of a stored text, for rendering. They are UTF-8, because they were when they were stored.
/// Invariant: `stored` begins with the text and is not shorter.
#[derive(Clone, Copy, Debug)]
pub struct StoredText<'a> {
    stored: &'a [u8],
    length: usize,
}

/// The type of the value that begins with this tag.
pub(super) const fn value_type(tag: u8) -> Option<ValueType> {
    Some(match tag {
        TAG_S => ValueType::S,
        TAG_N => ValueType::N,
        TAG_B => ValueType::B,
        TAG_FALSE | TAG_TRUE => ValueType::Bool,
        TAG_NULL => ValueType::Null,
        TAG_L => ValueType::L,
        TAG_M => ValueType::M,
        TAG_SS => ValueType::Ss,
        TAG_NS => ValueType::Ns,
        TAG_BS => ValueType::Bs,
        _ => return None,
    })
}

impl<'a> StoredText<'a> {
    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.stored.get(..self.length).unwrap_or_default()
    }

    /// How many bytes it has.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// So many bytes that begin with the text, unless it is longer or the item ends before. To copy them
    /// takes a few instructions, to copy a number of bytes that the compiler does not know takes a call.
    #[inline]
    pub fn within<const BYTES: usize>(&self) -> Option<&'a [u8; BYTES]> {
        if self.length <= BYTES { self.stored.first_chunk() } else { None }
    }

    /// The text at the start of the bytes, and the bytes after it.
    #[inline]
    pub(super) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (length, stored) = split_varint(bytes)?;
        stored.get(length..).map(|after| (Self { stored, length }, after))
    }
}

/// One stored value, for rendering: neither strings nor numbers are decoded.
#[derive(Clone, Copy, Debug)]
pub enum StoredRef<'a> {
    /// A text.
    S(StoredText<'a>),
    /// A number in its stored form.
    N(StoredNumber<'a>),
    /// A value of any other type.
    Other(ValueRef<'a>),
}

macro_rules! set {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a> {
            /// Count and members, as stored: equal sets have equal bytes.
            raw: &'a [u8],
        }

        impl<'a> $name<'a> {
            const fn read(raw: &'a [u8]) -> Self {
                Self { raw }
            }
        }

        counted!($name);
    };
}

macro_rules! document {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            /// Count and members, as stored: equal documents have equal bytes.
            raw: &'a [u8],
            /// Levels of lists and maps that may still be opened inside.
            levels: usize,
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.raw == other.raw
            }
        }

        impl Eq for $name<'_> {}

        counted!($name);
    };
}

macro_rules! counted {
    ($name:ident) => {
        impl<'a> $name<'a> {
            pub(super) const fn raw(&self) -> &'a [u8] {
                self.raw
            }

            /// How many members it has.
            pub fn len(&self) -> usize {
                split_varint(self.raw).map_or(0, |(count, _)| count)
            }

            /// Whether it has no members.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

document!(
    /// A stored list.
    ListRef
);
document!(
    /// A stored map, or an item's attributes.
    MapRef
);
set!(
    /// A stored string set.
    StringSetRef
);
set!(
    /// A stored number set.
    NumberSetRef
);
set!(
    /// A stored binary set.
    BinarySetRef
);

#[inline]
pub(super) fn split_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        // Nearly all lengths and counts are below 128, most others below 16,384.
        [low, rest @ ..] if low & 0x80 == 0 => Some((usize::from(*low), rest)),
        [low, high, rest @ ..] if high & 0x80 == 0 => {
            Some((usize::from(low & 0x7F) | (usize::from(*high) << 7), rest))
        }
        _ => split_long_varint(bytes),
    }
}

fn split_long_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_usize;
    for (place, &byte) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        number |= usize::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(place + 1..)?));
        }
    }
    None
}

pub(super) fn split_blob(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split_varint(bytes)?;
    rest.split_at_checked(length)
}

fn split_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (blob, rest) = split_blob(bytes)?;
    Some((std::str::from_utf8(blob).ok()?, rest))
}

/// The stored form of a number, not decoded.
fn split_number(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = Number::skip(bytes)?;
    bytes.split_at_checked(bytes.len() - rest.len())
}

fn split_sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// The first value of the bytes and the bytes after it. Opening a list or map takes one of the levels.
pub(super) fn split_value(bytes: &[u8], levels: usize) -> Option<(ValueRef<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let set = |view: fn(&[u8]) -> ValueRef<'_>| split_sized(rest).map(|(raw, after)| (view(raw), after));
    let document = |view: fn(&[u8], usize) -> ValueRef<'_>| {
        let levels = levels.checked_sub(1)?;
        split_sized(rest).map(|(raw, after)| (view(raw, levels), after))
    };
    match tag {
        TAG_S => split_text(rest).map(|(text, after)| (ValueRef::S(text), after)),
        TAG_N => Number::decode(rest).map(|(number, after)| (ValueRef::N(number), after)),
        TAG_B => split_blob(rest).map(|(blob, after)| (ValueRef::B(blob), after)),
        TAG_FALSE => Some((ValueRef::Bool(false), rest)),
        TAG_TRUE => Some((ValueRef::Bool(true), rest)),
        TAG_NULL => Some((ValueRef::Null, rest)),
        TAG_L => document(|raw, levels| ValueRef::L(ListRef { raw, levels })),
        TAG_M => document(|raw, levels| ValueRef::M(MapRef { raw, levels })),
        TAG_SS => set(|raw| ValueRef::Ss(StringSetRef::read(raw))),
        TAG_NS => set(|raw| ValueRef::Ns(NumberSetRef::read(raw))),
        TAG_BS => set(|raw| ValueRef::Bs(BinarySetRef::read(raw))),
        _ => None,
    }
}

/// Like `split_value`, without decoding texts and numbers.
#[inline]
pub(super) fn split_stored(bytes: &[u8], levels: usize) -> Option<(StoredRef<'_>, &[u8])> {
    match bytes.split_first()? {
        (&TAG_S, rest) => StoredText::split(rest).map(|(text, after)| (StoredRef::S(text), after)),
        (&TAG_N, rest) => StoredNumber::split(rest).map(|(number, after)| (StoredRef::N(number), after)),
        _ => split_value(bytes, levels).map(|(value, after)| (StoredRef::Other(value), after)),
    }
}

/// Size of the first value, as [`ValueRef::size_bytes`] says, without decoding a text.
fn stored_size(bytes: &[u8], levels: usize) -> usize {
    match bytes.split_first() {
        Some((&(TAG_S | TAG_B), rest)) => split_varint(rest).map_or(0, |(length, _)| length),
        _ => split_value(bytes, levels).map_or(0, |(value, _)| value.size_bytes()),
    }
}

/// The bytes after the first value, found without decoding the value.
pub(super) fn skip_value(bytes: &[u8]) -> Option<&[u8]> {
    let (&tag, rest) = bytes.split_first()?;
    match tag {
        TAG_S | TAG_B => split_blob(rest).map(|(_, after)| after),
        TAG_N => Number::skip(rest),
        TAG_FALSE | TAG_TRUE | TAG_NULL => Some(rest),
        TAG_L | TAG_M | TAG_SS | TAG_NS | TAG_BS => split_sized(rest).map(|(_, after)| after),
        _ => None,
    }
}

/// Yields members by means of `split` until the count is used up or the bytes end.
#[inline]
fn walk<'a, T>(
    raw: &'a [u8],
    split: impl Fn(&'a [u8]) -> Option<(T, &'a [u8])> + Clone,
) -> impl Iterator<Item = T> + Clone {
    let (mut left, mut bytes) = split_varint(raw).unwrap_or_default();
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let (member, rest) = split(bytes)?;
        bytes = rest;
        Some(member)
    })
}

fn split_member(bytes: &[u8], levels: usize) -> Option<((&str, ValueRef<'_>), &[u8])> {
    let (name, rest) = split_text(bytes)?;
    let (value, rest) = split_value(rest, levels)?;
    Some(((name, value), rest))
}

impl<'a> ListRef<'a> {
    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        let levels = self.levels;
        walk(self.raw, move |bytes| split_value(bytes, levels))
    }

    /// Like [`Self::iter`], for rendering.
    #[inline]
    pub fn iter_stored(&self) -> impl Iterator<Item = StoredRef<'a>> + use<'a> {
        let levels = self.levels;
        walk(self.raw, move |bytes| split_stored(bytes, levels))
    }

    /// The elements at these indexes, which must ascend; indexes beyond the end are left out. Walks the list
    /// once.
    pub fn select<'i>(
        &self,
        indexes: impl IntoIterator<Item = &'i usize>,
    ) -> impl Iterator<Item = (usize, ValueRef<'a>)> {
        let (count, mut bytes) = split_varint(self.raw).unwrap_or_default();
        let (levels, mut position) = (self.levels, 0);
        indexes.into_iter().map_while(move |&index| {
            if index >= count {
                return None;
            }
            assert!(position <= index, "the chosen indexes ascend");
            while position < index {
                bytes = skip_value(bytes)?;
                position += 1;
            }
            split_value(bytes, levels).map(|(value, _)| (index, value))
        })
    }

    /// The element at a zero-based index; `None` beyond the end.
    pub fn get(&self, index: usize) -> Option<ValueRef<'a>> {
        let (count, mut bytes) = split_varint(self.raw)?;
        if index >= count {
            return None;
        }
        for _ in 0..index {
            bytes = skip_value(bytes)?;
        }
        split_value(bytes, self.levels).map(|(value, _)| value)
    }
}

impl<'a> MapRef<'a> {
    /// The attributes of an item, without its header.
    pub(super) const fn of_item(raw: &'a [u8]) -> Self {
        Self { raw, levels: STORED_LEVELS_MAX }
    }

    /// Levels of lists and maps that may still be opened inside.
    pub(super) const fn levels(&self) -> usize {
        self.levels
    }

    /// Members by ascending name.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, ValueRef<'a>)> + use<'a> {
        let levels = self.levels;
        walk(self.raw, move |bytes| split_member(bytes, levels))
    }

    /// The member of this name. Skips the values before it and stops at the first greater name.
    pub fn get(&self, name: &str) -> Option<ValueRef<'a>> {
        let (count, mut bytes) = split_varint(self.raw)?;
        for _ in 0..count {
            let (member, rest) = split_blob(bytes)?;
            match member.cmp(name.as_bytes()) {
                Ordering::Less => bytes = skip_value(rest)?,
                Ordering::Equal => return split_value(rest, self.levels).map(|(value, _)| value),
                Ordering::Greater => return None,
            }
        }
        None
    }

    /// Decodes all members into a tree.
    pub fn to_item(&self) -> Item {
        self.iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect()
    }

    /// An item of the members whose names are wanted, copied as stored. The other values are skipped.
    pub fn encode_subset(&self, wanted: impl Fn(&str) -> bool) -> EncodedItem {
        self.encode_members(None, |name| std::str::from_utf8(name).is_ok_and(&wanted))
    }

    /// The same of the members with these few names.
    pub fn encode_named<'n>(&self, names: &(impl Iterator<Item = &'n str> + Clone)) -> EncodedItem {
        let last = names.clone().map(str::as_bytes).max();
        self.encode_members(last, |name| names.clone().any(|wanted| wanted.as_bytes() == name))
    }

    /// The wanted members up to the name `last`, if there is one.
    fn encode_members(&self, last: Option<&[u8]>, wanted: impl Fn(&[u8]) -> bool) -> EncodedItem {
        let levels = self.levels;
        let members = walk(self.raw, move |bytes| {
            let (name, value) = split_blob(bytes)?;
            let rest = skip_value(value)?;
            let member = bytes.get(..bytes.len() - rest.len())?;
            Some(((name, value, member), rest))
        });
        let (mut size, mut chosen) = (0, Vec::new());
        for (name, value, member) in members {
            if last.is_some_and(|last| name > last) {
                break;
            }
            if wanted(name) {
                size += name.len() + stored_size(value, levels);
                chosen.push(member);
            }
        }
        let length = chosen.iter().map(|member| member.len()).sum();
        let mut out = write::begin_item(size, chosen.len(), length);
        let start = out.len();
        for member in chosen {
            out.extend_from_slice(member);
        }
        assert_eq!(out.len() - start, length, "the chosen members take the computed length");
        EncodedItem(out.into())
    }

    /// Size of the members as an item counts them: names and values, without the overhead of a map.
    pub fn item_bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.size_bytes()).sum()
    }
}

impl<'a> StringSetRef<'a> {
    /// The members in ascending byte order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        walk(self.raw, split_text)
    }

    /// Whether the set has this member.
    pub fn contains(&self, member: &str) -> bool {
        walk(self.raw, split_blob).any(|other| other == member.as_bytes())
    }
}

impl<'a> NumberSetRef<'a> {
    /// The members in ascending numeric order.
    pub fn iter(&self) -> impl Iterator<Item = Number> + use<'a> {
        walk(self.raw, Number::decode)
    }

    /// Whether the set has this member, compared by value.
    pub fn contains(&self, member: Number) -> bool {
        let mut wanted = Vec::with_capacity(member.encoded_bytes());
        member.encode_into(&mut wanted);
        // Members and their stored bytes ascend, so the search ends at the first greater member.
        walk(self.raw, split_number)
            .take_while(|other| *other <= wanted.as_slice())
            .any(|other| other == wanted)
    }
}

impl<'a> BinarySetRef<'a> {
    /// The members in ascending byte order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        walk(self.raw, split_blob)
    }

    /// Whether the set has this member.
    pub fn contains(&self, member: &[u8]) -> bool {
        self.iter().any(|other| other == member)
    }
}

impl ValueRef<'_> {
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

    /// Size of the value, equal to `size::value_bytes` of the decoded value.
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

    /// Decodes the value into a tree.
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
