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

use crate::catalogue::Overrides;
use crate::changes::replicated::Mark;
use crate::state::verification::{Held, Sum};
use crate::support::stamp::Stamp;
use crate::support::version::Version;

/// The version of the protocol that this release speaks.
pub const PEER_PROTOCOL: u16 = 2;
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
    /// The record of its source, whose settings it gets but for these.
    pub source: Vec<u8>,
    pub overrides: Overrides,
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
    /// Whether it leaves with its data.
    pub is_parting: bool,
    pub since_ms: u64,
    pub source: Option<String>,
    /// What it sets differently.
    pub overrides: Overrides,
}

impl MemberView {
    /// Whether it is to remain in the group.
    pub(crate) const fn stays(&self) -> bool {
        !self.is_leaving && !self.is_parting
    }
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
    /// The last record of the sender's log that it has; `None` in a pass.
    pub mark: Option<Mark>,
    pub rows: Vec<Row>,
}

/// How far two members have come with each other's changes, as the one that is asked has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Places {
    /// How often the place of the asking member had moved with the last batch that came from it.
    pub received: u64,
    /// The last record of that batch.
    pub mark: Option<Mark>,
    /// How often the place of its own has moved.
    pub sent: u64,
    /// Whether it begins to send all rows.
    pub begins: bool,
}

/// Consecutive keys of the sender's table, as a sum that the receiver compares with its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    pub ends: Ends,
    /// Of the hashes of the run.
    pub key: [u8; 32],
    /// The keys after this one within the table.
    pub after: Option<Vec<u8>>,
    /// Up to this one; `None`: up to the end.
    pub until: Option<Vec<u8>>,
    pub sum: Sum,
    /// Whether the sender's member is to rejoin: then it may be lost to the receiver's.
    pub rejoins: bool,
}

/// A question what the receiver has of some keys, and what it has sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Look {
    pub ends: Ends,
    /// Of the hashes of the run.
    pub key: [u8; 32],
    /// Keys within the table.
    pub keys: Vec<Vec<u8>>,
    /// The public ids of the members that are compared.
    pub compared: Vec<String>,
    /// Whether the sender's member is to rejoin: then it may be lost to the receiver's.
    pub rejoins: bool,
}

/// What ends a difference at the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Repair {
    /// It takes this row, if it has none that is as great.
    Take(Row),
    /// Its item of this key within the table gets a new version above these two, if it still has the first.
    Raise { within: Vec<u8>, expected: Version, above: Version },
}

/// What scales the reads or writes of a table, or of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScalingRule {
    pub index: Option<String>,
    pub scales_writes: bool,
    /// `None`: nothing does.
    pub settings: Option<ScalingBounds>,
}

/// The bounds of a scaled capacity, and its policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScalingBounds {
    pub min: u64,
    pub max: u64,
    /// `None` for the name that the service gives.
    pub policy_name: Option<String>,
    /// The bits of the target, in percent.
    pub target_bits: u64,
    pub scale_in_cooldown_s: Option<u64>,
    pub scale_out_cooldown_s: Option<u64>,
    pub disable_scale_in: Option<bool>,
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
    /// The sender's member rejoins: it is sent everything.
    Rejoin(Ends),
    /// How far the two members have come with each other's changes. If one of them is found to have an older
    /// state than the other has seen, the receiver sends all rows.
    Places {
        ends: Ends,
        is_restored: bool,
    },
    /// How far the receiver's members have sent what was written to them.
    Floor(Ends),
    /// Settings that all members share have changed: those of these names, to what the record has.
    Settings {
        ends: Ends,
        names: Vec<String>,
        record: Vec<u8>,
    },
    /// The receiver's member is to set this differently from its group, whose values the record has.
    Override {
        ends: Ends,
        overrides: Overrides,
        record: Vec<u8>,
    },
    /// What scales the receiver's member, which is changed so.
    Scaling {
        ends: Ends,
        changes: Vec<ScalingRule>,
    },
    Compare(Comparison),
    Look(Look),
    /// The receiver's row of a key within the table.
    Fetch {
        ends: Ends,
        within: Vec<u8>,
    },
    Repair {
        ends: Ends,
        repair: Repair,
    },
    /// Whether the receiver can have members of a table's group in these regions: of the sender's server, and
    /// of third ones.
    Knows {
        name: String,
        from_region: String,
        to_region: String,
        of_sender: Vec<String>,
        of_others: Vec<String>,
    },
}

impl Message {
    /// The table, the sender's region and the receiver's.
    pub(crate) fn about(&self) -> (&str, &str, &str) {
        match self {
            Self::Check { name, from_region, to_region }
            | Self::Knows { name, from_region, to_region, .. } => (name, from_region, to_region),
            Self::Join(joiner) => joiner.ends.about(),
            Self::Batch(batch) => batch.ends.about(),
            Self::Compare(Comparison { ends, .. })
            | Self::Look(Look { ends, .. })
            | Self::Fetch { ends, .. }
            | Self::Repair { ends, .. }
            | Self::Override { ends, .. }
            | Self::Scaling { ends, .. }
            | Self::State { ends, .. }
            | Self::Places { ends, .. }
            | Self::Leave(ends)
            | Self::Gone(ends)
            | Self::Rejoin(ends)
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
    Places(Places),
    /// There is no such member.
    NoMember,
    /// Not yet: other work comes first.
    Later,
    /// A simulation at the receiver lets nothing in.
    Held,
    /// The sender's member is lost to the receiver's: it has to rejoin.
    Lost,
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
    /// The receiver has the same up to the key that was asked for.
    Equal,
    /// What the receiver has of each key up to this one; `None`: up to the one that was asked for.
    Holds {
        until: Option<Vec<u8>>,
        held: Vec<(Vec<u8>, Held)>,
    },
    /// What was written below the first stamp was sent to those that are compared. Then the keys were read,
    /// in the order of the question. Everything that was written before it is below the second stamp.
    Looked {
        floor: Stamp,
        begun: Stamp,
        held: Vec<Held>,
    },
    /// A row, if there is one that can be read.
    Row(Option<Row>),
    /// What scaled a member before the change.
    Scaling(Vec<ScalingRule>),
    /// The receiver takes nothing for a region: it has no `[[peer]]` for it, or one with another key than the
    /// one that signed the message.
    NoPeer {
        region: String,
        has_other_key: bool,
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
        frame[5] = 7;
        let fault = decode::<Answer>(&frame).unwrap_err();
        assert_eq!(fault, FrameFault::OtherVersion(7, RELEASE.to_owned()));
        let text = fault.text();
        assert!(text.contains("version 7") && text.contains("version 2"), "{text}");
        frame[0] = b'X';
        assert_eq!(decode::<Answer>(&frame), Err(FrameFault::Malformed));
    }
}
