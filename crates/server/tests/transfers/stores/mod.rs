//! Exports into a store that speaks S3 and checks signatures. `cargo xtask test` installs rclone's.

#![allow(clippy::disallowed_methods, reason = "the store has the real time")]

#[path = "../../backup_sets/stores/line.rs"]
mod line;
mod rclone;
