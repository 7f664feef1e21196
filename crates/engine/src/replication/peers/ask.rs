//! Asking the server of a remote member.

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::message::{Answer, Ends, Message, decode, encode};
use crate::catalogue::{RemoteMember, Table};
use crate::state::Engine;
use crate::support::fault;
use crate::support::peers::PeerFault;

/// Why something did not reach a remote member.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// Its server did not answer.
    Silent(PeerFault),
    /// It refuses, or cannot do it yet.
    Refused(String),
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
    decode(&answered).map_err(|fault| Unsent::Silent(PeerFault(fault.text())))
}

/// The refusal in an answer that does not do what was asked.
pub(crate) fn refused(answer: Answer) -> Unsent {
    Unsent::Refused(match answer {
        Answer::Refused { text, .. } => text,
        Answer::NoMember => "its server has no such member".to_owned(),
        Answer::Later => "its server has other work first".to_owned(),
        Answer::Done | Answer::Taken | Answer::Elsewhere { .. } | Answer::Floor { .. } => {
            "its server answered something else than was asked".to_owned()
        }
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
