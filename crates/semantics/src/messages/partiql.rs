//! What clients read when a PartiQL statement is refused.
//!
//! Source: the service's answers as public compatibility suites recorded them in 2026, unless noted.

/// A statement that cannot be read; a literal or comment that cannot be read at all has nothing after the colon.
pub fn not_well_formed(detail: &str) -> String {
    format!("Statement wasn't well formed, can't be processed: {detail}")
}

pub const LEFTOVER: &str = "Unexpected token after expression";
pub const UNEXPECTED_TERM: &str = "Unexpected term";
pub const UNEXPECTED_KEYWORD: &str = "Unexpected keyword";
pub const UNEXPECTED_OPERATOR: &str = "Unexpected operator";
pub const MISSING_RIGHT_SIDE: &str = "Missing right-hand side expression of infix operator";
pub const EXPECTED_TYPE: &str = "Expected type name";
pub const EXPECTED_TABLE: &str = "Expected identifier for simple path";
pub const INVALID_DOT_COMPONENT: &str = "Invalid path dot component";

pub const ALIASING: &str = "Aliasing is not supported";
pub const EMPTY_BAG: &str = "Empty bags are not supported";
pub const NO_KEY_EQUALITY: &str = "Where clause does not contain a mandatory equality on all key attributes";
pub const OVERLAPPING_RANGES: &str =
    "Overlapping conditions with range keys are not supported in where clause";
pub const PARAMETER_COUNT: &str = "Number of parameters in request and statement don't match.";
pub const MULTI_ATTRIBUTE_INDEX: &str = "PartiQL statements cannot be executed on tables with multi-attribute HASH keys \
     or multi-attribute RANGE keys.";
pub const BATCH_SELECT_NEEDS_KEY: &str =
    "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
pub const TRANSACTION_SELECT_NEEDS_KEY: &str =
    "Select statements within ExecuteTransaction must specify the primary key in the where clause.";
pub const EXISTS_NEEDS_CONDITION: &str = "EXISTS() must contain a single item read with additional condition";
pub const EXISTS_OUTSIDE_TRANSACTION: &str = "EXISTS can only be used in ExecuteTransaction write requests.";
pub const DUPLICATE_ITEM: &str = "Duplicate primary key exists in table";
pub const INVALID_TOKEN: &str = "Invalid NextToken";
pub const TOKEN_OF_OTHER_STATEMENT: &str = "NextToken does not match request";
pub const UNKNOWN_INDEX: &str = "The table does not have the specified index";
pub const GLOBAL_INDEX_NOT_CONSISTENT: &str =
    "Strongly consistent read is not supported on Global Secondary Indexes";
pub const WRITE_ON_INDEX: &str = "This operation is not supported on an index";
pub const TRANSACTION_READS_INDEX: &str = "Reads on indices are not supported within transactions.";
pub const TRANSACTION_RETURNING: &str = "RETURNING clause is not supported in ExecuteTransaction.";
pub const TOO_MANY_PATH_COMPONENTS: &str = "A path may contain at most 2 components in the FROM clause";
pub const EMPTY_PATH_COMPONENT: &str = "Path component cannot be an empty string";
pub const TOO_MANY_READS: &str = "Too many decomposed read operations for a given query.";
pub const MIXED_BAG: &str =
    "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";
pub const TABLE_NOT_FOUND: &str = "Requested resource not found";
/// The message of the vendor's local edition, whose other messages here are the service's.
pub const EMPTY_IN: &str = "IN operator must have a left hand argument of type Variable Reference and right hand \
     argument of type Seq with at least one member";

pub const ORDER_WITHOUT_WHERE: &str = "Must have WHERE clause in the statement when using ORDER BY clause.";
pub const ORDER_WITHOUT_PARTITION: &str =
    "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.";

pub const ORDER_OF_SEVERAL_PARTITIONS: &str =
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.";

pub fn order_by_other(attribute: &str) -> String {
    format!("Attribute {attribute} in ORDER BY clause must be part of the primary key")
}

pub const MIXED_TRANSACTION: &str =
    "ExecuteTransaction API does not support both read and write operations in the same request.";

/// A key of an UPDATE or DELETE that is to equal two values.
pub fn several_values_of_key(attribute: &str) -> String {
    format!(
        "Multiple conditions on same key {attribute}. Only single item Update/Insert/Delete are supported"
    )
}

/// A condition on a key attribute with a value that no key has.
pub fn key_value_type(attribute: &str, found: &str) -> String {
    format!("Key value must be of type S, N, or B. Key name: {attribute}, Key type: {found}")
}

/// A condition on a key attribute with a value of another type than the key's.
pub fn key_type_mismatch(attribute: &str) -> String {
    format!("Key attribute's data type should match its data type in table's schema: Key {attribute}")
}

/// `clause` is the words between RETURNING and the star.
pub fn returning_in_delete(clause: &str) -> String {
    format!(
        "Invalid returning clause: RETURNING {clause} *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )
}

/// An INSERT into an index; `at` is where the table's name stands.
pub fn single_table_name(at: &str) -> String {
    format!("FROM clause may only contain a single table name in data manipulation statements at {at}")
}

/// The message of the vendor's local edition, whose other messages here are the service's.
pub fn duplicate_member(name: &str, path: &str) -> String {
    format!("Duplicate keys in tuple. Key: {name} under {path}")
}

/// `index` as written, `at` where its digits stand.
pub fn list_index_out_of_range(index: &str, at: &str) -> String {
    format!("List index is not within the allowable range; index: [{index}] at {at}")
}

/// Another order of the names than in expressions.
pub fn unknown_type_name(name: &str) -> String {
    format!("Invalid attribute type name found; type: {name}, valid types: {{N,BS,L,B,NULL,M,S,SS,NS,BOOL}}")
}

/// A literal in more than 31 others.
pub fn nested_too_deep(path: &str) -> String {
    format!("Nesting Levels have exceeded supported limits under {path}")
}

/// A literal set of numbers with one of them twice; `members` as written.
pub fn duplicate_number(members: &str, path: &str) -> String {
    format!(
        "One or more parameter values were invalid: Input collection [{members}] contains duplicates! under {path}"
    )
}

pub fn unsupported_operation(kind: &str) -> String {
    format!("Unsupported operation: {kind}")
}

/// A clause that SQL has and statements have not; the message of the vendor's local edition.
pub fn unsupported_clause(clause: &str, at: &str) -> String {
    format!("Unsupported clause: {clause} at {at}")
}

/// Two columns of one name; the message of the vendor's local edition.
pub fn duplicate_columns(name: &str) -> String {
    format!("Duplicate identifiers in select clause: {name}")
}

/// `at` is line, column and length of what is meant.
pub fn unexpected_path_component(at: &str) -> String {
    format!("Unexpected path component at {at}")
}

pub fn unrecognized_function(name: &str, at: &str) -> String {
    format!("Unrecognized function: {name} at {at}")
}

pub fn unsupported_data_type(what: &str, path: &str, at: &str) -> String {
    format!("Unsupported data type: {what} under key {path} at {at}")
}

pub fn number_under(fault: &str, path: &str) -> String {
    format!("{fault} under {path}")
}

/// `function` in capitals.
pub fn set_function_arguments(function: &str, at: &str) -> String {
    format!("{function} must have exactly two arguments at {at}")
}

pub fn set_function_target(function: &str, at: &str) -> String {
    format!("The first argument to {function} must equal the assignment value at {at}")
}

pub fn set_function_value(function: &str, at: &str) -> String {
    format!("The second argument to {function} must be a value with type SET at {at}")
}

/// A statement of a transaction, by its place.
pub fn in_transaction(place: usize, fault: &str) -> String {
    format!("Validation failed in TransactStatements[{place}]: {fault}")
}
