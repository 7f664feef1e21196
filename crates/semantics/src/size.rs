//! How many bytes items and values count for against limits and capacity.
//!
//! Source: developer guide, "DynamoDB item sizes and formats"; the sizes of numbers are observed. This file
//! sizes trees; the codec has the same rules for stored bytes, and its tests check that both agree.

use crate::value::{AttributeValue, Item};

/// Bytes that a list or map counts for in addition to its elements.
pub const DOCUMENT_OVERHEAD_BYTES: usize = 3;
/// Bytes that each element of a list or map counts for in addition to itself.
pub const ELEMENT_OVERHEAD_BYTES: usize = 1;

/// Size of an item in bytes: its attribute names and values.
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

/// Size of one value in bytes, without its attribute's name.
pub fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.size_bytes(),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Bool(_) | AttributeValue::Null => 1,
        AttributeValue::L(elements) => {
            DOCUMENT_OVERHEAD_BYTES
                + elements.iter().map(|element| ELEMENT_OVERHEAD_BYTES + value_bytes(element)).sum::<usize>()
        }
        AttributeValue::M(members) => {
            DOCUMENT_OVERHEAD_BYTES
                + members
                    .iter()
                    .map(|(name, member)| ELEMENT_OVERHEAD_BYTES + name.len() + value_bytes(member))
                    .sum::<usize>()
        }
        AttributeValue::Ss(members) => members.iter().map(String::len).sum(),
        AttributeValue::Ns(members) => members.iter().map(crate::number::Number::size_bytes).sum(),
        AttributeValue::Bs(members) => members.iter().map(Vec::len).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_developer_guide() {
        let list = AttributeValue::L(vec!["ab".into(), 12.into()]);
        assert_eq!(value_bytes(&list), 3 + (1 + 2) + (1 + 2));
        let map = AttributeValue::M(Item::from([("key".to_owned(), AttributeValue::Null)]));
        assert_eq!(value_bytes(&map), 3 + 1 + 3 + 1);
        assert_eq!(value_bytes(&AttributeValue::S("é".to_owned())), 2);
        assert_eq!(value_bytes(&AttributeValue::Ss(vec!["a".to_owned(), "bc".to_owned()])), 3);
        assert_eq!(item_bytes(&Item::from([("pk".to_owned(), "abc".into())])), 5);
    }
}
