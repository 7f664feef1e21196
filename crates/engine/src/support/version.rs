//! Versions of replicated items: the greater one wins, everywhere the same.
//!
//! A version is the stamp of the change and the region where it was made, for two that are equal. A local
//! change takes a version above the one that it changes, so that it wins there where it is acknowledged and
//! everywhere else. An item without a version has the least one: it is older than its group.
//!
//! It does not know rows (`write::versions`).

use serde::{Deserialize, Serialize};

use super::stamp::Stamp;

/// The version of an item, or of its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Version {
    pub stamp: Stamp,
    pub region: String,
}

/// How far the version of a client's change is above the one that it changes. There is room for a time to
/// live in another region between the two: no change of a client loses to it.
const ABOVE: u64 = 2;
/// The same of a delete by time to live.
const ABOVE_OF_TIME_TO_LIVE: u64 = 1;

impl Version {
    /// The version of items that are older than their group.
    pub(crate) const fn zero() -> Self {
        Self { stamp: Stamp::first_of(0), region: String::new() }
    }

    /// The version of a client's change at this stamp.
    pub(crate) fn of_change(stamp: Stamp, region: &str, before: Option<&Self>) -> Self {
        let least = before.map_or(Stamp::default(), |before| before.stamp.plus(ABOVE));
        Self { stamp: stamp.max(least), region: region.to_owned() }
    }

    /// Greater than all with the same stamp.
    #[cfg(test)]
    pub(crate) fn greatest_of_its_stamp(&self) -> Self {
        Self { region: "~".to_owned(), ..self.clone() }
    }

    /// The version of a delete by time to live.
    pub(crate) fn of_expiry(region: &str, before: Option<&Self>) -> Self {
        let stamp = before.map_or(Stamp::default(), |before| before.stamp).plus(ABOVE_OF_TIME_TO_LIVE);
        Self { stamp, region: region.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_above_what_it_changes_and_an_expiry_below_every_change() {
        let before = Version { stamp: Stamp::first_of(90), region: "b".to_owned() };
        let change = Version::of_change(Stamp::first_of(7), "a", Some(&before));
        let expiry = Version::of_expiry("z", Some(&before));
        assert!(before < expiry && expiry < change);
        assert_eq!(Version::of_change(Stamp::first_of(91), "a", Some(&before)).stamp, Stamp::first_of(91));
        assert!(Version::zero() < Version::of_expiry("a", None));
    }

    #[test]
    fn of_two_with_one_stamp_the_region_decides() {
        let of = |region: &str| Version { stamp: Stamp::first_of(5), region: region.to_owned() };
        assert!(of("ap-south-1") < of("us-east-1"));
    }
}
