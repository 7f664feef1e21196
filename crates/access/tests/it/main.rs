//! Documents, decisions, explanations and findings of the crate, from outside.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod decisions;
mod documents;
mod findings;
mod first_look;
mod mutated;
mod other_evaluator;
mod random;
mod rows;
