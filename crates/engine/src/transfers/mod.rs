//! Transfers as they are stored: exports, imports and bulk operations, which move items between tables and
//! buckets. What Describe and List answer stays here for 90 days after the end; the work itself is a job
//! (`jobs`), whose commits keep the row of its transfer right.
//!
//! - `row`: what is stored of a transfer.
//! - `export`, `import`, `bulk_put`: what the request of each kind asked for.
//! - `token`: client tokens, by which a repeated request gets the same transfer.
//! - `list`: pages of transfers, newest first.
//! - `expiry`: the end of rows and tokens that are kept no longer.
//!
//! The operations are in folders of their own (`exports`). How a job begins and ends together with its
//! transfer is in `jobs::transfer`.
//!
//! Layers: export, import, bulk_put < row < token, list < expiry

#![expect(clippy::doc_markdown, reason = "names of files")]

pub(crate) mod bulk_put;
pub(crate) mod expiry;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod row;
pub(crate) mod token;
