//! JSON lines: the data files of exports in DynamoDB JSON, and the lines of imports and bulk puts.
//!
//! Items are written straight from stored bytes, as responses are, and read as those of requests.

use std::borrow::Cow;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::messages::{data_plane, files as text};
use keywright_semantics::number::Number;
use keywright_semantics::request::FileRecordParts;
use keywright_semantics::request::parts::AttributeMapPart;
use memchr::memchr;

use super::bulk::{self, RecordMembers};
use super::change::Change;
use super::line::push_line;
use super::record::{Contents, End, Fault, RecordFormat, Step, VALUES_MAX};
use crate::decode::file_record;
use crate::json::{self, Node, NotJson};
use crate::render::writer::{Render, Writer};

/// Appends a line of a full export, or of an import: `{"Item":{…}}`.
pub fn push_item(out: &mut Vec<u8>, item: &EncodedItem) {
    push_line(out, |members| members.put("Item", item));
}

/// Appends a line of an incremental export. An image that the change does not have is left out.
pub fn push_change(out: &mut Vec<u8>, change: &Change<'_>) {
    push_line(out, |members| {
        members.put("Metadata", WrittenAt(change.written_at_us));
        members.put("Keys", change.keys);
        members.put_if("OldImage", change.old_image);
        members.put_if("NewImage", change.new_image);
    });
}

/// The time of a change in microseconds since 1970, as a number of DynamoDB.
struct WrittenAt(u64);

impl Render for WrittenAt {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| {
            members.put_object("WriteTimestampMicros", |members| {
                members.put("N", Number::from(i64::try_from(self.0).unwrap_or(i64::MAX)));
            });
        });
    }
}

/// The lines of an object.
#[derive(Debug, Default)]
pub(super) struct JsonLines {
    /// Bytes of the line that hold no line end.
    scanned: usize,
}

impl RecordFormat for JsonLines {
    fn split(&mut self, pending: &[u8], end: End) -> Step {
        let found = memchr(b'\n', pending.get(self.scanned..).unwrap_or_default());
        let length = match (found, end) {
            (Some(place), _) => self.scanned + place + 1,
            (None, End::Reached) if !pending.is_empty() => pending.len(),
            (None, _) => {
                self.scanned = pending.len();
                return Step::More;
            }
        };
        self.scanned = 0;
        Step::Piece(length)
    }

    fn is_record(&mut self, piece: &[u8]) -> Result<bool, Fault> {
        Ok(!piece.iter().all(u8::is_ascii_whitespace))
    }

    fn decode(&self, record: &[u8], contents: Contents) -> Result<FileRecordParts, Fault> {
        if json::values_max(record) > VALUES_MAX {
            return Err(if json::is_json(record) {
                Fault::Invalid(data_plane::ITEM_TOO_LARGE.to_owned())
            } else {
                Fault::Unreadable(text::NOT_JSON.to_owned())
            });
        }
        let node = json::parse(record).map_err(|NotJson| Fault::Unreadable(text::NOT_JSON.to_owned()))?;
        let Node::Object(members) = node else {
            return Err(Fault::Invalid(text::NOT_A_RECORD.to_owned()));
        };
        bulk::record_parts(contents, &mut ObjectMembers(members)).map_err(Fault::Invalid)
    }
}

/// The members of an object. Of repeated names the last one counts.
struct ObjectMembers<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> ObjectMembers<'a> {
    fn take<T>(
        &mut self,
        name: &str,
        decode: impl Fn(Node<'a>) -> Result<T, Error>,
    ) -> Result<Option<T>, String> {
        let found = self.0.iter_mut().rev().find(|(other, _)| other == name);
        let node = found.map(|(_, node)| std::mem::take(node)).filter(|node| !node.is_null());
        node.map(decode).transpose().map_err(|error| error.message)
    }
}

impl RecordMembers for ObjectMembers<'_> {
    fn attributes(&mut self, name: &str) -> Result<Option<AttributeMapPart>, String> {
        self.take(name, file_record::attributes)
    }

    fn names(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, String> {
        self.take(name, file_record::names)
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        self.take(name, file_record::text)
    }
}
