//! Concurrent requests are linearizable, and sequences of requests answer as a naive table does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod equivalence;
mod histories;
#[cfg(feature = "postgres")]
mod killed;
mod strong_tables;
#[path = "../support/mod.rs"]
mod support;
