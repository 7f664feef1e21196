//! The kit on a server of TiKV's protocol, with PD.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod engine;
mod kit;
mod refusals;
