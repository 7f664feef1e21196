//! What another server answers to a request of a client here.

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use crate::catalogue::Table;
use crate::replication::peers::{Answer, Message, Unsent, ask};
use crate::state::Engine;
use crate::tables::group::in_use;

/// What another server has answered; an error for the client unless it does what was asked.
pub(super) fn answered(region: &str, answer: Result<Answer, Unsent>) -> Result<Answer, Error> {
    match answer {
        Ok(Answer::Refused { kind, text }) => Err(Error::new(kind.error(), text)),
        Ok(Answer::NoPeer { region: of, has_other_key }) => {
            Err(Error::validation(messages::no_peer_there(region, &of, has_other_key)))
        }
        Ok(Answer::Later) => Err(in_use(messages::REPLICA_CHANGES.to_owned())),
        Ok(answer) => Ok(answer),
        Err(Unsent::Failed(error)) => Err(error),
        Err(unsent) => Err(Error::validation(messages::peer_unreachable(region, unsent.text()))),
    }
}

/// Checks that all servers of a table's group can have a new member in a region as one of theirs. A server
/// that does not know its owner would take nothing from it.
pub(super) async fn check_known<S: Store>(
    engine: &Engine<S>,
    source: &Table,
    newcomer: &str,
) -> Result<(), Error> {
    let knows = |to: &str, of_sender: Vec<String>, of_others: Vec<String>| Message::Knows {
        name: source.name.clone(),
        from_region: source.region.clone(),
        to_region: to.to_owned(),
        of_sender,
        of_others,
    };
    let peers = engine.peers();
    let is_apart = |region: &str| !peers.is_same_server(region, newcomer);
    let remote: Vec<&str> = source.remote.members.iter().map(|member| member.region.as_str()).collect();
    let others: Vec<&str> =
        remote.into_iter().filter(|region| peers.owns(region) && is_apart(region)).collect();
    let is_here = !peers.owns(newcomer);
    for region in &others {
        let one = vec![newcomer.to_owned()];
        let question = if is_here { knows(region, one, Vec::new()) } else { knows(region, Vec::new(), one) };
        answered(region, ask(engine, region, &question).await)?;
    }
    if !is_here {
        let members = source.replication.iter().flat_map(|group| &group.members);
        let mut own: Vec<String> = members.map(|member| member.region.clone()).collect();
        if own.is_empty() {
            own.push(source.region.clone());
        }
        let others = others.into_iter().map(str::to_owned).collect();
        answered(newcomer, ask(engine, newcomer, &knows(newcomer, own, others)).await)?;
    }
    Ok(())
}
