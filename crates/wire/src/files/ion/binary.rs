//! Finds the ends of the values at the top of binary Ion 1.0 by their lengths, without decoding them.

use super::survey::{DEPTH_MAX, NUMBER_BYTES_MAX, Survey};
use super::{Kind, Split, Splitter};
use crate::files::record::RECORD_BYTES_MAX;
use crate::files::record::{End, Step};

/// How binary Ion 1.0 begins.
pub(super) const VERSION_MARKER: &[u8] = &[0xe0, 0x01, 0x00, 0xea];

/// Types of values, in the upper half of their first byte.
pub(super) mod types {
    pub(in crate::files::ion) const NULL: u8 = 0;
    pub(in crate::files::ion) const BOOL: u8 = 1;
    pub(in crate::files::ion) const POSITIVE_INT: u8 = 2;
    pub(in crate::files::ion) const NEGATIVE_INT: u8 = 3;
    pub(in crate::files::ion) const FLOAT: u8 = 4;
    pub(in crate::files::ion) const DECIMAL: u8 = 5;
    pub(in crate::files::ion) const TIMESTAMP: u8 = 6;
    pub(in crate::files::ion) const SYMBOL: u8 = 7;
    pub(in crate::files::ion) const STRING: u8 = 8;
    pub(in crate::files::ion) const CLOB: u8 = 9;
    pub(in crate::files::ion) const BLOB: u8 = 10;
    pub(in crate::files::ion) const LIST: u8 = 11;
    pub(in crate::files::ion) const SEXP: u8 = 12;
    pub(in crate::files::ion) const STRUCT: u8 = 13;
    pub(in crate::files::ion) const ANNOTATION: u8 = 14;
}

/// Lengths in the lower half: a null value, and a length that follows.
const NULL_LENGTH: u8 = 15;
const LONG_LENGTH: u8 = 14;

/// The splitter has no state: a value's length stands in its first bytes.
#[derive(Debug, Default)]
pub(super) struct BinarySplitter;

const CUT_SHORT: &str = "the object ends within a value";
const NOT_A_STRUCT: &str = "a value is not a struct";
const NOT_ION_1_0: &str = "it has a version other than Ion 1.0";

impl Splitter for BinarySplitter {
    fn split(&mut self, pending: &[u8], end: End) -> Split {
        let more = match end {
            End::Reached if !pending.is_empty() => Step::Broken(CUT_SHORT.to_owned()),
            End::Reached | End::Open => Step::More,
        };
        if pending.first() == VERSION_MARKER.first() {
            return match pending.get(..VERSION_MARKER.len()) {
                Some(VERSION_MARKER) => {
                    let step = Step::Skip(VERSION_MARKER.len());
                    Split { forgets_symbols: true, ..Split::of(step) }
                }
                Some(_) => Split::of(Step::Broken(NOT_ION_1_0.to_owned())),
                None => Split::of(more),
            };
        }
        let header = match Header::read(pending) {
            Ok(Some(header)) => header,
            Ok(None) => return Split::of(more),
            Err(Malformed) => return Split::of(Step::Broken("a length is malformed".to_owned())),
        };
        let length = header.bytes + header.content_bytes;
        let is_padding = header.value_type == types::NULL && !header.is_null;
        let kind = match header.value_type {
            types::STRUCT if !header.is_null => Kind::Record,
            types::ANNOTATION => Kind::SymbolTable,
            _ if is_padding => Kind::Record,
            _ => return Split::of(Step::Broken(NOT_A_STRUCT.to_owned())),
        };
        match pending.get(..length) {
            Some(_) if is_padding => Split::of(Step::Skip(length)),
            Some(piece) => {
                let mut survey = Survey::default();
                look_at(piece, 0, &mut survey);
                Split { step: Step::Piece(length), kind, forgets_symbols: false, survey }
            }
            // Said before the bytes are there: a long value is not held.
            None if length > RECORD_BYTES_MAX => Split::of(Step::Piece(length)),
            None => Split::of(more),
        }
    }
}

/// The type and length of a value.
pub(super) struct Header {
    pub(super) value_type: u8,
    pub(super) is_null: bool,
    /// Bytes before the content.
    pub(super) bytes: usize,
    pub(super) content_bytes: usize,
}

/// A length that no value has.
pub(super) struct Malformed;

impl Header {
    /// The header at the start of the bytes; none if it is not complete.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some((first, rest)) = bytes.split_first() else { return Ok(None) };
        let (value_type, length) = (first >> 4, first & 0x0f);
        let has_length = match (value_type, length) {
            (types::BOOL, _) | (_, NULL_LENGTH) => {
                return Ok(Some(Self {
                    value_type,
                    is_null: length == NULL_LENGTH,
                    bytes: 1,
                    content_bytes: 0,
                }));
            }
            // A struct whose fields are in the order of their names.
            (types::STRUCT, 1) => true,
            (_, length) => length == LONG_LENGTH,
        };
        if !has_length {
            let content_bytes = usize::from(length);
            return Ok(Some(Self { value_type, is_null: false, bytes: 1, content_bytes }));
        }
        let Some((content_bytes, length_bytes)) = variable_length(rest)? else { return Ok(None) };
        Ok(Some(Self { value_type, is_null: false, bytes: 1 + length_bytes, content_bytes }))
    }
}

/// Bytes of a number of variable length at most: more than the length of any record needs.
const VARIABLE_BYTES_MAX: usize = 5;

/// The number of variable length at the start of the bytes, and its own length; none if it is not complete.
pub(super) fn variable_length(bytes: &[u8]) -> Result<Option<(usize, usize)>, Malformed> {
    let mut number = 0_usize;
    for (place, byte) in bytes.iter().enumerate().take(VARIABLE_BYTES_MAX) {
        number = number << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            return Ok(Some((number, place + 1)));
        }
    }
    if bytes.len() < VARIABLE_BYTES_MAX { Ok(None) } else { Err(Malformed) }
}

/// The annotation of a set is a value around the set's list.
const ANNOTATION_LEVELS: usize = 1;

/// Looks at the values in the bytes, which are those of a container at this depth. What is malformed is left
/// to the decoder.
fn look_at(mut bytes: &[u8], depth: usize, survey: &mut Survey) {
    if depth > DEPTH_MAX + ANNOTATION_LEVELS {
        survey.too_deep = true;
        return;
    }
    while let Ok(Some(header)) = Header::read(bytes) {
        let Some(content) = bytes.get(header.bytes..).and_then(|rest| rest.get(..header.content_bytes))
        else {
            return;
        };
        bytes = bytes.get(header.bytes + header.content_bytes..).unwrap_or_default();
        survey.values += 1;
        match header.value_type {
            types::POSITIVE_INT | types::NEGATIVE_INT | types::DECIMAL => {
                survey.long_number |= content.len() > NUMBER_BYTES_MAX;
            }
            types::SEXP => survey.has_sexp = true,
            types::LIST => look_at(content, depth + 1, survey),
            types::STRUCT => look_at_fields(content, depth + 1, survey),
            types::ANNOTATION => {
                if let Ok(Some((annotations, length_bytes))) = variable_length(content) {
                    let value = content.get(length_bytes + annotations..).unwrap_or_default();
                    look_at(value, depth + 1, survey);
                }
            }
            _ => {}
        }
    }
}

/// The same for the fields of a struct, each of which has a symbol before its value.
fn look_at_fields(mut bytes: &[u8], depth: usize, survey: &mut Survey) {
    while let Ok(Some((_, name_bytes))) = variable_length(bytes) {
        let value = bytes.get(name_bytes..).unwrap_or_default();
        let Ok(Some(header)) = Header::read(value) else { return };
        let length = header.bytes + header.content_bytes;
        let Some(whole) = value.get(..length) else { return };
        look_at(whole, depth, survey);
        bytes = value.get(length..).unwrap_or_default();
    }
}

/// The value within an annotation, if the annotation is the one symbol of tables of symbols.
pub(super) fn symbol_table_in(piece: &[u8]) -> Option<&[u8]> {
    const SYMBOL_TABLE: u8 = 0x83;
    let header = Header::read(piece).ok().flatten()?;
    let content = piece.get(header.bytes..)?;
    match variable_length(content).ok().flatten()? {
        (1, length_bytes) if content.get(length_bytes) == Some(&SYMBOL_TABLE) => {
            content.get(length_bytes + 1..)
        }
        _ => None,
    }
}
