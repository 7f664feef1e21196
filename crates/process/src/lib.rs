//! The process and the person who started it: clock and randomness, output, log lines, words
//! for the system's errors.
//!
//! It does not know what the program does, nor how a command line is read.

pub mod environment;
pub mod failure;
pub mod foreign;
pub mod io_fault;
pub mod log;
pub mod output;
pub mod runtime;
pub mod timestamp;
