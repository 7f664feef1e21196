//! The short way: one pass over a body's bytes that builds the parts of a usual request, and gives up on any
//! other.
//!
//! It makes no errors. All that the long way refuses, converts or counts apart makes it give up: an unknown
//! or repeated member, a null, a value of another type or outside of its bounds, a value with a fault. So the
//! long way words every error, and the order of checks is its order. A request that it accepts has the parts
//! that the long way builds, to the last field; `tests/it/short_way.rs` and the fuzz target of that name
//! compare them.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::limits::NESTING_LEVELS_MAX;
use keywright_semantics::number::Number;
use keywright_semantics::request::KeyPart;
use keywright_semantics::request::parts::{AttributeMapPart, ValuePart};
use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::Parts;
use super::build::are_distinct;
use super::violations::{count, out_of_bounds, text_violates};
use crate::json::BYTES_OF_FEW_NODES;
use crate::operation::Operation;
use crate::plain::plain_bytes_within;
use crate::shapes::{Kind, Member, Presence, Shape, table};

/// The parts of a usual request of the data plane.
pub(super) fn parts(operation: Operation, body: &[u8]) -> Option<Parts> {
    // The long way counts the values of larger bodies.
    if body.len() > BYTES_OF_FEW_NODES {
        return None;
    }
    let read: fn(&str) -> Option<Parts> = match operation {
        Operation::BatchGetItem => |body| request(body, &table::BATCH_GET_ITEM_INPUT, Parts::BatchGetItem),
        Operation::BatchWriteItem => {
            |body| request(body, &table::BATCH_WRITE_ITEM_INPUT, Parts::BatchWriteItem)
        }
        Operation::DeleteItem => |body| request(body, &table::DELETE_ITEM_INPUT, Parts::DeleteItem),
        Operation::GetItem => |body| request(body, &table::GET_ITEM_INPUT, Parts::GetItem),
        Operation::PutItem => |body| request(body, &table::PUT_ITEM_INPUT, Parts::PutItem),
        Operation::Query => |body| request(body, &table::QUERY_INPUT, Parts::Query),
        Operation::Scan => |body| request(body, &table::SCAN_INPUT, Parts::Scan),
        Operation::TransactGetItems => {
            |body| request(body, &table::TRANSACT_GET_ITEMS_INPUT, Parts::TransactGetItems)
        }
        Operation::TransactWriteItems => {
            |body| request(body, &table::TRANSACT_WRITE_ITEMS_INPUT, Parts::TransactWriteItems)
        }
        Operation::UpdateItem => |body| request(body, &table::UPDATE_ITEM_INPUT, Parts::UpdateItem),
        _ => return None,
    };
    // Texts are cut out of the body later, so it is checked once as a whole.
    read(std::str::from_utf8(body).ok()?)
}

fn request<T: ReadShort>(
    body: &str,
    shape: &'static Shape,
    parts: impl FnOnce(Box<T>) -> Parts,
) -> Option<Parts> {
    let mut reader = Reader { body, at: 0, number: None };
    let read = T::read(&mut reader, shape)?;
    // Only white space follows.
    if reader.byte().is_some() {
        return None;
    }
    Some(parts(Box::new(read)))
}

/// A part that can be read from a body's bytes.
pub(super) trait ReadShort: Sized {
    /// The part, if it is as the shape says and nothing of it is unusual.
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self>;

    /// The value of an absent member. The long way knows what the absence of a required member means.
    fn absent() -> Option<Self> {
        None
    }
}

/// Readers of structures: each field comes from the member of the given name.
macro_rules! short_structure {
    ($name:ident $shape:ident { $($field:ident: $member:literal,)* }) => {
        impl ReadShort for $name {
            fn read(reader: &mut Reader<'_>, _: &'static Shape) -> Option<Self> {
                $(let mut $field = None;)*
                reader.members(|reader, name| {
                    match name.as_ref() {
                        $($member if $field.is_none() => {
                            let member = const { table::$shape.member($member) };
                            $field = Some(ReadShort::read(reader, member.shape)?);
                        })*
                        // Unknown or repeated.
                        _ => return None,
                    }
                    Some(())
                })?;
                Some(Self { $($field: filled($field, const { table::$shape.member($member) })?,)* })
            }
        }
    };
}

pub(super) use short_structure;

/// The value of a member that was read, or of its absence.
pub(super) fn filled<T: ReadShort>(found: Option<T>, member: &Member) -> Option<T> {
    match found {
        Some(value) => Some(value),
        None if member.presence == Presence::Optional => T::absent(),
        None => None,
    }
}

/// An enumeration's value by its name.
pub(super) fn choice<T>(
    reader: &mut Reader<'_>,
    shape: &Shape,
    from_name: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let name = reader.text()?;
    let is_known = match shape.kind {
        Kind::Choice(values) => values.contains(&name.as_ref()),
        Kind::Text => !text_violates(shape, &name),
        _ => false,
    };
    if is_known { from_name(&name) } else { None }
}

/// Where the pass is in the body.
pub(super) struct Reader<'b> {
    body: &'b str,
    at: usize,
    /// The text of the number that was read last.
    number: Option<&'b str>,
}

impl<'b> Reader<'b> {
    /// The next byte that is not white space; the reader moves behind it.
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.body.as_bytes().get(self.at)?;
            self.at += 1;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
        }
    }

    #[inline]
    fn expect(&mut self, expected: u8) -> Option<()> {
        if self.byte()? == expected { Some(()) } else { None }
    }

    /// The members of an object in the order of the text, by a function that reads the value of each.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'b, str>) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        match self.byte()? {
            b'"' => {}
            b'}' => return Some(()),
            _ => return None,
        }
        loop {
            let name = self.opened_text()?;
            self.expect(b':')?;
            member(self, name)?;
            match self.byte()? {
                b',' => self.expect(b'"')?,
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The elements of a list, by a function that reads each.
    fn elements(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.byte()? == b']' {
            return Some(());
        }
        self.at -= 1;
        loop {
            element(self)?;
            match self.byte()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    fn text(&mut self) -> Option<Cow<'b, str>> {
        self.expect(b'"')?;
        self.opened_text()
    }

    fn owned_text(&mut self) -> Option<String> {
        self.expect(b'"')?;
        self.opened_owned_text()
    }

    /// An owned text whose opening quote has been read.
    #[inline]
    fn opened_owned_text(&mut self) -> Option<String> {
        let start = self.at;
        let end = self.plain_end(start)?;
        if self.body.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return self.body.get(start..end).map(str::to_owned);
        }
        self.opened_text().map(Cow::into_owned)
    }

    /// A text whose opening quote has been read.
    #[expect(clippy::inline_always, reason = "most are names of a few bytes, and a call takes as long")]
    #[inline(always)]
    fn opened_text(&mut self) -> Option<Cow<'b, str>> {
        let start = self.at;
        let end = self.plain_end(start)?;
        self.at = end + 1;
        match self.body.as_bytes().get(end)? {
            b'"' => self.body.get(start..end).map(Cow::Borrowed),
            b'\\' => self.escaped_text(start, end),
            _ => None,
        }
    }

    /// A text with an escape at `at`, which the long way's parser reads.
    #[cold]
    fn escaped_text(&mut self, start: usize, mut at: usize) -> Option<Cow<'b, str>> {
        while self.body.as_bytes().get(at)? == &b'\\' {
            at = self.plain_end(at + 2)?;
        }
        self.at = at + 1;
        let quoted = self.body.get(start.checked_sub(1)?..=at)?;
        serde_json::from_str::<String>(quoted).ok().map(Cow::Owned)
    }

    /// Where the first quote, backslash or control character is from here on.
    #[inline]
    fn plain_end(&self, from: usize) -> Option<usize> {
        let rest = self.body.as_bytes().get(from..)?;
        plain_bytes_within(rest).map(|length| from + length)
    }

    /// A text without escapes.
    fn plain_text(&mut self) -> Option<&'b str> {
        self.expect(b'"')?;
        self.opened_plain_text()
    }

    /// A text without escapes whose opening quote has been read.
    #[inline]
    fn opened_plain_text(&mut self) -> Option<&'b str> {
        match self.opened_text()? {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }

    /// Moves behind these bytes, if they come next.
    #[inline]
    fn skips<const BYTES: usize>(&mut self, wanted: &[u8; BYTES]) -> bool {
        let next = self.body.as_bytes().get(self.at..).and_then(<[u8]>::first_chunk);
        let comes = next == Some(wanted);
        if comes {
            self.at += BYTES;
        }
        comes
    }

    fn literal(&mut self, expected: &str) -> Option<()> {
        let end = self.at + expected.len();
        let found = self.body.as_bytes().get(self.at..end)?;
        self.at = end;
        if found == expected.as_bytes() { Some(()) } else { None }
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.byte()? {
            b't' => self.literal("rue").map(|()| true),
            b'f' => self.literal("alse").map(|()| false),
            _ => None,
        }
    }

    /// An integer of few digits. A fraction or an exponent is refused as what follows the value.
    fn integer(&mut self) -> Option<i64> {
        let first = self.byte()?;
        self.at -= 1;
        let start = if first == b'-' { self.at + 1 } else { self.at };
        let digits = self.body.as_bytes().get(start..)?.iter().take_while(|byte| byte.is_ascii_digit());
        let end = start + digits.count();
        let digits = self.body.get(start..end)?;
        let is_usual = !digits.is_empty()
            && digits.len() <= INTEGER_DIGITS_MAX
            && (digits == "0" || !digits.starts_with('0'))
            && (digits != "0" || first != b'-');
        let number = self.body.get(self.at..end).filter(|_| is_usual)?;
        self.at = end;
        number.parse().ok()
    }

    /// An attribute value without faults, inside of `levels` lists and maps. Most are texts and numbers
    /// without white space.
    #[inline]
    fn value(&mut self, levels: usize) -> Option<AttributeValue> {
        if levels >= NESTING_LEVELS_MAX {
            return None;
        }
        let value = if self.skips(b"{\"S\":\"") {
            AttributeValue::S(self.opened_owned_text()?)
        } else if self.skips(b"{\"N\":\"") {
            let text = self.opened_plain_text()?;
            self.number_of(text)?
        } else {
            return self.any_value(levels);
        };
        self.expect(b'}')?;
        Some(value)
    }

    fn number_of(&mut self, text: &'b str) -> Option<AttributeValue> {
        self.number = Some(text);
        Some(AttributeValue::N(Number::parse(text).ok()?))
    }

    /// The same, however it is written.
    fn any_value(&mut self, levels: usize) -> Option<AttributeValue> {
        self.expect(b'{')?;
        self.expect(b'"')?;
        let value = match self.type_name()? {
            ValueType::S => AttributeValue::S(self.owned_text()?),
            ValueType::N => {
                let text = self.plain_text()?;
                self.number_of(text)?
            }
            ValueType::B => AttributeValue::B(self.bytes()?),
            ValueType::Bool => AttributeValue::Bool(self.boolean()?),
            ValueType::Null => {
                if !self.boolean()? {
                    return None;
                }
                AttributeValue::Null
            }
            ValueType::L => {
                let mut list = Vec::new();
                self.elements(|reader| {
                    list.push(reader.value(levels + 1)?);
                    Some(())
                })?;
                AttributeValue::L(list)
            }
            ValueType::M => AttributeValue::M(self.map(levels)?),
            ValueType::Ss => AttributeValue::string_set(self.set(Self::owned_text)?).ok()?,
            ValueType::Ns => {
                AttributeValue::number_set(self.set(|reader| Number::parse(reader.plain_text()?).ok())?)
                    .ok()?
            }
            ValueType::Bs => AttributeValue::binary_set(self.set(Self::bytes)?).ok()?,
        };
        self.expect(b'}')?;
        Some(value)
    }

    /// The name of a type whose opening quote has been read, up to its value.
    #[inline]
    fn type_name(&mut self) -> Option<ValueType> {
        let (value_type, length) = match self.body.as_bytes().get(self.at..)? {
            [b'S', b'"', ..] => (ValueType::S, 2),
            [b'N', b'"', ..] => (ValueType::N, 2),
            [b'B', b'"', ..] => (ValueType::B, 2),
            [b'M', b'"', ..] => (ValueType::M, 2),
            [b'L', b'"', ..] => (ValueType::L, 2),
            [b'S', b'S', b'"', ..] => (ValueType::Ss, 3),
            [b'N', b'S', b'"', ..] => (ValueType::Ns, 3),
            [b'B', b'S', b'"', ..] => (ValueType::Bs, 3),
            [b'B', b'O', b'O', b'L', b'"', ..] => (ValueType::Bool, 5),
            [b'N', b'U', b'L', b'L', b'"', ..] => (ValueType::Null, 5),
            _ => return None,
        };
        self.at += length;
        self.expect(b':')?;
        Some(value_type)
    }

    fn map(&mut self, levels: usize) -> Option<Item> {
        let mut entries = Vec::new();
        self.members(|reader, name| {
            let name = name.into_owned();
            entries.push((name, reader.value(levels + 1)?));
            Some(())
        })?;
        Item::of_distinct(entries)
    }

    fn set<T>(&mut self, member: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut members = Vec::new();
        self.elements(|reader| {
            members.push(member(reader)?);
            Some(())
        })?;
        Some(members)
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let text = self.text()?;
        if text.len().is_multiple_of(4) { STANDARD.decode(text.as_bytes()).ok() } else { None }
    }
}

/// Digits of an integer that certainly fits into 64 bits.
const INTEGER_DIGITS_MAX: usize = 18;

impl<T: ReadShort> ReadShort for Option<T> {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        T::read(reader, shape).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl ReadShort for String {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        let text = reader.owned_text()?;
        let is_usual = matches!(shape.kind, Kind::Text) && !text_violates(shape, &text);
        if is_usual { Some(text) } else { None }
    }
}

impl ReadShort for i64 {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        let value = reader.integer()?;
        let is_usual = matches!(shape.kind, Kind::Integer | Kind::Long) && !out_of_bounds(shape, value);
        if is_usual { Some(value) } else { None }
    }
}

impl ReadShort for bool {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        if matches!(shape.kind, Kind::Boolean) { reader.boolean() } else { None }
    }
}

impl ReadShort for ValuePart {
    fn read(reader: &mut Reader<'_>, _: &'static Shape) -> Option<Self> {
        reader.value(0).map(Ok)
    }
}

impl<T: ReadShort> ReadShort for Vec<T> {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        let Kind::List(element) = shape.kind else { return None };
        let mut list = Self::new();
        reader.elements(|reader| {
            list.push(T::read(reader, element)?);
            Some(())
        })?;
        if out_of_bounds(shape, count(list.len())) { None } else { Some(list) }
    }
}

impl<T: ReadShort> ReadShort for Vec<(String, T)> {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        let Kind::Map { key, value } = shape.kind else { return None };
        let mut entries = Self::with_capacity(ENTRIES_USUAL);
        let sure_bytes = sure_bytes(key);
        reader.members(|reader, name| {
            if (name.is_empty() || name.len() > sure_bytes) && text_violates(key, &name) {
                return None;
            }
            let name = name.into_owned();
            entries.push((name, T::read(reader, value)?));
            Some(())
        })?;
        let is_usual = !out_of_bounds(shape, count(entries.len()))
            && are_distinct(entries.iter().map(|(name, _)| name.as_str()));
        if is_usual { Some(entries) } else { None }
    }
}

/// The bytes up to which any text that is not empty keeps to the shape.
fn sure_bytes(shape: &Shape) -> usize {
    let is_sure = shape.pattern.is_none() && shape.min.is_none_or(|min| min <= 1);
    let bytes = shape.max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(0));
    if is_sure { bytes } else { 0 }
}

/// Entries that most maps have at most. Growing a list costs more than a place that is not used.
const ENTRIES_USUAL: usize = 8;

/// Attributes of a table's key at most. A request may have a hundred keys.
const KEY_ATTRIBUTES_USUAL: usize = 2;

impl ReadShort for KeyPart {
    fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
        let Kind::Map { key, value } = shape.kind else { return None };
        let mut attributes = AttributeMapPart::with_capacity(KEY_ATTRIBUTES_USUAL);
        let mut numbers = Vec::new();
        reader.members(|reader, name| {
            if text_violates(key, &name) {
                return None;
            }
            let part = ValuePart::read(reader, value)?;
            if let Ok(AttributeValue::N(_)) = &part {
                numbers.push((name.clone().into_owned(), reader.number?.to_owned()));
            }
            attributes.push((name.into_owned(), part));
            Some(())
        })?;
        let is_usual = !out_of_bounds(shape, count(attributes.len()))
            && are_distinct(attributes.iter().map(|(name, _)| name.as_str()));
        if is_usual { Some(Self::spelled(attributes, numbers)) } else { None }
    }
}
