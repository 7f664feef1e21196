//! Client tokens of transfers: a repeated request within eight hours gets the same transfer, also after its
//! end. One with the same token that asks for something else is a conflict.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_store::{KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use super::row::{Kind, TOKENS, Transfer, TransferName, find};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::{self, Space};

/// How long a token is valid.
const VALID_MS: u64 = 8 * 3_600_000;
/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// The hash of all that a request asks for, except its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestHash(pub [u8; 32]);

/// A token. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenRow {
    pub request: RequestHash,
    pub transfer: TransferName,
    /// The first millisecond in which it is not valid any more.
    expires_ms: u64,
}

impl TokenRow {
    pub(crate) const fn new(request: RequestHash, transfer: TransferName, now_ms: u64) -> Self {
        Self { request, transfer, expires_ms: now_ms.saturating_add(VALID_MS) }
    }

    pub(crate) const fn is_valid(&self, now_ms: u64) -> bool {
        now_ms < self.expires_ms
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a token of owned values encodes into a vector").into()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, Error> {
        let row = row.strip_prefix(&[FORMAT]).ok_or_else(fault::internal)?;
        postcard::from_bytes(row).map_err(|_fault| fault::internal())
    }
}

/// The key of a token's row.
pub(crate) fn key(namespace: &Namespace, kind: Kind, token: &str) -> Bytes {
    let (account, region) = (namespace.account.as_str(), namespace.region.as_str());
    let hash = partition_hash([KeyValueRef::S(account), KeyValueRef::S(region), KeyValueRef::S(token)]);
    [&[Space::Transfers.byte(), TOKENS, kind.byte()][..], &hash.0].concat().into()
}

/// The transfer that an earlier request with this token has begun; a conflict if it asked for something else.
pub(crate) async fn repeated(
    view: &impl Snapshot,
    (namespace, kind): (&Namespace, Kind),
    (token, request): (&str, RequestHash),
    now_ms: u64,
    conflict: fn() -> Error,
) -> Result<Option<Transfer>, Error> {
    let row = view.get(&key(namespace, kind, token)).await.map_err(|error| fault::storage(&error))?;
    let token = row.map(|row| TokenRow::decode(&row)).transpose()?;
    match token.filter(|token| token.is_valid(now_ms)) {
        None => Ok(None),
        Some(token) if token.request != request => Err(conflict()),
        Some(token) => find(view, namespace, &token.transfer).await,
    }
}

/// The rows of all tokens.
pub(super) fn all() -> KeyRange {
    layout::prefix_range(vec![Space::Transfers.byte(), TOKENS])
}

/// Whether this is the key of a token's row.
pub(super) fn is_of_token(key: &[u8]) -> bool {
    key.starts_with(&[Space::Transfers.byte(), TOKENS])
}
