//! Buckets of objects: in folders, in S3-compatible stores, in memory.
//!
//! A [`Bucket`] has objects under keys, which are strings as in S3: a prefix is the start of a string, and
//! lists come in pages. What went wrong is an [`ObjectFault`], whose kind says whether it may pass and which
//! code an operation reports.
//!
//! ```text
//! in_folder   <root>/<bucket>/<key>    a temporary name, fsync, rename; links are not followed
//! in_s3       a bucket of the store that the settings name
//! in_memory   for tests, and for what lives no longer than its process
//! ```
//!
//! What holds:
//! - **An object is written as a whole**: readers see all of it or nothing.
//! - **Nothing is sent before the first use**, and then only to the store that is named: no redirect is
//!   followed, and a proxy stands between only if the settings say so.
//! - **No key leads out of its folder**: parts that are empty, `.` or `..`, control characters and links are
//!   refused.
//! - **Memory is bounded**: an object is streamed in pieces, and a list comes in pages.
//!
//! What does not: keys with empty parts, such as `a//b`, which S3 allows, are refused everywhere, and a
//! bucket that has one below a prefix cannot be listed there. Empty objects that stand for folders, whose
//! keys end with `/`, are not listed.
//!
//! The crate knows no settings, no clock and no meaning of an object.
//!
//! Layers: key, s3 < fault < object, folder < content < bucket

mod bucket;
mod content;
mod fault;
mod folder;
mod key;
mod object;
mod s3;

pub use bucket::{Bucket, Entries};
pub use content::Content;
pub use fault::{FaultKind, ObjectFault};
pub use key::{encoded, is_bucket_name};
pub use object::{Etag, Object};
pub use s3::{Encryption, Refusal, S3Keys, S3Settings};
