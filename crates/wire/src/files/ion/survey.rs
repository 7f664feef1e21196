//! What is looked at before a record is decoded, because decoding takes memory, stack and time for it.

use keywright_semantics::limits::NESTING_LEVELS_MAX;

/// Structs and lists that are nested in a record at most: the record, its item, and those of an attribute
/// with one level too many.
pub(super) const DEPTH_MAX: usize = 2 + NESTING_LEVELS_MAX;

/// Characters of a number's text at most. A number has 38 digits and may be written with zeros: 1E+125 has
/// 126 digits.
pub(super) const NUMBER_LENGTH_MAX: usize = 1024;
/// Bytes of a number in binary at most; 1E+125 has 52. Making it decimal takes time with the square of them.
pub(super) const NUMBER_BYTES_MAX: usize = 64;

/// What makes a record one that is not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Deeper than [`DEPTH_MAX`].
    pub too_deep: bool,
    /// A number longer than [`NUMBER_LENGTH_MAX`] or [`NUMBER_BYTES_MAX`].
    pub long_number: bool,
    /// An S-expression, which no attribute is. Its values are not counted.
    pub has_sexp: bool,
    /// Values in it; not below their number, and hardly above.
    pub values: usize,
}
