//! The process and the person who started it: clock and randomness, messages, log lines, private files.
//!
//! It does not know what the program does.

pub(crate) mod banner;
pub(crate) mod environment;
pub(crate) mod foreign;
pub(crate) mod io_fault;
pub(crate) mod log;
pub(crate) mod private_file;
pub(crate) mod timestamp;
