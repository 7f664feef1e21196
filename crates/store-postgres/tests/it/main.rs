//! The kit on a real PostgreSQL server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod crash;
mod failover;
mod kit;
mod pool;
mod server;
mod shared;
mod sweep;
