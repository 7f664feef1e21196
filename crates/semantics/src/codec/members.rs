//! A walk over the members of a stored map that knows how those of another map began.
//!
//! The items of a page mostly have the same attributes. A member that begins as one before needs no look at
//! its name. This file does not know what is rendered.

use super::read::{self, StoredRef, StoredText};
use super::{MapRef, TAG_N, TAG_S};
use crate::number::StoredNumber;

/// Bytes of a head that are compared at once.
const HEAD_BYTES_MAX: usize = 16;

/// How a member with a text or number begins: the length of its name, its name, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberHead {
    /// The bytes, the first one lowest; zero above them.
    bytes: u128,
    /// Ones where there are bytes.
    mask: u128,
    length: usize,
    is_number: bool,
}

impl MemberHead {
    /// The head at the start of the bytes, if it is short.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (name_bytes, rest) = read::split_varint(bytes)?;
        let length = bytes.len() - rest.len() + name_bytes + 1;
        let head = bytes.get(..length)?;
        let mut chunk = [0; HEAD_BYTES_MAX];
        chunk.get_mut(..length)?.copy_from_slice(head);
        let is_number = match *head.last()? {
            TAG_S => false,
            TAG_N => true,
            _ => return None,
        };
        let mask = u128::MAX >> (8 * (HEAD_BYTES_MAX - length));
        Some(Self { bytes: u128::from_le_bytes(chunk), mask, length, is_number })
    }

    /// Whether the member's value is a number, and not a text.
    #[inline]
    pub const fn is_number(&self) -> bool {
        self.is_number
    }
}

/// The members of a stored map, in order. Invariant: `bytes` is the end of `whole`.
#[derive(Clone, Debug)]
pub struct StoredMembers<'a> {
    whole: &'a [u8],
    left: usize,
    bytes: &'a [u8],
    levels: usize,
}

impl<'a> MapRef<'a> {
    /// Members by ascending name, for rendering.
    #[inline]
    pub fn members(&self) -> StoredMembers<'a> {
        let (left, bytes) = read::split_varint(self.raw()).unwrap_or_default();
        StoredMembers { whole: self.raw(), left, bytes, levels: self.levels() }
    }
}

impl<'a> StoredMembers<'a> {
    /// How the next member begins; `None` if that is long, or the member is neither a text nor a number.
    pub fn head(&self) -> Option<MemberHead> {
        if self.left == 0 { None } else { MemberHead::of(self.bytes) }
    }

    /// The next member's text, if the member begins like this.
    #[inline]
    pub fn next_text_like(&mut self, head: &MemberHead) -> Option<StoredText<'a>> {
        let (text, rest) = StoredText::split(self.behind(head)?)?;
        self.pass(rest)?;
        Some(text)
    }

    /// The next member's number, if the member begins like this.
    #[inline]
    pub fn next_number_like(&mut self, head: &MemberHead) -> Option<StoredNumber<'a>> {
        let (number, rest) = StoredNumber::split(self.behind(head)?)?;
        self.pass(rest)?;
        Some(number)
    }

    /// Moves behind the next member.
    #[inline]
    fn pass(&mut self, rest: &'a [u8]) -> Option<()> {
        (self.left, self.bytes) = (self.left.checked_sub(1)?, rest);
        Some(())
    }

    /// The bytes behind the head of the next member, if it begins like this.
    #[inline]
    fn behind(&self, head: &MemberHead) -> Option<&'a [u8]> {
        let begins = if let Some(chunk) = self.bytes.first_chunk::<HEAD_BYTES_MAX>() {
            u128::from_le_bytes(*chunk)
        } else {
            // Near the end, with zeros after it.
            let chunk = self.whole.last_chunk::<HEAD_BYTES_MAX>()?;
            u128::from_le_bytes(*chunk).checked_shr(self.bits_before_end())?
        };
        if begins & head.mask != head.bytes {
            return None;
        }
        self.bytes.get(head.length..)
    }

    /// Bits of the last chunk that are before the bytes that are left.
    #[inline]
    fn bits_before_end(&self) -> u32 {
        u32::try_from(8 * HEAD_BYTES_MAX.saturating_sub(self.bytes.len())).unwrap_or(u32::MAX)
    }

    /// Whether there is no member any more.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for StoredMembers<'a> {
    type Item = (StoredText<'a>, StoredRef<'a>);

    #[expect(clippy::inline_always, reason = "a call takes more instructions than the walk")]
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (name, rest) = StoredText::split(self.bytes)?;
        let (value, rest) = read::split_stored(rest, self.levels)?;
        self.bytes = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::EncodedItem;
    use crate::value::{AttributeValue, Item};

    fn stored(members: &[(&str, AttributeValue)]) -> EncodedItem {
        let members = members.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        EncodedItem::encode(&members.collect::<Item>())
    }

    fn next_like<'a>(members: &mut StoredMembers<'a>, head: &MemberHead) -> Option<StoredRef<'a>> {
        if head.is_number() {
            members.next_number_like(head).map(StoredRef::N)
        } else {
            members.next_text_like(head).map(StoredRef::S)
        }
    }

    fn text(value: Option<StoredRef<'_>>) -> Option<String> {
        match value? {
            StoredRef::S(text) => String::from_utf8(text.as_bytes().to_vec()).ok(),
            StoredRef::N(number) => {
                let mut out = Vec::new();
                number.push_text(&mut out);
                String::from_utf8(out).ok()
            }
            StoredRef::Other(_) => None,
        }
    }

    #[test]
    fn a_member_is_read_by_the_head_of_one_that_begins_alike() {
        let item = |name: &str, number: i64| {
            stored(&[
                ("name", name.into()),
                ("number", number.into()),
                ("~", AttributeValue::S("x".repeat(40))),
            ])
        };
        let (one, other) = (item("a text of some length", 7), item("another text, longer", 129));
        let (mut one, mut other) = (one.view().members(), other.view().members());
        for wanted in ["another text, longer", "129", &"x".repeat(40)] {
            let head = one.head().unwrap();
            assert_eq!(text(next_like(&mut other, &head)).as_deref(), Some(wanted));
            one.next();
        }
        assert!(other.is_empty() && other.next().is_none() && one.head().is_none());
    }

    #[test]
    fn members_at_the_end_of_an_item_are_read_alike() {
        for length in 0..20 {
            let item =
                |value: &str| stored(&[("a", value.into()), ("b", value.len().to_string().as_str().into())]);
            let (one, other) = (item(&"x".repeat(length)), item(&"y".repeat(length)));
            let (mut one, mut other) = (one.view().members(), other.view().members());
            while let Some(head) = one.head() {
                let value = one.next().map(|(_, value)| value);
                // Of an item of few bytes no head is compared.
                let found = next_like(&mut other, &head).or_else(|| other.next().map(|(_, value)| value));
                assert_eq!(
                    text(found).map(|text| text.len()),
                    text(value).map(|text| text.len()),
                    "{length}"
                );
            }
            assert!(other.is_empty(), "{length}");
        }
    }

    #[test]
    fn a_member_that_begins_otherwise_is_left_where_it_is() {
        let item = |name: &str, value: AttributeValue| {
            stored(&[(name, value), ("~", AttributeValue::S("x".repeat(40)))])
        };
        let known = item("name", "text".into());
        let head = known.view().members().head().unwrap();
        for (name, value) in [("nama", "text".into()), ("name", 7.into()), ("names", "text".into())] {
            let other = item(name, value);
            let mut members = other.view().members();
            assert!(next_like(&mut members, &head).is_none());
            assert_eq!(members.next().map(|(found, _)| found.as_bytes()), Some(name.as_bytes()));
        }
    }

    #[test]
    fn heads_are_of_short_names_with_texts_and_numbers() {
        let has_head = |name: &str, value: AttributeValue| {
            let item = stored(&[(name, value), ("~", AttributeValue::S("x".repeat(40)))]);
            item.view().members().head().is_some()
        };
        assert!(has_head("12345678901234", "text".into()) && has_head("", 7.into()));
        assert!(!has_head("123456789012345", "text".into()) && !has_head(&"x".repeat(200), "text".into()));
        assert!(!has_head("a", AttributeValue::Null));
        assert!(stored(&[]).view().members().head().is_none());
    }
}
