//! Executes a data model on the engine, and measures, judges and prices the run.
//!
//! It owns runs, findings, cost, heat, prices, reports and views, all as plain data. There is no second
//! estimate and no second set of limits: sizes and limits come from `semantics`, capacity from the engine's
//! meter. It does not know the form of model files (`keywright-model`), nor how keys are chosen or changed
//! (`keywright-designer`). It opens no sockets, starts no threads and reads no clocks; the server's
//! `keywright model` commands read files and print reports.
//!
//! Layers: price < run < heat, cost < simulate, lint < report < check < views

mod check;
pub mod cost;
pub mod heat;
pub mod lint;
pub mod price;
pub mod report;
pub mod run;
pub mod simulate;
pub mod views;
pub use check::{check, check_on};
