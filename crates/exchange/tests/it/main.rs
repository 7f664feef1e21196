//! The integration tests of this crate, in one program.

mod exchange_properties;
mod inferred_keys;
#[path = "../support/mod.rs"]
mod support;
