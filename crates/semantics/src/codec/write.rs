//! Writing the stored form.

use bytes::Bytes;

use super::read::ValueRef;
use super::{
    EncodedItem, HEADER_BYTES, TAG_B, TAG_BS, TAG_FALSE, TAG_L, TAG_M, TAG_N, TAG_NS, TAG_NULL, TAG_S,
    TAG_SS, TAG_TRUE, VARINT_BYTES_MAX, VERSION,
};
use crate::number::Number;
use crate::size;
use crate::value::{AttributeValue, Item};

pub(super) fn item(item: &Item) -> Bytes {
    Bytes::from(item_vec(item))
}

/// Encodes an item. The vector is full: `Bytes` takes a full vector without another allocation.
pub(super) fn item_vec(item: &Item) -> Vec<u8> {
    let (length, size) = item.iter().fold((0, 0), |(length, size), (name, value)| {
        let (value_length, value_bytes) = measured(value);
        (length + blob_length(name.len()) + value_length, size + name.len() + value_bytes)
    });
    assert!(u32::try_from(size).is_ok(), "an item's size fits the header");
    let mut out = begin_item(size, item.len(), length);
    let start = out.len();
    members(item, &mut out);
    assert_eq!(out.len() - start, length, "an item's members take the computed length");
    out
}

pub(super) fn single_value(value: &AttributeValue) -> Bytes {
    let length = value_length(value);
    let mut out = Vec::with_capacity(length);
    self::value(value, &mut out);
    assert_eq!(out.len(), length, "a value takes the computed length");
    Bytes::from(out)
}

/// Starts an item with its header and member count. The vector has room for exactly `members_length` more
/// bytes.
pub(super) fn begin_item(size_bytes: usize, count: usize, members_length: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + varint_length(count) + members_length);
    out.push(VERSION);
    out.extend_from_slice(&u32::try_from(size_bytes).unwrap_or(u32::MAX).to_le_bytes());
    assert_eq!(out.len(), HEADER_BYTES, "the header has its fixed length");
    varint(count, &mut out);
    out
}

fn members(map: &Item, out: &mut Vec<u8>) {
    for (name, member) in map {
        blob(name.as_bytes(), out);
        // Most are texts, which take no call.
        match member {
            AttributeValue::S(text) => tagged_blob(TAG_S, text.as_bytes(), out),
            _ => value(member, out),
        }
    }
}

/// How many bytes `value` appends, and the value's size as an item counts it: of most values in one look.
fn measured(value: &AttributeValue) -> (usize, usize) {
    match value {
        AttributeValue::S(text) => (1 + blob_length(text.len()), text.len()),
        AttributeValue::N(number) => (1 + number.encoded_bytes(), number.size_bytes()),
        _ => (value_length(value), size::value_bytes(value)),
    }
}

fn members_length(map: &Item) -> usize {
    map.iter().map(|(name, member)| blob_length(name.len()) + value_length(member)).sum()
}

/// How many bytes `value` appends.
pub(super) fn value_length(value: &AttributeValue) -> usize {
    let sized = |count: usize, members: usize| 1 + LENGTH_BYTES + varint_length(count) + members;
    match value {
        AttributeValue::S(text) => 1 + blob_length(text.len()),
        AttributeValue::N(number) => 1 + number.encoded_bytes(),
        AttributeValue::B(bytes) => 1 + blob_length(bytes.len()),
        AttributeValue::Bool(_) | AttributeValue::Null => 1,
        AttributeValue::L(elements) => sized(elements.len(), elements.iter().map(value_length).sum()),
        AttributeValue::M(map) => sized(map.len(), members_length(map)),
        AttributeValue::Ss(set) => sized(set.len(), set.iter().map(|member| blob_length(member.len())).sum()),
        AttributeValue::Ns(set) => sized(set.len(), set.iter().map(Number::encoded_bytes).sum()),
        AttributeValue::Bs(set) => sized(set.len(), set.iter().map(|member| blob_length(member.len())).sum()),
    }
}

pub(super) fn value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::S(text) => tagged_blob(TAG_S, text.as_bytes(), out),
        AttributeValue::N(number) => {
            out.push(TAG_N);
            number.encode_into(out);
        }
        AttributeValue::B(bytes) => tagged_blob(TAG_B, bytes, out),
        AttributeValue::Bool(flag) => out.push(if *flag { TAG_TRUE } else { TAG_FALSE }),
        AttributeValue::Null => out.push(TAG_NULL),
        AttributeValue::L(elements) => sized(TAG_L, out, |out| {
            varint(elements.len(), out);
            for element in elements {
                self::value(element, out);
            }
        }),
        AttributeValue::M(map) => sized(TAG_M, out, |out| {
            varint(map.len(), out);
            members(map, out);
        }),
        AttributeValue::Ss(set) => sized(TAG_SS, out, |out| {
            varint(set.len(), out);
            for member in set {
                blob(member.as_bytes(), out);
            }
        }),
        AttributeValue::Ns(set) => sized(TAG_NS, out, |out| {
            varint(set.len(), out);
            for member in set {
                member.encode_into(out);
            }
        }),
        AttributeValue::Bs(set) => sized(TAG_BS, out, |out| {
            varint(set.len(), out);
            for member in set {
                blob(member, out);
            }
        }),
    }
}

/// Bytes that hold the length of a list, map or set.
const LENGTH_BYTES: usize = 4;

/// Writes a tag, a placeholder for the length, and the contents; then fills in the length of the contents.
fn sized(tag: u8, out: &mut Vec<u8>, contents: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let place = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    contents(out);
    assert!(out.len() >= place + LENGTH_BYTES, "contents are only appended");
    let length = u32::try_from(out.len() - place - LENGTH_BYTES).unwrap_or(u32::MAX);
    assert!(length < u32::MAX, "the length of a list, map or set fits its field");
    if let Some(room) = out.get_mut(place..place + LENGTH_BYTES) {
        room.copy_from_slice(&length.to_le_bytes());
    }
}

#[inline]
fn tagged_blob(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    blob(bytes, out);
}

#[inline]
pub(super) fn blob(bytes: &[u8], out: &mut Vec<u8>) {
    varint(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn blob_length(bytes: usize) -> usize {
    varint_length(bytes) + bytes
}

/// How many bytes `varint` appends.
fn varint_length(number: usize) -> usize {
    usize::try_from(number.checked_ilog2().unwrap_or(0) / 7 + 1).unwrap_or(1)
}

/// Appends a number with seven bits a byte, lowest bits first; the top bit is set on all bytes but the last.
#[inline]
fn varint(number: usize, out: &mut Vec<u8>) {
    match u8::try_from(number) {
        // Nearly all lengths and counts are below 128.
        Ok(low) if low & 0x80 == 0 => out.push(low),
        _ => long_varint(number, out),
    }
}

fn long_varint(mut number: usize, out: &mut Vec<u8>) {
    assert!(varint_length(number) <= VARINT_BYTES_MAX, "readers find every byte of a length");
    loop {
        let low = u8::try_from(number & 0x7F).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Builds an item from borrowed values in any order, without trees. Of two attributes with one name the last
/// counts.
#[derive(Debug, Default)]
pub struct EncodedItemBuilder<'a> {
    attributes: Vec<(&'a str, ValueRef<'a>)>,
}

impl<'a> EncodedItemBuilder<'a> {
    /// A builder without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute, or replaces one of the same name.
    pub fn push(&mut self, name: &'a str, value: ValueRef<'a>) {
        self.attributes.push((name, value));
    }

    /// Encodes the attributes in the order of their names.
    pub fn finish(mut self) -> EncodedItem {
        self.attributes.reverse();
        self.attributes.sort_by_key(|(name, _)| *name);
        self.attributes.dedup_by_key(|(name, _)| *name);
        let is_canonical = self.attributes.is_sorted_by(|(one, _), (next, _)| one < next);
        assert!(is_canonical, "names ascend and none repeats");
        let size = self.attributes.iter().map(|(name, value)| name.len() + value.size_bytes()).sum();
        let length: usize =
            self.attributes.iter().map(|(name, value)| blob_length(name.len()) + value.stored_length()).sum();
        let mut out = begin_item(size, self.attributes.len(), length);
        let start = out.len();
        for (name, value) in &self.attributes {
            blob(name.as_bytes(), &mut out);
            value.encode_into(&mut out);
        }
        assert_eq!(out.len() - start, length, "an item's members take the computed length");
        EncodedItem(Bytes::from(out))
    }
}

impl ValueRef<'_> {
    /// How many bytes `encode_into` appends.
    pub(super) fn stored_length(&self) -> usize {
        match self {
            Self::S(text) => 1 + blob_length(text.len()),
            Self::N(number) => 1 + number.encoded_bytes(),
            Self::B(bytes) => 1 + blob_length(bytes.len()),
            Self::Bool(_) | Self::Null => 1,
            Self::L(list) => 1 + LENGTH_BYTES + list.raw().len(),
            Self::M(map) => 1 + LENGTH_BYTES + map.raw().len(),
            Self::Ss(set) => 1 + LENGTH_BYTES + set.raw().len(),
            Self::Ns(set) => 1 + LENGTH_BYTES + set.raw().len(),
            Self::Bs(set) => 1 + LENGTH_BYTES + set.raw().len(),
        }
    }

    /// Appends the stored form.
    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Self::S(text) => tagged_blob(TAG_S, text.as_bytes(), out),
            Self::N(number) => {
                out.push(TAG_N);
                number.encode_into(out);
            }
            Self::B(bytes) => tagged_blob(TAG_B, bytes, out),
            Self::Bool(flag) => out.push(if *flag { TAG_TRUE } else { TAG_FALSE }),
            Self::Null => out.push(TAG_NULL),
            Self::L(list) => copied(TAG_L, list.raw(), out),
            Self::M(map) => copied(TAG_M, map.raw(), out),
            Self::Ss(set) => copied(TAG_SS, set.raw(), out),
            Self::Ns(set) => copied(TAG_NS, set.raw(), out),
            Self::Bs(set) => copied(TAG_BS, set.raw(), out),
        }
    }
}

fn copied(tag: u8, raw: &[u8], out: &mut Vec<u8>) {
    sized(tag, out, |out| out.extend_from_slice(raw));
}
