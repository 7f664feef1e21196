//! A set of served actions, as bits.
//!
//! It does not know their names.

use super::Verb;

/// Bits in one word.
const WORD_BITS: usize = 64;
const WORDS: usize = 4;
/// Actions that a set has room for.
pub(crate) const ACTIONS_MAX: usize = WORDS * WORD_BITS;

/// A set of served actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionSet {
    words: [u64; WORDS],
}

impl ActionSet {
    /// Every action for which this holds.
    pub(crate) fn of(holds: impl Fn(Verb) -> bool) -> Self {
        let mut set = Self::default();
        for verb in Verb::all().filter(|verb| holds(*verb)) {
            if let Some(word) = set.words.get_mut(verb.place() / WORD_BITS) {
                *word |= 1 << (verb.place() % WORD_BITS);
            }
        }
        set
    }

    /// Whether an action is in it.
    pub fn contains(&self, verb: Verb) -> bool {
        let word = self.words.get(verb.place() / WORD_BITS);
        word.is_some_and(|word| word & (1 << (verb.place() % WORD_BITS)) != 0)
    }

    /// Whether no action is in it.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// The actions of both.
    #[must_use]
    pub(crate) fn union(mut self, other: &Self) -> Self {
        for (word, more) in self.words.iter_mut().zip(other.words) {
            *word |= more;
        }
        self
    }
}
