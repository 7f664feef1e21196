//! PartiQL statements against their tables: each becomes the bound operation that the native request would
//! be.
//!
//! There is no second way to read or write here. SELECT goes through the page loop or a plain get; INSERT,
//! UPDATE and DELETE go through the write core; transactions go through the native ones.

mod access;
mod addressed;
mod batch;
mod keys;
mod position;
mod select;
mod statement;
mod transaction;
mod write;

pub use addressed::Addressed;
pub(crate) use batch::batch_execute_statement;
pub(crate) use statement::execute_statement;
pub(crate) use transaction::execute_transaction;
