//! The texts of the errors that clients see, one file for each area, each with its source.
//!
//! It does not know when a text is used.

pub mod auth;
pub mod cancellation;
pub mod data_plane;
pub mod expression;
pub mod item;
pub mod shape;
pub mod table;
pub mod tags;
pub mod transaction;
pub mod transport;
pub mod value;
