//! The small commands, a file for each.

pub(crate) mod about;
pub(crate) mod access;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod copy;
pub(crate) mod credentials;
pub(crate) mod destinations;
pub(crate) mod encryption;
pub(crate) mod global;
pub(crate) mod health_check;
mod rejoin_replicas;
pub(crate) mod triggers;
pub(crate) mod verify;
mod verify_replicas;
