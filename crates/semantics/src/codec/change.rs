//! An item with some attributes changed: the others are copied as they are stored.

use bytes::Bytes;

use super::read::{self, ValueRef};
use super::write;
use super::{EncodedItem, HEADER_BYTES};
use crate::limits::STORED_LEVELS_MAX;
use crate::size;
use crate::value::AttributeValue;

/// The new value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewValue<'a> {
    /// A value of a request.
    Given(&'a AttributeValue),
    /// A value of a stored item, or a number.
    Stored(ValueRef<'a>),
}

impl NewValue<'_> {
    /// Size of the value as an item counts it.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Given(value) => size::value_bytes(value),
            Self::Stored(value) => value.size_bytes(),
        }
    }

    fn stored_length(&self) -> usize {
        match self {
            Self::Given(value) => write::value_length(value),
            Self::Stored(value) => value.stored_length(),
        }
    }

    fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Self::Given(value) => write::value(value, out),
            Self::Stored(value) => value.encode_into(out),
        }
    }
}

/// One attribute of the new item.
enum Member<'a> {
    /// As it is stored, name and value.
    Kept(&'a [u8]),
    New(&'a str, NewValue<'a>),
}

impl EncodedItem {
    /// The item with these attributes changed, or removed where there is no value. Names ascend and none
    /// repeats. `None` if the item is damaged.
    pub fn with_changes(&self, changes: &[(&str, Option<NewValue<'_>>)]) -> Option<Self> {
        let ascend = changes.is_sorted_by(|(one, _), (next, _)| one < next);
        assert!(ascend, "names ascend and none repeats");
        let mut plan = Plan { members: Vec::new(), length: 0, size: self.size_bytes() };
        let mut changes = changes.iter().peekable();
        let (count, mut rest) = read::split_varint(self.as_bytes().get(HEADER_BYTES..)?)?;
        plan.members.reserve_exact(count + changes.len());
        for _ in 0..count {
            let (name, value) = read::split_blob(rest)?;
            let after = read::skip_value(value)?;
            let member = rest.get(..rest.len() - after.len())?;
            rest = after;
            while let Some((new, value)) = changes.next_if(|(new, _)| new.as_bytes() < name) {
                plan.add(new, value.as_ref());
            }
            match changes.next_if(|(new, _)| new.as_bytes() == name) {
                None => plan.keep(member),
                Some((new, new_value)) => {
                    let (old, _) = read::split_value(value, STORED_LEVELS_MAX)?;
                    plan.size = plan.size.checked_sub(name.len() + old.size_bytes())?;
                    plan.add(new, new_value.as_ref());
                }
            }
        }
        changes.for_each(|(new, value)| plan.add(new, value.as_ref()));
        if rest.is_empty() { Some(plan.encode()) } else { None }
    }
}

/// The attributes of a new item in order, the bytes that they take, and the item's size.
struct Plan<'a> {
    members: Vec<Member<'a>>,
    length: usize,
    size: usize,
}

impl<'a> Plan<'a> {
    fn keep(&mut self, member: &'a [u8]) {
        self.length += member.len();
        self.members.push(Member::Kept(member));
    }

    fn add(&mut self, name: &'a str, value: Option<&NewValue<'a>>) {
        let Some(value) = value else { return };
        self.length += write::blob_length(name.len()) + value.stored_length();
        self.size += name.len() + value.size_bytes();
        self.members.push(Member::New(name, *value));
    }

    fn encode(self) -> EncodedItem {
        let mut out = write::begin_item(self.size, self.members.len(), self.length);
        let start = out.len();
        for member in &self.members {
            match member {
                Member::Kept(bytes) => out.extend_from_slice(bytes),
                Member::New(name, value) => {
                    write::blob(name.as_bytes(), &mut out);
                    value.encode_into(&mut out);
                }
            }
        }
        assert_eq!(out.len() - start, self.length, "an item's members take the computed length");
        EncodedItem(Bytes::from(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;
    use crate::value::Item;

    fn item(names: &[&str]) -> Item {
        names.iter().map(|name| ((*name).to_owned(), AttributeValue::S(format!("value of {name}")))).collect()
    }

    #[test]
    fn a_changed_item_is_the_one_that_the_tree_encodes_to() {
        let list = AttributeValue::L(vec![AttributeValue::from("x"), AttributeValue::from(7)]);
        let seven = NewValue::Stored(ValueRef::N(Number::from(7_i64)));
        let names = ["a", "b", "c", "d", "long-name-of-an-attribute"];
        for old in [item(&[]), item(&["b"]), item(&["a", "b", "c"]), item(&["b", "c", "x"])] {
            for first in 0..names.len() {
                for second in first + 1..names.len() {
                    for values in
                        [[Some(NewValue::Given(&list)), None], [None, Some(seven)], [Some(seven); 2]]
                    {
                        let changes = [(names[first], values[0]), (names[second], values[1])];
                        let mut tree = old.clone();
                        for (name, value) in changes {
                            match value {
                                None => tree.remove(name),
                                Some(NewValue::Given(value)) => tree.insert(name.to_owned(), value.clone()),
                                Some(NewValue::Stored(value)) => {
                                    tree.insert(name.to_owned(), value.to_value())
                                }
                            };
                        }
                        let stored = EncodedItem::encode(&old).with_changes(&changes);
                        assert_eq!(stored, Some(EncodedItem::encode(&tree)), "{old:?} {changes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_item_is_not_changed() {
        let stored = EncodedItem::encode(&item(&["a", "b"]));
        let bytes = stored.as_bytes();
        for cut in HEADER_BYTES + 1..bytes.len() {
            let damaged = EncodedItem::from_stored(bytes.slice(..cut)).unwrap();
            assert_eq!(damaged.with_changes(&[("c", None)]), None, "{cut}");
        }
        assert_eq!(stored.with_changes(&[]), Some(stored));
    }
}
