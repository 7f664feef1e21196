//! The protocol through its public interface: request cases, attribute values, responses.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod backups;
mod both_ways;
mod case_file;
mod cases;
mod files;
mod patterns;
mod responses;
mod short_way;
mod touches;
mod values;
