//! Bytes as hexadecimal digits, for opaque tokens and ids.

use std::fmt::Write as _;

pub(crate) fn hex<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String does not fail");
        text
    })
}

/// The bytes of hexadecimal digits; `None` if there are others.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| text.as_bytes().chunks(2).map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_they_were_written() {
        let bytes = [0, 1, 0x7f, 0xff];
        assert_eq!(unhex(&hex(&bytes)), Some(bytes.to_vec()));
        assert_eq!(unhex(""), Some(Vec::new()));
        assert!(["a", "0g", "+1", "é"].into_iter().all(|text| unhex(text).is_none()));
    }
}
