//! Every limit and default quota that DynamoDB defines, each with its source and with the unit last in the
//! name.
//!
//! Bounds that parsers need and DynamoDB does not define are marked as our own. This file does not know where
//! a limit is enforced. Bytes that one capacity unit covers are in [`crate::capacity`].

/// Size of an item, names and values together (developer guide: Constraints; observed: exactly 409,600).
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// Bytes that one update may write before it is refused as too large; our own bound. It is twice an item's
/// limit, so that for slightly oversized items the faults that the service reports before the size are still
/// found.
pub const UPDATE_WRITTEN_BYTES_MAX: usize = 2 * ITEM_BYTES_MAX;
/// Size of the rows of a Query or Scan page, before filtering (developer guide: Query.Pagination).
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Size of a partition key value (developer guide: Constraints).
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// Size of a sort key value (developer guide: Constraints).
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// Size of one expression before substitution (developer guide: Constraints).
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Levels of values in an attribute, the innermost included (developer guide: Constraints; observed: 31 lists
/// around a scalar are stored, 32 are not).
pub const NESTING_LEVELS_MAX: usize = 32;
/// Levels of lists and maps that are decoded from stored bytes; our own bound, so that damaged bytes cannot
/// exhaust the stack.
pub const STORED_LEVELS_MAX: usize = 128;
/// Items of one transaction (developer guide: Constraints).
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// Bytes of an error's message; our own bound. It repeats parts of the request, and must not become as long
/// as requests.
pub const ERROR_MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of the message where no memory for a longer one is left; our own bound.
pub const SHORT_ERROR_MESSAGE_BYTES_MAX: usize = 4 * 1024;
/// Size of all items of one transaction (developer guide: Constraints).
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Size of a request's body (API reference: BatchWriteItem, 16 MB).
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Keys in one BatchGetItem, all tables together (API reference: BatchGetItem).
pub const BATCH_GET_KEYS_MAX: usize = 100;
/// Writes in one BatchWriteItem, all tables together (API reference: BatchWriteItem).
pub const BATCH_WRITES_MAX: usize = 25;
/// UTF-16 units of a PartiQL statement (API reference: ExecuteStatement.Statement).
pub const STATEMENT_UNITS_MAX: usize = 8_192;
/// Segments of a parallel scan (API reference: Scan.TotalSegments).
pub const SCAN_SEGMENTS_MAX: u32 = 1_000_000;
/// Operators in one expression: comparisons, BETWEEN, IN, AND, OR, NOT, + and - (developer guide:
/// Constraints).
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// Values in the list of IN (developer guide: Constraints).
pub const EXPRESSION_IN_OPERANDS_MAX: usize = 100;
/// Steps of a document path, its attribute included (developer guide: Constraints, nesting levels).
pub const DOCUMENT_PATH_STEPS_MAX: usize = 32;
/// The largest list index in a document path of an expression (observed in us-east-1).
pub const DOCUMENT_PATH_INDEX_MAX: usize = 4_294_967_294;
/// The largest list index in a path of a PartiQL statement (observed).
pub const PARTIQL_PATH_INDEX_MAX: usize = 2_147_483_647;
/// Size of a placeholder, its `#` or `:` included (developer guide: Constraints).
pub const PLACEHOLDER_BYTES_MAX: usize = 255;
/// Size of an attribute's name (observed: 65,535 bytes are stored, 65,536 are not).
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// Recursion depth of the expression parser; our own bound.
pub const EXPRESSION_PARSER_DEPTH_MAX: usize = 310;

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
/// Size of one item collection of a table with local indexes, entries included (developer guide: LSI).
pub const LOCAL_COLLECTION_BYTES_MAX: u64 = 10 << 30;
/// Partition attributes, and likewise sort attributes, of a global index's key (developer guide:
/// multi-attribute keys).
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// Attributes that all INCLUDE projections of a table name together (developer guide: `ServiceQuotas`).
pub const PROJECTED_ATTRIBUTES_MAX: usize = 100;
/// Read units, and likewise write units, that one table may have provisioned (developer guide:
/// `ServiceQuotas`).
pub const TABLE_UNITS_MAX: u64 = 40_000;
/// Time for which a client request token is remembered (API reference: TransactWriteItems).
pub const TRANSACTION_TOKEN_MS: u64 = 10 * 60 * 1000;
/// Size of the items that one BatchGetItem returns (API reference: BatchGetItem).
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Length of a table's or an index's name at most (developer guide: naming rules).
pub const TABLE_NAME_BYTES_MAX: usize = 255;
/// Length of a table's or an index's name at least (developer guide: naming rules).
pub const TABLE_NAME_BYTES_MIN: usize = 3;
/// Streams on one page of ListStreams (API reference: ListStreams).
pub const STREAMS_PER_PAGE_MAX: usize = 100;
/// Shards on one page of DescribeStream (API reference: DescribeStream).
pub const SHARDS_PER_PAGE_MAX: usize = 100;
/// Records on one page of GetRecords (API reference: GetRecords).
pub const STREAM_RECORDS_PER_PAGE_MAX: usize = 1000;
/// Size of the records that one GetRecords returns (API reference: GetRecords).
pub const STREAM_PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Time for which a stream record can be read (developer guide: Streams).
pub const STREAM_RETENTION_MS: u64 = 24 * 60 * 60 * 1000;
/// Time for which a change that cannot be delivered to a Kinesis stream is kept (developer guide: Kinesis
/// Data Streams).
pub const DESTINATION_RETENTION_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a deletion is remembered in a table with replicas, at least; ours. It is longer than clocks of
/// regions may be apart.
pub const TOMBSTONE_RETENTION_MS: u64 = 24 * 60 * 60 * 1000;
/// How long a replica may take no part in replication before it leaves its group (API reference:
/// `ReplicaDescription`).
pub const INACCESSIBLE_REPLICA_MS: u64 = 20 * 60 * 60 * 1000;
/// How long a region leaves an expired item to the one that wrote it last; ours.
pub const REPLICA_EXPIRY_DELAY_MS: u64 = 60 * 60 * 1000;
/// Changes that lost to a concurrent one in another region and are listed, for each table; ours.
pub const REPLICATION_CONFLICTS_KEPT_MAX: usize = 100;
/// Lifetime of a shard iterator (API reference: GetShardIterator).
pub const SHARD_ITERATOR_MS: u64 = 15 * 60 * 1000;
/// How far in the future the time of a shard iterator may be; our own tolerance for clocks that differ.
pub const TIMESTAMP_AHEAD_MS_MAX: u64 = 5000;
/// Write units per second that one partition sustains (developer guide: partition key design).
pub const PARTITION_WRITE_UNITS_MAX: u64 = 1000;
/// Read units per second that one partition sustains (developer guide: partition key design).
pub const PARTITION_READ_UNITS_MAX: u64 = 3000;
/// Bytes that one partition holds (developer guide: partitions).
pub const PARTITION_BYTES_MAX: u64 = 10 * 1024 * 1024 * 1024;
/// Seconds for which unused provisioned units are saved (developer guide: burst capacity).
pub const BURST_SECONDS: u64 = 300;
/// Decreases of provisioned units on one day without waiting, for a table and each index on its own
/// (observed).
pub const FREE_DECREASES_A_DAY: u64 = 4;
/// The time between further decreases on that day (observed).
pub const DECREASE_INTERVAL_MS: u64 = 60 * 60 * 1000;
/// Switches to on-demand mode within 24 hours (developer guide: on-demand capacity mode).
pub const ON_DEMAND_SWITCHES_MAX: usize = 4;
/// Changes of the table class within 30 days (observed).
pub const CLASS_CHANGES_MAX: usize = 2;
/// Age at which an expiry time is ignored: five years (developer guide: Time to Live).
pub const TTL_PAST_SECONDS_MAX: u64 = 5 * 365 * 24 * 60 * 60;
/// Time between two changes of a table's time to live (API reference: UpdateTimeToLive).
pub const TTL_CHANGE_INTERVAL_MS: u64 = 60 * 60 * 1000;
/// Reads of partitions that one PartiQL SELECT may need (developer guide: `ql-operators`, IN).
pub const PARTIQL_READS_MAX: usize = 50;
/// Reads of partitions on one page of a PartiQL SELECT (developer guide: `ql-operators`, IN).
pub const PARTIQL_READS_PER_PAGE_MAX: usize = 10;
/// Branches into which a WHERE clause is expanded to find its keys, before a scan is planned instead; our own
/// bound.
pub const PARTIQL_BRANCHES_MAX: usize = 1000;
/// Recursion depth of the PartiQL parser; our own bound, greater than the levels of a value.
pub const PARTIQL_PARSER_DEPTH_MAX: usize = 64;
/// Read units, and likewise write units, that all tables of an account may have provisioned in a region
/// (developer guide: `ServiceQuotas`).
pub const ACCOUNT_UNITS_MAX: u64 = 80_000;
/// The largest number of units that a request may name; more is out of bounds before any quota (observed).
pub const REQUESTED_UNITS_MAX: u64 = 1_000_000_000_000;
/// Read units per second that a new on-demand table or index sustains (developer guide: on-demand capacity
/// mode).
pub const INITIAL_ON_DEMAND_READ_UNITS: u64 = 12_000;
/// Write units per second that a new on-demand table or index sustains (developer guide: on-demand capacity
/// mode).
pub const INITIAL_ON_DEMAND_WRITE_UNITS: u64 = 4_000;
/// Tables of one account in one region (developer guide: `ServiceQuotas`).
pub const TABLES_MAX: usize = 2_500;
/// Table names on one page of ListTables (API reference: ListTables).
pub const TABLES_PER_PAGE_MAX: usize = 100;
/// Backups on one page of ListBackups (API reference: ListBackups).
pub const BACKUPS_PER_PAGE_MAX: usize = 100;
/// Days for which point-in-time recovery keeps changes at most, and without a period of the client's (API
/// reference: `PointInTimeRecoverySpecification`).
pub const RECOVERY_PERIOD_DAYS_MAX: u32 = 35;
/// Restores that one account runs at a time (observed).
pub const RESTORES_MAX: usize = 50;
/// Exports that one account runs at a time (observed).
pub const EXPORTS_MAX: usize = 300;
/// Exports on one page of ListExports if the client names no number (observed).
pub const EXPORTS_PER_PAGE: usize = 10;
/// The fewest bytes that an incremental export is billed for (observed).
pub const INCREMENT_BILLED_BYTES_MIN: u64 = 10_000_000;
/// The shortest window of an incremental export (observed).
pub const EXPORT_WINDOW_MS_MIN: u64 = 900_000;
/// The longest window of an incremental export (developer guide: requesting a table export).
pub const EXPORT_WINDOW_MS_MAX: u64 = 86_400_000;
/// Imports of one page of ListImports (API reference).
pub const IMPORTS_PER_PAGE_MAX: usize = 25;
/// Imports of an account at a time (API reference: `LimitExceededException`).
pub const IMPORTS_MAX: usize = 50;
/// Objects of one import (developer guide, "DynamoDB data import from Amazon S3: quotas").
pub const IMPORT_OBJECTS_MAX: usize = 50_000;
/// Bulk puts that one account runs at a time (our own: the service has such a limit whose value is not
/// known).
pub const BULK_PUTS_MAX: usize = 50;
/// Bulk operations on one page of ListBulkOperations if the client names no number (API reference).
pub const BULK_OPERATIONS_PER_PAGE: usize = 10;
/// Objects of one bulk put (developer guide: bulk operations).
pub const BULK_PUT_OBJECTS_MAX: usize = 50_000;
/// Bytes of one object of a bulk put (developer guide: bulk operations).
pub const BULK_PUT_OBJECT_BYTES_MAX: u64 = 5 * GIGABYTE_BYTES;
/// Entries on one page of ListContributorInsights (API reference: ListContributorInsights).
pub const INSIGHTS_PER_PAGE_MAX: usize = 100;
/// Rules of contributor insights that one account has in one region (observed: the quota of CloudWatch).
pub const INSIGHT_RULES_MAX: usize = 100;
/// Contributors of one report on a table or index (developer guide: contributor insights).
pub const CONTRIBUTORS_MAX: usize = 25;
/// A gigabyte as item collections are measured (developer guide: `ItemCollections`).
pub const GIGABYTE_BYTES: u64 = 1 << 30;
/// Age at which the service closes a stream's shard (observed: about four hours).
pub const STREAM_SHARD_OPEN_MS_MAX: u64 = 4 * 60 * 60 * 1000;
/// Lifetime of a presigned request: seven days (Signature Version 4: query parameters).
pub const PRESIGNED_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;
/// Bytes of a resource policy, blanks included (observed).
pub const RESOURCE_POLICY_BYTES_MAX: usize = 20_480;
/// Characters of a policy document in a request (IAM's public service model).
pub const POLICY_DOCUMENT_CHARACTERS_MAX: usize = 131_072;
/// How long a region that a new replica was filled from cannot leave the global table (developer guide:
/// global tables, deleting a replica).
pub const SOURCE_REGION_MS: u64 = 24 * 60 * 60 * 1000;
/// Difference between a signed request's time and the server's clock (observed: the service's messages name
/// it).
pub const SIGNATURE_SKEW_SECONDS_MAX: u64 = 5 * 60;
/// Violations of the service model that one error reports (observed).
pub const VIOLATIONS_MAX: usize = 10;

// A value as deep as allowed, set at the end of the longest path, can be read back.
const _: () = assert!(STORED_LEVELS_MAX > NESTING_LEVELS_MAX + DOCUMENT_PATH_STEPS_MAX);
// Parentheses that are not redundant need an operator each: no legal expression is deeper than the parser
// reads.
const _: () = assert!(EXPRESSION_PARSER_DEPTH_MAX > EXPRESSION_OPERATORS_MAX);
// A literal as deep as a value can be is parsed, so that the fault of a deeper one is found.
const _: () = assert!(PARTIQL_PARSER_DEPTH_MAX > NESTING_LEVELS_MAX);
// Every page makes progress: it has room for the largest item.
const _: () = assert!(PAGE_BYTES_MAX >= ITEM_BYTES_MAX);
// A transaction fits in one request.
const _: () = assert!(TRANSACTION_BYTES_MAX <= REQUEST_BYTES_MAX);
// The largest batch of writes fits in one request.
const _: () = assert!(BATCH_WRITES_MAX * ITEM_BYTES_MAX <= REQUEST_BYTES_MAX);
// Several pages are enough for all reads of a statement.
const _: () =
    assert!(PARTIQL_READS_PER_PAGE_MAX <= PARTIQL_READS_MAX && PARTIQL_READS_MAX < PARTIQL_BRANCHES_MAX);
// A path of a statement is a path of an expression.
const _: () = assert!(PARTIQL_PATH_INDEX_MAX <= DOCUMENT_PATH_INDEX_MAX);
// A client can follow an iterator before its records are trimmed.
const _: () =
    assert!(SHARD_ITERATOR_MS < STREAM_SHARD_OPEN_MS_MAX && STREAM_SHARD_OPEN_MS_MAX < STREAM_RETENTION_MS);
// A new on-demand table is within the quota of a table, and that within the account's.
const _: () =
    assert!(INITIAL_ON_DEMAND_READ_UNITS <= TABLE_UNITS_MAX && TABLE_UNITS_MAX <= ACCOUNT_UNITS_MAX);
