//! Another bridge between the same two tables, in either direction: each would take what the other has sent
//! for an application's change, and send it back.
//!
//! A bridge's marks name the table that it connects, and when it began. So of two bridges the one that began
//! first learns of the other as soon as that sends something, and ends. Marks of other tables' bridges are
//! ordinary attributes.

use ring::digest::{SHA256, digest};

use super::super::follow::Record;
use super::marker::id_of;

/// The lower bits of an origin: when the bridge began, in milliseconds since 1970.
const TIME_BITS: u32 = 44;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// What the ids of a bridge's marks begin with: the table whose changes it marks, and when it began.
pub(super) fn origin(of: &str, began_ms: u64) -> u64 {
    let sum = digest(&SHA256, of.as_bytes());
    let table = sum.as_ref().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    table << TIME_BITS | began_ms & TIME_MASK
}

/// When a bridge began, by its origin.
pub(super) const fn began_ms(origin: u64) -> u64 {
    origin & TIME_MASK
}

/// Whether a record of one table is the work of a bridge that marks the changes of the other one, and began
/// later than this bridge: when it began.
pub(super) fn rival(record: &Record, (other, own_origin): (&str, u64)) -> Option<u64> {
    let id = id_of(record.change.image.as_ref())?;
    // An application that writes an item again keeps the mark.
    if id_of(record.before.as_ref()) == Some(id) {
        return None;
    }
    let (found, _) = id.split_once('.')?;
    let found = u64::from_str_radix(found, 16).ok()?;
    let is_of_pair = found >> TIME_BITS == origin(other, 0) >> TIME_BITS;
    (is_of_pair && began_ms(found) > began_ms(own_origin)).then_some(began_ms(found))
}

#[cfg(test)]
mod tests {
    use super::super::super::writes::Change;
    use super::super::marker::marked;
    use super::*;
    use keywright_semantics::value::{AttributeValue, Item};

    fn record(before: Option<&str>, id: Option<&str>) -> Record {
        let item = Item::from([("pk".to_owned(), AttributeValue::S("k".to_owned()))]);
        let with = |id: &str| marked(&item, id);
        let image = Some(id.map_or_else(|| item.clone(), with));
        let change = Change { key: item.clone(), image };
        Record { change, before: before.map(with), number: "1".to_owned(), made_ms: None, is_expiry: false }
    }

    #[test]
    fn a_bridge_between_the_same_tables_that_began_later_is_known_by_its_marks() {
        let own = origin("second", 1_795_798_800_000);
        let id = |of: &str, began_ms: u64| format!("{:x}.7", origin(of, began_ms));
        let later = id("second", 1_795_798_800_001);
        let found = |record: &Record| rival(record, ("second", own));
        assert_eq!(found(&record(None, Some(&later))), Some(1_795_798_800_001));
        assert_eq!(found(&record(Some(&id("second", 5)), Some(&later))), Some(1_795_798_800_001));
        assert_eq!(found(&record(Some(&later), Some(&later))), None, "an application wrote the item again");
        assert_eq!(found(&record(None, Some(&id("second", 1_795_798_800_000)))), None, "its own mark");
        assert_eq!(found(&record(None, Some(&id("second", 5)))), None, "of one that ended before");
        assert_eq!(found(&record(None, Some(&id("third", 1_795_798_800_001)))), None, "of another table");
        assert_eq!(found(&record(None, Some("application's"))), None);
        assert_eq!(found(&record(Some(&later), None)), None);
    }

    #[test]
    fn an_origin_of_an_earlier_release_is_only_a_time() {
        let later = format!("{:x}.1", origin("second", 1_795_798_800_001));
        assert!(rival(&record(None, Some(&later)), ("second", 1_795_798_800_000)).is_some());
        assert_eq!(began_ms(origin("second", 1_795_798_800_000)), 1_795_798_800_000);
    }
}
