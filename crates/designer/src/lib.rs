//! The designer: the cheapest keys for a model's access patterns, with a proof, and the way from one model to
//! another.
//!
//! It owns the integer program over key candidates with its proof (`design`), and the comparison of two
//! models with the migration between them (`diff`). It does not know how a model is executed or what a
//! request costs: it has `keywright-workbench` run, meter and price what it proposes. It reads no files and
//! no clocks.
//!
//! Layers: design, diff

pub mod design;
pub mod diff;

#[cfg(test)]
mod test_support;
