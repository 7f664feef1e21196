//! Calls to PD and to the nodes that TiKV's client does not offer: they are rare, so each one asks PD for the
//! region anew. Connections are kept until a call over them fails.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::codec::ProstCodec;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};

use crate::options::{TikvOptions, Tls};
use crate::protocol::{
    Call, Context, GetMembers, GetRegion, GetStore, Header, Members, PdCall, RegionCall, RegionFound,
};

/// How long one answer is waited for.
const CALL_WAIT: Duration = Duration::from_secs(4);
/// How long one PD is waited for when all are asked.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// How long one question is asked again, while regions and leaders move.
const ASK_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The other side does not know the call.
    Unknown(String),
    /// Nobody answered, or not as the protocol says.
    Failed(String),
}

impl CallError {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Unknown(text) | Self::Failed(text) => text,
        }
    }
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::Unimplemented => Self::Unknown(status.message().to_owned()),
            _ => Self::Failed(format!("{}: {}", status.code(), status.message())),
        }
    }
}

/// The leader of PD.
#[derive(Clone)]
struct Leader {
    channel: Channel,
    cluster_id: u64,
}

/// The way to PD and to the nodes.
pub(crate) struct Cluster {
    pds: Vec<String>,
    tls: Option<Tls>,
    leader: Mutex<Option<Leader>>,
    /// Connections to stores, by the store's id.
    ways: Mutex<HashMap<u64, Channel>>,
}

impl Cluster {
    pub(crate) fn of(options: &TikvOptions) -> Self {
        Self {
            pds: options.pds.clone(),
            tls: options.tls.clone(),
            leader: Mutex::default(),
            ways: Mutex::default(),
        }
    }

    fn known_leader(&self) -> Option<Leader> {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_leader(&self, leader: Option<Leader>) {
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = leader;
    }

    /// What each PD of the URL says, as it comes in time.
    fn ask_all(&self) -> mpsc::Receiver<(String, Result<Leader, CallError>)> {
        let (sender, receiver) = mpsc::channel(self.pds.len().max(1));
        for pd in self.pds.clone() {
            let (tls, sender) = (self.tls.clone(), sender.clone());
            tokio::spawn(async move {
                let late = |_| Err(CallError::Failed(format!("{pd}: no answer")));
                let said = tokio::time::timeout(PROBE_WAIT, leader_by(tls.as_ref(), &pd)).await;
                let said = said.unwrap_or_else(late);
                // Nobody waits for it once another PD has answered.
                let _ = sender.send((pd, said)).await;
            });
        }
        receiver
    }

    /// The addresses of the URL that lead to the leader of PD; all of them if none does.
    pub(crate) async fn reachable(&self) -> Vec<String> {
        let (mut all, mut reachable) = (self.ask_all(), Vec::new());
        while let Some((pd, said)) = all.recv().await {
            if said.is_ok() {
                reachable.push(pd);
            }
        }
        if reachable.is_empty() { self.pds.clone() } else { reachable }
    }

    /// Whether a PD of the URL answers, also one that knows no leader.
    pub(crate) async fn answers(&self) -> bool {
        let mut asked = JoinSet::new();
        for pd in self.pds.clone() {
            let tls = self.tls.clone();
            asked.spawn(async move {
                let said = tokio::time::timeout(PROBE_WAIT, members_by(tls.as_ref(), &pd)).await;
                said.is_ok_and(|said| said.is_ok())
            });
        }
        while let Some(answered) = asked.join_next().await {
            if answered.unwrap_or_default() {
                return true;
            }
        }
        false
    }

    async fn find_leader(&self) -> Result<Leader, CallError> {
        if let Some(leader) = self.known_leader() {
            return Ok(leader);
        }
        let mut last = CallError::Failed("PD has no leader".to_owned());
        let mut all = self.ask_all();
        while let Some((_pd, said)) = all.recv().await {
            match said {
                Ok(leader) => {
                    self.set_leader(Some(leader.clone()));
                    return Ok(leader);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Asks PD. Only for questions that can be put twice.
    pub(crate) async fn ask_pd<Q: PdCall + Clone>(&self, question: Q) -> Result<Q::Answer, CallError> {
        let ends = Instant::now() + ASK_MAX;
        loop {
            match self.ask_pd_once(question.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error @ CallError::Unknown(_)) => return Err(error),
                Err(error) if Instant::now() >= ends => return Err(error),
                Err(_error) => self.set_leader(None),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn ask_pd_once<Q: PdCall>(&self, mut question: Q) -> Result<Q::Answer, CallError> {
        let leader = self.find_leader().await?;
        question.set_header(Header { cluster_id: leader.cluster_id });
        let answer = send(leader.channel, question).await?;
        match Q::refusal(&answer) {
            Some(refusal) => Err(CallError::Failed(format!("PD: {}", refusal.message))),
            None => Ok(answer),
        }
    }

    /// Asks the leader of the region that holds a key. Only for questions that can be put twice.
    pub(crate) async fn ask_region<Q: RegionCall + Clone>(
        &self,
        key: &[u8],
        question: Q,
    ) -> Result<Q::Answer, CallError> {
        self.ask_region_of(&[key.to_vec()], |_keys| question.clone()).await.map(|(answer, _count)| answer)
    }

    /// Asks the leader of the region that holds the first key, about it and the keys after it in the region,
    /// and says how many these are. The keys are in order. Only for questions that can be put twice.
    pub(crate) async fn ask_region_of<Q: RegionCall>(
        &self,
        keys: &[Vec<u8>],
        question: impl Fn(&[Vec<u8>]) -> Q,
    ) -> Result<(Q::Answer, usize), CallError> {
        let ends = Instant::now() + ASK_MAX;
        loop {
            let answered = self.ask_region_once(keys, &question).await;
            if answered.is_ok() || Instant::now() >= ends {
                return answered;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn ask_region_once<Q: RegionCall>(
        &self,
        keys: &[Vec<u8>],
        question: impl Fn(&[Vec<u8>]) -> Q,
    ) -> Result<(Q::Answer, usize), CallError> {
        let first = keys.first().map(|key| in_region_order(key)).unwrap_or_default();
        let RegionFound { region, leader, .. } = self.ask_pd(GetRegion { header: None, key: first }).await?;
        let (Some(region), Some(peer)) = (region, leader) else {
            return Err(CallError::Failed("the region has no leader".to_owned()));
        };
        let is_within = |key: &&Vec<u8>| region.end.is_empty() || in_region_order(key) < region.end;
        let count = keys.iter().take_while(is_within).count().max(1);
        let mut question = question(keys.get(..count).unwrap_or(keys));
        let store = peer.store_id;
        question.set_context(Context { region: region.id, epoch: region.epoch, peer: Some(peer) });
        let answered =
            send(self.way_to(store).await?, question).await.and_then(|answer| {
                match Q::region_error(&answer) {
                    None => Ok((answer, count)),
                    Some(error) => Err(CallError::Failed(error.message.clone())),
                }
            });
        if answered.is_err() {
            // The store may be at another address now.
            self.ways.lock().unwrap_or_else(PoisonError::into_inner).remove(&store);
        }
        answered
    }

    /// The connection to a store.
    async fn way_to(&self, store: u64) -> Result<Channel, CallError> {
        let known = self.ways.lock().unwrap_or_else(PoisonError::into_inner).get(&store).cloned();
        if let Some(way) = known {
            return Ok(way);
        }
        let node = self.ask_pd(GetStore { header: None, store_id: store }).await?.store;
        let way = connect(self.tls.as_ref(), &node.unwrap_or_default().address).await?;
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).insert(store, way.clone());
        Ok(way)
    }
}

async fn connect(tls: Option<&Tls>, address: &str) -> Result<Channel, CallError> {
    let failed = |error: String| CallError::Failed(format!("{address}: {error}"));
    let place = address.trim_start_matches("http://").trim_start_matches("https://");
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{place}"))
        .map_err(|error| failed(error.to_string()))?
        .connect_timeout(CALL_WAIT)
        .timeout(CALL_WAIT);
    let endpoint = match tls {
        None => endpoint,
        Some(tls) => {
            let read = |path| std::fs::read(path).map_err(|error| failed(error.to_string()));
            let (ca, certificate, key) = (read(&tls.ca)?, read(&tls.certificate)?, read(&tls.key)?);
            let settings = ClientTlsConfig::new()
                .ca_certificate(Certificate::from_pem(ca))
                .identity(Identity::from_pem(certificate, key));
            endpoint.tls_config(settings).map_err(|error| failed(error.to_string()))?
        }
    };
    endpoint.connect().await.map_err(|error| failed(error.to_string()))
}

async fn members_by(tls: Option<&Tls>, pd: &str) -> Result<Members, CallError> {
    send(connect(tls, pd).await?, GetMembers {}).await
}

async fn leader_by(tls: Option<&Tls>, pd: &str) -> Result<Leader, CallError> {
    let members = members_by(tls, pd).await?;
    let cluster_id = members.header.unwrap_or_default().cluster_id;
    let url = members.leader.and_then(|leader| leader.client_urls.into_iter().next());
    let url = url.ok_or_else(|| CallError::Failed(format!("{pd}: PD has no leader")))?;
    Ok(Leader { channel: connect(tls, &url).await?, cluster_id })
}

async fn send<Q: Call>(channel: Channel, question: Q) -> Result<Q::Answer, CallError> {
    let asking = async {
        let mut grpc = Grpc::new(channel);
        grpc.ready().await.map_err(|error| CallError::Failed(error.to_string()))?;
        let path = PathAndQuery::from_static(Q::PATH);
        let answer = grpc.unary(Request::new(question), path, ProstCodec::<Q, Q::Answer>::default()).await;
        answer.map(tonic::Response::into_inner).map_err(CallError::from)
    };
    let late = |_| CallError::Failed("no answer".to_owned());
    tokio::time::timeout(CALL_WAIT, asking).await.map_err(late)?
}

/// Bytes of a key between two counts, as regions are bounded.
const GROUP: usize = 8;

/// A key as regions are bounded: groups of eight bytes, and after each how many of them are the key's.
pub(crate) fn in_region_order(key: &[u8]) -> Vec<u8> {
    let mut ordered = Vec::with_capacity((key.len() / GROUP + 1) * (GROUP + 1));
    let mut rest = key;
    loop {
        let (group, after) = rest.split_at(rest.len().min(GROUP));
        ordered.extend_from_slice(group);
        ordered.resize(ordered.len() + GROUP - group.len(), 0);
        let missing = u8::try_from(GROUP - group.len()).unwrap_or_default();
        ordered.push(u8::MAX - missing);
        if group.len() < GROUP {
            return ordered;
        }
        rest = after;
    }
}

/// The key of a region's bound. What no key is encoded as ends at the first group that is not full.
pub(crate) fn from_region_order(bound: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(bound.len());
    for group in bound.chunks(GROUP + 1) {
        let missing = group.get(GROUP).map_or(0, |count| usize::from(u8::MAX - count));
        key.extend(group.iter().take(GROUP.saturating_sub(missing)));
        if missing > 0 {
            break;
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_region_order_keep_their_order_and_end_with_what_is_missing() {
        assert_eq!(in_region_order(b""), [0, 0, 0, 0, 0, 0, 0, 0, 247]);
        assert_eq!(in_region_order(b"abc"), [b'a', b'b', b'c', 0, 0, 0, 0, 0, 250]);
        let full = in_region_order(b"abcdefgh");
        assert_eq!((full.len(), full.get(8), full.last()), (18, Some(&255), Some(&247)));
        let keys: [&[u8]; 7] = [b"", b"\0", b"a", b"a\0", b"abcdefgh", b"abcdefgh\0", b"b"];
        assert!(keys.map(in_region_order).is_sorted());
        assert!(keys.iter().all(|key| from_region_order(&in_region_order(key)) == *key));
    }
}
