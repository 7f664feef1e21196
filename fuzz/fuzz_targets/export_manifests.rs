//! Any bytes as the manifests of an export: no reader panics, and what is read is written and read again.

#![no_main]

use keywright_wire::files::{Checksum, DataFile, Summary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(summary) = Summary::read(data) {
        assert_eq!(Summary::read(&summary.write()), Ok(summary));
    }
    if let Ok(files) = DataFile::read_lines(data) {
        let mut lines = Vec::new();
        for file in &files {
            file.push_line(&mut lines);
        }
        assert_eq!(DataFile::read_lines(&lines), Ok(files));
    }
    if let Some(sum) = Checksum::read(data) {
        assert_eq!(Checksum::read(sum.base64().as_bytes()), Some(sum));
    }
});
