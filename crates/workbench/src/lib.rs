//! A data model that proves itself: model file → tables, data and access patterns → real execution on the engine →
//! findings, capacity, cost, design, as plain data.
//!
//! There is no second estimate and no second rule book: sizes and limits are those of `semantics`, capacity is what the
//! engine's meter says. It opens no sockets, starts no threads and reads no clocks; files are read and reports printed
//! by the server's `keywright model` commands.

mod check;
pub mod cost;
pub mod data;
pub mod design;
pub mod diff;
pub mod exchange;
pub mod heat;
pub mod lint;
pub mod model;
pub mod price;
pub mod report;
pub mod run;
pub mod views;
pub use check::check;
