//! Encrypted data folders: nothing readable in them, keys that change under load, and every refusal.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod encrypted_audit;
mod encrypted_backups;
mod encrypted_by_service;
mod encrypted_commands;
mod encrypted_contents;
mod encrypted_refusals;
mod encrypted_rotation;
#[path = "../studio/http.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod http;
mod scene;
#[path = "../support/mod.rs"]
mod support;
