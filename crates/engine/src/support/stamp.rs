//! Stamps: the order that processes give to commits, readable as a time.
//!
//! A stamp is 48 bits of milliseconds since 1970 and 16 bits that count within one. It is drawn for one
//! commit (`state::stamps`), after the commit's transaction has begun and anew at each try. All rows of the
//! commit that need an order in time carry the same stamp, so a cut between two stamps splits no transaction,
//! not even one of several tables. A commit's version cannot serve: no row can hold it, as it is known only
//! after the commit, and commits that have nothing to do with each other have versions in any order.
//!
//! - *History*: the stamp is the last part of an undo row's key. An item's value as of a time is the image
//!   before the first commit whose stamp is not below `Stamp::first_of` that time.
//! - *Versions of replicas*: the greater version wins. A version is a stamp, and the name of the region where
//!   it was drawn for two that are equal.
//!
//! The times that clients see (of stream records, expiry, tokens) are no stamps: a clock that was ahead for a
//! moment and is set right must not stay in them.

use serde::{Deserialize, Serialize};

/// The stamp of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Stamp(u64);

/// Bits that count within a millisecond. A count beyond them goes on in the next millisecond.
const COUNT_BITS: u32 = 16;
/// The end of the year 9999. Clocks beyond it are wrong; stamps do not follow them, so they never run out.
const MS_MAX: u64 = 253_402_300_799_999;

/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// A day since 1970, in UTC. Times after its last value count to its last value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub u16);

impl Day {
    /// The day of this time.
    pub(crate) const fn of_ms(ms: u64) -> Self {
        let day = ms / DAY_MS;
        #[expect(
            clippy::as_conversions,
            clippy::cast_possible_truncation,
            reason = "it is in range; `try_from` is not const"
        )]
        let day = if day < u16::MAX as u64 { day as u16 } else { u16::MAX };
        Self(day)
    }

    /// The first millisecond of the day.
    pub(crate) fn first_ms(self) -> u64 {
        u64::from(self.0) * DAY_MS
    }
}

impl Stamp {
    /// The least stamp of a millisecond.
    pub(crate) const fn first_of(ms: u64) -> Self {
        let ms = if ms < MS_MAX { ms } else { MS_MAX };
        Self(ms << COUNT_BITS)
    }

    /// The millisecond of the stamp: that of the clock, or a later one if the clock was behind.
    pub(crate) const fn ms(self) -> u64 {
        self.0 >> COUNT_BITS
    }

    /// The number of the stamp within its millisecond.
    pub(crate) const fn count(self) -> u64 {
        self.0 & ((1 << COUNT_BITS) - 1)
    }

    /// The day of the stamp, since 1970.
    pub(crate) const fn day(self) -> Day {
        Day::of_ms(self.ms())
    }

    /// The next greater stamp.
    pub(crate) const fn next(self) -> Self {
        Self(self.0.checked_add(1).expect("stamps do not run out"))
    }

    /// The stamp that is so many steps later.
    pub(crate) const fn plus(self, steps: u64) -> Self {
        Self(self.0.checked_add(steps).expect("stamps do not run out"))
    }

    /// The stamp as a clock that is ahead by so much, or behind, would have drawn it.
    pub(crate) const fn shifted(self, ms: i64) -> Self {
        let shifted_ms = self.ms().saturating_add_signed(ms);
        Self(Self::first_of(shifted_ms).0 | self.count())
    }

    /// The stored form: bytes in the order of stamps.
    pub(crate) const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(crate) const fn of_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }
}
