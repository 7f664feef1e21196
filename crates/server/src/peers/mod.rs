//! The servers that own other regions: signed calls to them, over TLS unless they are on this machine.
//!
//! It does not know what the calls say: the engine does.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use keywright_engine::{PEER_PROTOCOL, PeerAnswer, PeerFault, Peers};
use keywright_wire::sigv4::{SignedRequest, Signer};
use reqwest::{Certificate, Client};
use tokio::sync::watch;

use crate::outgoing;
use crate::process::environment;
use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// The service's name in signatures.
pub(crate) const SERVICE: &str = "keywright-replication";
/// The header of calls that says whether the calling server simulates faults between regions.
pub(crate) const SIMULATES: &str = "x-keywright-simulates";
/// The path of calls, without the version of the protocol.
pub(crate) const PATH_PREFIX: &str = "/_keywright/replication/";
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer: at most what a comparison gives of two thousand keys.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a reason that another server gives.
const REASON_BYTES_MAX: usize = 500;

/// A server that owns a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerSettings {
    pub(crate) region: String,
    /// Its URL without a slash at the end.
    pub(crate) endpoint: String,
    /// The key that signs calls in both directions.
    pub(crate) key_id: String,
    /// Whose certificates are trusted; `None` for those that the system trusts.
    pub(crate) ca: Option<PathBuf>,
    /// The tables that may be in a group with members there: names, or beginnings of names with `*`.
    pub(crate) tables: Vec<String>,
}

impl PeerSettings {
    /// Whether a table may be in a group with members there.
    fn admits(&self, table: &str) -> bool {
        self.tables.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(begin) => table.starts_with(begin),
            None => pattern == table,
        })
    }
}

/// One server that owns a region, with a client for it.
struct Peer {
    settings: PeerSettings,
    account: String,
    /// Whether calls say that this server simulates faults.
    simulates: bool,
    client: Client,
    signer: Mutex<Signer>,
}

/// The servers that own other regions.
pub(crate) struct PeerServers {
    peers: Vec<Peer>,
    /// Whether this server simulates faults between regions.
    simulates: bool,
    /// Ends calls that are under way.
    stopped: watch::Sender<bool>,
}

/// The key that signs calls to a server, as this server's credentials file has it.
pub(crate) struct PeerKey {
    pub(crate) secret: String,
    /// Whose tables are replicated.
    pub(crate) account: String,
}

/// Secrets never reach a log.
impl std::fmt::Debug for PeerServers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.peers.iter().map(|peer| &peer.settings)).finish()
    }
}

impl PeerServers {
    /// Clients of servers, each with its key.
    pub(crate) fn new(peers: Vec<(PeerSettings, PeerKey)>, simulates: bool) -> Result<Self, Failure> {
        let peers = peers.into_iter().map(|(settings, key)| Peer::new(settings, key, simulates));
        Ok(Self { peers: peers.collect::<Result<_, _>>()?, simulates, stopped: watch::Sender::new(false) })
    }

    /// Whether this server simulates faults between regions.
    pub(crate) const fn simulates(&self) -> bool {
        self.simulates
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Ends all calls: the server stops.
    pub(crate) fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// The regions of the servers that share this key with us.
    pub(crate) fn regions_of_key(&self, key_id: &str) -> Vec<String> {
        let own = self.peers.iter().filter(|peer| peer.settings.key_id == key_id);
        own.map(|peer| peer.settings.region.clone()).collect()
    }
}

impl Peers for PeerServers {
    fn regions(&self) -> Vec<String> {
        self.peers.iter().map(|peer| peer.settings.region.clone()).collect()
    }

    fn admits(&self, region: &str, table: &str) -> bool {
        self.find(region).is_some_and(|peer| peer.settings.admits(table))
    }

    fn account(&self, region: &str) -> Option<String> {
        self.find(region).map(|peer| peer.account.clone())
    }

    fn owns(&self, region: &str) -> bool {
        self.find(region).is_some()
    }

    fn is_same_server(&self, region: &str, other: &str) -> bool {
        let endpoint = |region| self.find(region).map(|peer| &peer.settings.endpoint);
        endpoint(region).is_some() && endpoint(region) == endpoint(other)
    }

    fn call<'p>(&'p self, region: &'p str, message: Vec<u8>) -> PeerAnswer<'p> {
        Box::pin(async move {
            match self.find(region) {
                Some(peer) => {
                    let mut stopped = self.stopped.subscribe();
                    tokio::select! {
                        answer = peer.call(message) => answer,
                        _ = stopped.wait_for(|stopped| *stopped) => {
                            Err(PeerFault("this server stops".to_owned()))
                        }
                    }
                }
                None => Err(PeerFault(format!("no [[peer]] has region {region}"))),
            }
        })
    }
}

impl PeerServers {
    fn find(&self, region: &str) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.settings.region == region)
    }
}

impl Peer {
    fn new(settings: PeerSettings, key: PeerKey, simulates: bool) -> Result<Self, Failure> {
        let is_plain = settings.endpoint.starts_with("http://");
        let mut builder = outgoing::builder().timeout(CALL_TIME_MAX).https_only(!is_plain).no_proxy();
        if is_plain {
            // Without certificates, also on a machine that has none.
            builder = builder.tls_certs_only([]);
        } else if let Some(path) = &settings.ca {
            let pem = std::fs::read(path).map_err(failed("read the authority of a peer from", path))?;
            let unreadable = || Failure::new(format!("{} holds no certificate in PEM form", path.display()));
            let trusted = Certificate::from_pem_bundle(&pem).map_err(|_fault| unreadable())?;
            if trusted.is_empty() {
                return Err(unreadable());
            }
            builder = builder.tls_certs_only(trusted);
        }
        let client = builder.build().map_err(|error| {
            Failure::new(format!(
                "no client for the peer of region {} can be made: {}",
                settings.region,
                outgoing::cause(&error)
            ))
        })?;
        let signer = Signer::for_service(&settings.key_id, &key.secret, &settings.region, SERVICE);
        Ok(Self { settings, account: key.account, simulates, client, signer: Mutex::new(signer) })
    }

    /// Makes a call once.
    async fn call(&self, message: Vec<u8>) -> Result<Vec<u8>, PeerFault> {
        let endpoint = &self.settings.endpoint;
        let silent = |error: reqwest::Error| PeerFault(format!("{endpoint}: {}", cause(&error)));
        let path = format!("{PATH_PREFIX}{PEER_PROTOCOL}");
        let mut request = self.client.post(format!("{endpoint}{path}"));
        for (name, value) in self.signed(&path, &message) {
            request = request.header(name, value);
        }
        let mut response = request.body(message).send().await.map_err(silent)?;
        let status = response.status();
        let body = outgoing::body(&mut response, ANSWER_BYTES_MAX).await.map_err(silent)?;
        let body = body.ok_or_else(|| PeerFault(format!("{endpoint}: its answer does not end")))?;
        if status.is_success() {
            return Ok(body);
        }
        Err(PeerFault(format!("{endpoint} answers {}: {}", status.as_u16(), reason(&body))))
    }

    /// The headers of a call, with its signature.
    fn signed(&self, path: &str, body: &[u8]) -> Vec<(&'static str, String)> {
        let now = environment::now();
        let endpoint = &self.settings.endpoint;
        let host = endpoint.split_once("://").map_or(endpoint.as_str(), |(_, host)| host);
        let simulates = self.simulates.to_string();
        let mut headers =
            vec![("host", host.to_owned()), ("x-amz-date", now.to_basic()), (SIMULATES, simulates)];
        let shown: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = SignedRequest { method: "POST", path, query: "", headers: &shown, body };
        let mut signer = self.signer.lock().unwrap_or_else(PoisonError::into_inner);
        let authorization = signer.authorization(&request, &["host", "x-amz-date", SIMULATES], now);
        drop(signer);
        headers.push(("authorization", authorization));
        headers
    }
}

/// What lies below an error.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no complete answer within {} seconds", CALL_TIME_MAX.as_secs());
    }
    outgoing::cause(error)
}

/// Why another server does not do what was asked.
fn reason(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let read = serde_json::from_slice::<serde_json::Value>(body).ok();
    let message = read.as_ref().and_then(|read| read.get("message").or(read.get("Message"))?.as_str());
    message.unwrap_or(&text).chars().take(REASON_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: &str, tables: &[&str]) -> PeerSettings {
        PeerSettings {
            region: "eu-west-1".to_owned(),
            endpoint: endpoint.to_owned(),
            key_id: "AK".to_owned(),
            ca: None,
            tables: tables.iter().map(|table| (*table).to_owned()).collect(),
        }
    }

    #[test]
    fn tables_are_named_whole_or_by_their_beginning() {
        let own = settings("http://127.0.0.1:1", &["shop-*", "users"]);
        assert!(own.admits("shop-orders") && own.admits("shop-") && own.admits("users"));
        assert!(!own.admits("shop") && !own.admits("users2") && !own.admits("x-shop-1"));
        assert!(!settings("http://127.0.0.1:1", &[]).admits("users"));
    }

    #[tokio::test]
    async fn a_silent_server_is_named_and_the_secret_is_not_shown() {
        let key = PeerKey { secret: "very-secret".to_owned(), account: "123456789012".to_owned() };
        let peers = PeerServers::new(vec![(settings("http://127.0.0.1:1", &["*"]), key)], false).unwrap();
        assert!(!format!("{peers:?}").contains("very-secret"));
        assert!(peers.owns("eu-west-1") && !peers.owns("us-east-1"));
        assert_eq!(peers.regions_of_key("AK"), ["eu-west-1"]);
        assert!(peers.regions_of_key("other").is_empty());
        let fault = peers.call("eu-west-1", Vec::new()).await.unwrap_err();
        assert!(fault.0.starts_with("http://127.0.0.1:1: "), "{fault}");
        assert!(peers.call("us-east-1", Vec::new()).await.unwrap_err().0.contains("us-east-1"));
    }
}
