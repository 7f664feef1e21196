//! The server on a network: HTTP, TLS, signatures, hostile clients, start and stop, and `keywright bench`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod access;
mod access_files;
mod access_refusals;
mod admission;
mod audit;
mod audit_command;
mod audit_sources;
mod bench;
mod branches;
mod certificates;
mod clock;
mod closed;
#[cfg(target_os = "linux")]
mod decisions;
mod global_settings;
mod hostile_clients;
mod kms;
mod lifecycle;
mod management;
mod older_folder;
mod other_services;
mod places;
mod policies;
mod policies_under_load;
mod presigned;
mod replicas;
mod replication;
mod request_log;
mod role_sessions;
mod rollback;
mod sessions;
mod simulation;
mod strong_tables;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;
mod tls;
mod transport;
mod user_policies;
