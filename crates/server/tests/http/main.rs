//! The server on a network: HTTP, TLS, signatures, hostile clients, start and stop, and `keywright bench`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod access;
mod access_files;
mod admission;
mod bench;
mod branches;
mod clock;
mod closed;
mod hostile_clients;
mod lifecycle;
mod management;
mod older_folder;
mod places;
mod policies;
mod policies_under_load;
mod presigned;
mod request_log;
mod rollback;
mod sessions;
mod simulation;
#[path = "../support/mod.rs"]
mod support;
mod surroundings;
mod tls;
mod transport;
mod user_policies;
