//! Sealed backups: manifests, chunks and rows may hold anything, and no reader of them panics.

#![no_main]

use keywright_archive::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 3 {
        0 => fuzz::manifest(data),
        1 => pollster::block_on(fuzz::chunk(data)),
        _ => pollster::block_on(fuzz::rows(data)),
    }
});
