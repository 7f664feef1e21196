//! The store's contract on PostgreSQL.
//!
//! A view is a transaction at `REPEATABLE READ`; so is a commit, which locks the keys it protects and lets
//! PostgreSQL find out whether one of them changed since the view (SQLSTATE 40001). Removed rows leave a row
//! without value for as long as a view may depend on the removal, so that a key that was written and removed
//! again has changed too. Nobody assigns commits an order of their own: versions are PostgreSQL's transaction
//! ids, and logs get their order when they are read (`logs`).
//!
//! It does not know tables, items or DynamoDB.

#![warn(missing_docs)]

mod connection;
mod dial;
mod fault;
mod layout;
mod logs;
mod options;
mod outcome;
mod store;
mod tls;
mod transaction;
mod view;

pub use layout::OpenError;
pub use options::{OptionsError, PostgresOptions};
pub use store::PostgresStore;
pub use transaction::PostgresTransaction;
pub use view::PostgresView;
