//! Connections: sockets, TLS, the limits that protect clients from each other, and the head and body of a
//! request.
//!
//! It does not know what a request means.

pub(crate) mod body;
pub(crate) mod budget;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod handshake;
pub(crate) mod head_meter;
pub(crate) mod hosts;
pub(crate) mod idle_timeout;
pub(crate) mod listener;
pub(crate) mod refused;
pub(crate) mod request_head;
pub(crate) mod tls;
