//! Messages about PartiQL statements.
//!
//! Source: messages of the service that public compatibility suites recorded in 2026, unless noted.

/// A malformed statement. For a malformed literal or comment nothing follows the colon.
pub fn not_well_formed(detail: &str) -> String {
    format!("Statement wasn't well formed, can't be processed: {detail}")
}

/// Detail of [`not_well_formed`]: tokens after the end of the statement.
pub const LEFTOVER: &str = "Unexpected token after expression";
/// Detail of [`not_well_formed`]: the statement ends, or a token stands, where a term is expected.
pub const UNEXPECTED_TERM: &str = "Unexpected term";
/// Detail of [`not_well_formed`]: a keyword where a term is expected.
pub const UNEXPECTED_KEYWORD: &str = "Unexpected keyword";
/// Detail of [`not_well_formed`]: an operator where a term is expected.
pub const UNEXPECTED_OPERATOR: &str = "Unexpected operator";
/// Detail of [`not_well_formed`]: an operator without a right operand.
pub const MISSING_RIGHT_SIDE: &str = "Missing right-hand side expression of infix operator";
/// Detail of [`not_well_formed`]: IS without a type.
pub const EXPECTED_TYPE: &str = "Expected type name";
/// Detail of [`not_well_formed`]: no table's name where a write expects one.
pub const EXPECTED_TABLE: &str = "Expected identifier for simple path";
/// Detail of [`not_well_formed`]: no name behind a dot.
pub const INVALID_DOT_COMPONENT: &str = "Invalid path dot component";

/// A table or column with an alias.
pub const ALIASING: &str = "Aliasing is not supported";
/// `<<>>`: DynamoDB has no empty sets.
pub const EMPTY_BAG: &str = "Empty bags are not supported";
/// An UPDATE or DELETE whose WHERE clause does not name one item.
pub const NO_KEY_EQUALITY: &str = "Where clause does not contain a mandatory equality on all key attributes";
/// Several conditions of one SELECT whose sort key ranges overlap.
pub const OVERLAPPING_RANGES: &str =
    "Overlapping conditions with range keys are not supported in where clause";
/// More or fewer parameters than question marks.
pub const PARAMETER_COUNT: &str = "Number of parameters in request and statement don't match.";
/// A statement on an index whose key has several attributes of one role.
pub const MULTI_ATTRIBUTE_INDEX: &str = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
     or multi-attribute RANGE keys.";
/// A SELECT in a batch that does not read one item by its key.
pub const BATCH_SELECT_NEEDS_KEY: &str =
    "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
/// A SELECT in a transaction that does not read one item by its key.
pub const TRANSACTION_SELECT_NEEDS_KEY: &str =
    "Select statements within ExecuteTransaction must specify the primary key in the where clause.";
/// EXISTS without a condition beyond the key.
pub const EXISTS_NEEDS_CONDITION: &str = "EXISTS() must contain a single item read with additional condition";
/// EXISTS outside of a transaction's writes.
pub const EXISTS_OUTSIDE_TRANSACTION: &str = "EXISTS can only be used in ExecuteTransaction write requests.";
/// An INSERT whose key is taken.
pub const DUPLICATE_ITEM: &str = "Duplicate primary key exists in table";
/// A `NextToken` that cannot be decoded.
pub const INVALID_TOKEN: &str = "Invalid NextToken";
/// A `NextToken` of another statement or other parameters.
pub const TOKEN_OF_OTHER_STATEMENT: &str = "NextToken does not match request";
/// An index that the table does not have.
pub const UNKNOWN_INDEX: &str = "The table does not have the specified index";
/// A strongly consistent read of a global index.
pub const GLOBAL_INDEX_NOT_CONSISTENT: &str =
    "Strongly consistent read is not supported on Global Secondary Indexes";
/// An UPDATE or DELETE through an index.
pub const WRITE_ON_INDEX: &str = "This operation is not supported on an index";
/// A SELECT of a transaction on an index.
pub const TRANSACTION_READS_INDEX: &str = "Reads on indices are not supported within transactions.";
/// A RETURNING clause in a transaction.
pub const TRANSACTION_RETURNING: &str = "RETURNING clause is not supported in ExecuteTransaction.";
/// More than a table and an index in the FROM clause.
pub const TOO_MANY_PATH_COMPONENTS: &str = "A path may contain at most 2 components in the FROM clause";
/// A table or index with an empty name.
pub const EMPTY_PATH_COMPONENT: &str = "Path component cannot be an empty string";
/// More reads than [`crate::limits::PARTIQL_READS_MAX`].
pub const TOO_MANY_READS: &str = "Too many decomposed read operations for a given query.";
/// A set literal with members of two types.
pub const MIXED_BAG: &str =
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";
/// A table that does not exist.
pub const TABLE_NOT_FOUND: &str = "Requested resource not found";
/// IN with an empty list; the message of DynamoDB Local, whose other messages here are the service's.
pub const EMPTY_IN: &str = "IN operator must have a left hand argument of type Variable Reference and right hand \
     argument of type Seq with at least one member";

/// ORDER BY without a WHERE clause.
pub const ORDER_WITHOUT_WHERE: &str = "Must have WHERE clause in the statement when using ORDER BY clause.";
/// ORDER BY without an equality of the partition key.
pub const ORDER_WITHOUT_PARTITION: &str =
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.";

/// ORDER BY over several partitions that does not begin with the partition key.
pub const ORDER_OF_SEVERAL_PARTITIONS: &str =
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.";

/// ORDER BY an attribute that is not part of the key.
pub fn order_by_other(attribute: &str) -> String {
    format!("Attribute {attribute} in ORDER BY clause must be part of the primary key")
}

/// Reads and writes in one transaction.
pub const MIXED_TRANSACTION: &str =
    "ExecuteTransaction API does not support both read and write operations in the same request.";

/// A key attribute with two values in the WHERE clause of an UPDATE or DELETE.
pub fn several_values_of_key(attribute: &str) -> String {
    format!(
        "Multiple conditions on same key {attribute}. Only single item Update/Insert/Delete are supported"
    )
}

/// A condition on a key attribute with a value of a type that no key has.
pub fn key_value_type(attribute: &str, found: &str) -> String {
    format!("Key value must be of type S, N, or B. Key name: {attribute}, Key type: {found}")
}

/// A condition on a key attribute with a value of another type than the key's.
pub fn key_type_mismatch(attribute: &str) -> String {
    format!("Key attribute's data type should match its data type in table's schema: Key {attribute}")
}

/// A DELETE that returns another image than the old item. `clause` is the text between RETURNING and the
/// star.
pub fn returning_in_delete(clause: &str) -> String {
    format!(
        "Invalid returning clause: RETURNING {clause} *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )
}

/// An INSERT into an index; `at` is line, column and length of the table's name.
pub fn single_table_name(at: &str) -> String {
    format!("FROM clause may only contain a single table name in data manipulation statements at {at}")
}

/// A map literal with one name twice; the message of DynamoDB Local, whose other messages here are the
/// service's.
pub fn duplicate_member(name: &str, path: &str) -> String {
    format!("Duplicate keys in tuple. Key: {name} under {path}")
}

/// A list index out of range; `index` as written, `at` line, column and length of its digits.
pub fn list_index_out_of_range(index: &str, at: &str) -> String {
    format!("List index is not within the allowable range; index: [{index}] at {at}")
}

/// An unknown type in `attribute_type`. The order of the type names differs from that in expressions.
pub fn unknown_type_name(name: &str) -> String {
    format!("Invalid attribute type name found; type: {name}, valid types: {{N,BS,L,B,NULL,M,S,SS,NS,BOOL}}")
}

/// A literal with more nesting levels than a value may have.
pub fn nested_too_deep(path: &str) -> String {
    format!("Nesting Levels have exceeded supported limits under {path}")
}

/// A literal set of numbers with one of them twice; `members` as written.
pub fn duplicate_number(members: &str, path: &str) -> String {
    format!(
        "One or more parameter values were invalid: Input collection [{members}] contains duplicates! under {path}"
    )
}

/// An expression where a statement is expected; `kind` is the parser's name of the expression.
pub fn unsupported_operation(kind: &str) -> String {
    format!("Unsupported operation: {kind}")
}

/// A clause of SQL that PartiQL statements do not have; the message of DynamoDB Local.
pub fn unsupported_clause(clause: &str, at: &str) -> String {
    format!("Unsupported clause: {clause} at {at}")
}

/// Two columns of one name; the message of DynamoDB Local.
pub fn duplicate_columns(name: &str) -> String {
    format!("Duplicate identifiers in select clause: {name}")
}

/// A term that is no path where one is needed; `at` is line, column and length of the term.
pub fn unexpected_path_component(at: &str) -> String {
    format!("Unexpected path component at {at}")
}

/// A function that does not exist, in lower case; `at` is its line, column and length.
pub fn unrecognized_function(name: &str, at: &str) -> String {
    format!("Unrecognized function: {name} at {at}")
}

/// A term that is no literal; `path` leads to it from the attribute, `at` is its line, column and length.
pub fn unsupported_data_type(what: &str, path: &str, at: &str) -> String {
    format!("Unsupported data type: {what} under key {path} at {at}")
}

/// A number out of range; `fault` is the text of the number's fault, `path` leads to it from the attribute.
pub fn number_under(fault: &str, path: &str) -> String {
    format!("{fault} under {path}")
}

/// `SET_ADD` or `SET_DELETE` with too few or too many arguments; `function` in capitals.
pub fn set_function_arguments(function: &str, at: &str) -> String {
    format!("{function} must have exactly two arguments at {at}")
}

/// `SET_ADD` or `SET_DELETE` whose first argument is another attribute; `function` in capitals.
pub fn set_function_target(function: &str, at: &str) -> String {
    format!("The first argument to {function} must equal the assignment value at {at}")
}

/// `SET_ADD` or `SET_DELETE` with a value that is not a set; `function` in capitals.
pub fn set_function_value(function: &str, at: &str) -> String {
    format!("The second argument to {function} must be a value with type SET at {at}")
}

/// The fault of one statement of a transaction; `place` counts statements from 0.
pub fn in_transaction(place: usize, fault: &str) -> String {
    format!("Validation failed in TransactStatements[{place}]: {fault}")
}
