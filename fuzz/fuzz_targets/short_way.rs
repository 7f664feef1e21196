//! The short way of decoding gives up, or agrees with the long way to the last field.
//!
//! The bytes are a body as it is, after a byte that chooses the operation; or the choices by which a request
//! of the case files is changed.

#![no_main]

#[allow(dead_code, reason = "the tests have more use of it")]
#[path = "../../crates/wire/tests/it/both_ways.rs"]
mod both_ways;
#[allow(dead_code, reason = "the tests have more use of it")]
#[path = "../../crates/wire/tests/it/case_file.rs"]
mod case_file;

use std::path::Path;
use std::sync::LazyLock;

use both_ways::{Choices, SHORT, Seeds, agree};
use libfuzzer_sys::fuzz_target;

static SEEDS: LazyLock<Seeds> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wire/tests/cases");
    Seeds::of(case_file::cases_in(&folder))
});

/// Two bytes for each choice, zero after the last.
struct Bytes<'a>(&'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let (low, rest) = self.0.split_first().unwrap_or((&0, &[]));
        let (high, rest) = rest.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(u16::from_le_bytes([*low, *high])) % bound
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    if let Some(operation) = SHORT.get(usize::from(*choice)) {
        agree(*operation, rest);
        return;
    }
    let (operation, body) = SEEDS.changed(&mut Bytes(rest));
    agree(operation, &body);
});
