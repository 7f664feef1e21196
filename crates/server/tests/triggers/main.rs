//! Triggers from outside: functions, hosts and buckets get the records of streams, also when targets fail and
//! servers are killed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "functions have the real time")]

mod archive;
mod clients;
mod failures;
mod function;
#[cfg(feature = "postgres")]
mod kills;
mod mappings;
mod scene;
mod stores;
#[path = "../support/mod.rs"]
mod support;
mod windows;
