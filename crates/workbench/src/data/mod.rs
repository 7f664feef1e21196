//! Items for a model: inline, from files, or generated from a seed; templates filled.
//!
//! It knows values and templates; it does not know the engine.
