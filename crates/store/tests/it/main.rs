//! The kit on both stores of this crate, and the faults of the faulty store.

mod faulty;
mod memory;
