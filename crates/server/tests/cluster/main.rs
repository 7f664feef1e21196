//! Several servers over one PostgreSQL store. Without PostgreSQL's programs the tests say so and pass over.

#![cfg(all(feature = "postgres", unix))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod branches;
mod bulk_puts;
mod copies;
mod cuts;
#[allow(dead_code, reason = "the tests of backups call more of it")]
#[path = "../backups/db.rs"]
mod db;
mod desk;
#[allow(dead_code, reason = "the tests of exports call more of it")]
#[path = "../transfers/folder.rs"]
mod folder;
mod frozen;
mod jobs;
mod kills;
mod large_commits;
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod points_in_time;
mod proxy;
mod refusals;
mod rolling;
mod round_trips;
mod streams;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "tikv")]
use support::tikv as engine;
#[allow(dead_code, reason = "the tests of exports call more of it")]
#[path = "../transfers/table.rs"]
mod table;
mod tables;
mod takeover;
mod tls;
mod transfers;
#[cfg(feature = "tikv")]
#[path = "../../../store-tikv/tests/it/wires.rs"]
mod wires;
