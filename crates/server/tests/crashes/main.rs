//! Killed servers, failing disks and losses of power: no acknowledged write is lost, and no finished minute.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod backup_folders;
mod damaged_files;
#[cfg(target_os = "linux")]
mod failing_disk;
mod full_disk;
#[cfg(target_os = "linux")]
mod key_streams;
mod kills;
mod minutes;
#[cfg(target_os = "linux")]
mod power_loss;
#[path = "../support/mod.rs"]
mod support;
