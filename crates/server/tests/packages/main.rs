//! What surrounds the server once it is installed: packages, version, completions, manual pages, the ready
//! file.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod archives;
mod built;
mod containers;
mod guide;
mod npm;
mod python;
mod ready_file;
#[path = "../support/mod.rs"]
mod support;
mod texts;
