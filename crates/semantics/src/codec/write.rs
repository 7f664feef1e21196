//! Writing the stored form.

use bytes::Bytes;

use super::read::ValueRef;
use super::{
    EncodedItem, HEADER_BYTES, TAG_B, TAG_BS, TAG_FALSE, TAG_L, TAG_M, TAG_N, TAG_NS, TAG_NULL, TAG_S,
    TAG_SS, TAG_TRUE, VERSION,
};
use crate::size;
use crate::value::{AttributeValue, Item};

pub(super) fn item(item: &Item) -> Bytes {
    let size = size::item_bytes(item);
    let mut out = Vec::with_capacity(size + item.len() * 4 + HEADER_BYTES + 8);
    header(size, &mut out);
    members(item, &mut out);
    Bytes::from(out)
}

fn header(size_bytes: usize, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend_from_slice(&u32::try_from(size_bytes).unwrap_or(u32::MAX).to_le_bytes());
}

fn members(map: &Item, out: &mut Vec<u8>) {
    varint(map.len(), out);
    for (name, member) in map {
        blob(name.as_bytes(), out);
        value(member, out);
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
        AttributeValue::M(map) => sized(TAG_M, out, |out| members(map, out)),
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

/// Writes a tag, room for a length, the contents, and then the length.
fn sized(tag: u8, out: &mut Vec<u8>, contents: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let place = out.len();
    out.extend_from_slice(&[0; 4]);
    contents(out);
    let length = u32::try_from(out.len() - place - 4).unwrap_or(u32::MAX);
    if let Some(room) = out.get_mut(place..place + 4) {
        room.copy_from_slice(&length.to_le_bytes());
    }
}

fn tagged_blob(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    blob(bytes, out);
}

pub(super) fn blob(bytes: &[u8], out: &mut Vec<u8>) {
    varint(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, lowest first, the top bit set on all but the last.
pub(super) fn varint(mut number: usize, out: &mut Vec<u8>) {
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

/// Builds an item from views in any order, without trees. The last of two attributes with one name stays.
#[derive(Debug, Default)]
pub struct EncodedItemBuilder<'a> {
    attributes: Vec<(&'a str, ValueRef<'a>)>,
}

impl<'a> EncodedItemBuilder<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, name: &'a str, value: ValueRef<'a>) {
        self.attributes.push((name, value));
    }

    pub fn finish(mut self) -> EncodedItem {
        self.attributes.reverse();
        self.attributes.sort_by_key(|(name, _)| *name);
        self.attributes.dedup_by_key(|(name, _)| *name);
        let size = self.attributes.iter().map(|(name, value)| name.len() + value.size_bytes()).sum();
        let mut out = Vec::with_capacity(size + self.attributes.len() * 4 + HEADER_BYTES + 8);
        header(size, &mut out);
        varint(self.attributes.len(), &mut out);
        for (name, value) in &self.attributes {
            blob(name.as_bytes(), &mut out);
            value.encode_into(&mut out);
        }
        EncodedItem(Bytes::from(out))
    }
}

impl ValueRef<'_> {
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
