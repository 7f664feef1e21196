//! The keys in TiKV: `PREFIX/`, one byte for the kind of row, and what tells rows of a kind apart.
//!
//! A prefix holds no `/`, so the keys of no installation begin with those of another one.

use bytes::{BufMut as _, Bytes, BytesMut};
use keywright_store::{KeyRange, LogId, LogPosition};

/// The version of the layout.
const LAYOUT: u8 = 0;
/// What callers put.
const ROW: u8 = 1;
/// Log entries that have no position yet, in the order in which their transactions began.
const INBOX: u8 = 2;
/// Log entries at their positions.
const LOG: u8 = 3;
/// One row per log shard, which each move out of the inbox writes.
const HEAD: u8 = 4;
/// No key of the installation is as great.
const END: u8 = u8::MAX;

/// A half-open range of keys in TiKV; an empty end is after all keys.
pub(crate) type Span = (Vec<u8>, Vec<u8>);

/// Where an entry is in the inbox of its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Origin {
    /// The transaction's timestamp.
    pub(crate) start: u64,
    pub(crate) place: u32,
}

/// The keys of one installation.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: Bytes,
}

impl Keys {
    pub(crate) fn of(prefix: &str) -> Self {
        Self { prefix: Bytes::from(format!("{prefix}/")) }
    }

    fn key(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        [self.prefix.as_ref(), &[kind], rest].concat()
    }

    pub(crate) fn everything(&self) -> Span {
        (self.prefix.to_vec(), self.key(END, &[]))
    }

    pub(crate) fn layout(&self) -> Vec<u8> {
        self.key(LAYOUT, b"layout")
    }

    pub(crate) fn row(&self, key: &[u8]) -> Vec<u8> {
        self.key(ROW, key)
    }

    pub(crate) fn rows(&self, range: &KeyRange) -> Span {
        let end = range.end.as_ref().map_or_else(|| self.key(ROW + 1, &[]), |end| self.row(end));
        (self.row(&range.start), end)
    }

    /// The caller's key of a row.
    pub(crate) fn callers(&self, key: Vec<u8>) -> Bytes {
        Bytes::from(key).slice(self.prefix.len() + 1..)
    }

    pub(crate) fn head(&self, id: LogId) -> Vec<u8> {
        self.key(HEAD, &shard(id))
    }

    pub(crate) fn inbox(&self, id: LogId, origin: Origin) -> Vec<u8> {
        let mut rest = shard(id);
        rest.put_u64(origin.start);
        rest.put_u32(origin.place);
        self.key(INBOX, &rest)
    }

    pub(crate) fn inbox_of(&self, id: LogId) -> Span {
        let last = Origin { start: u64::MAX, place: u32::MAX };
        (self.key(INBOX, &shard(id)), after(self.inbox(id, last)))
    }

    /// The entries of one commit, whose transaction began at this timestamp.
    pub(crate) fn inbox_of_commit(&self, id: LogId, start: u64) -> Span {
        let at = |place| self.inbox(id, Origin { start, place });
        (at(0), after(at(u32::MAX)))
    }

    pub(crate) fn log(&self, id: LogId, position: LogPosition) -> Vec<u8> {
        let mut rest = shard(id);
        rest.put_u64(position.version.0);
        rest.put_u32(position.index);
        self.key(LOG, &rest)
    }

    /// The entries after a position, up to and including another one.
    pub(crate) fn log_between(&self, id: LogId, from: Option<LogPosition>, through: LogPosition) -> Span {
        let start = from.map_or_else(|| self.key(LOG, &shard(id)), |from| after(self.log(id, from)));
        (start, after(self.log(id, through)))
    }
}

fn shard(id: LogId) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u64(id.log);
    bytes.put_u64(id.shard);
    bytes
}

/// Whether a key is before the end of a range; an empty end is after all keys.
pub(crate) fn is_before(key: &[u8], end: &[u8]) -> bool {
    end.is_empty() || key < end
}

/// The smallest key after this one.
pub(crate) fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}
