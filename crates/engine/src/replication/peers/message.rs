//! The messages between servers that own members of one group, and their frame.
//!
//! ```text
//! "KWRP" | version of the protocol (u16) | length of a release's name (u8) | the name | content
//! ```
//!
//! The head is the same in every version, so that servers of two versions can name both. The content is what
//! the version says: here a `Message` or an `Answer`.

use keywright_semantics::error::ErrorKind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// The version of the protocol that this release speaks.
pub const PEER_PROTOCOL: u16 = 1;
const MAGIC: &[u8; 4] = b"KWRP";
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Two members of one group on two servers. Public ids name the tables: what is meant for a table never
/// reaches one that was made anew under its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ends {
    /// The name of both tables.
    pub name: String,
    /// The group's public id.
    pub group: String,
    pub from_region: String,
    pub from: String,
    pub to_region: String,
    pub to: String,
}

/// A table that becomes a member on the receiver's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Joiner {
    pub ends: Ends,
    /// The record of its source, whose settings it gets.
    pub source: Vec<u8>,
    /// All other members.
    pub members: Vec<MemberView>,
}

/// The members of a group as one server knows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct GroupState {
    /// The sender's own members: it decides their status.
    pub own: Vec<MemberView>,
    /// Members that are filled from the sender's, wherever they are.
    pub filling: Vec<MemberView>,
    /// Members of other servers that the sender knows to be filled.
    pub filled: Vec<String>,
}

/// A member as servers describe it to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct MemberView {
    pub region: String,
    pub public_id: String,
    pub is_leaving: bool,
    pub is_creating: bool,
    pub since_ms: u64,
    pub source: Option<String>,
}

/// An item with its version, or a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub version: Version,
    /// The item in its stored form; of a deletion, its key attributes.
    pub image: Vec<u8>,
    /// When it was deleted at the sender; `None` for an item.
    pub deleted: Option<Stamp>,
    /// The version that the sender's change replaced; `None` in a pass.
    pub replaced: Option<Version>,
}

/// Rows that the sender's place moves over once the receiver has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub ends: Ends,
    /// How often the sender's place will have moved with it: one more than at the receiver, or as often if
    /// the answer was lost.
    pub moves: u64,
    /// Whether a pass over all rows begins with it: then it may follow anything.
    pub begins_pass: bool,
    /// When the last of the changes was made, in milliseconds since 1970.
    pub made_ms: u64,
    pub rows: Vec<Row>,
}

/// What one server asks another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Whether a member can be made: there is no table of the name.
    Check {
        name: String,
        from_region: String,
        to_region: String,
    },
    Join(Box<Joiner>),
    State {
        ends: Ends,
        state: GroupState,
    },
    Batch(Batch),
    /// The receiver's member is to leave the group, and its table to be deleted.
    Leave(Ends),
    /// The sender's member has left: the receiver has all that was written there.
    Gone(Ends),
    /// How far the receiver's members have sent what was written to them.
    Floor(Ends),
    /// Settings that all members share have changed: those of these names, to what the record has.
    Settings {
        ends: Ends,
        names: Vec<String>,
        record: Vec<u8>,
    },
}

impl Message {
    /// The table, the sender's region and the receiver's.
    pub(crate) fn about(&self) -> (&str, &str, &str) {
        match self {
            Self::Check { name, from_region, to_region } => (name, from_region, to_region),
            Self::Join(joiner) => joiner.ends.about(),
            Self::Batch(batch) => batch.ends.about(),
            Self::State { ends, .. }
            | Self::Leave(ends)
            | Self::Gone(ends)
            | Self::Floor(ends)
            | Self::Settings { ends, .. } => ends.about(),
        }
    }
}

impl Ends {
    fn about(&self) -> (&str, &str, &str) {
        (&self.name, &self.from_region, &self.to_region)
    }
}

/// Why a server refuses a message, as far as the asking server can tell its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RefusalKind {
    Invalid,
    InUse,
    Limit,
    /// It failed, and may succeed later.
    Failed,
}

impl RefusalKind {
    pub(crate) const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Validation => Self::Invalid,
            ErrorKind::ResourceInUse => Self::InUse,
            ErrorKind::LimitExceeded => Self::Limit,
            _ => Self::Failed,
        }
    }

    pub(crate) const fn error(self) -> ErrorKind {
        match self {
            Self::Invalid => ErrorKind::Validation,
            Self::InUse => ErrorKind::ResourceInUse,
            Self::Limit => ErrorKind::LimitExceeded,
            Self::Failed => ErrorKind::InternalServerError,
        }
    }
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    /// A batch is written, with the place that it moves the sender to.
    Taken,
    /// The receiver's place is another one: one of the two has an older state than the other has seen.
    Elsewhere {
        moves: u64,
    },
    /// There is no such member.
    NoMember,
    /// Not yet: other work comes first.
    Later,
    Refused {
        kind: RefusalKind,
        text: String,
    },
    /// What was written below the first stamp was sent to all; everything that was written so far is below
    /// the second.
    Floor {
        floor: Stamp,
        begun: Stamp,
    },
}

/// Why a frame cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameFault {
    Malformed,
    /// The version of its protocol, and its sender's release.
    OtherVersion(u16, String),
}

impl FrameFault {
    /// What is wrong, for the log of either side.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Malformed => "the message is not one of Keywright's replication".to_owned(),
            Self::OtherVersion(version, release) => format!(
                "the other server speaks version {version} of Keywright's replication (release {release}), this \
                 one speaks version {PEER_PROTOCOL} (release {RELEASE}): run releases with one version"
            ),
        }
    }
}

/// A message or an answer in its frame.
pub(crate) fn encode(content: &impl Serialize) -> Vec<u8> {
    let mut frame = MAGIC.to_vec();
    frame.extend_from_slice(&PEER_PROTOCOL.to_be_bytes());
    frame.push(u8::try_from(RELEASE.len()).expect("the name of a release is short"));
    frame.extend_from_slice(RELEASE.as_bytes());
    postcard::to_extend(content, frame).expect("owned values encode into a vector")
}

/// Reads a frame of this version.
pub(crate) fn decode<T: DeserializeOwned>(frame: &[u8]) -> Result<T, FrameFault> {
    let malformed = || FrameFault::Malformed;
    let (magic, rest) = frame.split_first_chunk::<4>().ok_or_else(malformed)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(malformed)?;
    let (length, rest) = rest.split_first().ok_or_else(malformed)?;
    let (release, content) = rest.split_at_checked(usize::from(*length)).ok_or_else(malformed)?;
    if magic != MAGIC {
        return Err(FrameFault::Malformed);
    }
    let version = u16::from_be_bytes(*version);
    if version != PEER_PROTOCOL {
        return Err(FrameFault::OtherVersion(version, String::from_utf8_lossy(release).into_owned()));
    }
    match postcard::take_from_bytes(content) {
        Ok((content, [])) => Ok(content),
        _ => Err(FrameFault::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_no_head_of_it_is() {
        let message = Message::Check {
            name: "t".to_owned(),
            from_region: "us-east-1".to_owned(),
            to_region: "eu-west-1".to_owned(),
        };
        let frame = encode(&message);
        assert_eq!(decode(&frame), Ok(message));
        for end in 0..frame.len() {
            assert_eq!(decode::<Message>(&frame[..end]), Err(FrameFault::Malformed), "cut at {end}");
        }
        assert_eq!(decode::<Message>(&[&*frame, &[0]].concat()), Err(FrameFault::Malformed));
    }

    #[test]
    fn of_another_version_both_are_named() {
        let mut frame = encode(&Answer::Done);
        frame[5] = 2;
        let fault = decode::<Answer>(&frame).unwrap_err();
        assert_eq!(fault, FrameFault::OtherVersion(2, RELEASE.to_owned()));
        let text = fault.text();
        assert!(text.contains("version 2") && text.contains("version 1"), "{text}");
        frame[0] = b'X';
        assert_eq!(decode::<Answer>(&frame), Err(FrameFault::Malformed));
    }
}
