//! The work of an expression on one item, estimated before it is evaluated.
//!
//! The unit is a step: reading one byte. The figures are upper estimates from the expression's operators and
//! the item's size; the caller decides what to do about many steps. This file knows no clock and no thread.

/// The work of evaluating an expression once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Walks over the whole item, at most.
    walks: u64,
    /// Steps that do not depend on the item.
    fixed: u64,
}

/// Steps of one operator whose operands are small.
const OPERATOR_STEPS: u64 = 64;

impl Work {
    /// The work of that many walks over the item.
    pub fn walks(walks: usize) -> Self {
        let walks = u64::try_from(walks).unwrap_or(u64::MAX);
        Self { walks, fixed: walks.saturating_mul(OPERATOR_STEPS) }
    }

    /// The work of looking at that many bytes of the request.
    pub(crate) fn bytes(bytes: usize) -> Self {
        Self::fixed(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Work that does not depend on the item.
    pub const fn fixed(steps: u64) -> Self {
        Self { walks: 0, fixed: steps }
    }

    /// The work of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { walks: self.walks.saturating_add(other.walks), fixed: self.fixed.saturating_add(other.fixed) }
    }

    /// Steps on an item of this many bytes.
    pub fn steps(self, item_bytes: usize) -> u64 {
        let item_bytes = u64::try_from(item_bytes).unwrap_or(u64::MAX);
        self.walks.saturating_mul(item_bytes).saturating_add(self.fixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_with_the_item_and_never_overflow() {
        let work = Work::walks(3).and(Work::bytes(10));
        assert_eq!(work.steps(100) - work.steps(0), 300);
        assert_eq!(Work::walks(usize::MAX).and(Work::bytes(usize::MAX)).steps(usize::MAX), u64::MAX);
    }
}
