//! Ion: the data files of exports, and the records of imports and bulk puts, in text; records in binary too.
//!
//! An object is split into the structs at its top (`text`, `binary`), and each is read (`text_reader`,
//! `binary_reader`) after a look at what that would take (`survey`). Only Ion 1.0 is read, without shared
//! tables of symbols.
//!
//! The readers are our own. `ion-rs` 1.2 panics on damaged input: on bytes that are not UTF-8 in a text, on a
//! length beyond its value. It bounds neither depth nor numbers.
//!
//! Layers: value < symbols, survey < text, binary < text_reader, binary_reader.

#![expect(clippy::doc_markdown, reason = "the order of layers names modules")]

mod binary;
mod binary_reader;
mod survey;
mod symbols;
mod text;
mod text_reader;
mod value;
mod write;

pub use write::{push_change, push_item};

use keywright_semantics::messages::{Wording, data_plane, files as messages, value as value_messages};
use keywright_semantics::number::NumberFault;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::value::ValueFault;

use super::record::{Contents, End, Fault, RecordFormat, Step, VALUES_MAX};
use binary::BinarySplitter;
use survey::Survey;
use symbols::Symbols;
use text::TextSplitter;
use value::Value;

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

/// The structs of an object.
#[derive(Debug, Default)]
pub(super) struct Ion {
    /// Text or binary, once the first byte is known.
    splitter: Option<Box<dyn Splitter>>,
    encoding: Encoding,
    /// The symbols since the last version marker.
    symbols: Symbols,
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
        let value = self.read(record).map_err(|fault| unreadable(&fault))?;
        value::record_parts(value, contents).map_err(Fault::Invalid)
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
        Some(fault(ValueFault::Number { fault: NumberFault::TooManyDigits, text: Box::default() }))
    } else if survey.has_sexp {
        Some(messages::ion_type_not_supported("sexp"))
    } else if survey.values > VALUES_MAX {
        Some(data_plane::ITEM_TOO_LARGE.to_owned())
    } else {
        None
    }
}

impl Ion {
    fn read(&self, value: &[u8]) -> Result<Value, String> {
        match self.encoding {
            Encoding::Text => text_reader::read(value, &self.symbols),
            Encoding::Binary => binary_reader::read(value, &self.symbols),
        }
    }

    /// Takes in a table of symbols: the struct at the top in text, the annotated value in binary.
    fn add_symbols(&mut self, piece: &[u8]) -> Result<(), String> {
        if fault_of(&self.survey).is_some() {
            return Err("a table of symbols has other values than symbols".to_owned());
        }
        let table = match self.encoding {
            Encoding::Text => piece,
            Encoding::Binary => {
                binary::symbol_table_in(piece).ok_or("a value with an annotation is not a record")?
            }
        };
        let table = self.read(table)?;
        self.symbols.take_in(&table)
    }
}
