//! A key in a batch of reads, with the texts that its numbers were written in.
//!
//! Only BatchGetItem tells equal numbers in different spellings apart. Elsewhere a number is its value.

use super::parts::AttributeMapPart;

/// A key as the client wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyPart {
    /// The attributes by name.
    pub attributes: AttributeMapPart,
    /// Each number that is not written as a plain integer, by attribute, in the order of the names. A plain
    /// integer is the one text of its kind for its value, so it needs no entry.
    spellings: Vec<(String, String)>,
}

impl KeyPart {
    /// A key whose numbers were written as these texts, by attribute.
    pub fn spelled(attributes: AttributeMapPart, numbers: Vec<(String, String)>) -> Self {
        let mut spellings = numbers;
        spellings.retain(|(_, text)| !is_plain_integer(text));
        spellings.sort_unstable();
        let differ = spellings.is_sorted_by(|(one, _), (next, _)| one < next);
        assert!(differ, "an attribute has one number");
        let is_of_key = |name: &String| attributes.iter().any(|(attribute, _)| attribute == name);
        assert!(
            spellings.iter().all(|(name, _)| is_of_key(name)),
            "a spelling is of an attribute of the key"
        );
        Self { attributes, spellings }
    }

    /// The texts of the numbers that tell two keys of equal value apart.
    pub fn spellings(&self) -> &[(String, String)] {
        &self.spellings
    }

    /// The text of the number in that attribute, unless it was written as a plain integer.
    pub fn spelling(&self, attribute: &str) -> Option<&str> {
        self.spellings.iter().find(|(name, _)| name == attribute).map(|(_, text)| text.as_str())
    }
}

/// A key of a program, which has numbers and no texts.
impl From<AttributeMapPart> for KeyPart {
    fn from(attributes: AttributeMapPart) -> Self {
        Self { attributes, spellings: Vec::new() }
    }
}

/// Whether the text is of digits alone, after a minus if it is negative, with no leading zero.
fn is_plain_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text == "0" || (!digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_one_plain_spelling() {
        for text in ["0", "7", "1000", "-1000"] {
            assert!(is_plain_integer(text), "{text}");
        }
        for text in ["-0", "00", "01000", "+1000", "1e3", "1E3", "1000.0", "1000.", ".5", "1.5"] {
            assert!(!is_plain_integer(text), "{text}");
        }
    }
}
