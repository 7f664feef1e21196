//! A data model that proves itself: a model is executed on the engine, and what ran is measured, judged and priced.
//!
//! It owns runs, findings, cost, heat, prices, reports and views, all as plain data. There is no second estimate and no
//! second rule book: sizes and limits are those of `semantics`, capacity is what the engine's meter says. It does not know
//! the form of model files (`keywright-model`), nor how keys are chosen or changed (`keywright-designer`). It opens no
//! sockets, starts no threads and reads no clocks; the server's `keywright model` commands read files and print reports.
//!
//! Layers: price < run < heat, cost < lint < report < check < views

mod check;
pub mod cost;
pub mod heat;
pub mod lint;
pub mod price;
pub mod report;
pub mod run;
pub mod views;
pub use check::check;
