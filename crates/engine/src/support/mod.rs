//! What every other module may use: the environment, settings, key layout, latches, the lane, metering and
//! faults.

pub(crate) mod config;
pub(crate) mod env;
pub(crate) mod fault;
pub(crate) mod hex;
pub(crate) mod image_memory;
pub(crate) mod lane;
pub(crate) mod latch;
pub(crate) mod layout;
pub(crate) mod links;
pub(crate) mod member_row;
pub(crate) mod meter;
pub(crate) mod observer;
pub(crate) mod peers;
pub(crate) mod rows;
pub(crate) mod simulation;
pub(crate) mod stamp;
pub(crate) mod throughput;
pub(crate) mod version;
pub(crate) mod wake;
