//! The texts of the errors that clients see, one file for each area, each with its source.
//!
//! It does not know when a text is used.

pub mod auth;
pub mod expression;
pub mod transport;
pub mod value;
