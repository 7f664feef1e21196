//! Kinesis destinations, seen by clients and by streams: real processes, HTTP and kills.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "clients and streams have the real time")]

mod arrivals;
mod contents;
mod db;
mod fake;
mod kills;
mod kinesis;
mod outages;
#[cfg(feature = "postgres")]
mod several_servers;
mod states;
#[cfg(target_os = "linux")]
mod without_setting;

#[path = "../support/mod.rs"]
mod support;
