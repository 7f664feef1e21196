//! The audit log: who did what, in records of `CloudTrail`'s form, one JSON line each.
//!
//! - `settings`: what is recorded, where, and how long it is kept.
//! - `record`: the members of a record. `parameters`: what a record shows of a request.
//! - `writer`: the thread that writes records in the order of their requests. `rotation`: closed files.
//!   `file`: the file that is appended to. `form`: files as they are, or encrypted with their data folder.
//!   `backwards`: lines from the end of a file.
//! - `check`: whether a file is whole. `reader`: records of files, for the command. `newest`: the newest
//!   changes of a table.
//!
//! It does not know HTTP or how a request is answered: `http` says what a request was.

mod backwards;
mod check;
mod file;
mod form;
mod newest;
mod parameters;
pub(crate) mod reader;
mod record;
pub(crate) mod rotation;
mod settings;
mod writer;

pub(crate) use check::{Checked, check, is_log};
pub(crate) use form::Form;
pub(crate) use newest::{Newest, Wanted};
pub(crate) use parameters::{add_member, is_name, of_form, of_json, of_members};
pub(crate) use record::{Identity, Origin, Record, Resource, TlsDetails, missing_in};
pub(crate) use settings::{AuditSettings, DataEvents, Keep, LogPlace};
pub(crate) use writer::{Audit, Figures, Order};
