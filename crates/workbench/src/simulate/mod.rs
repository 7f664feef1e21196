//! A model under the traffic of a profile: whether it throttles, where, how long, and what it costs.
//!
//! The patterns' requests are metered on the engine; how much of that traffic passes is decided by the
//! engine's own limits, which run on a virtual clock. There is no second model of partitions, and no clock
//! but the profile's: the same input gives the same bytes.

mod bill;
mod csv;
mod draw;
mod json;
mod profile;
mod program;
mod report;
mod run;
mod scaling;
mod starter;
mod svg;
mod text;

pub use bill::{MonthlyBill, TableBill};
pub use csv::csv;
pub use json::json;
pub use profile::{Arrivals, Profile, parse};
pub use program::Resource;
pub use report::{Event, Heaviest, Minute, Simulation, Stretch, What};
pub use run::simulate;
pub use starter::starter;
pub use svg::svg;
pub use text::text;

#[cfg(test)]
mod tests;
