//! Members of a global table on two servers, each a process with a folder of its own: one way and the other,
//! who may call whom, kills of either, and cuts between them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "the servers have the real time")]

mod accounts;
mod cuts;
mod db;
mod forgotten;
mod full_disk;
mod gone;
mod groups;
mod kills;
mod members;
mod pair;
#[cfg(target_os = "linux")]
mod power_loss;
mod refusals;
mod road;
mod simulation;
#[path = "../support/mod.rs"]
mod support;
mod trio;
mod unknown;
mod verify;
mod writers;
