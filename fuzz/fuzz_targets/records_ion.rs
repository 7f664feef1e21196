//! Any bytes as Ion, in text or binary.

#![no_main]

#[path = "support/records.rs"]
mod records;

use keywright_wire::files::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| records::check(&Format::Ion, data));
