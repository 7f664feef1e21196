//! How jobs that move items between tables and buckets begin and end together with their transfers.
//!
//! A transfer and its job have one id. Both are written in the commit that makes the job possible, and both
//! end in one.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::end::end;
use super::row::{self, Job, State, Work};
use crate::catalogue::{OtherRows, Table};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::transfers::row::{Failure, Kind, Status, Transfer, TransferName};
use crate::transfers::token::{self, RequestHash, TokenRow};

/// The kind of transfer that a job does.
pub(crate) const fn kind_of(work: &Work) -> Option<Kind> {
    match work {
        Work::Export(_) => Some(Kind::Export),
        Work::Import(_) => Some(Kind::Import),
        Work::BulkPut(_) => Some(Kind::BulkPut),
        Work::Restore(_) | Work::Seal(_) | Work::DeleteObjects(_) | Work::Rollback(_) | Work::Verify(_) => {
            None
        }
    }
}

/// The transfer that a job does.
pub(crate) fn name_of(job: &Job) -> Option<TransferName> {
    let kind = kind_of(&job.work)?;
    Some(TransferName { kind, table: job.table_name.clone(), id: job.id.clone() })
}

/// What a commit that is to begin a transfer has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may begin.
    New,
    /// An earlier request with this token has begun this one.
    Repeated(TransferName),
    /// An earlier request with this token asked for something else.
    Conflict,
    /// As many are at work as may be.
    TooMany,
    /// Another one has begun since they were counted: they are to be counted again.
    Overtaken,
}

/// The beginning of a transfer: its token, and the number of those at work, over all processes.
///
/// It is prepared before the commit, which protects [`Self::keys`], asks [`Self::judge`], and writes with
/// [`Self::write`].
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    kind: Kind,
    request: RequestHash,
    now_ms: u64,
    token_key: Bytes,
    /// The key of a row that every beginning of the kind in the account writes.
    last_key: Bytes,
    /// What it held when the open ones were counted.
    last: Option<Bytes>,
    is_full: bool,
}

impl Beginning {
    /// Counts the transfers of the kind that are at work in the account, of which there may be `most`.
    pub(crate) async fn prepare<S: Store>(
        engine: &Engine<S>,
        (namespace, kind): (&Namespace, Kind),
        (token, request): (&str, RequestHash),
        most: usize,
        now_ms: u64,
    ) -> Result<Self, Error> {
        let last_key = row::last_transfer_key(kind, &namespace.account);
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let is_counted = |work: &Work| kind_of(work) == Some(kind);
        let open = row::count_open(&view, &namespace.account, is_counted).await?;
        let last = view.get(&last_key).await.map_err(|error| fault::storage(&error))?;
        let token_key = token::key(namespace, kind, token);
        Ok(Self { kind, request, now_ms, token_key, last_key, last, is_full: open >= most })
    }

    /// The rows that the commit protects.
    pub(crate) fn keys(&self) -> [Bytes; 2] {
        [self.token_key.clone(), self.last_key.clone()]
    }

    /// Whether the transfer may begin. `at` is the place of [`Self::keys`] among the rows of the commit.
    pub(crate) fn judge(&self, rows: &OtherRows, at: usize) -> Result<Verdict, Error> {
        let token = rows.found(at).map(|row| TokenRow::decode(row)).transpose()?;
        if let Some(token) = token.filter(|token| token.is_valid(self.now_ms)) {
            let is_same = token.request == self.request;
            return Ok(if is_same { Verdict::Repeated(token.transfer) } else { Verdict::Conflict });
        }
        if rows.found(at + 1) != self.last.as_ref() {
            return Ok(Verdict::Overtaken);
        }
        Ok(if self.is_full { Verdict::TooMany } else { Verdict::New })
    }

    /// Writes a transfer that may begin, and its job.
    pub(crate) fn write(&self, transfer: &Transfer, job: &Job, rows: &mut OtherRows) {
        assert_eq!(transfer.id, job.id, "a transfer and its job have one id");
        assert_eq!(Some(transfer.kind()), kind_of(&job.work), "the job does the transfer");
        assert_eq!(transfer.kind(), self.kind, "it was prepared for this kind");
        let token = TokenRow::new(self.request, transfer.name(), self.now_ms);
        rows.put(self.token_key.clone(), token.encode());
        rows.put(self.last_key.clone(), Bytes::copy_from_slice(transfer.id.as_bytes()));
        rows.put(transfer.key(), transfer.encode());
        rows.put(job.open_key(), job.encode());
    }
}

/// Ends a job and its transfer, and changes tables with them. `finish` notes what the transfer has done,
/// and may name another time of its end.
/// False if the job has ended already.
pub(crate) async fn end_transfer<S: Store>(
    engine: &Engine<S>,
    job: &Job,
    (state, status): (&State, Status),
    tables: &[TableId],
    finish: impl Fn(Transfer) -> Transfer,
    change: impl Fn(&mut [Table]) -> Result<(), Error>,
) -> Result<bool, Error> {
    let Some(name) = name_of(job) else { return Err(fault::internal()) };
    let key = name.key(&job.namespace());
    let now_ms = engine.env().now_ms();
    let failure = match state {
        State::Failed { code, message } => Some(Failure { code: code.clone(), message: message.clone() }),
        State::Waiting | State::Running | State::Failing { .. } | State::Completed => None,
    };
    let end_both = |tables: &mut [Table], rows: &mut OtherRows| {
        if let Some(row) = rows.found(1) {
            let transfer = finish(Transfer::decode(row)?.ended(status, failure.clone(), now_ms));
            rows.put(key.clone(), transfer.encode());
        }
        change(tables)
    };
    let ended = end(engine, job, state, (tables, std::slice::from_ref(&key)), end_both).await?;
    engine.due().old_transfers.wake_at(now_ms);
    Ok(ended)
}
