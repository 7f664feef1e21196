//! Official client libraries against a real server: the Rust SDK in this process; boto3, the AWS CLI and the
//! SDKs for Go, Java and JavaScript in processes of their own, and libraries on top of them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod conformance;
mod documents;
mod ecosystem;
mod encryption;
mod foreign_clients;
mod identity;
mod ion_files;
mod requirements;
mod rust_global_tables;
mod rust_sdk;
#[path = "../support/mod.rs"]
mod support;
mod throttling;
