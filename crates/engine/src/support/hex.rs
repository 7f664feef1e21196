//! Bytes as hexadecimal digits, for opaque tokens and ids.

use std::fmt::Write as _;

pub(crate) fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String does not fail");
        text
    })
}
