//! A change of a replicated item, as the log for its replicas has it: which item, its version, and the one
//! before.
//!
//! It has no images: who sends the change reads the item as it is then.

use bytes::{BufMut, Bytes, BytesMut};

use crate::support::stamp::Stamp;
use crate::support::version::Version;
use crate::write::versions::NewVersion;

/// The first byte of a record: its format.
const FORMAT: u8 = 1;

/// Stored bytes that are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadVersionRecord;

/// A change of an item that replicas are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionRecord {
    /// The stamp of the commit.
    pub at: Stamp,
    pub version: Stamp,
    /// The version that the change replaced; the zero version if there was none.
    pub before: Version,
    /// The item's key within its table.
    pub within: Bytes,
}

impl VersionRecord {
    pub(crate) fn of(version: &NewVersion, within: Bytes) -> Self {
        let before = version.before.as_ref().map_or_else(Version::zero, |before| before.version.clone());
        Self { at: version.at, version: version.version.stamp, before, within }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let region = self.before.region.as_bytes();
        let mut out = BytesMut::with_capacity(1 + 3 * 8 + 1 + region.len() + self.within.len());
        out.put_u8(FORMAT);
        for stamp in [self.at, self.version, self.before.stamp] {
            out.put_slice(&stamp.to_bytes());
        }
        out.put_u8(u8::try_from(region.len()).expect("the name of a region is short"));
        out.put_slice(region);
        out.put_slice(&self.within);
        assert!(!self.within.is_empty(), "an item's key within its table holds a hash");
        out.freeze()
    }

    pub(crate) fn decode(stored: &Bytes) -> Result<Self, BadVersionRecord> {
        Self::parse(stored).ok_or(BadVersionRecord)
    }

    fn parse(stored: &Bytes) -> Option<Self> {
        let [FORMAT, rest @ ..] = stored.as_ref() else { return None };
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (version, rest) = rest.split_first_chunk::<8>()?;
        let (before, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first()?;
        let (region, within) = rest.split_at_checked(usize::from(*length))?;
        Some(Self {
            at: Stamp::of_bytes(*at),
            version: Stamp::of_bytes(*version),
            before: Version {
                stamp: Stamp::of_bytes(*before),
                region: std::str::from_utf8(region).ok()?.to_owned(),
            },
            within: stored.slice_ref(within),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_no_head_of_it_is() {
        let record = VersionRecord {
            at: Stamp::first_of(9),
            version: Stamp::first_of(7),
            before: Version { stamp: Stamp::first_of(6), region: "us-east-1".to_owned() },
            within: Bytes::from_static(b"key"),
        };
        let stored = record.encode();
        assert_eq!(VersionRecord::decode(&stored), Ok(record));
        for end in 0..stored.len() - b"key".len() {
            assert!(VersionRecord::decode(&stored.slice(..end)).is_err(), "cut at {end}");
        }
    }
}
