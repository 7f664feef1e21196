//! Every limit DynamoDB defines, each with its source, the unit last in the name.
//!
//! It does not know where a limit is enforced.

/// An item, names and values together (developer guide: Constraints; observed: 409,600 exactly).
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// What one update may write before it is refused as making its item too large; our own bound. Twice an item: faults that
/// the service reports before the size are still found for items that are a little too large.
pub const UPDATE_WRITTEN_BYTES_MAX: usize = 2 * ITEM_BYTES_MAX;
/// A page of Query or Scan, before filtering (developer guide: Query.Pagination).
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// A partition-key value (developer guide: Constraints).
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// A sort-key value (developer guide: Constraints).
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// One expression before substitution (developer guide: Constraints).
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Levels of values in an attribute, the innermost included (developer guide: Constraints; observed: 31 lists around a
/// scalar are stored, 32 are not).
pub const NESTING_LEVELS_MAX: usize = 32;
/// Levels of lists and maps that are read from a store; our own bound, so that damaged bytes cannot exhaust the stack.
pub const STORED_LEVELS_MAX: usize = 128;
/// Items of one transaction (developer guide: Constraints).
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// Bytes of one transaction (developer guide: Constraints).
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// A request's body (API reference: BatchWriteItem, 16 MB).
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Keys of one BatchGetItem, all tables together (API reference: BatchGetItem).
pub const BATCH_GET_KEYS_MAX: usize = 100;
/// Writes of one BatchWriteItem, all tables together (API reference: BatchWriteItem).
pub const BATCH_WRITES_MAX: usize = 25;
/// Segments of a parallel scan (API reference: Scan.TotalSegments).
pub const SCAN_SEGMENTS_MAX: u32 = 1_000_000;
/// Operators in one expression: comparisons, BETWEEN, IN, AND, OR, NOT, + and - (developer guide: Constraints).
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// Values in the list of IN (developer guide: Constraints).
pub const EXPRESSION_IN_OPERANDS_MAX: usize = 100;
/// Steps of a document path, its attribute included (developer guide: Constraints, nesting levels).
pub const DOCUMENT_PATH_STEPS_MAX: usize = 32;
/// The largest list index in a document path (observed).
pub const DOCUMENT_PATH_INDEX_MAX: usize = 2_147_483_647;
/// A placeholder, its `#` or `:` included (developer guide: Constraints).
pub const PLACEHOLDER_BYTES_MAX: usize = 255;
/// An attribute's name (observed: 65,535 bytes are stored, 65,536 are not).
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// How deep the parser of expressions recurses; our own bound.
pub const EXPRESSION_PARSER_DEPTH_MAX: usize = 310;

// A value as deep as allowed, set at the end of the longest path, can be read back.
const _: () = assert!(STORED_LEVELS_MAX > NESTING_LEVELS_MAX + DOCUMENT_PATH_STEPS_MAX);
// Parentheses that are not redundant need an operator each: no legal expression is deeper than the parser reads.
const _: () = assert!(EXPRESSION_PARSER_DEPTH_MAX > EXPRESSION_OPERATORS_MAX);
/// Tags of one table (API reference: `TagResource`).
pub const TAGS_MAX: usize = 50;
/// Characters of a tag's key (API reference: Tag).
pub const TAG_KEY_CHARACTERS_MAX: usize = 128;
/// Characters of a tag's value (API reference: Tag).
pub const TAG_VALUE_CHARACTERS_MAX: usize = 256;
/// Global secondary indexes of one table (developer guide: `ServiceQuotas`).
pub const GLOBAL_INDEXES_MAX: usize = 20;
/// Local secondary indexes of one table (developer guide: `ServiceQuotas`).
pub const LOCAL_INDEXES_MAX: usize = 5;
/// Bytes of one item collection of a table with local indexes, entries included (developer guide: LSI).
pub const LOCAL_COLLECTION_BYTES_MAX: u64 = 10 << 30;
/// Partition attributes, and likewise sort attributes, of a global index's key (developer guide: multi-attribute keys).
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// Attributes that all INCLUDE projections of a table name together (developer guide: `ServiceQuotas`).
pub const PROJECTED_ATTRIBUTES_MAX: usize = 100;
/// Units that one table may have provisioned (developer guide: `ServiceQuotas`).
pub const TABLE_UNITS_MAX: u64 = 40_000;
/// How long a client request token is remembered (API reference: TransactWriteItems).
pub const TRANSACTION_TOKEN_MS: u64 = 10 * 60 * 1000;
/// What one BatchGetItem returns at most (API reference: BatchGetItem).
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A table's name (developer guide: naming rules).
pub const TABLE_NAME_BYTES_MAX: usize = 255;
/// Bytes that a table's or an index's name has at least.
pub const TABLE_NAME_BYTES_MIN: usize = 3;
/// Streams on one page of ListStreams (API reference: ListStreams).
pub const STREAMS_PER_PAGE_MAX: usize = 100;
/// Shards on one page of DescribeStream (API reference: DescribeStream).
pub const SHARDS_PER_PAGE_MAX: usize = 100;
/// Records on one page of GetRecords (API reference: GetRecords).
pub const STREAM_RECORDS_PER_PAGE_MAX: usize = 1000;
/// What one GetRecords returns at most (API reference: GetRecords).
pub const STREAM_PAGE_BYTES_MAX: usize = 1024 * 1024;
/// How long a stream record can be read (developer guide: Streams).
pub const STREAM_RETENTION_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a shard iterator can be used (API reference: GetShardIterator).
pub const SHARD_ITERATOR_MS: u64 = 15 * 60 * 1000;
/// Write units that one partition takes in a second (developer guide: partition key design).
pub const PARTITION_WRITE_UNITS_MAX: u64 = 1000;
/// Read units that one partition gives in a second (developer guide: partition key design).
pub const PARTITION_READ_UNITS_MAX: u64 = 3000;
/// How long before now an item's time to live may lie (developer guide: Time to Live): five years.
pub const TTL_PAST_SECONDS_MAX: u64 = 5 * 365 * 24 * 60 * 60;
/// How long a table's time to live stays as it is after a change (API reference: UpdateTimeToLive).
pub const TTL_CHANGE_INTERVAL_MS: u64 = 60 * 60 * 1000;
/// Reads that one PartiQL SELECT may be made of [developer guide: `ql-operators`, IN].
pub const PARTIQL_READS_MAX: usize = 50;
/// Of these, those of one page [developer guide: `ql-operators`, IN].
pub const PARTIQL_READS_PER_PAGE_MAX: usize = 10;
/// Branches that a WHERE clause is spread into before its keys are given up; our own bound.
pub const PARTIQL_BRANCHES_MAX: usize = 1000;
/// How deep the parser of PartiQL statements recurses; our own bound, beyond the 32 levels of values.
pub const PARTIQL_PARSER_DEPTH_MAX: usize = 64;
