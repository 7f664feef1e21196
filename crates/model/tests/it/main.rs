//! The integration tests of this crate, in one program.

mod exchange_properties;
mod generated_data;
mod inferred_keys;
mod model_files;
#[path = "../support/mod.rs"]
mod support;
