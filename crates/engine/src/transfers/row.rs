//! Transfers as they are stored.
//!
//! ```text
//! transfers | 0 | kind | hash of account and region | id | name of the table       a transfer
//! transfers | 1 | kind | hash of account, region and token                         a client token
//! ```
//!
//! An id begins with the time of the request, so the transfers of a caller are in the order of time. A
//! transfer needs nothing of its table: it may be gone, or another one have its name.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_store::{KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use super::bulk_put::BulkPut;
use super::export::Export;
use super::import::Import;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::fault;
use crate::support::layout::{self, Space};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The second byte of the keys of transfers, and of tokens.
const ROWS: u8 = 0;
pub(super) const TOKENS: u8 = 1;
/// Bytes of the hash of account and region.
const HASH_BYTES: usize = 16;
/// Bytes of an id.
const ID_BYTES: usize = 14 + 1 + 8;
/// Bytes of a key before the id.
const HEAD_BYTES: usize = 3 + HASH_BYTES;

/// The kinds of transfers. Their places are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Kind {
    Export,
    Import,
    BulkPut,
}

impl Kind {
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Self::Export => 0,
            Self::Import => 1,
            Self::BulkPut => 2,
        }
    }

    /// The kind in an ARN.
    pub(crate) const fn in_arn(self) -> &'static str {
        match self {
            Self::Export => "export",
            Self::Import => "import",
            Self::BulkPut => "bulk-operation",
        }
    }
}

/// A transfer of an account and region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TransferName {
    pub kind: Kind,
    /// The name of its table.
    pub table: String,
    /// Its id, which is its job's too.
    pub id: String,
}

impl TransferName {
    pub(crate) fn key(&self, namespace: &Namespace) -> Bytes {
        [&prefix(namespace, self.kind)[..], self.id.as_bytes(), self.table.as_bytes()].concat().into()
    }

    pub(crate) fn arn(&self, namespace: &Namespace) -> String {
        let Namespace { account, region } = namespace;
        let Self { kind, table, id } = self;
        format!("arn:aws:dynamodb:{region}:{account}:table/{table}/{}/{id}", kind.in_arn())
    }
}

/// How a transfer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    InProgress,
    Completed,
    CompletedWithErrors,
    Cancelling,
    Cancelled,
    Failed,
}

impl Status {
    /// Whether its job has ended.
    pub(crate) const fn is_end(self) -> bool {
        !matches!(self, Self::InProgress | Self::Cancelling)
    }
}

/// Why a transfer has not its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub code: String,
    pub message: String,
}

/// What a transfer has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Items that were read.
    pub processed: u64,
    /// Items that were written: into files, or into a table.
    pub written: u64,
    /// Items and objects that could not be.
    pub failed: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// What a client asked for. Stored as its place in this list: a new kind comes at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    Export(Box<Export>),
    Import(Box<Import>),
    BulkPut(Box<BulkPut>),
}

/// A transfer. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transfer {
    pub id: String,
    pub account: String,
    pub region: String,
    /// The name of its table.
    pub table_name: String,
    /// The id of its table for clients.
    pub table_id: String,
    /// The client's token, or one that was made for the request.
    pub token: String,
    pub status: Status,
    pub counts: Counts,
    pub failure: Option<Failure>,
    /// The time of the request.
    pub started_ms: u64,
    pub ended_ms: Option<u64>,
    pub asked: Asked,
}

/// What a new transfer is.
pub(crate) struct NewTransfer<'n> {
    pub id: String,
    pub namespace: &'n Namespace,
    pub table_name: String,
    pub table_id: String,
    pub token: String,
    pub now_ms: u64,
    pub asked: Asked,
}

impl Transfer {
    pub(crate) fn new(new: NewTransfer<'_>) -> Self {
        assert_eq!(new.id.len(), ID_BYTES, "all ids have the same length");
        Self {
            id: new.id,
            account: new.namespace.account.to_string(),
            region: new.namespace.region.to_string(),
            table_name: new.table_name,
            table_id: new.table_id,
            token: new.token,
            status: Status::InProgress,
            counts: Counts::default(),
            failure: None,
            started_ms: new.now_ms,
            ended_ms: None,
            asked: new.asked,
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self.asked {
            Asked::Export(_) => Kind::Export,
            Asked::Import(_) => Kind::Import,
            Asked::BulkPut(_) => Kind::BulkPut,
        }
    }

    pub(crate) fn name(&self) -> TransferName {
        TransferName { kind: self.kind(), table: self.table_name.clone(), id: self.id.clone() }
    }

    pub(crate) fn namespace(&self) -> Namespace {
        Namespace { account: AccountId::from(self.account.as_str()), region: Region::stored(&self.region) }
    }

    pub(crate) fn key(&self) -> Bytes {
        self.name().key(&self.namespace())
    }

    pub(crate) fn table_arn(&self) -> String {
        let Self { account, region, table_name, .. } = self;
        format!("arn:aws:dynamodb:{region}:{account}:table/{table_name}")
    }

    /// The same after its end.
    #[must_use]
    pub(crate) fn ended(self, status: Status, failure: Option<Failure>, now_ms: u64) -> Self {
        assert!(status.is_end(), "a transfer ends once");
        Self { status, failure, ended_ms: Some(now_ms), ..self }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a transfer of owned values encodes into a vector").into()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, Error> {
        let row = row.strip_prefix(&[FORMAT]).ok_or_else(fault::internal)?;
        postcard::from_bytes(row).map_err(|_fault| fault::internal())
    }
}

/// The hash of an account and region.
fn hash_of(namespace: &Namespace) -> [u8; HASH_BYTES] {
    let (account, region) = (namespace.account.as_str(), namespace.region.as_str());
    partition_hash([KeyValueRef::S(account), KeyValueRef::S(region)]).0
}

fn prefix(namespace: &Namespace, kind: Kind) -> Vec<u8> {
    [&[Space::Transfers.byte(), ROWS, kind.byte()][..], &hash_of(namespace)].concat()
}

/// The rows of a caller's transfers of a kind.
pub(super) fn range(namespace: &Namespace, kind: Kind) -> KeyRange {
    layout::prefix_range(prefix(namespace, kind))
}

/// The rows of all transfers of all callers.
pub(super) fn all() -> KeyRange {
    layout::prefix_range(vec![Space::Transfers.byte(), ROWS])
}

/// The part of a row's key that says whose transfer it is, and which: without the space.
pub(super) fn place_of_key(key: &[u8]) -> &[u8] {
    key.get(2..).unwrap_or_default()
}

/// The key of such a part, if it may be one of this caller's transfers of this kind.
pub(super) fn key_of_place(place: &[u8], namespace: &Namespace, kind: Kind) -> Option<Bytes> {
    let key = [&[Space::Transfers.byte(), ROWS], place].concat();
    let is_own = key.starts_with(&prefix(namespace, kind));
    (is_own && key.len() > HEAD_BYTES + ID_BYTES).then(|| key.into())
}

/// The transfer of this name.
pub(crate) async fn find(
    view: &impl Snapshot,
    namespace: &Namespace,
    name: &TransferName,
) -> Result<Option<Transfer>, Error> {
    let row = view.get(&name.key(namespace)).await.map_err(|error| fault::storage(&error))?;
    row.map(|row| Transfer::decode(&row)).transpose()
}
