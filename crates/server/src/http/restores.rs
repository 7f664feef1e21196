//! The call `POST /_keywright/restore`: tables are made of settings and rows that the client sends.
//!
//! It knows the form of requests and responses, for the server and for `keywright restore`. The engine writes
//! the rows; where they come from is the client's.

use bytes::Bytes;
use keywright_engine::{AccountId, Engine, Namespace, Region, RestoreFault};
use keywright_semantics::error::Error;
use keywright_semantics::limits::{TABLE_NAME_BYTES_MAX, TABLE_NAME_BYTES_MIN};
use serde::{Deserialize, Serialize};

use super::branches::Refusal;
use super::frames::{self, Row};
use super::hex::Hex;
use crate::process::foreign;
use crate::storage::any_store::AnyStore;
use crate::storage::encryption::backup_keys::BackupForm;

pub(crate) const PATH: &str = "/_keywright/restore";
/// The value of the header that a request without credentials must have.
pub(crate) const HEADER_VALUE: &str = "restore";
/// Bytes of a request's body: rows, or a table's settings.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of rows that a client sends at a time; one item more may follow.
pub(crate) const FEED_BYTES: usize = 1024 * 1024;

/// What a request asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Begin a restore, or go on with that of the same source.
    Begin { source: String },
    /// Make a table, or go on with it.
    Table { restore: String, account: String, region: String, name: String, settings: Hex },
    /// Write the rows that follow.
    Feed { restore: String, number: u64 },
    /// All tables are complete: they become ACTIVE.
    End { restore: String },
    /// Remove the tables.
    Abort { restore: String },
}

/// A restore that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) restore: String,
    pub(crate) resumed: bool,
    /// Whether the server keeps the tables encrypted; one of an earlier release does not say it.
    #[serde(default)]
    pub(crate) encrypted: bool,
}

/// A table that is being restored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableAnswer {
    pub(crate) number: u64,
    /// The key of the last row that it has.
    pub(crate) after: Option<Hex>,
    pub(crate) items: u64,
}

/// How many items a table has, or all tables.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Fed {
    pub(crate) items: u64,
}

/// The end of a restore.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) tables: u64,
    pub(crate) items: u64,
}

/// The end of one that was given up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Aborted {}

/// Reads a request's body. Only rows that are fed follow it, and each has a value.
pub(crate) fn read(body: &Bytes) -> Result<(Request, Vec<Row>), Refusal> {
    let no_request = |error: String| {
        Refusal::new(400, format!("the body is no request of `keywright restore` of this release: {error}"))
    };
    let (request, rows) = frames::decode(body).map_err(no_request)?;
    if !matches!(request, Request::Feed { .. }) && !rows.is_empty() {
        return Err(no_request("rows follow what is no feed".to_owned()));
    }
    Ok((request, rows))
}

/// The body of the answer to a request of this account, or why there is none. The form is that of the tables
/// at rest.
pub(crate) async fn answer(
    engine: &Engine<AnyStore>,
    (account, at_rest): (Option<&AccountId>, BackupForm),
    request: &Request,
    rows: Vec<Row>,
) -> Result<Vec<u8>, RestoreFault> {
    Ok(match request {
        Request::Begin { source } => {
            let begun = engine.begin_restore(account, source).await?;
            let encrypted = at_rest == BackupForm::Encrypted;
            frames::encode(&Begun { restore: begun.id, resumed: begun.is_resumed, encrypted }, &[])
        }
        Request::Table { restore, account: own, region, name, settings } => {
            let place = Namespace { account: AccountId::from(own.as_str()), region: Region::stored(region) };
            check_name(&place, name, account)?;
            let made = engine.restore_table(account, restore, (&place, name), &settings.0).await?;
            let after = made.after.map(Hex);
            frames::encode(&TableAnswer { number: made.number, after, items: made.items }, &[])
        }
        Request::Feed { restore, number } => {
            let items: Option<Vec<(Bytes, Bytes)>> =
                rows.into_iter().map(|(key, value)| Some((key, value?))).collect();
            let items =
                items.ok_or_else(|| RestoreFault::Damaged("a row of a table has no value".to_owned()))?;
            let items = engine.feed_restore(account, restore, *number, items).await?;
            frames::encode(&Fed { items }, &[])
        }
        Request::End { restore } => {
            let (tables, items) = engine.end_restore(account, restore).await?;
            frames::encode(&Ended { tables, items }, &[])
        }
        Request::Abort { restore } => {
            engine.abort_restore(account, restore).await?;
            frames::encode(&Aborted {}, &[])
        }
    })
}

/// Checks where a table is made: a client may name any place that requests can name, but only one of its own
/// account where it has one.
fn check_name(place: &Namespace, name: &str, account: Option<&AccountId>) -> Result<(), RestoreFault> {
    let is_name = (TABLE_NAME_BYTES_MIN..=TABLE_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if !is_name || !place.can_be_named() {
        let named = foreign::quoted(&format!("{}/{}/{name}", place.account, place.region));
        return Err(RestoreFault::Settings(format!(
            "{named} is no name of a table with its account and region"
        )));
    }
    match account {
        Some(account) if place.account != *account => Err(RestoreFault::Settings(format!(
            "the table is of account {}, and the request is signed by account {account}",
            place.account
        ))),
        _ => Ok(()),
    }
}

/// The response to a request that failed; the error itself where the store failed.
pub(crate) fn refusal(fault: RestoreFault) -> Result<Refusal, Error> {
    Ok(match fault {
        RestoreFault::Exists(name) => Refusal::new(
            409,
            format!("there is a table {name}: delete it first, or restore under another name with --as"),
        ),
        RestoreFault::Settings(sentence) => {
            Refusal::new(400, format!("the settings of a table cannot be used: {sentence}"))
        }
        RestoreFault::Damaged(sentence) => Refusal::new(400, sentence),
        RestoreFault::Gone(id) => Refusal::new(
            410,
            format!("there is no restore {id}: nothing was sent for an hour, or it has ended; begin again"),
        ),
        RestoreFault::NotInRestore(number) => Refusal::new(404, format!("the restore has no table {number}")),
        RestoreFault::Store(error) => return Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_only_where_requests_can_name_it_and_in_the_signers_account() {
        let place = |account: &str, region: &str| Namespace {
            account: AccountId::from(account),
            region: Region::stored(region),
        };
        let own = AccountId::from("000000000001");
        let checks = |place: &Namespace, name: &str, account| check_name(place, name, account).is_ok();
        assert!(checks(&place("000000000001", "test-1"), "Orders", Some(&own)));
        assert!(checks(&place("000000000002", "test-1"), "Orders", None));
        assert!(!checks(&place("000000000002", "test-1"), "Orders", Some(&own)));
        for (account, region, name) in
            [("1", "test-1", "Orders"), ("000000000001", "../x", "Orders"), ("000000000001", "test-1", "a/b")]
        {
            assert!(!checks(&place(account, region), name, None), "{account} {region} {name}");
        }
    }

    #[test]
    fn rows_follow_only_what_is_fed() {
        let row: Row = (Bytes::from_static(b"k"), Some(Bytes::from_static(b"v")));
        let feed = Request::Feed { restore: "r".to_owned(), number: 1 };
        assert!(read(&frames::encode(&feed, std::slice::from_ref(&row)).into()).is_ok());
        let end = Request::End { restore: "r".to_owned() };
        assert_eq!(
            read(&frames::encode(&end, &[row]).into()).map_err(|refusal| refusal.status).err(),
            Some(400)
        );
    }
}
