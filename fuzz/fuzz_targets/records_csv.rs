//! Any bytes as lines of CSV. The first byte chooses the delimiter, and whether the request has a header.

#![no_main]

#[path = "support/records.rs"]
mod records;

use keywright_semantics::schema::KeyType;
use keywright_wire::files::{CsvOptions, Delimiter, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let delimiters = [",", ";", ":", "|", "\t", " "];
    let delimiter = delimiters[usize::from(choice / 2) % delimiters.len()];
    let names = ["a", "n", "b"].map(str::to_owned);
    let key_types = names.iter().cloned().zip(KeyType::ALL);
    let format = Format::Csv(CsvOptions {
        delimiter: Delimiter::from_text(delimiter).expect("a delimiter"),
        header: (choice % 2 == 0).then(|| names.to_vec()),
        key_types: key_types.collect(),
    });
    records::check(&format, data);
});
