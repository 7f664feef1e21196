//! Messages between the studio and a process that executes calls on models: a line of kind, name and length,
//! then as many bytes.

use std::str;

/// Bytes of the first line, with its end.
pub(super) const HEAD_BYTES_MAX: usize = 200;

/// Names of answers: a result, an error, and nothing, because the request would change something and may not.
pub(super) const OK: &str = "ok";
pub(super) const ERROR: &str = "error";
pub(super) const CHANGES: &str = "changes";

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To the process: execute the call of this name; the bytes are its JSON.
    Call,
    /// To the process: end the call.
    Cancel,
    /// To the process: the database's answer. The name is one of the three above.
    Answer,
    /// From the process: a request to the database; the name is the operation.
    Ask,
    /// From the process: a line of progress.
    Progress,
    /// From the process: the result, as the client gets it.
    Done,
    /// From the process: the refusal, as the client gets it; the name is its HTTP status.
    Refused,
}

impl Kind {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Call, "call"),
        (Self::Cancel, "cancel"),
        (Self::Answer, "answer"),
        (Self::Ask, "ask"),
        (Self::Progress, "progress"),
        (Self::Done, "done"),
        (Self::Refused, "refused"),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }
}

/// The first line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) bytes: usize,
}

impl Head {
    pub(super) fn new(kind: Kind, name: &str, body: &[u8]) -> Self {
        Self { kind, name: name.to_owned(), bytes: body.len() }
    }

    /// With its end.
    pub(super) fn line(&self) -> String {
        let name = if self.name.is_empty() { "-" } else { &self.name };
        format!("{} {name} {}\n", self.kind.word(), self.bytes)
    }

    /// Reads a line; `None` if it is none of these.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let mut words = str::from_utf8(line).ok()?.strip_suffix('\n')?.split(' ');
        let (kind, name, bytes) = (words.next()?, words.next()?, words.next()?);
        let (kind, _) = Kind::ALL.into_iter().find(|(_, word)| *word == kind)?;
        let rest_is_empty = words.next().is_none();
        rest_is_empty.then_some(Self { kind, name: name.to_owned(), bytes: bytes.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for (kind, _) in Kind::ALL {
            let head = Head { kind, name: "model/check".to_owned(), bytes: 17 };
            assert_eq!(Head::read(head.line().as_bytes()), Some(head));
        }
        for broken in ["", "call a 1", "call a\n", "shout a 1\n", "call a 1 2\n", "call a -1\n"] {
            assert_eq!(Head::read(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
