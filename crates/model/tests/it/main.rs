//! The integration tests of this crate, in one program.

mod generated_data;
mod model_files;
#[path = "../support/mod.rs"]
mod support;
