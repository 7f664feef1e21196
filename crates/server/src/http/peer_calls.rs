//! The calls `POST /_keywright/replication/…` of servers that own other regions: who may make them.
//!
//! Only keys for replication sign them, and such keys sign nothing else. It does not know what they say.

use std::sync::Arc;

use keywright_engine::{PEER_PROTOCOL, PeerCaller, Presence, Principal};
use keywright_semantics::error::{Error, ErrorKind};
use serde_json::json;

use super::auth::{Begun, CheckedClaim, Signer};
use super::context::RequestContext;
use super::peer_door::PeerDoor;
use super::request_trace::Trace;
use super::response::Answer;
use super::run_to_completion::RunToCompletion;
use super::service::Service;
use crate::connection::body::{BodyFault, RequestBody};
use crate::peers::{PATH_PREFIX, SERVICE, SIMULATES};
use crate::process::environment;

/// Why a call is refused before its message is read.
struct Refused {
    status: u16,
    text: String,
}

impl Refused {
    fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let status = if error.kind == ErrorKind::ServiceUnavailable { 503 } else { 403 };
        Self::new(status, error.message)
    }
}

impl Service {
    /// Answers a call of another server. Refusals are logged.
    pub(super) async fn serve_peer(
        &self,
        context: &RequestContext<'_>,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Answer {
        match self.peer_called(context, body, trace).await {
            Ok(answer) => answer,
            Err(Refused { status, text }) => {
                let address = context.client.ip;
                tracing::warn!("refused a call for replication from {address}: {text}");
                Answer::error(status, json!({ "message": text }).to_string().into_bytes())
            }
        }
    }

    async fn peer_called(
        &self,
        context: &RequestContext<'_>,
        mut body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Refused> {
        let checked = match self.check_peer(context) {
            Ok(door) => check_claim(context, door).map(|claim| (door, claim)),
            Err(refused) => Err(refused),
        };
        let (door, claim) = match checked {
            Ok(checked) => checked,
            Err(refused) => {
                self.discard(context.head, &mut body, context.client).await;
                return Err(refused);
            }
        };
        let mut hold = self.bodies.hold(self.trusts(context.client));
        let sent = self.receive(context, body, &mut hold).await.map_err(|fault| match fault {
            BodyFault::TooLarge => Refused::new(413, "the message is too large"),
            BodyFault::TooSlow => Refused::new(408, "the message came too slowly"),
            BodyFault::Broken => Refused::new(400, "the message is broken off"),
            BodyFault::Exhausted => Refused::new(503, "there is no memory for the message now"),
        })?;
        trace.received_bytes = sent.len();
        let signer = self.offload(sent.len(), || claim.verify(&context.signed(&sent))).await;
        let signer = match signer {
            Ok(signer) => signer,
            Err(error) => {
                self.delay_failed_signature(&error, context.client).await;
                return Err(error.into());
            }
        };
        context.client.admit();
        hold.verify();
        let caller = caller(door, &signer)?;
        let changing = Arc::clone(&self.changes).read_owned().await;
        let engine = self.engine()?;
        let answering = async move {
            let reply = engine.answer_peer(&caller, &sent).await;
            drop(changing);
            (caller, reply)
        };
        let (caller, reply) = RunToCompletion::new(answering, Presence::default()).await;
        if let Some(refusal) = reply.refusal {
            let regions = caller.regions.join(", ");
            tracing::warn!("refused a message of the server of {regions}: {refusal}");
        }
        Ok(Answer::json(reply.frame, None))
    }

    /// Checks what the head of a call says but for its signature.
    fn check_peer(&self, context: &RequestContext<'_>) -> Result<&PeerDoor, Refused> {
        let version = context.head.uri.path().strip_prefix(PATH_PREFIX).unwrap_or_default();
        if version != PEER_PROTOCOL.to_string() {
            return Err(Refused::new(
                400,
                format!(
                    "this server speaks version {PEER_PROTOCOL} of Keywright's replication (release {}), the call is \
                     of version {version}: run releases with one version",
                    env!("CARGO_PKG_VERSION")
                ),
            ));
        }
        let simulates = context.head.headers.get(SIMULATES).is_some_and(|value| value == "true");
        if let Some(door) = &self.peers
            && door.servers().simulates() != simulates
        {
            let (one, other) = if simulates { ("the other", "this") } else { ("this", "the other") };
            return Err(Refused::new(
                403,
                format!(
                    "{one} server simulates faults between regions, {other} one does not: start both with \
                     --simulate, or none"
                ),
            ));
        }
        if !self.is_secure && !context.client.address.is_loopback() {
            return Err(Refused::new(403, "replication from another machine needs TLS"));
        }
        let no_peers = || Refused::new(403, "this server has no [[peer]]");
        self.peers.as_ref().ok_or_else(no_peers)
    }
}

/// Checks the claim in the head of a call: its key is one for replication, and the clocks agree.
fn check_claim<'a>(context: &RequestContext<'a>, door: &'a PeerDoor) -> Result<CheckedClaim<'a>, Refused> {
    if context.head.uri.query().is_some() {
        return Err(Refused::new(403, "a call for replication is signed by its headers"));
    }
    match door.authenticator().begin(&context.signed(&[]), SERVICE, context.known, environment::now)? {
        Begun::Checked(claim) => Ok(claim),
        Begun::Unknown(_) => Err(Refused::new(
            403,
            "the key that signed the call is not one of this server's for replication: a key of clients, or one \
             that is missing in the credentials file",
        )),
    }
}

/// Which server has called, by its key.
fn caller(door: &PeerDoor, signer: &Signer) -> Result<PeerCaller, Refused> {
    let key_id = match &signer.caller.principal {
        Principal::AccessKey(id) => id.to_string(),
        _ => String::new(),
    };
    let regions = door.servers().regions_of_key(&key_id);
    if regions.is_empty() {
        return Err(Refused::new(403, "no [[peer]] of this server has the key that signed the call"));
    }
    Ok(PeerCaller { account: signer.caller.namespace.account.clone(), regions })
}
