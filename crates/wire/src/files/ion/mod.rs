//! Ion: the data files of exports, and the records of imports and bulk puts, in text; records in binary too.
//!
//! Writing is our own, straight from stored bytes. Reading splits an object into the structs at its top
//! (`text`, `binary`) and leaves each struct to `ion-rs`, after a look at what that would take (`survey`):
//! its reader has no bounds of its own on depth, on the number of values or on the length of numbers, and
//! holds a whole value. Only Ion 1.0 is read, without shared tables of symbols.
//!
//! Layers: survey < text, binary < values.

mod binary;
mod survey;
mod text;
mod values;
mod write;

pub use write::{push_change, push_item};

use std::borrow::Cow;

use keywright_semantics::messages::{Wording, data_plane, files as messages, value as value_messages};
use keywright_semantics::number::NumberFault;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::value::ValueFault;

use super::record::{Contents, End, Fault, RecordFormat, Step, VALUES_MAX};
use binary::BinarySplitter;
use survey::Survey;
use text::TextSplitter;

/// Annotations of lists that are sets.
const ANNOTATION_SS: &str = "$dynamodb_SS";
const ANNOTATION_NS: &str = "$dynamodb_NS";
const ANNOTATION_BS: &str = "$dynamodb_BS";

/// What a struct at the top is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Record,
    SymbolTable,
}

/// A step, and what is known of the piece in it.
#[derive(Debug)]
struct Split {
    step: Step,
    kind: Kind,
    /// Whether a version marker comes before it.
    forgets_symbols: bool,
    survey: Survey,
}

impl Split {
    /// A step that finds no piece.
    fn of(step: Step) -> Self {
        Self { step, kind: Kind::Record, forgets_symbols: false, survey: Survey::default() }
    }
}

/// Finds the structs at the top, as [`RecordFormat::split`] does.
trait Splitter: std::fmt::Debug + Send {
    fn split(&mut self, pending: &[u8], end: End) -> Split;
}

/// Symbols of an object's tables at most, in bytes of Ion: they are read again with each record.
const SYMBOLS_BYTES_MAX: usize = 256 * 1024;

/// The structs of an object.
#[derive(Debug, Default)]
pub(super) struct Ion {
    /// Text or binary, once the first byte is known.
    splitter: Option<Box<dyn Splitter>>,
    encoding: Encoding,
    /// The tables of symbols since the last version marker. Each adds to those before it.
    symbols: Vec<u8>,
    /// What the last piece is.
    kind: Kind,
    survey: Survey,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Encoding {
    #[default]
    Text,
    Binary,
}

impl RecordFormat for Ion {
    fn split(&mut self, pending: &[u8], end: End) -> Step {
        if self.splitter.is_none() && pending.is_empty() {
            return Step::More;
        }
        let splitter = self.splitter.get_or_insert_with(|| {
            if pending.first() == binary::VERSION_MARKER.first() {
                self.encoding = Encoding::Binary;
                Box::new(BinarySplitter)
            } else {
                Box::new(TextSplitter::default())
            }
        });
        let split = splitter.split(pending, end);
        if split.forgets_symbols {
            self.symbols.clear();
        }
        (self.kind, self.survey) = (split.kind, split.survey);
        match split.step {
            Step::Broken(fault) => Step::Broken(messages::not_ion(&fault)),
            step => step,
        }
    }

    fn is_record(&mut self, piece: &[u8]) -> Result<bool, Fault> {
        match self.kind {
            Kind::Record => Ok(true),
            Kind::SymbolTable => self.add_symbols(piece).map(|()| false).map_err(|fault| unreadable(&fault)),
        }
    }

    fn decode(&self, record: &[u8], contents: Contents) -> Result<FileRecordParts, Fault> {
        if let Some(fault) = fault_of(&self.survey) {
            return Err(Fault::Invalid(fault));
        }
        let element = values::read(&self.with_symbols(record)).map_err(|fault| unreadable(&fault))?;
        values::record_parts(&element, contents).map_err(Fault::Invalid)
    }
}

fn unreadable(fault: &str) -> Fault {
    Fault::Unreadable(messages::not_ion(fault))
}

/// Why a record is not decoded.
fn fault_of(survey: &Survey) -> Option<String> {
    let fault = |fault| value_messages::fault(&fault, Wording::Present);
    if survey.too_deep {
        Some(fault(ValueFault::TooDeep))
    } else if survey.long_number {
        Some(fault(ValueFault::Number { fault: NumberFault::TooManyDigits, text: String::new() }))
    } else if survey.has_sexp {
        Some(messages::ion_type_not_supported("sexp"))
    } else if survey.values > VALUES_MAX {
        Some(data_plane::ITEM_TOO_LARGE.to_owned())
    } else {
        None
    }
}

impl Ion {
    /// A value with what must be read before it.
    fn with_symbols<'v>(&self, value: &'v [u8]) -> Cow<'v, [u8]> {
        match self.encoding {
            Encoding::Text if self.symbols.is_empty() => Cow::Borrowed(value),
            Encoding::Text => [&self.symbols, value].concat().into(),
            Encoding::Binary => [binary::VERSION_MARKER, &self.symbols, value].concat().into(),
        }
    }

    /// Takes in a table of symbols: the struct at the top in text, the annotated value in binary.
    fn add_symbols(&mut self, piece: &[u8]) -> Result<(), String> {
        if fault_of(&self.survey).is_some() {
            return Err("a table of symbols has other values than symbols".to_owned());
        }
        let (table, prefix) = match self.encoding {
            Encoding::Text => (piece, &b"$ion_symbol_table::"[..]),
            Encoding::Binary => (
                binary::symbol_table_in(piece).ok_or("a value with an annotation is not a record")?,
                &b""[..],
            ),
        };
        // Without its annotation the table is an ordinary struct.
        let element = values::read(&self.with_symbols(table))?;
        if !values::adds_to_symbols(&element)? {
            self.symbols.clear();
        }
        self.symbols.extend_from_slice(prefix);
        self.symbols.extend_from_slice(piece);
        if self.symbols.len() > SYMBOLS_BYTES_MAX {
            return Err(format!("tables of symbols are longer than {SYMBOLS_BYTES_MAX} bytes"));
        }
        Ok(())
    }
}
