//! The attribute by which a change of the second table is known again in the first one's stream.
//!
//! Only items of the first table have it. It holds the id of the change that was sent. A later write of an
//! application that keeps the attribute keeps its value, so that a record is the echo of a change only if the
//! change is still under way.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::{AttributeValue, Item};
use ring::digest::{SHA256, digest};

/// The attribute's name.
pub(crate) const MARKER: &str = "keywright:sent";

/// An item without the marker, which is what both tables have alike.
pub(super) fn bare(mut item: Item) -> Item {
    item.remove(MARKER);
    item
}

pub(super) fn marked(item: &Item, id: &str) -> Item {
    let mut item = item.clone();
    item.insert(MARKER.to_owned(), AttributeValue::S(id.to_owned()));
    item
}

/// The id of the change that an item was sent for last.
pub(super) fn id_of(item: Option<&Item>) -> Option<&str> {
    match item?.get(MARKER) {
        Some(AttributeValue::S(id)) => Some(id),
        _ => None,
    }
}

/// What an item is, but for its marker: a digest, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State(String);

impl State {
    pub(super) fn of(item: Option<&Item>) -> Self {
        let Some(item) = item else { return Self("none".to_owned()) };
        let encoded = if item.contains_key(MARKER) {
            EncodedItem::encode(&bare(item.clone()))
        } else {
            EncodedItem::encode(item)
        };
        let sum = digest(&SHA256, encoded.as_bytes());
        let half = sum.as_ref().first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        Self(format!("{half:032x}"))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn read(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_does_not_know_the_marker() {
        let item = Item::from([("pk".to_owned(), AttributeValue::S("a".to_owned()))]);
        let sent = marked(&item, "7");
        assert_eq!((id_of(Some(&sent)), id_of(Some(&item)), id_of(None)), (Some("7"), None, None));
        assert_eq!(State::of(Some(&sent)), State::of(Some(&item)));
        assert_eq!(bare(sent), item);
        assert_ne!(State::of(None), State::of(Some(&item)));
        assert_eq!(State::read(State::of(Some(&item)).text()), State::of(Some(&item)));
    }
}
