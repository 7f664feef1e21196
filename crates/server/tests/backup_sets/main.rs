//! `keywright backup` and `keywright restore`: one stamp over all tables, increments, kills, and what is said
//! about bad input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod answers;
mod bank;
mod increments;
mod kills;
mod refusals;
mod sealed;
mod stores;
#[path = "../support/mod.rs"]
mod support;
mod under_load;
