//! Backups, points in time and restores, seen by clients: real processes, HTTP, disks and kills.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod clock_back;
mod contents;
mod db;
mod full_disk;
mod kills;
mod large;
mod moving_units;
mod retention;
mod seconds;
mod texts;
mod texts_of_overrides;
mod whole_table;

#[path = "../support/mod.rs"]
mod support;
