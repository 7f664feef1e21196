//! How requests and items spread over an entity's keys, by what the model declares: skew, counts and distinct values.
//!
//! It knows no capacity: what a partition sustains is for the workbench's `heat` to compare.

mod keys;
mod ratio;
mod skew;

pub use keys::{Spread, When, different, items, of_shards, of_time, of_values, spreads};
pub use ratio::Exact;
pub use skew::{busiest, busiest_share_ppm};
