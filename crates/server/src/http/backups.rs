//! The call `POST /_keywright/backups`: where the items of a caller's backups are and what is known of their
//! copies, what stands in the backup store, and the verification of a copy.
//!
//! It knows the form of requests and responses.

use std::collections::BTreeMap;

use keywright_archive::{Listed, ListedSet, Listing, SetState, State};
use keywright_engine::{BackupView, JobKind, JobView};
use keywright_model::json::Json;
use keywright_semantics::error::Error;

use super::jobs;
use crate::storage::copies::{Copy, sentence};

pub(super) const PATH: &str = "/_keywright/backups";
/// Backups of one answer, the newest ones.
const BACKUPS_MAX: usize = 1_000;

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The backups of the server.
    Known,
    /// What stands in the backup store.
    Stored,
    /// A copy is to be verified.
    Verify { table: String, id: String },
}

/// Reads a request's body.
pub(super) fn read(body: &[u8]) -> Result<Wish, Error> {
    let fault = || {
        let forms = r#"{}, {"stored": true} nor {"verify": {"table": "NAME", "id": "ID"}}"#;
        Error::validation(format!("The body is neither {forms}"))
    };
    let body = std::str::from_utf8(body).ok().and_then(|text| Json::parse(text).ok()).ok_or_else(fault)?;
    let Json::Object(members) = &body else { return Err(fault()) };
    match members.as_slice() {
        [] => Ok(Wish::Known),
        [(name, Json::Bool(true))] if name == "stored" => Ok(Wish::Stored),
        [(name, of)] if name == "verify" && of.members().len() == 2 => {
            let text = |name: &str| of.str_at(name).map(str::to_owned).ok_or_else(fault);
            Ok(Wish::Verify { table: text("table")?, id: text("id")? })
        }
        _ => Err(fault()),
    }
}

/// The body of the response with the newest backups, each with the newest jobs that copied and verified it.
pub(super) fn known(backups: &[BackupView], jobs: &[JobView], store: Option<String>) -> Json {
    let mut newest_jobs = BTreeMap::new();
    for job in jobs {
        let name = match job.kind {
            JobKind::Seal => "seal",
            JobKind::Verify => "verify",
            JobKind::Restore
            | JobKind::Rollback
            | JobKind::DeleteObjects
            | JobKind::Export
            | JobKind::Import
            | JobKind::BulkPut => continue,
        };
        // The newest ones come first.
        newest_jobs.entry((name, job.table.as_str(), job.backup.as_deref())).or_insert(job);
    }
    let newest = backups.iter().rev().take(BACKUPS_MAX).map(|backup| known_one(backup, &newest_jobs));
    let mut body = Json::object([("backups", Json::List(newest.collect()))]);
    if let Some(store) = store {
        body.set("store", Json::text(store));
    }
    body
}

/// Jobs by what they do and the backup that they do it for.
type Jobs<'j> = BTreeMap<(&'static str, &'j str, Option<&'j str>), &'j JobView>;

fn known_one(backup: &BackupView, jobs: &Jobs<'_>) -> Json {
    let mut shown = Json::object([
        ("table", Json::text(&backup.table)),
        ("id", Json::text(&backup.id)),
        ("items", Json::number(backup.items)),
    ]);
    if let Some(copy) = backup.sealed_at.as_ref().and_then(|place| Copy::read(place).ok()) {
        shown.set("copy", copied(&copy));
    }
    for name in ["seal", "verify"] {
        if let Some(job) = jobs.get(&(name, backup.table.as_str(), Some(backup.id.as_str()))) {
            shown.set(name, jobs::job(job));
        }
    }
    shown
}

fn copied(copy: &Copy) -> Json {
    let mut shown = Json::object([]);
    if let Some(store) = &copy.store {
        shown.set("store", Json::text(store));
    }
    if let Some(sealed) = copy.sealed {
        shown.set("sealed", Json::number(sealed.at_ms));
        shown.set("chunks", Json::number(sealed.chunks));
        shown.set("bytes", Json::number(sealed.bytes));
    }
    if let Some(found) = &copy.verified {
        let mut verified = Json::object([("at", Json::number(found.at_ms))]);
        if let Some(damage) = &found.damage {
            verified.set("damage", Json::text(damage));
        }
        shown.set("verified", verified);
    }
    shown
}

/// The body of the response with what stands in the backup store, if the server has one.
pub(super) fn stored(store: Option<String>, listed: Result<&Listing, &String>) -> Json {
    let mut body = Json::object([]);
    if let Some(store) = store {
        body.set("store", Json::text(store));
    }
    match listed {
        Ok(listing) => {
            // Ids are in the order of time.
            let mut backups: Vec<&Listed> = listing.backups.iter().collect();
            backups.sort_by(|one, other| other.path.id().cmp(one.path.id()));
            let backups = backups.into_iter().take(BACKUPS_MAX).map(stored_one);
            body.set("backups", Json::List(backups.collect()));
            body.set("sets", Json::List(listing.sets.iter().rev().take(BACKUPS_MAX).map(set).collect()));
        }
        Err(message) => body.set("error", Json::text(message)),
    }
    body
}

fn stored_one(listed: &Listed) -> Json {
    let (state, error) = match &listed.state {
        State::Complete(_) => ("complete", None),
        State::Incomplete { .. } => ("incomplete", None),
        State::Unreadable(fault) | State::Damaged(_, fault) => ("damaged", Some(sentence(fault))),
    };
    let mut shown = in_state(listed.path.id(), state, error);
    shown.set("table", Json::text(listed.path.table()));
    if let Some(summary) = listed.state.summary() {
        shown.set("created", Json::number(summary.parts.created_ms));
        if let Some(parent) = summary.parent() {
            shown.set("parent", Json::text(&parent.id));
        }
        shown.set("rows", Json::number(summary.rows));
        shown.set("bytes", Json::number(summary.bytes));
        shown.set("chunks", Json::number(summary.chunks));
    }
    shown
}

fn set(set: &ListedSet) -> Json {
    let (state, error) = match &set.state {
        SetState::Complete(_) => ("complete", None),
        SetState::Incomplete => ("incomplete", None),
        SetState::Damaged(fault) => ("damaged", Some(sentence(fault))),
    };
    let mut shown = in_state(&set.id, state, error);
    if let SetState::Complete(manifest) = &set.state {
        shown.set("tables", Json::number(manifest.tables.len()));
    }
    shown
}

fn in_state(id: &str, state: &str, error: Option<String>) -> Json {
    let mut shown = Json::object([("id", Json::text(id)), ("state", Json::text(state))]);
    if let Some(error) = error {
        shown.set("error", Json::text(error));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_asks_for_backups_for_the_store_or_for_a_verification() {
        assert_eq!(read(b"{}").ok(), Some(Wish::Known));
        assert_eq!(read(br#"{"stored": true}"#).ok(), Some(Wish::Stored));
        let verify = Wish::Verify { table: "T".to_owned(), id: "1-a".to_owned() };
        assert_eq!(read(br#"{"verify": {"table": "T", "id": "1-a"}}"#).ok(), Some(verify));
        for body in
            ["", "[]", r#"{"stored": 1}"#, r#"{"verify": {}}"#, r#"{"verify": {"table": "T", "id": 1}}"#]
        {
            assert!(read(body.as_bytes()).expect_err(body).message.contains("verify"), "{body}");
        }
    }
}
