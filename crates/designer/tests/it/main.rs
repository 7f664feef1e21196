//! The integration tests of this crate, one program.

mod design_benchmarks;
mod design_bills;
mod design_carry;
mod design_families;
mod design_knows;
mod design_lists;
mod design_parts;
mod design_prefixes;
mod design_promises;
mod design_random;
mod design_rivals;
mod design_size;
mod design_unique;
mod design_writes;
mod designs;
mod modelling_faults;
mod requirements;
#[path = "../support/mod.rs"]
mod support;
