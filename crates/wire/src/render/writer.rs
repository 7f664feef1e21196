//! A hand-written JSON writer: it renders responses straight into bytes, without a tree and mostly without
//! formatting.
//!
//! It knows JSON and DynamoDB's attribute values, decoded and stored, and nothing of operations.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::codec::{EncodedItem, ListRef, MapRef, StoredRef, ValueRef};
use keywright_semantics::number::{Number, StoredNumber};
use keywright_semantics::response::{TimestampMs, TimestampSeconds};
use keywright_semantics::value::AttributeValue;

use crate::plain::{needs_no_escape, plain_bytes, push_short};

/// One JSON document being written.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: Vec<u8>,
    /// Whether a text needed an escape: then others may too.
    has_escapes: bool,
}

/// A type that renders as one JSON value.
pub(crate) trait Render {
    fn render(&self, writer: &mut Writer);
}

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), has_escapes: false }
    }

    /// Goes on where these bytes end.
    pub(crate) const fn appending_to(out: Vec<u8>) -> Self {
        Self { out, has_escapes: false }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// JSON that is written already.
    pub(crate) fn bytes(&mut self, json: &[u8]) {
        self.out.extend_from_slice(json);
    }

    /// An object whose members the closure writes.
    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Members<'_>)) {
        self.raw("{");
        members(&mut Members { writer: self, first: true });
        self.raw("}");
    }

    /// An object of one member. `opening` is its text up to the value.
    fn typed(&mut self, opening: &'static str, value: impl Render) {
        self.raw(opening);
        value.render(self);
        self.raw("}");
    }

    /// An array of the items.
    pub(crate) fn array<I: Render>(&mut self, items: impl IntoIterator<Item = I>) {
        self.raw("[");
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.raw(",");
            }
            item.render(self);
        }
        self.raw("]");
    }

    pub(crate) fn integer(&mut self, value: impl itoa::Integer) {
        self.out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    /// A JSON string. It escapes only the characters that JSON requires.
    pub(crate) fn text(&mut self, text: &str) {
        self.out.push(b'"');
        self.plain(text.as_bytes());
        self.out.push(b'"');
    }

    /// The content of a JSON string, without its quotes.
    fn plain(&mut self, text: &[u8]) {
        if !push_short(text, &mut self.out) {
            self.plain_or_escaped(text);
        }
    }

    fn plain_or_escaped(&mut self, mut rest: &[u8]) {
        loop {
            let (plain, tail) = rest.split_at(plain_bytes(rest));
            self.out.extend_from_slice(plain);
            let Some((byte, tail)) = tail.split_first() else { return };
            self.escape(*byte);
            rest = tail;
        }
    }

    /// A string value and the end of its object. `opening` is the text up to the value.
    fn stored_text(&mut self, opening: &'static str, text: &[u8]) {
        self.raw(opening);
        self.plain(text);
        self.raw("\"}");
    }

    /// Members that are texts and numbers, of which some need escapes.
    fn escaped_members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v [u8], StoredRef<'v>)>,
        mut opening: &'static str,
    ) {
        for (name, value) in members {
            self.raw(opening);
            opening = ",\"";
            self.plain(name);
            match value {
                StoredRef::S(text) => self.stored_text("\":{\"S\":\"", text),
                StoredRef::N(number) => self.stored_number("\":{\"N\":\"", number),
                StoredRef::Other(value) => {
                    self.raw("\":");
                    value.render(self);
                }
            }
        }
    }

    /// A number value and the end of its object. `opening` is the text up to the value.
    fn stored_number(&mut self, opening: &'static str, number: StoredNumber<'_>) {
        self.raw(opening);
        number.push_text(&mut self.out);
        self.raw("\"}");
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                self.formatted(format_args!("\\u{byte:04x}"));
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }

    fn formatted(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.out.write_fmt(arguments).expect("writing to a vector does not fail");
    }

    fn number(&mut self, number: Number) {
        match number.to_i64() {
            Some(integer) => {
                self.out.push(b'"');
                self.integer(integer);
                self.out.push(b'"');
            }
            None => match number.to_places() {
                Some((negative, coefficient, places)) => self.decimal(negative, coefficient, places),
                None => self.formatted(format_args!("\"{number}\"")),
            },
        }
    }

    fn decimal(&mut self, negative: bool, coefficient: u64, places: u32) {
        let scale = 10_u64.pow(places);
        self.raw(if negative { "\"-" } else { "\"" });
        self.integer(coefficient / scale);
        self.out.push(b'.');
        // The fraction is formatted with a leading 1, which keeps its zeros, and written without it.
        let mut buffer = itoa::Buffer::new();
        let with_one = buffer.format(coefficient % scale + scale);
        self.raw(with_one.get(1..).unwrap_or_default());
        self.out.push(b'"');
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        let start = self.out.len();
        let length = base64::encoded_len(bytes.len(), true)
            .expect("the encoded length of a binary value fits a usize");
        self.out.resize(start + length, 0);
        let room = self.out.get_mut(start..).unwrap_or_default();
        STANDARD.encode_slice(bytes, room).expect("the buffer was sized for these bytes");
        self.out.push(b'"');
    }
}

/// The members of an object being written.
pub(crate) struct Members<'w> {
    writer: &'w mut Writer,
    first: bool,
}

impl Members<'_> {
    /// A member whose name needs no escaping.
    pub(crate) fn put(&mut self, name: &'static str, value: impl Render) {
        let writer = self.name(name);
        value.render(writer);
    }

    /// A member, unless it is absent.
    pub(crate) fn put_if(&mut self, name: &'static str, value: Option<impl Render>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// A member that is an object.
    pub(crate) fn put_object(&mut self, name: &'static str, members: impl FnOnce(&mut Members<'_>)) {
        self.name(name).object(members);
    }

    /// A member that is an array.
    pub(crate) fn put_array<I: Render>(&mut self, name: &'static str, items: impl IntoIterator<Item = I>) {
        self.name(name).array(items);
    }

    /// A member whose name comes from data.
    pub(crate) fn entry(&mut self, name: &str, value: impl Render) {
        self.comma();
        self.writer.text(name);
        self.writer.raw(":");
        value.render(self.writer);
    }

    fn name(&mut self, name: &'static str) -> &mut Writer {
        self.comma();
        self.writer.raw("\"");
        self.writer.raw(name);
        self.writer.raw("\":");
        self.writer
    }

    fn comma(&mut self) {
        if !std::mem::replace(&mut self.first, false) {
            self.writer.raw(",");
        }
    }
}

/// An array of items, as a value.
pub(crate) struct Array<'a, T>(pub(crate) &'a [T]);

impl<T> Render for Array<'_, T>
where
    for<'r> &'r T: Render,
{
    fn render(&self, writer: &mut Writer) {
        writer.array(self.0);
    }
}

impl<T: Render + ?Sized> Render for &T {
    fn render(&self, writer: &mut Writer) {
        (**self).render(writer);
    }
}

/// An absent value, where the member itself is always there.
impl<T: Render> Render for Option<T> {
    fn render(&self, writer: &mut Writer) {
        match self {
            Some(value) => value.render(writer),
            None => writer.raw("null"),
        }
    }
}

impl Render for str {
    fn render(&self, writer: &mut Writer) {
        writer.text(self);
    }
}

impl Render for String {
    fn render(&self, writer: &mut Writer) {
        writer.text(self);
    }
}

impl Render for bool {
    fn render(&self, writer: &mut Writer) {
        writer.raw(if *self { "true" } else { "false" });
    }
}

impl Render for u64 {
    fn render(&self, writer: &mut Writer) {
        writer.integer(*self);
    }
}

impl Render for i64 {
    fn render(&self, writer: &mut Writer) {
        writer.integer(*self);
    }
}

/// Written with one decimal, as the service writes doubles.
impl Render for HalfUnits {
    fn render(&self, writer: &mut Writer) {
        writer.integer(self.0 / 2);
        writer.raw(if self.0.is_multiple_of(2) { ".0" } else { ".5" });
    }
}

pub(crate) const MS_PER_SECOND: u64 = 1000;

/// Seconds since 1970 with three decimals.
impl Render for TimestampMs {
    fn render(&self, writer: &mut Writer) {
        let (seconds, millis) = (self.0 / MS_PER_SECOND, self.0 % MS_PER_SECOND);
        writer.formatted(format_args!("{seconds}.{millis:03}"));
    }
}

impl Render for TimestampSeconds {
    fn render(&self, writer: &mut Writer) {
        writer.integer(self.0);
    }
}

/// The attributes of an item, without a type around them.
impl Render for EncodedItem {
    fn render(&self, writer: &mut Writer) {
        self.view().render(writer);
    }
}

/// The hottest loop of a Query. Texts and numbers that follow each other are copied as they are stored, and
/// looked through for what needs an escape all together. That is rare, and then they are written once more.
impl Render for MapRef<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.raw("{");
        let mut opening = "\"";
        let mut members = self.iter_stored();
        loop {
            let (run, run_opening, start) = (members.clone(), opening, writer.out.len());
            let mut count = 0;
            let other = loop {
                match members.next() {
                    None => break None,
                    Some((name, StoredRef::Other(value))) => break Some((name, value)),
                    Some(_) if writer.has_escapes => {}
                    Some((name, StoredRef::S(text))) => {
                        writer.raw(opening);
                        writer.bytes(name);
                        writer.raw("\":{\"S\":\"");
                        writer.bytes(text);
                        writer.raw("\"}");
                    }
                    Some((name, StoredRef::N(number))) => {
                        writer.raw(opening);
                        writer.bytes(name);
                        writer.stored_number("\":{\"N\":\"", number);
                    }
                }
                opening = ",\"";
                count += 1;
            };
            let written = writer.out.get(start..).unwrap_or_default();
            if count > 0 && (writer.has_escapes || !needs_no_escape(written, count * MEMBER_QUOTES)) {
                writer.has_escapes = true;
                writer.out.truncate(start);
                writer.escaped_members(run.take(count), run_opening);
            }
            let Some((name, value)) = other else { break };
            writer.raw(opening);
            opening = ",\"";
            writer.plain(name);
            writer.raw("\":");
            value.render(writer);
        }
        writer.raw("}");
    }
}

/// Quotes around the name, the type and the value of a text or number.
const MEMBER_QUOTES: usize = 6;

impl Render for ListRef<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.array(self.iter_stored());
    }
}

impl Render for StoredRef<'_> {
    fn render(&self, writer: &mut Writer) {
        match self {
            Self::S(text) => writer.stored_text("{\"S\":\"", text),
            Self::N(number) => writer.stored_number("{\"N\":\"", *number),
            Self::Other(value) => value.render(writer),
        }
    }
}

impl Render for Number {
    fn render(&self, writer: &mut Writer) {
        writer.number(*self);
    }
}

/// Bytes, as base64 text.
struct Bytes<'a>(&'a [u8]);

impl Render for Bytes<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.base64(self.0);
    }
}

/// An attribute value with its type: `{"S":"text"}`.
impl Render for ValueRef<'_> {
    fn render(&self, writer: &mut Writer) {
        match self {
            Self::S(text) => writer.typed("{\"S\":", *text),
            Self::N(number) => writer.typed("{\"N\":", number),
            Self::B(bytes) => writer.typed("{\"B\":", Bytes(bytes)),
            Self::Bool(value) => writer.typed("{\"BOOL\":", value),
            Self::Null => writer.raw("{\"NULL\":true}"),
            Self::L(list) => writer.typed("{\"L\":", list),
            Self::M(map) => writer.typed("{\"M\":", map),
            Self::Ss(set) => writer.object(|members| members.put_array("SS", set.iter())),
            Self::Ns(set) => writer.object(|members| members.put_array("NS", set.iter())),
            Self::Bs(set) => writer.object(|members| members.put_array("BS", set.iter().map(Bytes))),
        }
    }
}

impl Render for AttributeValue {
    fn render(&self, writer: &mut Writer) {
        writer.object(|members| match self {
            Self::S(text) => members.put("S", text),
            Self::N(number) => members.put("N", number),
            Self::B(bytes) => members.put("B", Bytes(bytes)),
            Self::Bool(value) => members.put("BOOL", value),
            Self::Null => members.put("NULL", true),
            Self::L(list) => members.put_array("L", list),
            Self::M(map) => members.put_object("M", |members| {
                for (name, value) in map {
                    members.entry(name, value);
                }
            }),
            Self::Ss(set) => members.put_array("SS", set),
            Self::Ns(set) => members.put_array("NS", set),
            Self::Bs(set) => members.put_array("BS", set.iter().map(|bytes| Bytes(bytes))),
        });
    }
}
