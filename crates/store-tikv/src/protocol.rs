//! Messages of PD and TiKV for calls that TiKV's client does not offer. Numbers of fields are those of
//! `pdpb`, `metapb`, `errorpb` and `kvrpcpb`; fields that nobody here reads are left out.

use prost::Message;

/// A call: its path, and the types of its two messages.
pub(crate) trait Call: Message + Default + 'static {
    const PATH: &'static str;
    type Answer: Message + Default + 'static;
}

macro_rules! calls {
    ($($question:ident => $answer:ident: $path:literal;)*) => {
        $(impl Call for $question {
            const PATH: &'static str = $path;
            type Answer = $answer;
        })*
    };
}

calls! {
    GetMembers => Members: "/pdpb.PD/GetMembers";
    GetRegion => RegionFound: "/pdpb.PD/GetRegion";
    GetStore => StoreFound: "/pdpb.PD/GetStore";
    SetSafePoint => SafePointSet: "/pdpb.PD/UpdateGCSafePoint";
    SetServiceSafePoint => ServiceSafePointSet: "/pdpb.PD/UpdateServiceGCSafePoint";
    CheckTransaction => TransactionChecked: "/tikvpb.Tikv/KvCheckTxnStatus";
    CheckSecondaries => SecondariesChecked: "/tikvpb.Tikv/KvCheckSecondaryLocks";
    ResolveLock => LockResolved: "/tikvpb.Tikv/KvResolveLock";
}

/// A call to PD, which names the cluster.
pub(crate) trait PdCall: Call {
    fn set_header(&mut self, header: Header);
    fn refusal(answer: &Self::Answer) -> Option<&PdError>;
}

macro_rules! pd_calls {
    ($($question:ident)*) => {
        $(impl PdCall for $question {
            fn set_header(&mut self, header: Header) {
                self.header = Some(header);
            }

            fn refusal(answer: &Self::Answer) -> Option<&PdError> {
                answer.header.as_ref().and_then(|header| header.error.as_ref())
            }
        })*
    };
}

pd_calls!(GetRegion GetStore SetSafePoint SetServiceSafePoint);

/// A call to the leader of a region.
pub(crate) trait RegionCall: Call {
    fn set_context(&mut self, context: Context);
    fn region_error(answer: &Self::Answer) -> Option<&RegionError>;
}

macro_rules! region_calls {
    ($($question:ident)*) => {
        $(impl RegionCall for $question {
            fn set_context(&mut self, context: Context) {
                self.context = Some(context);
            }

            fn region_error(answer: &Self::Answer) -> Option<&RegionError> {
                answer.region_error.as_ref()
            }
        })*
    };
}

region_calls!(CheckTransaction CheckSecondaries ResolveLock);

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Header {
    #[prost(uint64, tag = "1")]
    pub(crate) cluster_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AnswerHeader {
    #[prost(uint64, tag = "1")]
    pub(crate) cluster_id: u64,
    #[prost(message, optional, tag = "2")]
    pub(crate) error: Option<PdError>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PdError {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetMembers {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Members {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<AnswerHeader>,
    #[prost(message, optional, tag = "3")]
    pub(crate) leader: Option<Member>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Member {
    #[prost(string, repeated, tag = "4")]
    pub(crate) client_urls: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetRegion {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<Header>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionFound {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<AnswerHeader>,
    #[prost(message, optional, tag = "2")]
    pub(crate) region: Option<Region>,
    #[prost(message, optional, tag = "3")]
    pub(crate) leader: Option<Peer>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Region {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) start: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) end: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub(crate) epoch: Option<Epoch>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Epoch {
    #[prost(uint64, tag = "1")]
    pub(crate) conf_ver: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) version: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Peer {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(uint64, tag = "2")]
    pub(crate) store_id: u64,
    #[prost(int32, tag = "3")]
    pub(crate) role: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetStore {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<Header>,
    #[prost(uint64, tag = "2")]
    pub(crate) store_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StoreFound {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<AnswerHeader>,
    #[prost(message, optional, tag = "2")]
    pub(crate) store: Option<Node>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(string, tag = "2")]
    pub(crate) address: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetSafePoint {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<Header>,
    #[prost(uint64, tag = "2")]
    pub(crate) safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SafePointSet {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<AnswerHeader>,
    #[prost(uint64, tag = "2")]
    pub(crate) safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SetServiceSafePoint {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<Header>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) service: Vec<u8>,
    /// How long it counts.
    #[prost(int64, tag = "3")]
    pub(crate) seconds: i64,
    #[prost(uint64, tag = "4")]
    pub(crate) safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ServiceSafePointSet {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<AnswerHeader>,
    /// The smallest one of all services.
    #[prost(uint64, tag = "4")]
    pub(crate) safe_point: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Context {
    #[prost(uint64, tag = "1")]
    pub(crate) region: u64,
    #[prost(message, optional, tag = "2")]
    pub(crate) epoch: Option<Epoch>,
    #[prost(message, optional, tag = "3")]
    pub(crate) peer: Option<Peer>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegionError {
    #[prost(string, tag = "1")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CheckTransaction {
    #[prost(message, optional, tag = "1")]
    pub(crate) context: Option<Context>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) primary: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub(crate) start: u64,
    /// By which the primary's lock has or has not expired.
    #[prost(uint64, tag = "5")]
    pub(crate) now: u64,
    #[prost(bool, tag = "6")]
    pub(crate) rollback_if_not_exist: bool,
    #[prost(bool, tag = "7")]
    pub(crate) force_sync_commit: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TransactionChecked {
    #[prost(message, optional, tag = "1")]
    pub(crate) region_error: Option<RegionError>,
    #[prost(message, optional, tag = "2")]
    pub(crate) error: Option<KeyError>,
    #[prost(uint64, tag = "3")]
    pub(crate) lock_ttl: u64,
    #[prost(uint64, tag = "4")]
    pub(crate) commit_version: u64,
    #[prost(message, optional, tag = "6")]
    pub(crate) lock: Option<Lock>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyError {
    #[prost(string, tag = "2")]
    pub(crate) retryable: String,
    #[prost(string, tag = "3")]
    pub(crate) abort: String,
    #[prost(message, optional, tag = "8")]
    pub(crate) transaction_not_found: Option<TransactionNotFound>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TransactionNotFound {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Lock {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) primary: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub(crate) start: u64,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) key: Vec<u8>,
    #[prost(uint64, tag = "4")]
    pub(crate) ttl_ms: u64,
    #[prost(bool, tag = "8")]
    pub(crate) is_async_commit: bool,
    #[prost(uint64, tag = "9")]
    pub(crate) min_commit: u64,
    #[prost(bytes = "vec", repeated, tag = "10")]
    pub(crate) secondaries: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CheckSecondaries {
    #[prost(message, optional, tag = "1")]
    pub(crate) context: Option<Context>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) keys: Vec<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    pub(crate) start: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SecondariesChecked {
    #[prost(message, optional, tag = "1")]
    pub(crate) region_error: Option<RegionError>,
    #[prost(message, optional, tag = "2")]
    pub(crate) error: Option<KeyError>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) locks: Vec<Lock>,
    #[prost(uint64, tag = "4")]
    pub(crate) commit: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResolveLock {
    #[prost(message, optional, tag = "1")]
    pub(crate) context: Option<Context>,
    #[prost(uint64, tag = "2")]
    pub(crate) start: u64,
    /// Zero rolls back.
    #[prost(uint64, tag = "3")]
    pub(crate) commit: u64,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub(crate) keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LockResolved {
    #[prost(message, optional, tag = "1")]
    pub(crate) region_error: Option<RegionError>,
    #[prost(message, optional, tag = "2")]
    pub(crate) error: Option<KeyError>,
}
