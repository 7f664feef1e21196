//! Tests of comparison and plans: cases by topic, and a simulator that carries plans out on random models.

mod comparison;
mod copied_attributes;
mod derived_items;
mod documented;
mod engine_backend;
mod facts;
mod hazards;
mod plans;
mod properties;
mod provenance;
mod read_cutover;
mod simulator;
mod wording;
