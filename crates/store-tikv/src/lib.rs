//! The store's contract on TiKV.
//!
//! A view is a timestamp of PD; a commit is TiKV's optimistic two-phase commit, whose mutations are the
//! writes and a lock for each key that is protected and not written: TiKV refuses it if one of these keys has
//! a commit after the transaction's timestamp. Versions are timestamps, and logs get their order when they
//! are read (`logs`).
//!
//! It does not know tables, items or DynamoDB.
//!
//! Layers: options, fault, keys, protocol < cluster < locks, regions < outcome < link < versions < layout,
//! inbox < logs < view < transaction < store

mod cluster;
mod fault;
mod inbox;
mod keys;
mod layout;
mod link;
mod locks;
mod logs;
mod options;
mod outcome;
mod protocol;
mod regions;
mod store;
mod transaction;
mod versions;
mod view;

pub use layout::OpenError;
pub use options::{OptionsError, TikvOptions};
pub use store::TikvStore;
pub use transaction::TikvTransaction;
pub use view::TikvView;
