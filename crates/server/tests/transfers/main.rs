//! Exports, imports and bulk puts from outside: folders that a reader of their own understands, tables that a
//! client reads, filters, chains, kills, faults of buckets.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod bulk;
#[allow(dead_code, reason = "the tests of backups call more of it")]
#[path = "../backups/db.rs"]
mod db;
mod exports;
mod folder;
mod full_bucket;
mod imports;
mod kills;
#[cfg(target_os = "linux")]
mod large;
mod readers;
mod rules;
mod sdk;
mod stores;
#[path = "../support/mod.rs"]
mod support;
mod table;
mod without_settings;
