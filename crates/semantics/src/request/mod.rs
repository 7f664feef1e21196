//! Typed requests: what each operation means before any table is known.

pub mod parts;

/// What BatchGetItem gives back to be asked again: the client's own parts, with the keys that were not read.
pub type UnprocessedKeys = Vec<(String, parts::KeysAndAttributesParts)>;

/// What BatchWriteItem gives back to be sent again.
pub type UnprocessedItems = Vec<(String, Vec<parts::WriteRequestParts>)>;
