//! Lines of CSV: imports.
//!
//! The first line is the header unless a header is given. Fields are quoted as RFC 4180 says, and may hold
//! line ends then; a quote within a field that does not begin with one is itself. Lines end with LF or CR LF;
//! empty ones are passed over. A field of a key attribute has the type of its definition, any other is a
//! string, an empty one too.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::messages::files as text;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::request::parts::{AttributeMapPart, ValuePart};
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::AttributeValue;

use super::record::{Contents, End, Fault, RecordFormat, Step};

/// Columns of a file at most (API reference: `CsvOptions`).
pub const COLUMNS_MAX: usize = 255;

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(u8);

impl Delimiter {
    /// What an import uses unless its request names another.
    pub const COMMA: Self = Self(b',');

    /// The delimiter of a request: one of `,` `;` `:` `|`, a tab and a space.
    pub fn from_text(text: &str) -> Option<Self> {
        match text.as_bytes() {
            [byte @ (b',' | b';' | b':' | b'|' | b'\t' | b' ')] => Some(Self(*byte)),
            _ => None,
        }
    }
}

/// How an import reads its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// What stands between two fields.
    pub delimiter: Delimiter,
    /// The names of the columns; none if each object's first line has them.
    pub header: Option<Vec<String>>,
    /// The attribute definitions of the table: its keys and those of its indexes.
    pub key_types: Vec<(String, KeyType)>,
}

/// The lines of an object.
#[derive(Debug)]
pub(super) struct Csv {
    delimiter: u8,
    key_types: Vec<(String, KeyType)>,
    columns: Option<Vec<Column>>,
    /// A header of the request that is not valid.
    header_fault: Option<String>,
    /// How many bytes of the line have been looked at.
    scanned: usize,
    within: Within,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    key_type: KeyType,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote in a quoted field: its end, or the first of two.
    Quote,
}

impl Csv {
    pub(super) fn new(options: &CsvOptions) -> Self {
        let mut csv = Self {
            delimiter: options.delimiter.0,
            key_types: options.key_types.clone(),
            columns: None,
            header_fault: None,
            scanned: 0,
            within: Within::FieldStart,
        };
        if let Some(names) = &options.header {
            match csv.header(names.clone()) {
                Ok(columns) => csv.columns = Some(columns),
                Err(fault) => csv.header_fault = Some(fault),
            }
        }
        csv
    }

    /// The columns of a header.
    fn header(&self, names: Vec<String>) -> Result<Vec<Column>, String> {
        if names.len() > COLUMNS_MAX {
            return Err(text::too_many_columns(names.len(), COLUMNS_MAX));
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(text::repeated_column(name));
        }
        if names.iter().any(String::is_empty) {
            return Err(text::COLUMN_WITHOUT_NAME.to_owned());
        }
        let key_type = |name: &String| {
            let defined = self.key_types.iter().find(|(other, _)| other == name);
            defined.map_or(KeyType::S, |(_, key_type)| *key_type)
        };
        Ok(names.into_iter().map(|name| Column { key_type: key_type(&name), name }).collect())
    }

    /// The fields of a whole line.
    fn fields<'l>(&self, line: &'l [u8]) -> Fields<'l> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Fields { rest: Some(line.strip_suffix(b"\r").unwrap_or(line)), delimiter: self.delimiter }
    }

    /// The columns that a first line names.
    fn read_header(&self, line: &[u8]) -> Result<Vec<Column>, String> {
        let count = self.fields(line).count();
        if count > COLUMNS_MAX {
            return Err(text::too_many_columns(count, COLUMNS_MAX));
        }
        let names = self.fields(line).map(|field| field.map(Cow::into_owned));
        self.header(names.collect::<Result<_, _>>()?)
    }
}

impl RecordFormat for Csv {
    fn split(&mut self, pending: &[u8], end: End) -> Step {
        for (place, byte) in pending.iter().enumerate().skip(self.scanned) {
            self.within = match (self.within, *byte) {
                (Within::Quoted, b'"') => Within::Quote,
                (Within::Quoted, _) | (Within::FieldStart | Within::Quote, b'"') => Within::Quoted,
                (_, b'\n') => {
                    (self.scanned, self.within) = (0, Within::FieldStart);
                    return Step::Piece(place + 1);
                }
                (_, byte) if byte == self.delimiter => Within::FieldStart,
                (_, _) => Within::Unquoted,
            };
        }
        match end {
            End::Reached if self.within == Within::Quoted => Step::Broken(text::not_csv(OPEN_QUOTE)),
            End::Reached if !pending.is_empty() => {
                (self.scanned, self.within) = (0, Within::FieldStart);
                Step::Piece(pending.len())
            }
            End::Reached | End::Open => {
                self.scanned = pending.len();
                Step::More
            }
        }
    }

    fn is_record(&mut self, piece: &[u8]) -> Result<bool, Fault> {
        let unreadable = |fault: &str| Fault::Unreadable(text::not_csv(fault));
        if let Some(fault) = &self.header_fault {
            return Err(unreadable(fault));
        }
        if matches!(piece, b"\n" | b"\r\n" | b"\r") {
            return Ok(false);
        }
        if self.columns.is_none() {
            self.columns = Some(self.read_header(piece).map_err(|fault| unreadable(&fault))?);
            return Ok(false);
        }
        Ok(true)
    }

    fn decode(&self, record: &[u8], _: Contents) -> Result<FileRecordParts, Fault> {
        let columns = self.columns.as_deref().unwrap_or_default();
        let mut item = AttributeMapPart::with_capacity(columns.len());
        let mut fields = self.fields(record);
        let unreadable = |fault: String| Fault::Unreadable(text::not_csv(&fault));
        for column in columns {
            let Some(field) = fields.next() else { break };
            item.push((column.name.clone(), column.value(field.map_err(unreadable)?)?));
        }
        let further = fields.try_fold(0, |count, field| field.map(|_| count + 1)).map_err(unreadable)?;
        if item.len() < columns.len() || further > 0 {
            return Err(Fault::Invalid(text::column_count(item.len() + further, columns.len())));
        }
        Ok(FileRecordParts { item: Some(item), ..FileRecordParts::default() })
    }
}

impl Column {
    fn value(&self, field: Cow<'_, str>) -> Result<ValuePart, Fault> {
        Ok(match self.key_type {
            KeyType::S => Ok(AttributeValue::S(field.into_owned())),
            KeyType::N => AttributeValue::number(&field),
            KeyType::B => Ok(AttributeValue::B(
                STANDARD
                    .decode(field.as_bytes())
                    .map_err(|_| Fault::Invalid(text::not_base64(&self.name)))?,
            )),
        })
    }
}

const OPEN_QUOTE: &str = "a quoted field is not closed";
const AFTER_QUOTE: &str = "something other than the delimiter follows a closing quote";
const NOT_UTF8: &str = "it is not UTF-8";

/// The fields of a line without its end. After an error there are no more.
struct Fields<'l> {
    rest: Option<&'l [u8]>,
    delimiter: u8,
}

impl<'l> Fields<'l> {
    fn field(&mut self, rest: &'l [u8]) -> Result<Cow<'l, str>, String> {
        let utf8 = |bytes| std::str::from_utf8(bytes).map_err(|_| NOT_UTF8.to_owned());
        let Some(quoted) = rest.strip_prefix(b"\"") else {
            let length = memchr::memchr(self.delimiter, rest).unwrap_or(rest.len());
            self.rest = rest.get(length + 1..);
            return utf8(rest.get(..length).unwrap_or_default()).map(Cow::Borrowed);
        };
        let mut content = Cow::Borrowed("");
        let mut left = quoted;
        loop {
            let length = memchr::memchr(b'"', left).ok_or_else(|| OPEN_QUOTE.to_owned())?;
            let plain = utf8(left.get(..length).unwrap_or_default())?;
            if content.is_empty() {
                content = Cow::Borrowed(plain);
            } else {
                content.to_mut().push_str(plain);
            }
            left = left.get(length + 1..).unwrap_or_default();
            match left.split_first() {
                Some((b'"', after)) => {
                    content.to_mut().push('"');
                    left = after;
                }
                Some((byte, after)) if *byte == self.delimiter => {
                    self.rest = Some(after);
                    return Ok(content);
                }
                Some(_) => return Err(AFTER_QUOTE.to_owned()),
                None => return Ok(content),
            }
        }
    }
}

impl<'l> Iterator for Fields<'l> {
    type Item = Result<Cow<'l, str>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        Some(self.field(rest))
    }
}
