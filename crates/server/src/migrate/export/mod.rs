//! `keywright migrate --from aws://TABLE?export=PLACE/ID[,ID…]`: a full export of the service, then
//! increments.
//!
//! Each export is a folder of gzipped lines, with manifests that name every file and its sum. A table as of
//! one moment and the changes of a window that begins no later give the table as of the window's end: an
//! increment holds the last state of each item that changed in it. So windows may overlap, and a gap between
//! them is refused.
//!
//! An export does not say the key of its table: the command line does, or an empty target table.
//!
//! Layers: place < chain < lines < load

mod chain;
mod lines;
mod load;
mod place;

use keywright_model::tables::TableDefinition;

use super::extent::Extent;
use super::from::ExportPlace;
use super::side::Side;
use super::state_file::StateFile;
use crate::process::failure::Failure;
use crate::settings::s3::S3Arguments;

/// What the command line says of exports.
pub(super) struct Request<'r> {
    pub(super) place: &'r ExportPlace,
    pub(super) s3: &'r S3Arguments,
    /// The table to create; `None` if an empty one is there.
    pub(super) definition: Option<TableDefinition>,
    pub(super) target: Side,
    pub(super) state: StateFile,
    pub(super) extent: Extent,
}

pub(super) fn run(request: &Request<'_>) -> Result<(), Failure> {
    load::run(request)
}
