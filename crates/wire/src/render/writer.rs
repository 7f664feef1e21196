//! A hand-written JSON writer: it renders responses straight into bytes, without a tree and mostly without
//! formatting.
//!
//! It knows JSON and DynamoDB's attribute values, decoded and stored, and nothing of operations.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::codec::{
    EncodedItem, ListRef, MapRef, MemberHead, StoredMembers, StoredRef, StoredText, ValueRef,
};
use keywright_semantics::number::Number;
use keywright_semantics::response::{TimestampMs, TimestampSeconds};
use keywright_semantics::value::AttributeValue;

use crate::plain::{Unescaped, needs_no_escape, plain_bytes, push_short};

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

    /// Bytes whose number the compiler knows.
    #[expect(clippy::inline_always, reason = "a call takes more instructions than the copy")]
    #[inline(always)]
    fn fixed<const BYTES: usize>(&mut self, bytes: &[u8; BYTES]) {
        self.out.extend_from_slice(bytes);
    }

    /// A text as it is stored.
    #[expect(clippy::inline_always, reason = "a call takes more instructions than the copy")]
    #[inline(always)]
    fn copied(&mut self, text: StoredText<'_>) {
        match text.within::<16>() {
            Some(block) => self.block(block, text.len()),
            None => self.copied_whole(text),
        }
    }

    /// The first bytes of a block.
    #[expect(clippy::inline_always, reason = "a call takes more instructions than the copy")]
    #[inline(always)]
    fn block<const BYTES: usize>(&mut self, block: &[u8; BYTES], length: usize) {
        let end = self.out.len() + length;
        self.fixed(block);
        self.out.truncate(end);
    }

    fn copied_whole(&mut self, text: StoredText<'_>) {
        match text.within::<32>() {
            Some(block) => self.block(block, text.len()),
            None => self.bytes(text.as_bytes()),
        }
    }

    /// Writes the texts and numbers that come next as they are stored, each with a comma and the quote of
    /// the next name. Returns how many, and the member of another type that ended them.
    fn copied_members<'v>(
        &mut self,
        members: &mut StoredMembers<'v>,
    ) -> (usize, Option<(StoredText<'v>, ValueRef<'v>)>) {
        let mut count = 0;
        for (name, value) in members {
            match value {
                StoredRef::S(text) => {
                    self.copied(name);
                    self.fixed(b"\":{\"S\":\"");
                    self.copied(text);
                }
                StoredRef::N(number) => {
                    self.copied(name);
                    self.fixed(b"\":{\"N\":\"");
                    number.push_text(&mut self.out);
                }
                StoredRef::Other(value) => return (count, Some((name, value))),
            }
            self.fixed(b"\"},\"");
            count += 1;
        }
        (count, None)
    }

    /// Writes the members that begin as these openings say, without the end of the last one. Returns how
    /// many.
    fn copied_alike(&mut self, members: &mut StoredMembers<'_>, known: &[Opening]) -> usize {
        let (mut left, mut count) = (members.clone(), 0);
        for opening in known {
            // Apart, as a value of either type takes more instructions to pass on.
            if opening.head.is_number() {
                let Some(number) = left.next_number_like(&opening.head) else { break };
                self.block(&opening.json, opening.length);
                number.push_text(&mut self.out);
            } else {
                let Some(text) = left.next_text_like(&opening.head) else { break };
                self.block(&opening.json, opening.length);
                self.copied(text);
            }
            count += 1;
        }
        *members = left;
        count
    }

    /// Items, each with a comma after it. They are copied first, and many are looked through together for
    /// what needs an escape. That is rare, and then they are written once more.
    fn items(&mut self, mut rest: &[EncodedItem]) {
        let mut openings = Openings::default();
        while let Some((first, after)) = rest.split_first() {
            rest = if let Some(left) = self.copied_items(rest, &mut openings) {
                left
            } else {
                self.escaped_map(first.view());
                self.fixed(b",");
                after
            };
        }
    }

    /// Copies as many items as are looked through together, and returns those that are left. Writes nothing
    /// if one may need an escape.
    fn copied_items<'v>(
        &mut self,
        items: &'v [EncodedItem],
        openings: &mut Openings,
    ) -> Option<&'v [EncodedItem]> {
        if self.has_escapes {
            return None;
        }
        let start = self.out.len();
        let mut written = Unescaped { start, quotes: 0 };
        let mut rest = items;
        while let Some((item, after)) = rest.split_first()
            && self.out.len() < start + CHECKED_BYTES
        {
            match self.copied_map(item.view(), &openings.known, &mut written) {
                None => return self.found_escape(start),
                Some(Copied::Alike) => {}
                Some(Copied::Otherwise) => openings.follow(item.view(), after.len()),
            }
            self.fixed(b",");
            rest = after;
        }
        if needs_no_escape(&mut self.out, &written) { Some(rest) } else { self.found_escape(start) }
    }

    /// Takes back what was written without looking for escapes.
    #[cold]
    fn found_escape<T>(&mut self, start: usize) -> Option<T> {
        self.out.truncate(start);
        self.has_escapes = true;
        None
    }

    fn map(&mut self, map: MapRef<'_>) {
        if !self.has_escapes {
            let start = self.out.len();
            let mut written = Unescaped { start, quotes: 0 };
            let copied = self.copied_map(map, &[], &mut written);
            if copied.is_some() && needs_no_escape(&mut self.out, &written) {
                return;
            }
            let _: Option<()> = self.found_escape(start);
        }
        self.escaped_map(map);
    }

    /// Writes a map, its texts as they are stored. `written` is what has to be looked through, this map
    /// included. `None` if something before a value of another type needs an escape.
    fn copied_map(&mut self, map: MapRef<'_>, known: &[Opening], written: &mut Unescaped) -> Option<Copied> {
        let mut members = map.members();
        let alike = self.copied_alike(&mut members, known);
        written.quotes += alike * MEMBER_QUOTES;
        if alike > 0 && members.is_empty() {
            self.fixed(b"\"}}");
            return Some(Copied::Alike);
        }
        self.raw(if alike > 0 { "\"},\"" } else { "{\"" });
        written.quotes += 1;
        let start = self.out.len();
        loop {
            let (count, other) = self.copied_members(&mut members);
            written.quotes += count * MEMBER_QUOTES;
            let Some((name, value)) = other else { break };
            if !needs_no_escape(&mut self.out, written) {
                return None;
            }
            self.plain(name.as_bytes());
            self.raw("\":");
            value.render(self);
            *written = Unescaped { start: self.out.len(), quotes: 1 };
            self.fixed(b",\"");
        }
        // The quote of a name that does not follow, and the comma before it.
        let unwanted = if alike == 0 && self.out.len() == start { 1 } else { 2 };
        written.quotes -= 1;
        self.out.truncate(self.out.len() - unwanted);
        self.fixed(b"}");
        Some(Copied::Otherwise)
    }

    /// Writes a map of which some texts need escapes.
    fn escaped_map(&mut self, map: MapRef<'_>) {
        self.raw("{");
        for (place, (name, value)) in map.members().enumerate() {
            self.raw(if place == 0 { "\"" } else { ",\"" });
            self.plain(name.as_bytes());
            self.raw("\":");
            value.render(self);
        }
        self.raw("}");
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

/// How a map was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    /// All its members began as was known.
    Alike,
    Otherwise,
}

/// How the members of an item of a page began. The others mostly have the same attributes.
#[derive(Default)]
struct Openings {
    known: Vec<Opening>,
    /// How often another item was followed.
    followed: usize,
}

/// How a text or number begins.
struct Opening {
    /// As it is stored.
    head: MemberHead,
    /// As it is written, with the end of the member before: `"},"name":{"S":"`.
    json: [u8; OPENING_BYTES],
    length: usize,
}

/// Bytes of the longest opening, of a name of 14 bytes, and more.
const OPENING_BYTES: usize = 32;
/// Openings that most items have at most.
const OPENINGS_USUAL: usize = 8;
/// Members of an item whose openings are known, up to the first of another type.
const OPENINGS_MAX: usize = 32;
/// Items of a page that are followed at most: those that all differ gain nothing from it.
const FOLLOWED_MAX: usize = 8;

impl Openings {
    /// Takes the openings of an item, if others come after it.
    fn follow(&mut self, item: MapRef<'_>, others: usize) {
        if others == 0 || self.followed >= FOLLOWED_MAX {
            return;
        }
        self.followed += 1;
        self.known.clear();
        self.known.reserve(OPENINGS_USUAL);
        let mut members = item.members();
        while let Some(head) = members.head()
            && let Some((name, value)) = members.next()
            && self.known.len() < OPENINGS_MAX
        {
            let before: &[u8] = if self.known.is_empty() { b"{\"" } else { b"\"},\"" };
            let after = if matches!(value, StoredRef::N(_)) { b"\":{\"N\":\"" } else { b"\":{\"S\":\"" };
            let mut opening = Opening { head, json: [0; OPENING_BYTES], length: 0 };
            let fits = [before, name.as_bytes(), after].iter().all(|part| opening.push(part).is_some());
            if !fits {
                return;
            }
            self.known.push(opening);
        }
    }
}

impl Opening {
    /// Appends a part of the text, if it fits.
    fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.length + part.len();
        self.json.get_mut(self.length..end)?.copy_from_slice(part);
        self.length = end;
        Some(())
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

impl<T: Render + ?Sized> Render for Box<T> {
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

impl Render for MapRef<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.map(*self);
    }
}

/// An array of items.
pub(crate) struct Items<'a>(pub(crate) &'a [EncodedItem]);

/// The hottest loop of a Query.
impl Render for Items<'_> {
    fn render(&self, writer: &mut Writer) {
        writer.raw("[");
        writer.items(self.0);
        // The comma after the last item.
        writer.out.truncate(writer.out.len() - usize::from(!self.0.is_empty()));
        writer.raw("]");
    }
}

/// Bytes of items that are looked through together: they are in the nearest cache then.
const CHECKED_BYTES: usize = 8 * 1024;
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
            Self::S(text) => {
                writer.raw("{\"S\":\"");
                writer.plain(text.as_bytes());
                writer.raw("\"}");
            }
            Self::N(number) => {
                writer.raw("{\"N\":\"");
                number.push_text(&mut writer.out);
                writer.raw("\"}");
            }
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
