//! Buckets in folders and in memory: both do what a bucket of S3 does, and no key leads out of a folder.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod contents;
mod folders;
mod lists;
mod support;
