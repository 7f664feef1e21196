//! The meaning of conditions: comparisons and functions over values in their stored form.
//!
//! It does not know expressions as trees: `condition` resolves the operands. `None` is a missing attribute.

use std::cmp::Ordering;

use memchr::memmem;

use super::lexer::Comparator;
use crate::codec::ValueRef;
use crate::number::Number;

/// A comparison. A missing operand is not equal to anything, not even to another missing one, and has no
/// order.
pub(super) fn compare(
    comparator: Comparator,
    left: Option<ValueRef<'_>>,
    right: Option<ValueRef<'_>>,
) -> bool {
    match comparator {
        Comparator::Eq => equal(left, right),
        Comparator::Ne => !equal(left, right),
        Comparator::Lt => order(left, right) == Some(Ordering::Less),
        Comparator::Le => order(left, right).is_some_and(Ordering::is_le),
        Comparator::Gt => order(left, right) == Some(Ordering::Greater),
        Comparator::Ge => order(left, right).is_some_and(Ordering::is_ge),
    }
}

/// Equality, of values of any type.
pub(super) fn equal(left: Option<ValueRef<'_>>, right: Option<ValueRef<'_>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

/// The order of two strings, two numbers or two binaries; no other values have one.
pub(super) fn order(left: Option<ValueRef<'_>>, right: Option<ValueRef<'_>>) -> Option<Ordering> {
    match (left?, right?) {
        (ValueRef::S(left), ValueRef::S(right)) => Some(left.cmp(right)),
        (ValueRef::N(left), ValueRef::N(right)) => Some(left.cmp(&right)),
        (ValueRef::B(left), ValueRef::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// `BETWEEN`: both bounds belong to the range.
pub(super) fn between(
    subject: Option<ValueRef<'_>>,
    lower: Option<ValueRef<'_>>,
    upper: Option<ValueRef<'_>>,
) -> bool {
    order(subject, lower).is_some_and(Ordering::is_ge) && order(subject, upper).is_some_and(Ordering::is_le)
}

/// `begins_with`, of two strings or two binaries.
pub(super) fn begins_with(subject: Option<ValueRef<'_>>, prefix: Option<ValueRef<'_>>) -> bool {
    match (subject, prefix) {
        (Some(ValueRef::S(subject)), Some(ValueRef::S(prefix))) => subject.starts_with(prefix),
        (Some(ValueRef::B(subject)), Some(ValueRef::B(prefix))) => subject.starts_with(prefix),
        _ => false,
    }
}

/// `contains`: part of a string or binary, member of a set, or element of a list.
pub(super) fn contains(container: Option<ValueRef<'_>>, part: Option<ValueRef<'_>>) -> bool {
    let (Some(container), Some(part)) = (container, part) else { return false };
    match (container, part) {
        (ValueRef::S(text), ValueRef::S(part)) => text.contains(part),
        (ValueRef::B(bytes), ValueRef::B(part)) => memmem::find(bytes, part).is_some(),
        (ValueRef::Ss(set), ValueRef::S(member)) => set.contains(member),
        (ValueRef::Ns(set), ValueRef::N(member)) => set.contains(member),
        (ValueRef::Bs(set), ValueRef::B(member)) => set.contains(member),
        (ValueRef::L(list), element) => list.iter().any(|other| other == element),
        _ => false,
    }
}

/// `size`: UTF-16 units of a string (observed), bytes of a binary, members of a set, list or map. `None` for
/// other types.
pub(super) fn size(value: Option<ValueRef<'_>>) -> Option<Number> {
    let size = match value? {
        ValueRef::S(text) => text.encode_utf16().count(),
        ValueRef::B(bytes) => bytes.len(),
        ValueRef::Ss(set) => set.len(),
        ValueRef::Ns(set) => set.len(),
        ValueRef::Bs(set) => set.len(),
        ValueRef::L(list) => list.len(),
        ValueRef::M(map) => map.len(),
        ValueRef::N(_) | ValueRef::Bool(_) | ValueRef::Null => return None,
    };
    u64::try_from(size).ok().map(Number::from)
}
