//! The records of one object, in order, from pieces of its bytes. It does not know any format.

use keywright_semantics::messages::files as text;
use keywright_semantics::request::FileRecord;

use super::Format;
use super::record::{Contents, End, Fault, Outcome, Position, RECORD_BYTES_MAX, Record, RecordFormat, Step};

/// The bytes with which some editors begin a file in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the records of one object. Holds the bytes of one record and of the last piece that it was fed.
#[derive(Debug)]
pub struct Records {
    format: Box<dyn RecordFormat>,
    contents: Contents,
    /// Invariant: `start` is within `pending`.
    pending: Vec<u8>,
    /// How many bytes of `pending` have been read.
    start: usize,
    /// Where the unread bytes begin in the object, and how many records come before them.
    position: Position,
    /// Records that are yet to be passed over.
    skipped_left: u64,
    end: End,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of the object, where a byte order mark may stand.
    Start,
    Reading,
    /// Something does not parse.
    Stopped,
}

impl Records {
    /// A reader at the start of an object.
    pub fn new(format: &Format, contents: Contents) -> Self {
        Self::resumed(format, contents, 0)
    }

    /// A reader that is fed the object from its start and passes over the first records without decoding
    /// them: those that were done before. A record that was not readable is no such record.
    pub fn resumed(format: &Format, contents: Contents, done: u64) -> Self {
        Self {
            format: format.open(),
            contents,
            pending: Vec::new(),
            start: 0,
            position: Position::default(),
            skipped_left: done,
            end: End::Open,
            state: State::Start,
        }
    }

    /// Takes the next bytes of the object. Call [`Self::next_record`] until it gives nothing before more is
    /// fed, as fed bytes are kept until then.
    pub fn feed(&mut self, bytes: &[u8]) {
        assert!(self.end == End::Open, "nothing is fed after the end");
        if self.state == State::Stopped {
            return;
        }
        self.pending.drain(..self.start);
        self.start = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// Says that all bytes of the object have been fed: what is left is its last record.
    pub const fn finish(&mut self) {
        self.end = End::Reached;
    }

    /// The next record that is complete. `None` if more bytes are needed, after the last record, or if the
    /// reader has stopped.
    pub fn next_record(&mut self) -> Option<Record> {
        if self.state == State::Start {
            self.pass_byte_order_mark()?;
        }
        while self.state == State::Reading {
            let pending = self.pending.get(self.start..).unwrap_or_default();
            match self.format.split(pending, self.end) {
                Step::More if pending.len() > RECORD_BYTES_MAX => return Some(self.stop_too_long()),
                Step::More => return None,
                Step::Skip(bytes) => self.consume(bytes),
                Step::Piece(bytes) if bytes > RECORD_BYTES_MAX => return Some(self.stop_too_long()),
                Step::Piece(bytes) => {
                    if let Some(record) = self.piece(bytes) {
                        return Some(record);
                    }
                }
                Step::Broken(message) => return Some(self.stop(message)),
            }
        }
        None
    }

    /// Whether something did not parse, so that the rest of the object need not be fetched.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.state, State::Stopped)
    }

    /// Where the reader is: how many records it has given or passed over, and the first byte after them.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// Takes in a piece. `None` if it is no record, or one that is passed over.
    fn piece(&mut self, bytes: usize) -> Option<Record> {
        let piece = self.pending.get(self.start..self.start + bytes).unwrap_or_default();
        assert_eq!(piece.len(), bytes, "a piece is within the bytes that were given");
        match self.format.is_record(piece) {
            Ok(true) => {}
            Ok(false) => {
                self.consume(bytes);
                return None;
            }
            Err(Fault::Invalid(message) | Fault::Unreadable(message)) => return Some(self.stop(message)),
        }
        let position = self.position;
        if let Some(left) = self.skipped_left.checked_sub(1) {
            self.skipped_left = left;
            self.consume_record(bytes);
            return None;
        }
        let outcome = match self.format.decode(piece, self.contents) {
            Ok(parts) => match self.contents {
                Contents::Items => FileRecord::imported(parts),
                Contents::ConditionalPuts => FileRecord::put(parts),
            }
            .map_or_else(|error| Outcome::Invalid(error.message), |record| Outcome::Put(Box::new(record))),
            Err(Fault::Invalid(message)) => Outcome::Invalid(message),
            Err(Fault::Unreadable(message)) => return Some(self.stop(message)),
        };
        self.consume_record(bytes);
        Some(Record { position, outcome })
    }

    /// Passes over a byte order mark. `None` if more bytes are needed to know whether there is one.
    fn pass_byte_order_mark(&mut self) -> Option<()> {
        let start = self.pending.get(..BYTE_ORDER_MARK.len()).unwrap_or(&self.pending);
        if start == BYTE_ORDER_MARK {
            self.consume(BYTE_ORDER_MARK.len());
        } else if BYTE_ORDER_MARK.starts_with(start) && self.end == End::Open {
            return None;
        }
        self.state = State::Reading;
        Some(())
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        assert!(self.start <= self.pending.len(), "no more is read than was fed");
        self.position.offset_bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
    }

    fn consume_record(&mut self, bytes: usize) {
        self.consume(bytes);
        self.position.index += 1;
    }

    fn stop_too_long(&mut self) -> Record {
        self.stop(text::record_too_long(RECORD_BYTES_MAX))
    }

    /// Reads no further, and lets go of the bytes.
    fn stop(&mut self, message: String) -> Record {
        self.state = State::Stopped;
        self.pending = Vec::new();
        self.start = 0;
        Record { position: self.position, outcome: Outcome::Unreadable(message) }
    }
}
