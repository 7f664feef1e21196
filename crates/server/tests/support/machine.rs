//! Keeps tests apart that would spoil each other's measurements.

use std::fs::File;

/// Holds the machine for one test until it is dropped; taken by the tests for which these things matter:
///
/// - they measure how long a client waits, or how much memory a server holds at a moment;
/// - they load every processor (`keywright bench`);
/// - they open several hundred sockets, of which a process may have 1,024 on many systems.
///
/// A lock on a file holds between programs as well as between threads, so that test programs may run side by
/// side.
pub struct Exclusive {
    _locked: File,
}

pub fn exclusive() -> Exclusive {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/exclusive.lock");
    let file = File::create(path).unwrap();
    file.lock().unwrap();
    Exclusive { _locked: file }
}
