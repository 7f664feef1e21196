//! The stored form of items and values: compact, canonical, readable without building trees.
//!
//! Equal values have equal bytes: names and set members are sorted, numbers are in their order-preserving
//! form. Readers never panic: damaged bytes read as if the item ended early. This module does not know keys
//! or tables.
//!
//! ```text
//! item   = version 0x01, size in bytes as the service counts it (u32), map
//! map    = count (varint), count × (name length (varint), name, value), names ascending
//! value  = tag, then: S, B: length (varint), bytes │ N: see number │ list, map, set: length of what follows (u32), …
//! ```

mod change;
mod members;
mod read;
mod write;

pub use change::NewValue;
pub use members::{MemberHead, StoredMembers};
pub use read::{BinarySetRef, ListRef, MapRef, NumberSetRef, StoredRef, StoredText, StringSetRef, ValueRef};
pub use write::EncodedItemBuilder;

use bytes::Bytes;

use crate::limits::STORED_LEVELS_MAX;
use crate::value::{AttributeValue, Item, ValueType};

const VERSION: u8 = 1;
/// The version byte and the item's size as a little-endian `u32`.
const HEADER_BYTES: usize = 5;
/// Bytes of a length or count at most: 35 bits, seven in each byte.
const VARINT_BYTES_MAX: usize = 5;

const TAG_S: u8 = 1;
const TAG_N: u8 = 2;
const TAG_B: u8 = 3;
const TAG_FALSE: u8 = 4;
const TAG_TRUE: u8 = 5;
const TAG_NULL: u8 = 6;
const TAG_L: u8 = 7;
const TAG_M: u8 = 8;
const TAG_SS: u8 = 9;
const TAG_NS: u8 = 10;
const TAG_BS: u8 = 11;

/// Why stored bytes are not an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecFault {
    /// The bytes end within the header.
    TooShort,
    /// The version byte is not one this program writes.
    UnknownVersion(u8),
    /// The header is right, what follows is not.
    Malformed,
}

impl std::fmt::Display for CodecFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooShort => formatter.write_str("a stored item is cut short"),
            Self::UnknownVersion(version) => {
                write!(
                    formatter,
                    "a stored item has the format version {version}, which this program does not know"
                )
            }
            Self::Malformed => formatter.write_str("a stored item is malformed"),
        }
    }
}

impl std::error::Error for CodecFault {}

/// An item in its stored form. Invariant: the header is complete and has a known version. Members that this
/// module did not write read as a shorter item, never as a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedItem(Bytes);

impl EncodedItem {
    /// Encodes a tree. Equal items give equal bytes.
    pub fn encode(item: &Item) -> Self {
        Self(write::item(item))
    }

    /// Takes stored bytes and checks their header; [`Self::validate`] checks the rest.
    #[inline]
    pub fn from_stored(bytes: Bytes) -> Result<Self, CodecFault> {
        match bytes.first() {
            _ if bytes.len() <= HEADER_BYTES => Err(CodecFault::TooShort),
            Some(&VERSION) => Ok(Self(bytes)),
            Some(&version) => Err(CodecFault::UnknownVersion(version)),
            None => Err(CodecFault::TooShort),
        }
    }

    /// Checks that every byte is as this module writes it; for recovery and fuzzing.
    pub fn validate(&self) -> Result<(), CodecFault> {
        let item = self.decode();
        let is_canonical =
            item.values().all(AttributeValue::has_canonical_sets) && Self::encode(&item) == *self;
        if is_canonical { Ok(()) } else { Err(CodecFault::Malformed) }
    }

    /// The stored form: header and members.
    pub const fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The attributes.
    pub fn view(&self) -> MapRef<'_> {
        MapRef::of_item(self.0.get(HEADER_BYTES..).unwrap_or_default())
    }

    /// Decodes the whole item into a tree.
    pub fn decode(&self) -> Item {
        self.view().to_item()
    }

    /// The item's size as the service counts it.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        assert!(self.0.len() > HEADER_BYTES, "an encoded item has a header and a count");
        let size =
            self.0.get(1..HEADER_BYTES).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        usize::try_from(size).unwrap_or(usize::MAX)
    }

    /// Whether the item has no attributes.
    pub fn is_empty(&self) -> bool {
        self.view().is_empty()
    }
}

/// One value in its stored form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodedValue(Bytes);

impl EncodedValue {
    /// Encodes one value, without a header.
    pub fn encode(value: &AttributeValue) -> Self {
        Self(write::single_value(value))
    }

    /// Equal values have equal bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The type's name on the wire: `S`, `N`, `BOOL`, ….
    pub fn type_name(&self) -> &'static str {
        let value_type = self.0.first().and_then(|tag| read::value_type(*tag));
        value_type.map_or_else(|| self.view().type_name(), ValueType::name)
    }

    /// The value, borrowed from the stored bytes.
    pub fn view(&self) -> ValueRef<'_> {
        // `encode` is the only constructor, so the bytes always hold a value.
        read::split_value(&self.0, STORED_LEVELS_MAX).map_or(ValueRef::Null, |(value, _)| value)
    }
}

#[cfg(test)]
mod tests;
