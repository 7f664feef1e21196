//! Executes typed requests as transactions over any store: catalogue, writes, reads, indexes, capacity.
//!
//! It deliberately does not know JSON, HTTP, threads or the clock: time and randomness come in through `Env`.

mod backfill;
mod background;
mod catalogue;
mod config;
mod engine;
mod env;
mod index;
mod layout;
mod stats;
mod stats_rows;
mod tables;

pub use catalogue::CatalogueFault;
pub use config::EngineConfig;
pub use engine::{Engine, NextWake, OpenError};
pub use env::{AccountId, Caller, Env, Region};
