//! HTTP/1.1 over one keep-alive connection: sends bytes that are rendered already and reads one answer after
//! the other.
//!
//! It knows framing only; `request.rs` knows what a DynamoDB request looks like.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// No honest head is longer; a server that sends more is at fault.
const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// A page is 1 MB; JSON and binary values make it a few times longer.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the server closes the connection after it.
    pub(crate) closes: bool,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    /// No connecting, reading or writing takes longer than `wait_max`.
    pub(crate) fn open(address: SocketAddr, wait_max: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, wait_max)?;
        stream.set_nodelay(true)?;
        let connection = Self { stream: BufReader::new(stream) };
        connection.wait_at_most(wait_max)?;
        Ok(connection)
    }

    pub(crate) fn wait_at_most(&self, wait_max: Duration) -> io::Result<()> {
        // Zero would mean "for ever".
        let wait = Some(wait_max.max(Duration::from_millis(1)));
        self.stream.get_ref().set_read_timeout(wait)?;
        self.stream.get_ref().set_write_timeout(wait)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Says that nothing more will be sent; answers can still be read.
    pub(crate) fn finish_sending(&self) -> io::Result<()> {
        self.stream.get_ref().shutdown(Shutdown::Write)
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { stream: BufReader::new(self.stream.get_ref().try_clone()?) })
    }

    pub(crate) fn call(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.send(request)?;
        self.answer()
    }

    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        read_answer(&mut self.stream)
    }

    /// Reads until the server closes; an error after some bytes ends the reading as well.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut bytes = Vec::new();
        let ended = self.stream.read_to_end(&mut bytes);
        (bytes, ended.err().map(|error| error.kind()))
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed answer: {what}"))
}

/// One answer; interim answers (1xx) before it are skipped.
pub(crate) fn read_answer(stream: &mut impl io::BufRead) -> io::Result<Answer> {
    loop {
        let answer = read_one(stream)?;
        if answer.status >= 200 {
            return Ok(answer);
        }
    }
}

fn read_one(stream: &mut impl io::BufRead) -> io::Result<Answer> {
    let status = status_of(&read_line(stream)?)?;
    let (mut length, mut chunked, mut closes) = (None, false, false);
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header without a colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                length = Some(value.parse().map_err(|_| malformed("Content-Length is no number"))?);
            }
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => closes = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let body = match (length, chunked) {
        _ if status < 200 || status == 204 || status == 304 => Vec::new(),
        (Some(_), true) => return Err(malformed("Content-Length next to chunked")),
        (None, true) => read_chunks(stream)?,
        (Some(length), false) => read_body(stream, length)?,
        (None, false) => return Err(malformed("no length")),
    };
    Ok(Answer { status, body, closes })
}

fn status_of(line: &str) -> io::Result<u16> {
    let rest = line
        .strip_prefix("HTTP/1.1 ")
        .or_else(|| line.strip_prefix("HTTP/1.0 "))
        .ok_or_else(|| malformed("no status line"))?;
    let status = rest.split(' ').next().unwrap_or_default();
    let parsed = status.parse().ok().filter(|status| (100..600).contains(status));
    parsed.ok_or_else(|| malformed("no status"))
}

/// A line without its CRLF.
fn read_line(stream: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.by_ref().take(HEAD_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = line.strip_suffix(b"\r\n").ok_or_else(|| malformed("a line without CRLF"))?;
    String::from_utf8(text.to_vec()).map_err(|_| malformed("a line that is no UTF-8"))
}

fn read_body(stream: &mut impl io::BufRead, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_BYTES_MAX {
        return Err(malformed("a body beyond all pages"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(stream: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream)?;
        let length = usize::from_str_radix(&line, 16).map_err(|_| malformed("a chunk without a length"))?;
        body.extend(read_body(stream, length)?);
        if body.len() > BODY_BYTES_MAX {
            return Err(malformed("a body beyond all pages"));
        }
        if !read_line(stream)?.is_empty() {
            return Err(malformed("a chunk longer than it says"));
        }
        if length == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_one_after_the_other() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\
                      HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        let mut stream = &bytes[..];
        let first = read_answer(&mut stream).unwrap();
        assert_eq!((first.status, first.text().as_str(), first.closes), (200, "{}", false));
        let second = read_answer(&mut stream).unwrap();
        assert_eq!((second.status, second.text().as_str(), second.closes), (400, "ab", true));
        assert_eq!(read_answer(&mut stream).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_answer_is_malformed() {
        for bytes in [
            &b"SSH-2.0\r\n"[..],
            b"HTTP/1.1 999 Odd\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        ] {
            let mut stream = bytes;
            assert_eq!(read_answer(&mut stream).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}
