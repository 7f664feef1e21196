//! Locks as dead or slow clients of the protocol leave them.

use std::time::{Duration, Instant};

use prost::Message;
use tikv_client::TimestampExt as _;

use crate::cluster::{Cluster, in_region_order};
use crate::options::TikvOptions;
use crate::protocol::{
    AnswerHeader, Call, Context, GetRegion, Header, KeyError, PdCall, PdError, RegionCall, RegionError,
    SetServiceSafePoint,
};

#[derive(Clone, PartialEq, Message)]
pub struct Mutation {
    #[prost(int32, tag = "1")]
    op: i32,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Prewrite {
    #[prost(message, optional, tag = "1")]
    context: Option<Context>,
    #[prost(message, repeated, tag = "2")]
    mutations: Vec<Mutation>,
    #[prost(bytes = "vec", tag = "3")]
    primary: Vec<u8>,
    #[prost(uint64, tag = "4")]
    start: u64,
    #[prost(uint64, tag = "5")]
    ttl_ms: u64,
    #[prost(uint64, tag = "10")]
    min_commit: u64,
    #[prost(bool, tag = "11")]
    is_async_commit: bool,
    #[prost(bytes = "vec", repeated, tag = "12")]
    secondaries: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Prewritten {
    #[prost(message, optional, tag = "1")]
    region_error: Option<RegionError>,
    #[prost(message, repeated, tag = "2")]
    errors: Vec<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Commit {
    #[prost(message, optional, tag = "1")]
    context: Option<Context>,
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(bytes = "vec", repeated, tag = "3")]
    keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "4")]
    version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Committed {
    #[prost(message, optional, tag = "1")]
    region_error: Option<RegionError>,
    #[prost(message, optional, tag = "2")]
    error: Option<KeyError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SplitRegion {
    #[prost(message, optional, tag = "1")]
    context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionSplit {
    #[prost(message, optional, tag = "1")]
    region_error: Option<RegionError>,
}

impl Call for SplitRegion {
    const PATH: &'static str = "/tikvpb.Tikv/SplitRegion";
    type Answer = RegionSplit;
}

impl RegionCall for SplitRegion {
    fn set_context(&mut self, context: Context) {
        self.context = Some(context);
    }

    fn region_error(answer: &RegionSplit) -> Option<&RegionError> {
        answer.region_error.as_ref()
    }
}

impl Call for Prewrite {
    const PATH: &'static str = "/tikvpb.Tikv/KvPrewrite";
    type Answer = Prewritten;
}

impl Call for Commit {
    const PATH: &'static str = "/tikvpb.Tikv/KvCommit";
    type Answer = Committed;
}

impl RegionCall for Prewrite {
    fn set_context(&mut self, context: Context) {
        self.context = Some(context);
    }

    fn region_error(answer: &Prewritten) -> Option<&RegionError> {
        answer.region_error.as_ref()
    }
}

impl RegionCall for Commit {
    fn set_context(&mut self, context: Context) {
        self.context = Some(context);
    }

    fn region_error(answer: &Committed) -> Option<&RegionError> {
        answer.region_error.as_ref()
    }
}

/// A client of the protocol that writes single locks.
pub struct Client {
    pub cluster: Cluster,
    pub tikv: tikv_client::TransactionClient,
    /// The prefix of the URL.
    pub prefix: String,
}

/// A transaction of such a client.
pub struct Transaction<'a> {
    client: &'a Client,
    pub start: u64,
    primary: Vec<u8>,
}

impl Client {
    pub async fn open(url: &str) -> Self {
        let options = TikvOptions::parse(url).unwrap();
        // The test engine sends values where keys are asked for.
        let mut config = tikv_client::Config::default().with_grpc_max_decoding_message_size(64 * 1024 * 1024);
        if let Some(tls) = &options.tls {
            config = config.with_security(&tls.ca, &tls.certificate, &tls.key);
        }
        let opened = tikv_client::TransactionClient::new_with_config(options.pds.clone(), config).await;
        Self { cluster: Cluster::of(&options), tikv: opened.unwrap(), prefix: options.prefix }
    }

    pub async fn now(&self) -> u64 {
        self.tikv.current_timestamp().await.unwrap().version()
    }

    pub async fn begin(&self, primary: &[u8]) -> Transaction<'_> {
        Transaction { client: self, start: self.now().await, primary: primary.to_vec() }
    }

    /// Splits the region that holds these keys at each of them.
    pub async fn split(&self, keys: Vec<Vec<u8>>) {
        let question = SplitRegion { context: None, keys: keys.clone() };
        self.cluster.ask_region(&keys[0], question).await.unwrap();
        for key in keys {
            let bound = in_region_order(&key);
            let began = Instant::now();
            loop {
                let question = GetRegion { header: None, key: bound.clone() };
                let found = self.cluster.ask_pd(question).await.unwrap();
                if found.leader.is_some() && found.region.is_some_and(|region| region.start == bound) {
                    break;
                }
                assert!(began.elapsed() < Duration::from_mins(1), "PD does not learn of the new region");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// The keys in a range that are locked.
    pub async fn locked(&self, from: &[u8], to: &[u8]) -> Vec<Vec<u8>> {
        let now = self.tikv.current_timestamp().await.unwrap();
        let locks = self.tikv.scan_locks(&now, from.to_vec()..to.to_vec(), 1_000).await.unwrap();
        let keys = locks.into_iter().map(|lock| lock.key);
        keys.filter(|key| key.as_slice() >= from && key.as_slice() < to).collect()
    }
}

impl Transaction<'_> {
    async fn send(&self, question: Prewrite, key: &[u8]) -> bool {
        self.client.cluster.ask_region(key, question).await.unwrap().errors.is_empty()
    }

    fn of(&self, key: &[u8], value: &str, ttl_ms: u64) -> Prewrite {
        // Values are stored after a byte.
        let value = [&[0], value.as_bytes()].concat();
        Prewrite {
            context: None,
            mutations: vec![Mutation { op: 0, key: key.to_vec(), value }],
            primary: self.primary.clone(),
            start: self.start,
            ttl_ms,
            min_commit: 0,
            is_async_commit: false,
            secondaries: Vec::new(),
        }
    }

    /// Locks a key, and says whether it could.
    pub async fn lock(&self, key: &[u8], value: &str, ttl_ms: u64) -> bool {
        self.send(self.of(key, value, ttl_ms), key).await
    }

    /// Locks keys of one region.
    pub async fn lock_all(&self, keys: &[Vec<u8>], ttl_ms: u64) {
        let one = self.of(&keys[0], "new", ttl_ms);
        let value = one.mutations[0].value.clone();
        let mutation = |key: &Vec<u8>| Mutation { op: 0, key: key.clone(), value: value.clone() };
        let question = Prewrite { mutations: keys.iter().map(mutation).collect(), ..one };
        assert!(self.send(question, &keys[0]).await);
    }

    /// Locks a key of an asynchronous commit.
    pub async fn lock_async(&self, key: &[u8], value: &str, secondaries: &[&[u8]], min_commit: u64) -> bool {
        let secondaries = secondaries.iter().map(|key| key.to_vec()).collect();
        let question =
            Prewrite { min_commit, is_async_commit: true, secondaries, ..self.of(key, value, 200) };
        self.send(question, key).await
    }

    /// Commits a key, and says whether it could.
    pub async fn commit(&self, key: &[u8]) -> bool {
        let version = self.client.now().await;
        let question = Commit { context: None, start: self.start, keys: vec![key.to_vec()], version };
        self.client.cluster.ask_region(key, question).await.unwrap().error.is_none()
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct GetSafePoint {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SafePointFound {
    #[prost(message, optional, tag = "1")]
    header: Option<AnswerHeader>,
    #[prost(uint64, tag = "2")]
    safe_point: u64,
}

impl Call for GetSafePoint {
    const PATH: &'static str = "/pdpb.PD/GetGCSafePoint";
    type Answer = SafePointFound;
}

impl PdCall for GetSafePoint {
    fn set_header(&mut self, header: Header) {
        self.header = Some(header);
    }

    fn refusal(answer: &SafePointFound) -> Option<&PdError> {
        answer.header.as_ref().and_then(|header| header.error.as_ref())
    }
}

/// Before which the cluster may have removed versions.
pub async fn safe_point(cluster: &Cluster) -> u64 {
    cluster.ask_pd(GetSafePoint { header: None }).await.unwrap().safe_point
}

/// Holds versions back, as other tools of a cluster do; a negative time ends it.
pub async fn set_service_safe_point(cluster: &Cluster, service: &str, seconds: i64, safe_point: u64) {
    let service = service.as_bytes().to_vec();
    let set = SetServiceSafePoint { header: None, service, seconds, safe_point };
    cluster.ask_pd(set).await.unwrap();
}
