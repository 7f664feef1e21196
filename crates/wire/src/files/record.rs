//! What all readers of records share: where a record stands, what it is, and the form of a format.

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::request::{FileRecord, FileRecordParts};

/// The text of one record at most. An item of 400 KB takes 4.9 MB of JSON without spaces if it is a list of
/// sets of one empty binary value, and 2.4 MB if it is a text of control characters. What is longer is no
/// item.
pub const RECORD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Values of a record at most, counted as brackets and commas or as values of Ion. The item with most of them
/// is the same list of sets: three for each of its bytes. What has more is over 400 KB.
pub(super) const VALUES_MAX: usize = 1_250_000;

const _: () = assert!(VALUES_MAX > 3 * ITEM_BYTES_MAX, "every item can be read");

/// The place of a record in its object, after decompression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// How many records come before it: the first record has 0, as `itemIndex` of the service's error log.
    pub index: u64,
    /// The offset of its first byte.
    pub offset_bytes: u64,
}

/// One record of an object.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it stands.
    pub position: Position,
    /// What it holds, or what is wrong with it.
    pub outcome: Outcome,
}

/// What a record is, as far as that is known without the table.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A right item. Its keys are not checked.
    Put(Box<FileRecord>),
    /// The record parses and the item or condition in it is not valid, for this reason. It counts as
    /// processed, and the reader goes on.
    Invalid(String),
    /// The record does not parse, for this reason. It does not count as processed, and nothing of the object
    /// after it is read.
    Unreadable(String),
}

/// What the records of an object hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Items: an import. Conditions are not looked at.
    Items,
    /// Items that may have a condition: a bulk put.
    ConditionalPuts,
}

/// The fault of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// See [`Outcome::Invalid`].
    Invalid(String),
    /// See [`Outcome::Unreadable`].
    Unreadable(String),
}

/// Whether more bytes may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Reached,
}

/// What a format finds at the start of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A piece that is not complete; or no bytes.
    More,
    /// Bytes that belong to no piece.
    Skip(usize),
    /// A whole piece of that length: a record, a blank line, a header, a table of symbols.
    Piece(usize),
    /// The bytes do not parse.
    Broken(String),
}

/// A format of records. It finds the end of each piece by looking at each byte once, and decodes it
/// afterwards.
pub(super) trait RecordFormat: std::fmt::Debug + Send {
    /// The next step. `pending` starts where the last step ended; after [`Step::More`] the same bytes are
    /// given again with more behind them. With [`End::Reached`] it says [`Step::More`] of no bytes only.
    fn split(&mut self, pending: &[u8], end: End) -> Step;

    /// Whether the piece is a record; one that is not is taken in. Called once for each piece.
    fn is_record(&mut self, piece: &[u8]) -> Result<bool, Fault>;

    /// The members of a record, called right after [`Self::is_record`].
    fn decode(&self, record: &[u8], contents: Contents) -> Result<FileRecordParts, Fault>;
}
