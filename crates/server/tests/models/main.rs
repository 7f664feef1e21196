//! `keywright model` and its commands, run as a shell runs them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod commands;
mod data;
mod designs;
mod documents;
mod endpoints;
mod exchange;
mod guide;
mod mcp;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
