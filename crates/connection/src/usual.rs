//! The short way of usual requests: `POST /` with a body of a declared length, which came whole, and headers
//! that mean nothing to the connection. hyper makes a channel for each body and two maps of headers.
//!
//! Anything else is left to hyper, with all bytes that were read and the rest of its connection: other lines,
//! faults, bodies that come late or are long, chunks, `Expect`, the end of the connection. So nothing here
//! refuses a request. It does not know what a request means.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper::{HeaderMap, Method, Request};

use super::answering::{Answering as _, write_end};
use super::body::RequestBody;
use super::idle_timeout::Phase;
use super::serving::{Serving, Side};

/// The line of a usual request.
const LINE: &[u8] = b"POST / HTTP/1.1\r\n";
/// Headers of a usual request at most.
const FIELDS_MAX: usize = 32;
/// A longer request is left to hyper. As many bytes of an unfinished head take nothing from any budget.
const ROOM_BYTES: usize = 8 * 1024;
/// A longer body is not copied behind its head.
const COPIED_BYTES_MAX: usize = 4 * 1024;
/// Digits of the length of a body that has room.
const LENGTH_DIGITS_MAX: usize = 4;

/// Why the short way of a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The rest of the connection is hyper's.
    Left,
    Closed,
}

thread_local! {
    /// Where a thread reads to. A connection that waits for a request has no room of its own.
    static ROOM: RefCell<[u8; ROOM_BYTES]> = const { RefCell::new([0; ROOM_BYTES]) };
}

/// What was read of a connection and not yet taken.
#[derive(Default)]
pub(crate) struct Unread {
    read: Vec<u8>,
    /// So many bytes are taken.
    taken: usize,
}

impl Unread {
    fn bytes(&self) -> &[u8] {
        self.read.get(self.taken..).unwrap_or_default()
    }

    fn has_room(&self) -> bool {
        self.bytes().len() < ROOM_BYTES
    }

    /// Takes a request, and returns its body.
    fn take(&mut self, size: Size) -> Bytes {
        let body = self.bytes().get(size.head..).and_then(|rest| rest.get(..size.body)).unwrap_or_default();
        let body = Bytes::copy_from_slice(body);
        self.taken += size.head + size.body;
        if self.bytes().is_empty() {
            self.read.clear();
            self.taken = 0;
        }
        body
    }

    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self.bytes())
    }

    /// Reads more; none at the end of the connection.
    fn poll_fill<Io: Read + Unpin>(
        &mut self,
        stream: &mut Io,
        context: &mut Context<'_>,
    ) -> Poll<Result<usize>> {
        self.read.drain(..self.taken);
        self.taken = 0;
        ROOM.with_borrow_mut(|room| {
            let room = room.get_mut(self.read.len()..).unwrap_or_default();
            let mut room = ReadBuf::new(room);
            ready!(Pin::new(stream).poll_read(context, room.unfilled()))?;
            self.read.extend_from_slice(room.filled());
            Poll::Ready(Ok(room.filled().len()))
        })
    }
}

/// A connection's stream after what was read of it.
pub(crate) struct Rewound<Io> {
    unread: Bytes,
    stream: Io,
}

impl<Io> Rewound<Io> {
    pub(crate) fn new(unread: Unread, stream: Io) -> Self {
        Self { unread: unread.into_bytes(), stream }
    }
}

impl<Io: Read + Unpin> Read for Rewound<Io> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut room: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.unread.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, room);
        }
        let count = this.unread.len().min(room.remaining());
        room.put_slice(&this.unread.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<Io: Write + Unpin> Write for Rewound<Io> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }
}

/// Bytes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    head: usize,
    body: usize,
}

/// What the bytes of a connection are so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Whole(Size),
    /// May become a usual request.
    Unfinished(Missing),
    Unusual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Head,
    Body,
}

/// A header as it came.
struct Field {
    line: Vec<u8>,
    name: HeaderName,
}

/// The head of a connection's last request. The next one repeats most of its lines, which are compared, not
/// read. Invariant: `parts.headers` are those of `fields`, each name once.
struct Head {
    parts: Parts,
    fields: Vec<Field>,
    declared_bytes: Option<usize>,
}

impl Head {
    fn new() -> Self {
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.method = Method::POST;
        Self { parts, fields: Vec::new(), declared_bytes: None }
    }

    /// Reads the head of the request that the bytes begin with.
    fn read(&mut self, bytes: &[u8]) -> Reading {
        let Some(fields) = bytes.strip_prefix(LINE) else {
            return if LINE.starts_with(bytes) {
                Reading::Unfinished(Missing::Head)
            } else {
                Reading::Unusual
            };
        };
        let rest = match self.follow(fields) {
            Some(rest) => rest,
            None => match self.begin(fields) {
                Ok(rest) => rest,
                Err(reading) => return reading,
            },
        };
        let (head, Some(body)) = (bytes.len() - rest.len(), self.declared_bytes) else {
            return Reading::Unusual;
        };
        match rest.len() {
            _ if head + body > ROOM_BYTES => Reading::Unusual,
            come if come < body => Reading::Unfinished(Missing::Body),
            _ => Reading::Whole(Size { head, body }),
        }
    }

    /// Takes over what differs from the last head, and returns what follows the head. None if the names
    /// differ, or if it is unusual or not whole: what was taken over until then is as good as the last head.
    fn follow<'b>(&mut self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let mut rest = bytes;
        for field in &mut self.fields {
            if let Some([b'\r', b'\n', after @ ..]) = rest.strip_prefix(field.line.as_slice()) {
                rest = after;
                continue;
            }
            let (line, after) = rest.split_at_checked(memchr::memchr2(b'\r', b'\n', rest)?)?;
            rest = after.strip_prefix(b"\r\n")?;
            let is_named =
                |name: &[u8]| field.line.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b':'));
            let (name, value) = split(line)?;
            if !is_named(name) {
                return None;
            }
            let value = read_value(value)?;
            note(&field.name, &value, &mut self.declared_bytes)?;
            self.parts.headers.insert(field.name.clone(), value);
            field.line.clear();
            field.line.extend_from_slice(line);
        }
        rest.strip_prefix(b"\r\n")
    }

    /// Reads each line, and returns what follows the head; otherwise what the bytes are.
    fn begin<'b>(&mut self, bytes: &'b [u8]) -> std::result::Result<&'b [u8], Reading> {
        let (mut lines, mut rest) = (Vec::with_capacity(FIELDS_MAX), bytes);
        loop {
            let Some(end) = memchr::memchr2(b'\r', b'\n', rest) else {
                return Err(Reading::Unfinished(Missing::Head));
            };
            let (line, after) = rest.split_at(end);
            rest = match after {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => return Err(Reading::Unfinished(Missing::Head)),
                _ => return Err(Reading::Unusual),
            };
            if line.is_empty() {
                break;
            }
            if lines.len() == FIELDS_MAX {
                return Err(Reading::Unusual);
            }
            lines.push(line);
        }
        self.take_over(&lines).map(|()| rest).ok_or(Reading::Unusual)
    }

    /// Takes over all lines.
    fn take_over(&mut self, lines: &[&[u8]]) -> Option<()> {
        let mut headers = HeaderMap::with_capacity(lines.len());
        self.declared_bytes = None;
        self.fields.clear();
        for line in lines {
            let (name, value) = split(line)?;
            let (name, value) = (HeaderName::from_bytes(name).ok()?, read_value(value)?);
            note(&name, &value, &mut self.declared_bytes)?;
            if headers.insert(name.clone(), value).is_some() {
                return None;
            }
            self.fields.push(Field { line: line.to_vec(), name });
        }
        self.parts.headers = headers;
        Some(())
    }
}

/// The name and the rest of a header's line.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = line.split_at_checked(memchr::memchr(b':', line)?)?;
    Some((name, rest.get(1..)?))
}

/// The value of a header without the blank before it. Other blanks around it are hyper's to cut off.
fn read_value(text: &[u8]) -> Option<HeaderValue> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_blank(text.first()) || is_blank(text.last()) {
        return None;
    }
    HeaderValue::from_bytes(text).ok()
}

/// Notes the length of the body. None if a header asks something of the connection.
fn note(name: &HeaderName, value: &HeaderValue, declared_bytes: &mut Option<usize>) -> Option<()> {
    match *name {
        TRANSFER_ENCODING | EXPECT | UPGRADE => None,
        CONNECTION => value.as_bytes().eq_ignore_ascii_case(b"keep-alive").then_some(()),
        CONTENT_LENGTH => {
            let text = value.to_str().ok()?;
            let is_number = text.len() <= LENGTH_DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
            *declared_bytes = Some(text.parse().ok().filter(|_| is_number)?);
            Some(())
        }
        _ => Some(()),
    }
}

/// Answers usual requests until another one comes, or the connection ends. `is_closing`: the server asks the
/// connection to close after its current request.
pub(crate) async fn serve<S: Serving, Io: Read + Write + Unpin>(
    side: &Side<S>,
    stream: &mut Io,
    unread: &mut Unread,
    is_closing: &AtomicBool,
) -> Ended {
    let activity = &*side.client.activity;
    let (mut head, mut text) = (Head::new(), Vec::new());
    loop {
        let extent = match head.read(unread.bytes()) {
            Reading::Whole(extent) => extent,
            Reading::Unfinished(missing) if unread.has_room() => {
                match more(stream, unread, missing, is_closing).await {
                    Some(()) => continue,
                    None => return Ended::Left,
                }
            }
            Reading::Unfinished(_) | Reading::Unusual => return Ended::Left,
        };
        let body = RequestBody::Whole(unread.take(extent));
        activity.enter(Phase::Executing);
        let answer = {
            let mut answering = pin!(side.service.answer(&head.parts, body, &side.client, &side.known));
            poll_fn(|context| match answering.as_mut().poll(context) {
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
                Poll::Pending => poll_left(stream, unread, context).map(|()| None),
            })
            .await
        };
        activity.enter(Phase::AwaitingHead);
        let Some(answer) = answer else { return Ended::Closed };
        let closes = is_closing.load(Ordering::Relaxed);
        let sent = send::<S, Io>(stream, answer, &mut text, closes).await;
        if sent.is_err() {
            return Ended::Closed;
        }
        if closes {
            // It ends in any case.
            let _ = poll_fn(|context| Pin::new(&mut *stream).poll_shutdown(context)).await;
            return Ended::Closed;
        }
    }
}

/// Reads more. None if the rest is hyper's: at the end of the connection, if it shall close, or if a body has
/// not come with its head.
async fn more<Io: Read + Unpin>(
    stream: &mut Io,
    unread: &mut Unread,
    missing: Missing,
    is_closing: &AtomicBool,
) -> Option<()> {
    poll_fn(|context| {
        if is_closing.load(Ordering::Relaxed) {
            return Poll::Ready(None);
        }
        match unread.poll_fill(stream, context) {
            Poll::Ready(Ok(1..)) => Poll::Ready(Some(())),
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending if missing == Missing::Body => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Resolves if the client leaves while its request is executed. What it sends meanwhile is kept; as with
/// hyper, its end is not seen behind that.
fn poll_left<Io: Read + Unpin>(stream: &mut Io, unread: &mut Unread, context: &mut Context<'_>) -> Poll<()> {
    if !unread.bytes().is_empty() {
        return Poll::Pending;
    }
    match unread.poll_fill(stream, context) {
        Poll::Ready(Ok(1..)) | Poll::Pending => Poll::Pending,
        Poll::Ready(_) => Poll::Ready(()),
    }
}

/// Sends a response, with the headers that hyper adds to those of the service.
async fn send<S: Serving, Io: Write + Unpin>(
    stream: &mut Io,
    answer: S::Answer,
    text: &mut Vec<u8>,
    closes: bool,
) -> Result<()> {
    text.clear();
    answer.write_head(text);
    if closes {
        text.extend_from_slice(b"connection: close\r\n");
    }
    let mut body = pin!(answer.into_body());
    let bytes = body.size_hint().exact().ok_or(ErrorKind::Unsupported)?;
    write_end(text, bytes);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Error::other)?.into_data() else { continue };
        if data.len() <= COPIED_BYTES_MAX {
            text.extend_from_slice(&data);
            write(stream, text, &[]).await?;
        } else {
            write(stream, text, &data).await?;
        }
        text.clear();
    }
    write(stream, text, &[]).await
}

/// Writes two parts as one.
async fn write<Io: Write + Unpin>(stream: &mut Io, first: &[u8], second: &[u8]) -> Result<()> {
    let (mut first, mut second) = (first, second);
    poll_fn(|context| {
        let mut stream = Pin::new(&mut *stream);
        while !first.is_empty() || !second.is_empty() {
            let written = ready!(match (first, second) {
                (one, []) | ([], one) => stream.as_mut().poll_write(context, one),
                (first, second) => {
                    let pieces = [IoSlice::new(first), IoSlice::new(second)];
                    stream.as_mut().poll_write_vectored(context, &pieces)
                }
            })?;
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            let of_first = written.min(first.len());
            first = first.get(of_first..).unwrap_or_default();
            second = second.get(written - of_first..).unwrap_or_default();
        }
        stream.poll_flush(context)
    })
    .await
}

#[cfg(test)]
mod tests;
