//! Messages about records of files: items that are imported or put in bulk.
//!
//! The service documents that such faults are reported and not how they are worded, so these texts are our
//! own. Faults of values, names and sizes have the texts of PutItem.

/// A record without its item.
pub const ITEM_MISSING: &str = "The record has no member Item: each record is {\"Item\": {attributes}}";

/// A record of an incremental export of the service.
pub const ITEM_OF_INCREMENT: &str = "The record is of an incremental export, and an import reads items only: bring a \
     full export and its increments with `keywright migrate --from aws://TABLE?export=PLACE/ID,ID`";

/// A record that is a value of the format and no object or struct.
pub const NOT_A_RECORD: &str = "The record is not an object: each record is {\"Item\": {attributes}}";

/// A line that is not one JSON value.
pub const NOT_JSON: &str = "The line is not valid JSON; what follows it in this object was not read";

/// Bytes that are not Ion.
pub fn not_ion(fault: &str) -> String {
    format!("The record is not valid Ion: {fault}; what follows it in this object was not read")
}

/// A line of CSV that breaks the rules for quotes or encoding.
pub fn not_csv(fault: &str) -> String {
    format!("The line is not valid CSV: {fault}; what follows it in this object was not read")
}

/// A record whose text is longer than any item's.
pub fn record_too_long(bytes_max: usize) -> String {
    format!("The record is longer than {bytes_max} bytes; what follows its start in this object was not read")
}

/// A value of an Ion type that no attribute has.
pub fn ion_type_not_supported(ion_type: &str) -> String {
    format!(
        "An attribute has the Ion type {ion_type}; attributes are strings, decimals, blobs, bools, nulls, lists and \
         structs"
    )
}

/// A member of a record, or of a map of placeholders, that has another type of Ion than it must.
pub fn ion_type_mismatch(expected: &str, ion_type: &str) -> String {
    format!("The record has a value of the Ion type {ion_type} where a {expected} must stand")
}

/// A member of a set in Ion that has another type than the set's annotation says.
pub fn ion_set_member(annotation: &str, ion_type: &str) -> String {
    format!("A set with the annotation {annotation} has a member of the Ion type {ion_type}")
}

/// A list of CSV's columns that is longer than an import may have.
pub fn too_many_columns(columns: usize, columns_max: usize) -> String {
    format!("the header has {columns} columns, and at most {columns_max} are allowed")
}

/// The name of a column twice in a header.
pub fn repeated_column(name: &str) -> String {
    format!("the header names the column {name} twice")
}

/// A header that begins or ends with a delimiter, or has two in a row.
pub const COLUMN_WITHOUT_NAME: &str = "the header has a column without a name";

/// A line of CSV that has more or fewer fields than the header.
pub fn column_count(fields: usize, columns: usize) -> String {
    format!("The line has {fields} fields, and the header has {columns} columns")
}

/// A column whose key attribute is binary, with a field that is not base64.
pub fn not_base64(name: &str) -> String {
    format!("The field of the binary attribute {name} is not base64")
}
