//! When an item expires, and which items are due: pure functions of the item and the time.

use keywright_semantics::codec::{MapRef, ValueRef};
use keywright_semantics::limits::TTL_PAST_SECONDS_MAX;

/// Seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EpochSeconds(pub u64);

/// The expiry times of the items that are due, both bounds included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub first: EpochSeconds,
    pub last: EpochSeconds,
}

impl Due {
    /// Items that expired at least `delay_ms` ago. An expiry time more than five years ago counts as a
    /// mistake, and such an item is kept (developer guide: Time to Live).
    pub(crate) const fn at(now_ms: u64, delay_ms: u64) -> Option<Self> {
        let Some(last_ms) = now_ms.checked_sub(delay_ms) else { return None };
        let first = (now_ms / 1000).saturating_sub(TTL_PAST_SECONDS_MAX);
        Some(Self { first: EpochSeconds(first), last: EpochSeconds(last_ms / 1000) })
    }

    pub(crate) fn contains(self, time: EpochSeconds) -> bool {
        self.first <= time && time <= self.last
    }
}

/// When an item expires; never if the attribute is not a number. A fraction is rounded up, so no item expires
/// early.
pub(crate) fn expiry(item: MapRef<'_>, attribute: &str) -> Option<EpochSeconds> {
    let ValueRef::N(number) = item.get(attribute)? else { return None };
    if let Some(whole) = number.to_i64() {
        return u64::try_from(whole).ok().map(EpochSeconds);
    }
    let text = number.to_string();
    let (whole, _fraction) = text.split_once('.')?;
    whole.parse::<u64>().ok()?.checked_add(1).map(EpochSeconds)
}

#[cfg(test)]
mod tests {
    use keywright_semantics::codec::EncodedItem;
    use keywright_semantics::number::Number;
    use keywright_semantics::value::AttributeValue;

    use super::*;

    fn expiry_of(value: AttributeValue) -> Option<u64> {
        let item = EncodedItem::encode(&[("ttl".to_owned(), value)].into());
        expiry(item.view(), "ttl").map(|time| time.0)
    }

    #[test]
    fn only_a_number_makes_an_item_expire() {
        let number = |text: &str| AttributeValue::N(Number::parse(text).expect("a number"));
        assert_eq!(expiry_of(number("1700000000")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("1.7E9")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("1700000000.9")), Some(1_700_000_001));
        assert_eq!(expiry_of(number("1700000000.0")), Some(1_700_000_000));
        assert_eq!(expiry_of(number("0.5")), Some(1));
        assert_eq!(expiry_of(number("-1")), None);
        assert_eq!(expiry_of(number("-0.5")), None);
        assert_eq!(expiry_of(number("1E30")), None);
        assert_eq!(expiry_of(number("1E-30")), Some(1));
        assert_eq!(expiry_of(AttributeValue::S("1700000000".to_owned())), None);
        let item = EncodedItem::encode(&[("other".to_owned(), number("1"))].into());
        assert_eq!(expiry(item.view(), "ttl"), None);
    }

    #[test]
    fn items_are_due_after_the_delay_and_within_five_years() {
        let now_ms = 1_800_000_000_000;
        let due = Due::at(now_ms, 60_000).expect("late enough");
        let seconds = |back: u64| EpochSeconds(1_800_000_000 - back);
        assert!(due.contains(seconds(60)) && !due.contains(seconds(59)));
        let five_years = 5 * 365 * 86_400;
        assert!(due.contains(seconds(five_years)) && !due.contains(seconds(five_years + 1)));
        assert_eq!(Due::at(10, 20), None);
    }
}
