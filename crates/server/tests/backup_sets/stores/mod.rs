//! Backups and buckets in real S3-compatible stores, which check signatures.
//!
//! `cargo xtask test` installs moto and rclone's, and with `--long` also `SeaweedFS`.

#![allow(clippy::disallowed_methods, reason = "the stores have the real time")]

mod moto;
mod objects;
mod rclone;
mod scenes;
mod seaweedfs;

use crate::bank::{command, said};
use crate::support::stores::{BUCKET, Store};

/// Runs a command that knows how to reach the store.
fn run(store: &Store, arguments: &[&str]) -> Result<String, String> {
    said(&command(arguments).envs(store.variables()).output().unwrap())
}

fn manifests(store: &Store) -> usize {
    store.objects().iter().filter(|name| name.ends_with("/manifest.json")).count()
}

/// A place of the bucket.
fn place(prefix: &str) -> String {
    format!("s3://{BUCKET}/{prefix}")
}
