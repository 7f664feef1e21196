//! Asking the server of a remote member.

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use super::message::{Answer, Ends, Message, decode, encode};
use crate::catalogue::{RemoteMember, Table};
use crate::state::Engine;
use crate::support::fault;
use crate::support::peers::PeerFault;

/// Said where the server of a remote member does not know it, or the one that asks.
const NO_MEMBER: &str = "its server has no such member";

/// Why something did not reach a remote member.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// Its server did not answer.
    Silent(PeerFault),
    /// It refuses, or cannot do it yet.
    Refused(String),
    /// It knows no such member: the receiver, or the sender as another one of its group.
    NoMember,
    /// It has no `[[peer]]` for the sender's region with the sender's key: why, for people.
    NoPeer(String),
    /// Something failed here.
    Failed(Error),
}

impl From<Error> for Unsent {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Sends a message to the server of a region, and reads its answer.
pub(crate) async fn ask<S: Store>(
    engine: &Engine<S>,
    region: &str,
    message: &Message,
) -> Result<Answer, Unsent> {
    let answered = engine.peers().call(region, encode(message)).await.map_err(Unsent::Silent)?;
    engine.peering().heard(region);
    decode(&answered).map_err(|fault| Unsent::Silent(PeerFault(fault.text())))
}

impl Unsent {
    /// Why, for people.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Silent(fault) => &fault.0,
            Self::Refused(text) | Self::NoPeer(text) => text,
            Self::NoMember => NO_MEMBER,
            Self::Failed(error) => &error.message,
        }
    }
}

/// The refusal in an answer of a region's server that does not do what was asked.
pub(crate) fn refused(region: &str, answer: Answer) -> Unsent {
    Unsent::Refused(match answer {
        Answer::Refused { text, .. } => text,
        Answer::NoMember => return Unsent::NoMember,
        Answer::NoPeer { region: of, has_other_key } => {
            return Unsent::NoPeer(messages::no_peer_there(region, &of, has_other_key));
        }
        Answer::Later => "its server has other work first".to_owned(),
        Answer::Lost => "it has lost this replica, which has to rejoin".to_owned(),
        Answer::Held => "its server simulates that nothing arrives".to_owned(),
        Answer::Done
        | Answer::Taken
        | Answer::Elsewhere { .. }
        | Answer::Places(_)
        | Answer::Floor { .. }
        | Answer::Equal
        | Answer::Holds { .. }
        | Answer::Looked { .. }
        | Answer::Row(_)
        | Answer::Scaling(_) => "its server answered something else than was asked".to_owned(),
    })
}

/// A table here and a remote member of its group, as both servers name them.
pub(crate) fn ends(table: &Table, member: &RemoteMember) -> Result<Ends, Error> {
    let group = table.replication.as_ref().ok_or_else(fault::internal)?;
    Ok(Ends {
        name: table.name.clone(),
        group: group.group.clone(),
        from_region: table.region.clone(),
        from: table.public_id.clone(),
        to_region: member.region.clone(),
        to: member.public_id.clone(),
    })
}
