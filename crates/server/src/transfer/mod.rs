//! Commands that move items between tables and buckets, over an endpoint: the server reads and writes the
//! objects.
//!
//! - `export`: a table as of a time, or what changed in it, becomes objects.
//! - `import`: objects become a new table; the errors of an import.
//! - `bulk_put`: they are put into a table that exists.
//! - `follow`: how far they are. `named`: their ARN by an id. `place`: where the server writes.

mod bulk_put;
pub(crate) mod export;
mod follow;
pub(crate) mod import;
mod named;
mod place;
