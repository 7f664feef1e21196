//! A change of an item, and its stored form: the event, its time and author, the item's keys, and the images
//! that its log keeps.
//!
//! It does not know shards, and who reads it. The images are items in their stored form, so a record is
//! written and read without decoding them.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::response::{StreamEvent, StreamIdentity};

use crate::catalogue::Images;

const FORMAT: u8 = 1;
/// The same with microseconds (u16) behind the head.
const FINE: u8 = 2;
/// Format, event, identity, time, and the lengths of keys, old and new image; a length of all ones means no
/// image.
const HEAD_BYTES: usize = 1 + 1 + 1 + 8 + 3 * 4;
const ABSENT: u32 = u32::MAX;

/// Stored bytes that are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadRecord;

/// One change of one item.
#[derive(Clone, Debug)]
pub(crate) struct ChangeRecord {
    pub event: StreamEvent,
    pub identity: StreamIdentity,
    pub at_ms: u64,
    /// Microseconds of its time beyond the millisecond, in logs that keep them.
    pub extra_us: Option<u16>,
    pub keys: EncodedItem,
    pub old: Option<EncodedItem>,
    pub new: Option<EncodedItem>,
}

impl ChangeRecord {
    /// The record of a change from one image to the other, for a log that keeps these; `None` if they are
    /// equal.
    pub(crate) fn of(
        (old, new): (Option<&EncodedItem>, Option<&EncodedItem>),
        images: Images,
        is_key: impl Fn(&str) -> bool,
        (identity, at_ms): (StreamIdentity, u64),
    ) -> Option<Self> {
        let event = match (old, new) {
            (None, Some(_)) => StreamEvent::Insert,
            (Some(_), None) => StreamEvent::Remove,
            (Some(old), Some(new)) if old != new => StreamEvent::Modify,
            (Some(_), Some(_)) | (None, None) => return None,
        };
        let image = new.or(old)?;
        let keys = image.view().encode_subset(is_key);
        let old = old.filter(|_| images.old).cloned();
        let new = new.filter(|_| images.new).cloned();
        Some(Self { event, identity, at_ms, extra_us: None, keys, old, new })
    }

    /// The size of keys and images, as the service reports it.
    pub(crate) fn size_bytes(&self) -> usize {
        let images = [Some(&self.keys), self.old.as_ref(), self.new.as_ref()];
        images.into_iter().flatten().map(EncodedItem::size_bytes).sum()
    }

    pub(crate) fn encode(&self) -> Bytes {
        let parts = [Some(&self.keys), self.old.as_ref(), self.new.as_ref()];
        let length = |item: &EncodedItem| item.as_bytes().len();
        let bytes: usize = parts.iter().flatten().map(|item| length(item)).sum();
        let fine_bytes = if self.extra_us.is_some() { size_of::<u16>() } else { 0 };
        let mut out = BytesMut::with_capacity(HEAD_BYTES + fine_bytes + bytes);
        out.put_u8(if self.extra_us.is_some() { FINE } else { FORMAT });
        out.put_u8(match self.event {
            StreamEvent::Insert => 0,
            StreamEvent::Modify => 1,
            StreamEvent::Remove => 2,
        });
        out.put_u8(match self.identity {
            StreamIdentity::Caller => 0,
            StreamIdentity::TimeToLive => 1,
        });
        out.put_u64(self.at_ms);
        for part in parts {
            let stored = part.map(|item| u32::try_from(length(item)).expect("an item is below 400 KB"));
            out.put_u32(stored.unwrap_or(ABSENT));
        }
        if let Some(us) = self.extra_us {
            out.put_u16(us);
        }
        for part in parts.into_iter().flatten() {
            out.put_slice(part.as_bytes());
        }
        assert_eq!(out.len(), HEAD_BYTES + fine_bytes + bytes, "a record is as long as its head and parts");
        out.freeze()
    }

    pub(crate) fn decode(stored: &Bytes) -> Result<Self, BadRecord> {
        let mut head = stored.get(..HEAD_BYTES).ok_or(BadRecord)?;
        let (mut at, extra_us) = match head.get_u8() {
            FORMAT => (HEAD_BYTES, None),
            FINE => {
                let us = stored.get(HEAD_BYTES..).and_then(<[u8]>::first_chunk).ok_or(BadRecord)?;
                (HEAD_BYTES + us.len(), Some(u16::from_be_bytes(*us)))
            }
            _ => return Err(BadRecord),
        };
        let event = match head.get_u8() {
            0 => StreamEvent::Insert,
            1 => StreamEvent::Modify,
            2 => StreamEvent::Remove,
            _ => return Err(BadRecord),
        };
        let identity = match head.get_u8() {
            0 => StreamIdentity::Caller,
            1 => StreamIdentity::TimeToLive,
            _ => return Err(BadRecord),
        };
        let at_ms = head.get_u64();
        let mut part = || {
            let length = head.get_u32();
            if length == ABSENT {
                return Ok(None);
            }
            let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
            let end = end.filter(|end| *end <= stored.len()).ok_or(BadRecord)?;
            let item = EncodedItem::from_stored(stored.slice(at..end)).map_err(|_| BadRecord)?;
            at = end;
            Ok(Some(item))
        };
        let keys = part()?.ok_or(BadRecord)?;
        let (old, new) = (part()?, part()?);
        Ok(Self { event, identity, at_ms, extra_us, keys, old, new })
    }
}

/// The time of a stored record, without reading the rest of it.
pub(crate) fn written_ms(stored: &[u8]) -> Result<u64, BadRecord> {
    let time = stored.get(3..11).and_then(<[u8]>::first_chunk::<8>);
    time.map(|time| u64::from_be_bytes(*time)).ok_or(BadRecord)
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::StreamView;
    use keywright_semantics::value::{AttributeValue, Item};

    use super::*;

    fn item(pairs: &[(&str, &str)]) -> EncodedItem {
        let value = |text: &&str| AttributeValue::S((*text).to_owned());
        let item: Item = pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect();
        EncodedItem::encode(&item)
    }

    type Change = (Option<EncodedItem>, Option<EncodedItem>);

    fn record(change: &Change, view: StreamView) -> Option<ChangeRecord> {
        let author = (StreamIdentity::TimeToLive, 1_700_000_000_123);
        let (old, new) = (change.0.as_ref(), change.1.as_ref());
        ChangeRecord::of((old, new), Images::of(view), |name| name == "pk", author)
    }

    #[test]
    fn a_record_has_exactly_the_images_of_its_view() {
        let change = (Some(item(&[("pk", "a"), ("x", "1")])), Some(item(&[("pk", "a"), ("x", "2")])));
        for (view, old, new) in [
            (StreamView::KeysOnly, false, false),
            (StreamView::OldImage, true, false),
            (StreamView::NewImage, false, true),
            (StreamView::NewAndOldImages, true, true),
        ] {
            let record = record(&change, view).expect("the item changed");
            assert_eq!(record.event, StreamEvent::Modify);
            assert_eq!(record.keys, item(&[("pk", "a")]));
            assert_eq!((record.old.is_some(), record.new.is_some()), (old, new));
            let back = ChangeRecord::decode(&record.encode()).expect("it was just encoded");
            assert_eq!((back.keys, back.old, back.new), (record.keys, record.old, record.new));
            assert_eq!((back.event, back.identity), (StreamEvent::Modify, StreamIdentity::TimeToLive));
            assert_eq!(back.at_ms, 1_700_000_000_123);
        }
    }

    #[test]
    fn a_record_has_the_bytes_that_existing_logs_have() {
        let (old, new) = (item(&[("pk", "a"), ("x", "1")]), item(&[("pk", "a"), ("x", "2")]));
        let keys = item(&[("pk", "a")]);
        let change = (Some(old.clone()), Some(new));
        let stored = record(&change, StreamView::OldImage).expect("the item changed").encode();
        let length = |item: &EncodedItem| u32::try_from(item.as_bytes().len()).expect("small").to_be_bytes();
        let head = [&[1, 1, 1][..], &1_700_000_000_123_u64.to_be_bytes()].concat();
        let lengths = [length(&keys), length(&old), [0xff; 4]].concat();
        assert_eq!(stored, [head.as_slice(), &lengths, keys.as_bytes(), old.as_bytes()].concat());
    }

    #[test]
    fn an_unchanged_item_makes_no_record() {
        let same = Some(item(&[("pk", "a")]));
        assert!(record(&(same.clone(), same), StreamView::NewAndOldImages).is_none());
        assert!(record(&(None, None), StreamView::NewAndOldImages).is_none());
    }

    #[test]
    fn sizes_are_those_of_the_developer_guides_example() {
        let number = |text: &str| {
            AttributeValue::N(keywright_semantics::number::Number::parse(text).expect("a number"))
        };
        let image = |message: &str| {
            let pairs = [("Id", number("101")), ("Message", AttributeValue::S(message.to_owned()))];
            EncodedItem::encode(&pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        };
        let first = image("New item!");
        let second = image("This item has changed");
        let size = |old: Option<&EncodedItem>, new: Option<&EncodedItem>| {
            let (both, who) = (Images::of(StreamView::NewAndOldImages), (StreamIdentity::Caller, 0));
            let record = ChangeRecord::of((old, new), both, |name| name == "Id", who);
            record.expect("the item changed").size_bytes()
        };
        assert_eq!(size(None, Some(&first)), 26);
        assert_eq!(size(Some(&first), Some(&second)), 59);
        assert_eq!(size(Some(&second), None), 38);
    }

    #[test]
    fn damaged_records_are_refused_without_a_panic() {
        let change = (None, Some(item(&[("pk", "a"), ("x", "1")])));
        let stored = record(&change, StreamView::NewImage).expect("an insert").encode();
        for end in 0..stored.len() {
            assert!(ChangeRecord::decode(&stored.slice(..end)).is_err(), "cut at {end}");
        }
        for at in 0..HEAD_BYTES {
            let mut damaged = stored.to_vec();
            damaged[at] ^= 0x80;
            let _ = ChangeRecord::decode(&damaged.into());
        }
    }
}
