//! Contributors: keys as rules count them, taken from requests and items.

use std::sync::Arc;

use keywright_semantics::codec::MapRef;
use keywright_semantics::expression::{KeyCondition, KeyPredicate};
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::schema::{KeyAttribute, KeySchema};
use keywright_semantics::value::Item;

/// Between the values of a partition or sort key of several attributes.
const SEPARATOR: char = ',';

/// A partition key, or a partition key with a sort key, as a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Contributor {
    /// The partition key's text, then the sort key's.
    text: Arc<str>,
    /// Where the sort key begins; `None` for a partition key alone.
    sort_at: Option<u16>,
}

impl Contributor {
    /// A contributor of these texts. Invariant: `sort_at` is within the text, between two characters.
    pub(crate) fn new(partition: &str, sort: Option<&str>) -> Self {
        let Some(sort) = sort else { return Self { text: partition.into(), sort_at: None } };
        // A partition key has at most 2048 bytes; its text is longer only in Base64.
        let sort_at = u16::try_from(partition.len()).expect("the text of a key is short");
        Self { text: [partition, sort].concat().into(), sort_at: Some(sort_at) }
    }

    /// The texts of the partition key and the sort key.
    pub(crate) fn parts(&self) -> (&str, Option<&str>) {
        match self.sort_at {
            None => (&self.text, None),
            Some(at) => {
                let (partition, sort) = self.text.split_at(usize::from(at));
                (partition, Some(sort))
            }
        }
    }

    /// The bytes of the texts.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }
}

/// The contributors of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contributors {
    pub partition: Contributor,
    /// Present if the event is one of an item, and not of a whole partition.
    pub item: Option<Contributor>,
}

/// Where an event's key is found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeySource<'a> {
    /// A key or item of a request.
    Given(&'a Item),
    /// A stored item.
    Stored(MapRef<'a>),
    /// The condition of a Query: an event of the partition alone, since a Query is one event (developer
    /// guide: contributor insights).
    Condition(&'a KeyCondition),
}

impl<'a> KeySource<'a> {
    /// The contributors of a table or index with this key; `None` if the source lacks a part of it.
    pub(crate) fn contributors(self, key: &KeySchema) -> Option<Contributors> {
        let partition = self.text(&key.partition)?;
        let is_of_item = !key.sort.is_empty() && !matches!(self, Self::Condition(_));
        let item =
            if is_of_item { Some(Contributor::new(&partition, Some(&self.text(&key.sort)?))) } else { None };
        Some(Contributors { partition: Contributor::new(&partition, None), item })
    }

    fn text(self, attributes: &[KeyAttribute]) -> Option<String> {
        let mut text = String::new();
        for (place, attribute) in attributes.iter().enumerate() {
            if place > 0 {
                text.push(SEPARATOR);
            }
            text.push_str(&self.value(&attribute.name)?.text());
        }
        Some(text)
    }

    fn value(self, name: &str) -> Option<KeyValueRef<'a>> {
        match self {
            Self::Given(item) => KeyValueRef::from_value(item.get(name)?),
            Self::Stored(item) => KeyValueRef::from_view(item.get(name)?),
            Self::Condition(condition) => {
                let clause = condition.clauses.iter().find(|clause| clause.attribute == name)?;
                match &clause.predicate {
                    KeyPredicate::Eq(value) => KeyValueRef::from_value(value),
                    _ => None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::KeyType;

    use super::*;
    use crate::tests::harness::{item, key, n, s};

    #[test]
    fn keys_become_texts_that_keep_their_parts() {
        let schema = key(&[("pk", KeyType::S)], &[("sk", KeyType::N)]);
        let given = item([("pk", s("a,b")), ("sk", n(-7)), ("x", s("y"))]);
        let found = KeySource::Given(&given).contributors(&schema).expect("the key is whole");
        assert_eq!(found.partition.parts(), ("a,b", None));
        assert_eq!(found.item.as_ref().map(Contributor::parts), Some(("a,b", Some("-7"))));
        assert_ne!(Contributor::new("ab", Some("c")), Contributor::new("a", Some("bc")));
        let half = item([("pk", s("a"))]);
        assert_eq!(KeySource::Given(&half).contributors(&schema), None);
        let several = key(&[("pk", KeyType::S), ("sk", KeyType::N)], &[]);
        let found = KeySource::Given(&given).contributors(&several).expect("the key is whole");
        assert_eq!((found.partition.parts(), found.item), (("a,b,-7", None), None));
    }
}
