//! Bytes in the JSON of our own calls: as hexadecimal digits.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes as hexadecimal digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Hex(pub(crate) Bytes);

impl From<Hex> for String {
    fn from(hex: Hex) -> Self {
        let digit = |digit: u8| char::from_digit(u32::from(digit), 16).unwrap_or_default();
        hex.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

impl TryFrom<String> for Hex {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let pair = |pair: &[u8]| {
            let [high, low] = pair else { return None };
            let digit = |byte: u8| char::from(byte).to_digit(16);
            u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        bytes.map(|bytes| Self(bytes.into())).ok_or("not pairs of hexadecimal digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_read_back_and_others_are_refused() {
        let hex = Hex(Bytes::from_static(&[0, 0x5a, 0xff]));
        assert_eq!(String::from(hex.clone()), "005aff");
        assert_eq!(Hex::try_from("005aff".to_owned()), Ok(hex));
        for text in ["0", "0g", "é"] {
            assert!(Hex::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
