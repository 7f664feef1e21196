//! The local store through its public interface. Killed processes are in `../crash.rs`: they run their own
//! program again as a child.

#![allow(clippy::expect_used, reason = "a test that cannot go on stops")]

mod damage;
mod figures;
mod form;
mod kit;
mod long_reads;
mod overwriting;
mod ownership;
mod removal;
mod scrub;
mod verify;
mod visibility;
