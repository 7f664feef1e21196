//! Objects in folders and in S3-compatible stores: how a store is reached, and what its refusals mean.
//!
//! The crate knows no settings and no clock.

mod folder;
mod s3;

pub use folder::Folder;
pub use s3::{Refusal, S3Keys, S3Settings, open};
