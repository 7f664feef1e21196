//! The call `POST /_keywright/backup`: a set of tables begins, is read in pages as of one stamp, and ends.
//!
//! It knows the form of requests and responses, for the server and for `keywright backup`. The engine holds
//! the tables; where the pages go is the client's.

use std::collections::BTreeMap;

use keywright_engine::{AccountId, Engine, Namespace, NewSet, Region, SetFault, SetTable, Wanted};
use keywright_semantics::error::Error;
use serde::{Deserialize, Serialize};

use super::branches::Refusal;
use super::frames::{self, Row};
use super::hex::Hex;
use crate::storage::any_store::AnyStore;

pub(crate) const PATH: &str = "/_keywright/backup";
/// The value of the header that a request without credentials must have.
pub(crate) const HEADER_VALUE: &str = "backup";
/// Bytes of a request's body: the parents of a set, of thousands of tables.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a page of rows; one item more may follow.
pub(crate) const PAGE_BYTES: usize = 1024 * 1024;
/// What a page may take of the server's memory for answers: the rows, their lengths, and the last item.
pub(crate) const ANSWER_BYTES: usize = 2 * PAGE_BYTES;

/// What a request asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum Request {
    /// Begin a set.
    Begin {
        /// `None` for all tables.
        tables: Option<Vec<NamedTable>>,
        /// For ids of tables, the stamp of the backup that is there.
        parents: BTreeMap<String, u64>,
    },
    /// What a table of a set is.
    Table { set: String, number: u64 },
    /// A page of its rows.
    Page { set: String, number: u64, after: Option<Hex> },
    /// End a set, or keep its history for so long.
    End { set: String, keep_ms: Option<u64> },
}

/// A table as a person names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedTable {
    /// Account and region; `None` for all that have such a table.
    pub(crate) place: Option<(String, String)>,
    pub(crate) name: String,
}

/// A set that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub(crate) set: String,
    pub(crate) stamp: u64,
    pub(crate) created_ms: u64,
    pub(crate) tables: Vec<u64>,
    /// Whether the server keeps the tables encrypted, so that a plain backup has to be meant.
    #[serde(default)]
    pub(crate) encrypted: bool,
    /// What tells the master key of these tables from others, if the server knows it.
    #[serde(default)]
    pub(crate) fingerprint: Option<String>,
}

/// How tables lie on disk, as far as the reader of a set may not know it.
#[derive(Clone, Debug)]
pub(crate) enum AtRest {
    Plain,
    Encrypted { fingerprint: Option<String> },
}

/// A table of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableAnswer {
    pub(crate) account: String,
    pub(crate) region: String,
    pub(crate) name: String,
    pub(crate) id: String,
    /// Where its changes begin; `None` if all its items are read.
    pub(crate) from: Option<u64>,
    pub(crate) settings: Hex,
    pub(crate) described: BTreeMap<String, String>,
    pub(crate) items: u64,
}

/// What comes before the rows of a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PageHead {
    /// Where the next page begins; `None` at the end.
    pub(crate) next: Option<Hex>,
}

/// The end of a set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {}

impl From<SetTable> for TableAnswer {
    fn from(table: SetTable) -> Self {
        let SetTable { place, name, public_id, from, settings, described, items } = table;
        Self {
            account: place.account.to_string(),
            region: place.region.to_string(),
            name,
            id: public_id,
            from,
            settings: Hex(settings),
            described,
            items,
        }
    }
}

/// Reads a request's body.
pub(crate) fn read(body: &[u8]) -> Result<Request, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        Refusal::new(400, format!("the body is no request of `keywright backup` of this release: {error}"))
    })
}

/// Whether a request changes something in the store.
pub(crate) const fn changes_something(request: &Request) -> bool {
    // A page may renew its set.
    !matches!(request, Request::Table { .. })
}

/// The body of the answer to a request of this reader, or why there is none.
pub(crate) async fn answer(
    engine: &Engine<AnyStore>,
    (reader, at_rest): (Option<&AccountId>, AtRest),
    request: &Request,
) -> Result<Vec<u8>, SetFault> {
    let json = |bytes: Vec<u8>| Ok(bytes);
    match request {
        Request::Begin { tables, parents } => {
            let tables = tables.as_ref().map(|tables| tables.iter().map(NamedTable::wanted).collect());
            let set = NewSet { account: reader.cloned(), tables, parents: parents.clone() };
            let begun = engine.begin_set(&set).await?;
            let (stamp, created_ms) = (begun.stamp, begun.created_ms);
            let (encrypted, fingerprint) = match at_rest {
                AtRest::Plain => (false, None),
                AtRest::Encrypted { fingerprint } => (true, fingerprint),
            };
            let begun =
                Begun { set: begun.id, stamp, created_ms, tables: begun.tables, encrypted, fingerprint };
            json(frames::encode(&begun, &[]))
        }
        Request::Table { set, number } => {
            let table = engine.set_table(reader, set, *number).await?;
            json(frames::encode(&TableAnswer::from(table), &[]))
        }
        Request::Page { set, number, after } => {
            let after = after.clone().map(|after| after.0);
            let page = engine.set_page(reader, set, (*number, after), PAGE_BYTES).await?;
            let rows: Vec<Row> = page.rows;
            Ok(frames::encode(&PageHead { next: page.next.map(Hex) }, &rows))
        }
        Request::End { set, keep_ms } => {
            engine.end_set(reader, set, *keep_ms).await?;
            json(frames::encode(&Ended {}, &[]))
        }
    }
}

impl NamedTable {
    fn wanted(&self) -> Wanted {
        let place = self.place.as_ref().map(|(account, region)| Namespace {
            account: AccountId::from(account.as_str()),
            region: Region::stored(region),
        });
        Wanted { place, name: self.name.clone() }
    }
}

/// The response to a request that failed; the error itself where the store failed.
pub(crate) fn refusal(fault: SetFault) -> Result<Refusal, Error> {
    Ok(match fault {
        SetFault::NoTables => Refusal::new(404, "there are no tables to back up"),
        SetFault::NoTable(name) => Refusal::new(404, format!("there is no table {name} to back up")),
        SetFault::Unready(name) => Refusal::new(
            409,
            format!(
                "table {name} is being created or deleted: back it up when it is ACTIVE, or leave it out"
            ),
        ),
        SetFault::Refused(sentence) => {
            Refusal::new(409, format!("{sentence}; to back up the others, name them with --table"))
        }
        SetFault::Gone(set) => Refusal::new(
            410,
            format!(
                "the server has no set {set}: it was not read for an hour, or has ended; begin another one"
            ),
        ),
        SetFault::NotInSet(number) => Refusal::new(404, format!("the set has no table {number}")),
        SetFault::Store(error) => return Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_an_unknown_form_is_refused_with_a_reason() {
        for body in ["", "{}", r#"{"begin": {}}"#, r#"{"table": {"set": "a", "number": 1, "more": 2}}"#] {
            let refusal = read(body.as_bytes()).expect_err(body);
            assert!(refusal.status == 400 && refusal.message.contains("keywright backup"), "{refusal:?}");
        }
        assert!(read(br#"{"table": {"set": "a", "number": 1}}"#).is_ok());
    }
}
