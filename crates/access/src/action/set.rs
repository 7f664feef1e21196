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
    /// The set with one more action.
    #[must_use]
    pub(crate) fn with(mut self, verb: Verb) -> Self {
        if let Some(word) = self.words.get_mut(verb.place() / WORD_BITS) {
            *word |= 1 << (verb.place() % WORD_BITS);
        }
        self
    }

    /// The actions that policies can name and that are not in it.
    #[must_use]
    pub(crate) fn others(&self) -> Self {
        let others = Verb::names().filter(|(verb, _)| !self.contains(*verb));
        others.fold(Self::default(), |set, (verb, _)| set.with(verb))
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
