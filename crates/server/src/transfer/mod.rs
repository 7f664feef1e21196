//! Commands that move items between tables and buckets, over an endpoint: the server reads and writes the
//! objects.
//!
//! - `export`: a table as of a time, or what changed in it, becomes objects.
//! - `import`: objects become a new table; the errors of an import.

pub(crate) mod export;
pub(crate) mod import;
