//! Files of items: exports, imports and bulk puts as bytes. It does no I/O and no compression, and knows no
//! clock, no table and no key.
//!
//! | file | owns |
//! |---|---|
//! | `json_lines` | lines of DynamoDB JSON: exports, imports |
//! | `csv` | lines of CSV: imports |
//! | `ion` | lines of Ion: exports; structs in text or binary: imports |
//! | `manifest` | an export's folder: names of objects, manifests, sums |
//! | `errors` | lines of an import's error log |
//! | `bulk` | bulk puts: a record's members, the reports and their manifests |
//! | `change` | a line of an incremental export, in any format |
//! | `records` | the records of one object from pieces of its bytes, in any format |
//!
//! # Reading
//!
//! [`Records`] reads one object of any [`Format`]. Its caller fetches and decompresses the bytes:
//!
//! ```text
//! for each piece of bytes:  records.feed(piece);  while let Some(record) = records.next_record() { … }
//! records.finish();                               while let Some(record) = records.next_record() { … }
//! ```
//!
//! A record has its [`Position`] and one of three outcomes: an item, an item that is not valid (the reader
//! goes on), or bytes that do not parse (it stops there, and [`Records::is_stopped`] says so). Where the
//! pieces begin and end changes nothing. What needs the table, such as its keys, is not checked.
//!
//! **Memory**: a reader holds the last piece and at most [`RECORD_BYTES_MAX`] of a record. A longer record
//! does not parse, and is noticed before more of it is held. Decoding a record takes a small multiple of its
//! text; for an item of 400 KB that consists of 400,000 values without content some 120 MB, for a moment.
//!
//! **Resuming**: the state of a reader is not stored. A job notes how many records of an object it has done;
//! to go on, it feeds the object from its start to [`Records::resumed`], which finds those records again and
//! decodes none of them. An object that has an unreadable record is done with it.
//!
//! Layers: iso_time, line, change, record < manifest, errors < bulk < json_lines, ion, csv < records.

#![expect(clippy::doc_markdown, reason = "the order of layers names modules")]

pub mod bulk;
mod change;
mod csv;
mod errors;
pub mod ion;
mod iso_time;
pub mod json_lines;
mod line;
mod manifest;
mod record;
mod records;

pub use change::Change;
pub use csv::{COLUMNS_MAX, CsvOptions, Delimiter};
pub use errors::{ItemPointer, push_import_error};
pub use manifest::{
    Checksum, Checksummer, DataFile, DataFormat, ExportFolder, ManifestFault, Part, SUM_EXTENSIONS, Span,
    Summary, View, data_file_name, sum_key,
};
pub use record::{Contents, Outcome, Position, RECORD_BYTES_MAX, Record};
pub use records::Records;

use keywright_semantics::codec::EncodedItem;
use record::RecordFormat;

impl DataFormat {
    /// Appends a line of a full export.
    pub fn push_item(self, out: &mut Vec<u8>, item: &EncodedItem) {
        match self {
            Self::Json => json_lines::push_item(out, item),
            Self::Ion => ion::push_item(out, item),
        }
    }

    /// Appends a line of an incremental export.
    pub fn push_change(self, out: &mut Vec<u8>, change: &Change<'_>) {
        match self {
            Self::Json => json_lines::push_change(out, change),
            Self::Ion => ion::push_change(out, change),
        }
    }
}

/// The form of an object's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// DynamoDB JSON, one record a line.
    JsonLines,
    /// Ion 1.0, one struct a record.
    Ion,
    /// CSV, one line a record.
    Csv(CsvOptions),
}

impl Format {
    fn open(&self) -> Box<dyn RecordFormat> {
        match self {
            Self::JsonLines => Box::new(json_lines::JsonLines::default()),
            Self::Ion => Box::new(ion::Ion::default()),
            Self::Csv(options) => Box::new(csv::Csv::new(options)),
        }
    }
}
