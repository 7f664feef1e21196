//! The store's contract on PostgreSQL.
//!
//! A view is a transaction at `REPEATABLE READ`. So is a commit: it locks the keys it protects, and
//! PostgreSQL reports a key that changed since the view (SQLSTATE 40001). A removal keeps the row, without a
//! value, for as long as a view may depend on it, so that a key that was written and removed again counts as
//! changed. Commits are not numbered: a version is PostgreSQL's transaction id, and logs are put in order
//! when they are read (`logs`).
//!
//! It does not know tables, items or DynamoDB.

mod connection;
mod dial;
mod fault;
mod features;
mod groups;
mod identity;
mod layout;
mod logs;
mod open_error;
mod options;
mod outage;
mod outcome;
mod probe;
mod refusals;
mod shared;
mod store;
mod tls;
mod transaction;
mod view;
mod wire;

pub use open_error::OpenError;
pub use options::{OptionsError, PostgresOptions};
pub use outage::Outage;
pub use store::PostgresStore;
pub use transaction::PostgresTransaction;
pub use view::PostgresView;
