//! Several servers over one PostgreSQL store. Without PostgreSQL's programs the tests say so and pass over.

#![cfg(all(feature = "postgres", unix))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod bulk_puts;
mod copies;
mod cuts;
mod desk;
mod jobs;
mod kills;
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod points_in_time;
mod proxy;
mod refusals;
mod rolling;
mod round_trips;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod takeover;
mod tls;
