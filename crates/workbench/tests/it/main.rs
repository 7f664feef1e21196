//! The integration tests of this crate, one program.

mod broken_models;
mod changes;
mod checks;
mod examples;
mod heat_advice;
mod inference;
mod lint_rules;
mod proofs;
mod published_layouts;
mod reports;
mod runs;
#[path = "../support/mod.rs"]
mod support;
mod views;
mod workbench_documents;
