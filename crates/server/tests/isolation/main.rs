//! Concurrent requests are linearizable, and sequences of requests answer as a naive table does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]
#![allow(clippy::print_stdout, reason = "long runs print what they counted")]

mod equivalence;
#[cfg(all(feature = "postgres", unix))]
mod failover;
mod histories;
#[cfg(feature = "postgres")]
mod killed;
#[cfg(all(feature = "postgres", unix))]
mod patroni;
mod strong_tables;
#[path = "../support/mod.rs"]
mod support;
