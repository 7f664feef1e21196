//! Executes typed requests as transactions over any store: catalogue, writes, reads, indexes, capacity.
//!
//! It deliberately does not know JSON, HTTP, threads or the clock: time and randomness come in through `Env`.

mod backfill;
mod background;
mod batch_get_item;
mod batch_write_item;
mod bind;
mod cancel;
mod catalogue;
mod change;
mod collections;
mod config;
mod delete_item;
mod engine;
mod env;
mod fault;
mod get_item;
mod hex;
mod image_memory;
mod index;
mod lane;
mod latch;
mod layout;
mod meter;
mod page;
mod partiql;
mod purge;
mod put_item;
mod query;
mod scan;
mod single_write;
mod stats;
mod stats_rows;
mod streams;
mod tables;
mod tokens;
mod transact_get_items;
mod transact_write_items;
mod ttl;
mod update_item;
mod write;

#[cfg(test)]
mod tests;

pub use catalogue::CatalogueFault;
pub use config::EngineConfig;
pub use engine::{Engine, NextWake, OpenError};
pub use env::{AccountId, Caller, Env, Region};
pub use image_memory::ImageMemory;
pub use lane::{Aside, Lane, Presence};
