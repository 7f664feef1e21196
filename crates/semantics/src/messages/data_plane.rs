//! Messages of data-plane operations about a table's schema, its state or its items.
//!
//! Sources: [S] the public conformance suite's recordings of the service, [D] recordings of older years that
//! no newer one contradicts, [W] the developer guide and API reference, [O] ours, where no source gives the
//! text.

#![allow(rustdoc::broken_intra_doc_links, reason = "[S], [D], [W] and [O] mark sources and are no links")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::schema::KeyType;
use crate::value::{AttributeValue, Item};

/// The prefix of most schema faults [S].
const INVALID: &str = "One or more parameter values were invalid: ";

/// A `Key` with a missing, surplus or wrongly typed attribute [S].
pub const KEY_DOES_NOT_MATCH_SCHEMA: &str = "The provided key element does not match the schema";

/// PutItem and its batch and transaction forms [S].
pub const ITEM_TOO_LARGE: &str = "Item size has exceeded the maximum allowed size";

/// An update whose result is nested too deeply. Observed: shorter than the message about a value of the
/// request.
pub const UPDATED_TOO_DEEP: &str = "Nesting Levels have exceeded supported limits";

/// UpdateItem and its transaction form [S].
pub const UPDATED_ITEM_TOO_LARGE: &str = "Item size to update has exceeded the maximum allowed size";

/// Two actions of one transaction on one item [S].
pub const TRANSACTION_DUPLICATE_ITEM: &str =
    "Transaction request cannot include multiple operations on one item";

/// Too many bytes in one transaction [W gives the limit, the text is O].
pub const TRANSACTION_TOO_LARGE: &str = "Transaction payload size cannot exceed 4 MB";

/// A token whose first request is still running [W].
pub const TRANSACTION_IN_PROGRESS: &str =
    "The transaction with the given request token is already in progress.";

/// A token that came with another request before [W].
pub const TOKEN_MISMATCH: &str = "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token \
     with different requests, unless the requests are identical";

/// One key twice in a batch [S].
pub const BATCH_DUPLICATE_KEYS: &str = "Provided list of item keys contains duplicates";

/// A strongly consistent read of a global index [S].
pub const GLOBAL_INDEX_NOT_CONSISTENT: &str =
    "Consistent reads are not supported on global secondary indexes";

/// A key condition with an operator that its attribute does not take, or two conditions on a key of one
/// attribute [D].
pub const KEY_CONDITION_NOT_SUPPORTED: &str = "Query key condition not supported";

/// A key condition whose operand has another type than the key [S].
pub const KEY_CONDITION_TYPE: &str =
    "One or more parameter values were invalid: Condition parameter type does not match schema type";

/// A starting key that cannot be one of this read [D].
pub const START_KEY_INVALID: &str = "The provided starting key is invalid";

/// A starting key of another partition [D].
pub const START_KEY_OUTSIDE: &str =
    "The provided starting key is outside query boundaries based on provided conditions";

/// A starting key that the sort-key condition excludes [D].
pub const START_KEY_NO_MATCH: &str = "The provided starting key does not match the range key predicate";

/// A starting key of another partition whose sort key the condition selects [D].
pub const START_KEY_NOT_RESTARTABLE: &str = "The query can return at most one row and cannot be restarted";

/// An update whose result has another type than an index key, where that was not known without the item [D].
pub const UPDATED_INDEX_KEY_TYPE: &str =
    "The update expression attempted to update the secondary index key to unsupported type";

/// An update whose result is too long for an index key [W].
pub const UPDATED_INDEX_KEY_SIZE: &str =
    "The update expression attempted to update the secondary index key beyond allowed size limits";

/// A partition key that is too long [D].
pub const PARTITION_KEY_TOO_LARGE: &str = "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes";

/// A sort key that is too long [D].
pub const SORT_KEY_TOO_LARGE: &str = "One or more parameter values were invalid: Aggregated size of all range keys \
     has exceeded the size limit of 1024 bytes";

/// An item without one of its table's keys [S].
pub fn missing_key(name: &str) -> String {
    format!("{INVALID}Missing the key {name} in the item")
}

/// An item whose key has another type [S].
pub fn key_type_mismatch(name: &str, expected: KeyType, actual: &str) -> String {
    format!("{INVALID}Type mismatch for key {name} expected: {} actual: {actual}", expected.name())
}

/// A key attribute's empty string or binary value [S].
pub fn empty_key_value(name: &str, kind: EmptyKind) -> String {
    format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
         {} value. Key: {name}",
        kind.name()
    )
}

/// The type of an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyKind {
    /// A string of no bytes.
    String,
    /// A binary value of no bytes.
    Binary,
}

impl EmptyKind {
    const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Binary => "binary",
        }
    }
}

/// An attribute that is an index's key and has another type [S].
pub fn index_key_type_mismatch(name: &str, expected: KeyType, actual: &str, index: &str) -> String {
    format!(
        "{INVALID}Type mismatch for Index Key {name} Expected: {} Actual: {actual} IndexName: {index}",
        expected.name()
    )
}

/// An index key attribute's empty string or binary value [S].
pub fn empty_index_key_value(name: &str, kind: EmptyKind, index: &str) -> String {
    format!(
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. \
         The AttributeValue for a key attribute cannot contain an empty {} value. IndexName: {index}, IndexKey: {name}",
        kind.name()
    )
}

/// An update that makes an index key attribute empty; the message names neither index nor attribute [S].
pub fn updated_index_key_empty(kind: EmptyKind) -> String {
    format!(
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key \
         to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty {} value.",
        kind.name()
    )
}

/// An update of a table's key [S].
pub fn cannot_update_key(name: &str) -> String {
    format!("{INVALID}Cannot update attribute {name}. This attribute is part of the key")
}

/// An expression that looks into a key attribute [D].
pub fn key_must_be_scalar(name: &str) -> String {
    format!(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: {name}"
    )
}

/// An expression that looks into an index's key attribute [D].
pub fn index_key_must_be_scalar(name: &str) -> String {
    format!(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: {name}"
    )
}

/// An index that the table does not have [D].
pub fn unknown_index(name: &str) -> String {
    format!("The table does not have the specified index: {name}")
}

/// An index that is still being built [S].
pub fn backfilling_index(name: &str) -> String {
    format!("Cannot read from backfilling global secondary index: {name}")
}

/// A key condition without a partition key or with an attribute that is no key [S].
pub fn missed_key_element(name: &str) -> String {
    format!("Query condition missed key schema element: {name}")
}

/// More key conditions than the key has attributes [S].
pub fn too_many_key_conditions(conditions: usize, attributes: usize) -> String {
    format!(
        "The number of query conditions ({conditions}) exceeds the number of key attributes defined in the schema \
         ({attributes})"
    )
}

/// A partition key of several attributes of which some are missing. Reports of the service's users have the
/// first words; the rest follows the message about sort attributes.
pub fn partition_needs_equality(missing: &[&str]) -> String {
    format!("HASH key attributes {} must have equality conditions specified in the query", missing.join(", "))
}

/// A condition on a later sort attribute without an equality on an earlier one [S].
pub fn range_needs_equality(missing: &[&str], present: &str) -> String {
    format!(
        "RANGE key attributes {} must have equality conditions specified in the query because a condition is present \
         on key attribute {present}",
        missing.join(", ")
    )
}

/// A filter on a key of the table or index that is queried [S].
pub fn filter_on_key(name: &str) -> String {
    format!("Filter Expression can only contain non-primary key attributes: Primary key attribute: {name}")
}

/// A legacy `QueryFilter` on a key of the table or index that is queried [D].
pub fn legacy_filter_on_key(name: &str) -> String {
    format!("QueryFilter can only contain non-primary key attributes: Primary key attribute: {name}")
}

/// `ALL_ATTRIBUTES` of a global index that does not hold them all [D].
pub fn select_all_not_supported(index: &str) -> String {
    format!(
        "{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index} because its \
         projection type is not ALL"
    )
}

/// Attributes that a global index does not hold [S].
pub fn not_projected(index: &str, attributes: &[&str]) -> String {
    format!("{INVALID}Global secondary index {index} does not project [{}]", attributes.join(", "))
}

/// Attributes of a Query's filter that an index does not hold (reports of the service's users:
/// dynamodb-toolbox 1195, dynamodb-onetable 93).
pub fn filter_not_projected(index: &str, attributes: &[&str]) -> String {
    let attributes = attributes.join(", ");
    format!("{INVALID}Secondary index {index} does not project one or more filter attributes: [{attributes}]")
}

/// A starting key whose table key is wrong [D].
pub fn start_key_invalid(detail: &str) -> String {
    format!("{START_KEY_INVALID}: {detail}")
}

/// A starting key of a Query whose partitions are one item each; observed for a string.
pub fn start_key_of_one_item(start: &Item) -> String {
    let shown: Vec<String> =
        start.iter().map(|(name, value)| format!("{name}={}", shown_key(value))).collect();
    format!("The provided exclusive start key is invalid: ExclusiveStartKey: {{{}}}", shown.join(", "))
}

fn shown_key(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("AttributeValue: {{S:{text}}}"),
        AttributeValue::N(number) => format!("AttributeValue: {{N:{number}}}"),
        AttributeValue::B(bytes) => format!("AttributeValue: {{B:{}}}", BASE64.encode(bytes)),
        _ => "AttributeValue: {}".to_owned(),
    }
}

/// A starting key that belongs to another segment [D].
pub fn start_key_wrong_segment(total: u32, number: u32) -> String {
    format!(
        "{START_KEY_INVALID}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. \
         TotalSegments: {total} Segment: {number}"
    )
}

/// A cancelled transaction: the codes of all actions in order [S].
pub fn transaction_cancelled(codes: &[&str]) -> String {
    format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    )
}
