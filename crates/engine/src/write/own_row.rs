//! A row that belongs to a group and is written in its commit: the token of a request, or how far a job has
//! come. It shows whether a commit of unknown outcome has happened.

use bytes::Bytes;

use crate::write::change::Outcome;
use crate::write::tokens::TokenRow;

/// Makes a token's row from the outcomes of its group.
pub(crate) type MakeTokenRow = Box<dyn Fn(&[Outcome]) -> TokenRow + Send + Sync>;

/// A token to be written with a group.
pub(crate) struct NewToken {
    pub key: Bytes,
    pub row: MakeTokenRow,
}

/// Makes a job's row from the outcomes of a group that is a part of its work.
pub(crate) type MakeProgress = Box<dyn Fn(&[Outcome]) -> Bytes + Send + Sync>;

/// How far a job has come, to be written with a group.
pub(crate) struct NewProgress {
    pub key: Bytes,
    /// The row as the job knows it. While the store has another one, nothing is written.
    pub before: Bytes,
    /// Each of its values differs from the one before.
    pub after: MakeProgress,
    /// Other rows of the job, with their keys.
    pub others: Vec<(Bytes, Bytes)>,
}

/// A row of a group.
pub(crate) enum OwnRow {
    Token(NewToken),
    Progress(NewProgress),
}

/// What the stored row says about a group.
pub(crate) enum Seen {
    /// The group may be written.
    New,
    /// The token was used before.
    Used(TokenRow),
    /// The job is not where the group continues it.
    Overtaken,
}

/// The row as a commit writes it.
pub(crate) struct PendingRow {
    pub key: Bytes,
    pub value: Bytes,
    /// A token has a second row, in the order of expiry.
    pub expiry_key: Option<Bytes>,
    /// A job may have more.
    pub others: Vec<(Bytes, Bytes)>,
}

impl OwnRow {
    pub(crate) const fn key(&self) -> &Bytes {
        match self {
            Self::Token(token) => &token.key,
            Self::Progress(progress) => &progress.key,
        }
    }

    /// Reads the stored row.
    pub(crate) fn seen(&self, stored: Option<Bytes>, now_ms: u64) -> Seen {
        match self {
            Self::Token(_) => {
                let used = stored.and_then(TokenRow::decode).filter(|row| row.expires_ms > now_ms);
                used.map_or(Seen::New, Seen::Used)
            }
            Self::Progress(progress) if stored.as_ref() == Some(&progress.before) => Seen::New,
            Self::Progress(_) => Seen::Overtaken,
        }
    }

    pub(crate) fn pending(&self, outcomes: &[Outcome]) -> PendingRow {
        match self {
            Self::Token(token) => {
                let row = (token.row)(outcomes);
                PendingRow {
                    key: token.key.clone(),
                    value: row.encode(),
                    expiry_key: Some(row.expiry_key(&token.key)),
                    others: Vec::new(),
                }
            }
            Self::Progress(progress) => {
                let value = (progress.after)(outcomes);
                assert_ne!(value, progress.before, "a commit of unknown outcome shows in its job's row");
                let (key, others) = (progress.key.clone(), progress.others.clone());
                PendingRow { key, value, expiry_key: None, others }
            }
        }
    }
}
