//! Idempotency tokens of TransactWriteItems: a row in the same commit as the transaction's writes.
//!
//! A token belongs to an account and region. Its row has the request's fingerprint and the cost of a repeated
//! request. A second row, ordered by time of expiry, lets the sweep find expired tokens without reading the
//! others.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::limits::TRANSACTION_TOKEN_MS;
use keywright_semantics::request::transact_write_items::Fingerprint;
use keywright_store::{
    CommitError, Direction, Entry, KeyRange, Scan, Snapshot, Store, StoreError, Transaction,
};

use crate::support::layout::Space;

/// Rows ordered by token.
const BY_TOKEN: u8 = 0;
/// Rows ordered by expiry.
const BY_EXPIRY: u8 = 1;
/// Expired tokens that one sweep removes at most.
const SWEEP_TOKENS_MAX: usize = 256;
const SWEEP_BYTES_MAX: usize = 1 << 20;
const HASH_BYTES: usize = 16;

/// The key of a token's row.
pub(crate) fn key(account: &str, region: &str, token: &str) -> Bytes {
    let hash = partition_hash([KeyValueRef::S(account), KeyValueRef::S(region), KeyValueRef::S(token)]);
    let mut key = BytesMut::with_capacity(2 + HASH_BYTES);
    key.put_u8(Space::Tokens.byte());
    key.put_u8(BY_TOKEN);
    key.put_slice(&hash.0);
    key.freeze()
}

/// The value of a token's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenRow {
    pub expires_ms: u64,
    pub fingerprint: Fingerprint,
    /// Distinguishes two tries with one token if the outcome of one is unknown.
    pub nonce: u128,
    /// Each table as the client named it, and the read units of the items' original images.
    pub reads: Vec<(String, HalfUnits)>,
}

impl TokenRow {
    pub(crate) fn expiry(now_ms: u64) -> u64 {
        now_ms.saturating_add(TRANSACTION_TOKEN_MS)
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut row = BytesMut::new();
        row.put_u64(self.expires_ms);
        row.put_slice(&self.fingerprint.0);
        row.put_u128(self.nonce);
        for (name, units) in &self.reads {
            assert!(u16::try_from(name.len()).is_ok(), "a table's name or ARN is short");
            row.put_u64(units.0);
            row.put_u16(u16::try_from(name.len()).unwrap_or(u16::MAX));
            row.put_slice(name.as_bytes());
        }
        row.freeze()
    }

    pub(crate) fn decode(mut row: Bytes) -> Option<Self> {
        let expires_ms = row.try_get_u64().ok()?;
        let mut fingerprint = [0; 32];
        row.try_copy_to_slice(&mut fingerprint).ok()?;
        let nonce = row.try_get_u128().ok()?;
        let mut reads = Vec::new();
        while row.has_remaining() {
            let units = HalfUnits(row.try_get_u64().ok()?);
            let length = usize::from(row.try_get_u16().ok()?);
            if row.remaining() < length {
                return None;
            }
            let name = row.split_to(length);
            reads.push((String::from_utf8(name.to_vec()).ok()?, units));
        }
        Some(Self { expires_ms, fingerprint: Fingerprint(fingerprint), nonce, reads })
    }

    /// The key of the token's second row, in the order of expiry.
    pub(crate) fn expiry_key(&self, token_key: &Bytes) -> Bytes {
        let mut key = BytesMut::new();
        key.put_u8(Space::Tokens.byte());
        key.put_u8(BY_EXPIRY);
        key.put_u64(self.expires_ms);
        key.put_slice(token_key.get(2..).unwrap_or_default());
        key.freeze()
    }
}

fn expired_range(now_ms: u64) -> KeyRange {
    let bound = |time_ms: u64| {
        let mut key = BytesMut::new();
        key.put_u8(Space::Tokens.byte());
        key.put_u8(BY_EXPIRY);
        key.put_u64(time_ms);
        key.freeze()
    };
    KeyRange { start: bound(0), end: Some(bound(now_ms.saturating_add(1))) }
}

/// Removes some expired tokens; true if more may be left.
///
/// A token that was used again after its expiry has a newer row, which stays.
pub(crate) async fn sweep<S: Store>(store: &S, now_ms: u64) -> Result<bool, StoreError> {
    let mut txn = store.begin().await?;
    let scan = Scan {
        range: expired_range(now_ms),
        direction: Direction::Forward,
        rows_max: SWEEP_TOKENS_MAX,
        bytes_max: SWEEP_BYTES_MAX,
    };
    let page = txn.scan(&scan).await?;
    if page.entries.is_empty() {
        return Ok(false);
    }
    let not_expired = |entry: &Entry| scan.range.end.as_ref().is_some_and(|end| entry.key >= *end);
    assert!(!page.entries.iter().any(not_expired), "a sweep finds expired tokens only");
    let tokens: Vec<Bytes> = page.entries.iter().map(|entry| token_key_of(&entry.key)).collect();
    let rows = txn.get_for_write(&tokens).await?;
    for (key, row) in tokens.into_iter().zip(rows) {
        if row.and_then(TokenRow::decode).is_some_and(|row| row.expires_ms <= now_ms) {
            txn.delete(key);
        }
    }
    for entry in page.entries {
        txn.delete(entry.key);
    }
    match txn.commit().await {
        Ok(_) => Ok(page.more),
        // Another process swept, the token is used again, or the commit happened: the next sweep finds out.
        Err(CommitError::Conflict | CommitError::Unknown | CommitError::TooLarge) => Ok(true),
        Err(CommitError::Failed(fault)) => Err(fault),
    }
}

fn token_key_of(expiry_key: &Bytes) -> Bytes {
    let mut key = BytesMut::with_capacity(2 + HASH_BYTES);
    key.put_u8(Space::Tokens.byte());
    key.put_u8(BY_TOKEN);
    key.put_slice(expiry_key.get(2 + 8..).unwrap_or_default());
    key.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> TokenRow {
        TokenRow {
            expires_ms: 600_000,
            fingerprint: Fingerprint([7; 32]),
            nonce: 9,
            reads: vec![("orders".into(), HalfUnits(4)), ("arn:x".into(), HalfUnits(8))],
        }
    }

    #[test]
    fn a_row_reads_back_as_it_was_written() {
        assert_eq!(TokenRow::decode(row().encode()), Some(row()));
        assert_eq!(TokenRow::decode(row().encode().slice(..50)), None);
    }

    #[test]
    fn the_expiry_row_leads_to_its_token() {
        let token = key("1", "us-east-1", "abc");
        let expiry = row().expiry_key(&token);
        assert_eq!(token_key_of(&expiry), token);
        let contains = |range: KeyRange| expiry >= range.start && range.end.is_some_and(|end| expiry < end);
        assert!(contains(expired_range(600_000)));
        assert!(!contains(expired_range(599_999)));
    }

    #[test]
    fn tokens_of_different_accounts_and_regions_are_different() {
        assert_ne!(key("1", "us-east-1", "abc"), key("2", "us-east-1", "abc"));
        assert_ne!(key("1", "us-east-1", "abc"), key("1", "eu-west-1", "abc"));
    }
}
