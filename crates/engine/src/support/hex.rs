//! Bytes as hexadecimal digits, for opaque texts and ids.

use std::fmt::Write as _;

pub(crate) fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a text does not fail");
        text
    })
}
