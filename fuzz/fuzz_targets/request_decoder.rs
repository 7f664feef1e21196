//! Any bytes as the body of any operation: decoding never panics, and what it refuses can be answered.
//!
//! The first byte chooses the operation, the rest is the body.

#![no_main]

use keywright_semantics::error::ErrorKind;
use keywright_wire::{Operation, decode, render_error};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let Some(operation) = Operation::ALL.get(usize::from(*choice) % Operation::ALL.len()) else { return };
    if let Err(error) = decode(*operation, body) {
        let rendered = render_error(&error);
        // The service answers so to an UpdateTable whose members are all empty.
        let status = if error.kind == ErrorKind::InternalFailure { 500 } else { 400 };
        assert!(rendered.status == status && rendered.body.starts_with(b"{\"__type\":"));
    }
});
