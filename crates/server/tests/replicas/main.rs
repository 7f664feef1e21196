//! Replicas in regions of one server, compared by `keywright global verify`: under writes, after kills and a
//! full disk.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "the server has the real time")]

mod backlog;
mod db;
mod full_disk;
mod growth;
mod idle;
mod kills;
mod memory;
mod rejoin;
#[path = "../support/mod.rs"]
mod support;
mod verify;
mod writers;
