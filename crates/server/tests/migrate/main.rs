//! `keywright migrate`: tables in use at other endpoints, files of other servers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod both_ways;
mod closing;
mod command;
mod endpoint;
mod exports;
#[cfg(feature = "sqlite")]
mod files;
mod foreign;
mod kills;
mod late_pages;
mod line;
mod live;
mod refusals;
mod replications;
#[path = "../support/mod.rs"]
mod support;
mod writers;
