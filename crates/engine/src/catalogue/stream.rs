//! A table's stream: what clients see of the change log that is kept for it.

use super::change_log::{ChangeLog, Purpose, StreamTerms};
use super::table::Table;

/// A stream, enabled or not: its reader's view of a change log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream<'t> {
    pub terms: &'t StreamTerms,
    pub log: &'t ChangeLog,
}

impl Table {
    /// The enabled stream, and disabled ones whose records can still be read.
    pub(crate) fn streams(&self) -> impl Iterator<Item = Stream<'_>> {
        let owner = self.stream_owner();
        self.logs.iter().filter_map(move |log| match &log.purpose {
            Purpose::Stream(terms) if terms.owner == owner => Some(Stream { terms, log }),
            Purpose::Stream(_) | Purpose::Destination(_) | Purpose::Replication => None,
        })
    }

    /// The enabled stream.
    pub(crate) fn live_stream(&self) -> Option<Stream<'_>> {
        self.streams().find(|stream| stream.log.is_open())
    }

    /// The stream of a label, enabled or not.
    pub(crate) fn stream_labelled(&self, label: &str) -> Option<Stream<'_>> {
        self.streams().find(|stream| stream.terms.label == label)
    }

    /// Ends the enabled stream, if there is one.
    pub(crate) fn close_stream(&mut self, now_ms: u64, settled_ms: u64) {
        let owner = self.stream_owner();
        for log in self.logs.iter_mut().filter(|log| log.is_open()) {
            if let Purpose::Stream(terms) = &mut log.purpose
                && terms.owner == owner
            {
                terms.settled_ms = settled_ms;
                log.close(now_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::StreamView;

    use super::*;
    use crate::catalogue::change_log::{Closed, StreamRecord};
    use crate::catalogue::{RecordPlace, Shard, ShardHash};

    #[test]
    fn a_streams_log_is_stored_in_the_bytes_that_existing_databases_have() {
        let shard = Shard {
            number: 3,
            parent: Some(2),
            first: ShardHash(0),
            last: ShardHash(u64::MAX),
            opened_ms: 5,
            start: RecordPlace { version: 7, index: 1 },
            closed: Some(Closed { at_ms: 9, last: None }),
            trimmed: None,
        };
        let views =
            [StreamView::KeysOnly, StreamView::NewImage, StreamView::OldImage, StreamView::NewAndOldImages];
        for (view, place) in views.into_iter().zip(0_u8..) {
            let terms = StreamTerms { label: "l".to_owned(), view, settled_ms: 6, owner: 0 };
            let log = ChangeLog {
                purpose: Purpose::Stream(terms),
                opened_ms: 5,
                closed_ms: Some(9),
                shards: vec![shard.clone()],
            };
            let records = StreamRecord::of_streams(std::slice::from_ref(&log));
            let bytes = postcard::to_allocvec(&records[0]).expect("it is encoded");
            let hash_max = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
            let fields: [&[u8]; 4] =
                [&[1, b'l', place, 5, 6, 1, 9, 1], &[3, 1, 2, 0], &hash_max, &[5, 7, 1, 1, 9, 0, 0]];
            assert_eq!(bytes, fields.concat());
            let read: StreamRecord = postcard::from_bytes(&bytes).expect("it is read");
            assert_eq!(ChangeLog::from(read), log);
        }
    }
}
