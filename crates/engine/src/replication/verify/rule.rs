//! Whether two members have an item alike, and which of them is right; pure.

use keywright_semantics::limits::TOMBSTONE_RETENTION_MS;

use crate::state::verification::Held;
use crate::support::version::Version;

/// Whether two members have the same of an item. A deletion may be forgotten by one of them first.
pub(super) fn agree(one: &Held, other: &Held, now_ms: u64) -> bool {
    match (one, other) {
        (Held::Nothing, Held::Nothing) => true,
        (Held::Item { .. }, Held::Item { .. }) => one == other,
        (Held::Deleted { version, .. }, Held::Deleted { version: of_other, .. }) => version == of_other,
        // It came here later than there, so only its version says how old it is at least.
        (Held::Deleted { version, at }, Held::Nothing) | (Held::Nothing, Held::Deleted { version, at }) => {
            at.ms().min(version.stamp.ms()).saturating_add(TOMBSTONE_RETENTION_MS) <= now_ms
        }
        (Held::Nothing, Held::Item { .. })
        | (Held::Item { .. }, Held::Nothing | Held::Deleted { .. })
        | (Held::Deleted { .. }, Held::Item { .. })
        | (Held::Damaged(_), _)
        | (_, Held::Damaged(_)) => false,
    }
}

/// How a difference is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The base sends what it has.
    FromBase,
    /// The other one sends what it has.
    FromOther,
    /// The item of the base gets a new version, which wins everywhere.
    RaiseBase,
    RaiseOther,
    /// The item of the base is deleted everywhere.
    Bury,
    /// None that is sure to be right.
    Nothing,
}

/// How a difference between a base and another one, in these regions, is ended. The greater version wins. If
/// one version has two images, that of the region which wrote it is right; if neither did, the base's.
pub(super) fn remedy(base: &Held, other: &Held, other_region: &str) -> Remedy {
    match (base, other) {
        (Held::Damaged(_), Held::Item { .. }) => return Remedy::RaiseOther,
        (Held::Item { .. }, Held::Damaged(_)) => return Remedy::RaiseBase,
        _ => {}
    }
    let (Ok(of_base), Ok(of_other)) = (known(base), known(other)) else { return Remedy::Nothing };
    if of_base > of_other {
        return Remedy::FromBase;
    }
    if of_base < of_other {
        return Remedy::FromOther;
    }
    match (base, other) {
        (Held::Item { version, .. }, Held::Item { .. }) if version.region == other_region => {
            Remedy::RaiseOther
        }
        // An item that may be wanted is kept.
        (Held::Item { .. }, _) => Remedy::RaiseBase,
        (_, Held::Item { .. }) => Remedy::RaiseOther,
        _ => Remedy::Nothing,
    }
}

/// How a base gets what another one has; versions do not count.
pub(super) fn discard(base: &Held, other: &Held) -> Remedy {
    let (Ok(of_base), Ok(of_other)) = (known(base), known(other)) else { return Remedy::Nothing };
    match (base, other) {
        _ if of_base < of_other => Remedy::FromOther,
        (_, Held::Item { .. }) => Remedy::RaiseOther,
        (Held::Item { .. }, _) => Remedy::Bury,
        // Neither has the item; the later deletion is known to both then.
        _ => Remedy::FromBase,
    }
}

/// Rows that do not say which version they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DamagedRows;

/// The version that a member has; no item is less than one without a version.
pub(super) const fn known(held: &Held) -> Result<Option<&Version>, DamagedRows> {
    match held {
        Held::Nothing => Ok(None),
        Held::Item { version, .. } | Held::Deleted { version, .. } => Ok(Some(version)),
        Held::Damaged(_) => Err(DamagedRows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::verification::Digest;
    use crate::support::stamp::Stamp;

    const DAY_MS: u64 = TOMBSTONE_RETENTION_MS;

    fn version(ms: u64, region: &str) -> Version {
        Version { stamp: Stamp::first_of(ms), region: region.to_owned() }
    }

    fn item(ms: u64, region: &str, digest: u128) -> Held {
        Held::Item { version: version(ms, region), digest: Digest(digest) }
    }

    fn deleted(ms: u64, at_ms: u64) -> Held {
        Held::Deleted { version: version(ms, "a"), at: Stamp::first_of(at_ms) }
    }

    #[test]
    fn members_agree_on_version_and_content() {
        assert!(agree(&item(1, "a", 5), &item(1, "a", 5), 9));
        assert!(!agree(&item(1, "a", 5), &item(1, "a", 6), 9));
        assert!(!agree(&item(1, "a", 5), &item(2, "a", 5), 9));
        assert!(!agree(&item(1, "a", 5), &Held::Nothing, 9));
        assert!(!agree(&deleted(1, 1), &item(1, "a", 5), 9));
        assert!(agree(&deleted(1, 1), &deleted(1, 7), 9), "each notes its own time");
        assert!(!agree(&deleted(1, 1), &deleted(2, 1), 9));
        assert!(!agree(&Held::Damaged(Digest(1)), &Held::Damaged(Digest(1)), 9));
    }

    #[test]
    fn only_an_old_deletion_may_be_known_to_one_alone() {
        assert!(!agree(&deleted(5, 5), &Held::Nothing, DAY_MS));
        assert!(agree(&deleted(5, 5), &Held::Nothing, DAY_MS + 5));
        assert!(agree(&Held::Nothing, &deleted(5, DAY_MS), DAY_MS + 5), "it came late");
    }

    #[test]
    fn the_greater_version_wins_and_of_equal_ones_the_region_that_wrote_it() {
        let of = |base: &Held, other: &Held| remedy(base, other, "b");
        assert_eq!(of(&item(2, "a", 1), &item(1, "a", 1)), Remedy::FromBase);
        assert_eq!(of(&Held::Nothing, &item(0, "", 1)), Remedy::FromOther);
        assert_eq!(of(&item(2, "a", 1), &deleted(3, 3)), Remedy::FromOther);
        assert_eq!(of(&item(2, "a", 1), &item(2, "a", 2)), Remedy::RaiseBase);
        assert_eq!(of(&item(2, "b", 1), &item(2, "b", 2)), Remedy::RaiseOther);
        assert_eq!(of(&item(0, "", 1), &item(0, "", 2)), Remedy::RaiseBase);
        assert_eq!(of(&deleted(2, 2), &item(2, "a", 2)), Remedy::RaiseOther);
        assert_eq!(of(&Held::Damaged(Digest(1)), &item(2, "a", 2)), Remedy::RaiseOther);
        assert_eq!(of(&Held::Damaged(Digest(1)), &deleted(2, 2)), Remedy::Nothing);
    }
}
