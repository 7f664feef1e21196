//! Connections: sockets, TLS handshakes, the limits that protect clients from each other, and the head and
//! body of a request.
//!
//! It does not know what a request means, nor who listens: the API and the studio are each a
//! [`serving::Serving`].

pub mod answering;
pub mod body;
pub mod budget;
pub mod certificate;
pub mod client;
pub mod coding;
pub mod connections;
pub mod handshake;
pub mod head_meter;
pub mod hosts;
pub mod idle_timeout;
pub mod limits;
pub mod listener;
pub mod refused;
pub mod request_head;
pub mod secured;
pub mod serving;
mod usual;
