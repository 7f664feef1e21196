//! `keywright migrate --from FILE.db`: the tables of a database file of DynamoDB Local or dynoxide.
//!
//! Both are SQLite files with a table for each table, whose items are JSON in DynamoDB's typed form. The file
//! is opened for reading only. Its streams, tags and vector indexes are not taken.
//!
//! Reading needs the feature `sqlite` of the build.
//!
//! Layers: sqlite < dynamodb_local, dynoxide < load

#[cfg(feature = "sqlite")]
mod dynamodb_local;
#[cfg(feature = "sqlite")]
mod dynoxide;
#[cfg(feature = "sqlite")]
mod load;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(not(feature = "sqlite"))]
mod load {
    //! What a build without the feature says.

    use super::Request;
    use crate::process::failure::Failure;

    pub(super) fn run(request: &Request<'_>) -> Result<(), Failure> {
        Err(Failure::new(format!("this build cannot read {}, an SQLite file", request.path.display()))
            .advising("released packages can, and so can a build with --features keywright-server/sqlite"))
    }
}

use std::path::Path;

use super::extent::Extent;
use super::side::Side;
use super::state_file::StateFile;
use crate::process::failure::Failure;

/// What the command line says of a file.
#[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "only the path is named in the refusal"))]
pub(super) struct Request<'r> {
    pub(super) path: &'r Path,
    /// The tables to take; all if empty.
    pub(super) tables: &'r [String],
    /// The name of the target table, if it is not that of the only table.
    pub(super) name: Option<&'r str>,
    /// The endpoint; its table is set for each table of the file.
    pub(super) target: Side,
    pub(super) state: StateFile,
    pub(super) extent: Extent,
}

pub(super) fn run(request: &Request<'_>) -> Result<(), Failure> {
    load::run(request)
}
