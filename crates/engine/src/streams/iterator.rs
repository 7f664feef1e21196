//! Shard iterators: opaque tokens with the shard, the position and the time of issue.
//!
//! The engine keeps no state for them. A checksum detects tokens that were never issued.

use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::request::StreamRef;
use keywright_store::{CommitVersion, LogPosition};

use crate::support::hex::hex;

/// Separates the stream's ARN from the rest; the number is the format's version.
const SEPARATOR: &str = "|1|";

/// A consumer's position in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShardIterator {
    pub stream: StreamRef,
    pub shard: u32,
    /// The page begins after this position; `None` means at the oldest record.
    pub after: Option<LogPosition>,
    pub issued_ms: u64,
}

impl ShardIterator {
    pub(super) fn to_text(&self) -> String {
        let (tag, after) = match self.after {
            None => (0, LogPosition::FIRST),
            Some(after) => (1, after),
        };
        let LogPosition { version: CommitVersion(version), index } = after;
        let (shard, issued_ms) = (self.shard, self.issued_ms);
        let body = format!("{tag}{shard:08x}{version:016x}{index:08x}{issued_ms:016x}");
        let sum = checksum(&self.stream.arn, &body);
        format!("{}{SEPARATOR}{body}{sum}", self.stream.arn)
    }

    /// Parses an iterator; `None` if it was never issued.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (arn, rest) = text.split_once(SEPARATOR)?;
        let (body, sum) = rest.split_at_checked(BODY_CHARACTERS)?;
        if checksum(arn, body) != sum {
            return None;
        }
        let hex = |from: usize, to: usize| u64::from_str_radix(body.get(from..to)?, 16).ok();
        let position =
            LogPosition { version: CommitVersion(hex(9, 25)?), index: u32::try_from(hex(25, 33)?).ok()? };
        Some(Self {
            stream: StreamRef::read(arn)?,
            shard: u32::try_from(hex(1, 9)?).ok()?,
            after: (hex(0, 1)? == 1).then_some(position),
            issued_ms: hex(33, 49)?,
        })
    }
}

/// The stream of an iterator that was issued.
pub(crate) fn stream_of(text: &str) -> Option<StreamRef> {
    ShardIterator::parse(text).map(|iterator| iterator.stream)
}

const BODY_CHARACTERS: usize = 1 + 8 + 16 + 8 + 16;

fn checksum(arn: &str, body: &str) -> String {
    let hash = partition_hash([KeyValueRef::S(arn), KeyValueRef::S(body)]).0;
    hex(hash.iter().take(8))
}

#[cfg(test)]
mod tests {
    use keywright_semantics::error::ErrorKind;
    use keywright_semantics::request::parts::StreamViewType;
    use keywright_store::memory::MemoryStore;

    use super::*;
    use crate::support::config::EngineConfig;
    use crate::tests::harness::*;

    fn iterator(after: Option<LogPosition>) -> ShardIterator {
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/stream/2026-01-02T03:04:05.678";
        let stream = StreamRef::read(arn).expect("a stream's name");
        ShardIterator { stream, shard: 7, after, issued_ms: 1_767_323_045_678 }
    }

    #[test]
    fn an_iterator_reads_back_as_it_was_issued() {
        let position = LogPosition { version: CommitVersion(u64::MAX), index: 3 };
        for after in [None, Some(LogPosition::FIRST), Some(position), Some(LogPosition::LAST)] {
            let made = iterator(after);
            assert_eq!(ShardIterator::parse(&made.to_text()), Some(made));
        }
    }

    #[test]
    fn an_iterator_that_was_never_issued_is_refused() {
        let text = iterator(None).to_text();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(ShardIterator::parse(&changed), None, "{changed}");
            assert_eq!(ShardIterator::parse(&text[..at]), None);
        }
    }

    /// The checksum has no secret, so a client can compute it for any text.
    #[test]
    fn a_forged_iterator_reads_only_the_callers_own_streams() {
        let mut table = create_request(schema());
        table.stream = Some(StreamViewType::NewImage);
        let bench = bench_with(MemoryStore::new(), EngineConfig::default(), table);
        bench.put(item([("pk", s("p")), ("sk", s("1"))])).expect("put");
        let own = bench.stream();
        let now_ms = bench.engine.env().now_ms();
        let read = |iterator: &ShardIterator| {
            bench.records(&iterator.to_text(), 1_000).map(|page| page.records.len())
        };
        let made = |stream: &StreamRef, shard, after, issued_ms| ShardIterator {
            stream: stream.clone(),
            shard,
            after,
            issued_ms,
        };
        let shard = (0..100).find(|number| read(&made(&own, *number, None, now_ms)).is_ok());
        let shard = shard.expect("the stream has a shard");
        assert_eq!(read(&made(&own, shard, None, now_ms)).expect("its own"), 1);
        // Beyond the last record there is nothing, and an issue time to come gives no more than others.
        let far = LogPosition { version: CommitVersion(u64::MAX), index: 0 };
        for after in [far, LogPosition::LAST] {
            assert_eq!(read(&made(&own, shard, Some(after), u64::MAX)).expect("a page"), 0);
        }
        for number in [shard + 1, u32::MAX] {
            assert!(read(&made(&own, number, None, now_ms)).is_err());
        }
        for (from, to) in
            [("000000000000", "111111111111"), ("us-east-1", "eu-west-1"), ("table/t/", "table/other/")]
        {
            assert!(own.arn.contains(from), "{}", own.arn);
            let other = StreamRef::read(&own.arn.replace(from, to)).expect("a stream's name");
            let refused = read(&made(&other, shard, None, now_ms)).expect_err("not the caller's");
            assert_eq!(refused.kind, ErrorKind::ResourceNotFound);
        }
    }
}
