//! The kit on a server of TiKV's protocol, with PD.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test that cannot go on stops, and takes the time that it takes"
)]

// The way to the nodes and its messages, for clients that do what none should.
#[allow(dead_code, clippy::allow_attributes, reason = "the tests use a part of it")]
#[path = "../../src/cluster.rs"]
mod cluster;
mod engine;
mod kit;
mod large;
mod locks;
mod logs;
mod network;
#[allow(dead_code, clippy::allow_attributes, reason = "the tests use a part of it")]
#[path = "../../src/options.rs"]
mod options;
#[allow(dead_code, clippy::allow_attributes, reason = "the tests use a part of it")]
#[path = "../../src/protocol.rs"]
mod protocol;
mod raw;
mod refusals;
mod regions;
mod versions;
mod wires;
