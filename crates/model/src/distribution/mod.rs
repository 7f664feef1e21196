//! How requests and items spread over an entity's keys, from the declared skew, counts and distinct values.
//!
//! It knows no capacity; the workbench's `heat` compares the result with what a partition sustains.

mod keys;
mod ratio;
mod skew;

pub use keys::{Spread, When, different, items, of_shards, of_time, of_values, spreads};
pub use ratio::Exact;
pub use skew::{busiest, busiest_share_ppm};
