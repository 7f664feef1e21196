//! A part of a pattern between two `*`: a text, or characters of which some are any.
//!
//! A part with `?` is found by bits that advance with each character, 64 positions at a time, so that no
//! pattern takes quadratic time. It does not know where in a pattern it stands.

use std::collections::BTreeMap;

use super::{Token, token_char};

/// Positions in one word of bits.
const WORD_BITS: usize = 64;

/// A part without `*`.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    /// This text.
    Text(Box<str>),
    /// These characters; none stands for any one.
    Mixed(Box<[Option<char>]>),
}

impl Segment {
    pub(super) fn of(tokens: &[Token]) -> Self {
        let letters: Vec<Option<char>> = tokens.iter().map(|token| token_char(*token)).collect();
        if letters.iter().all(Option::is_some) {
            return Self::Text(letters.into_iter().flatten().collect::<String>().into());
        }
        Self::Mixed(letters.into())
    }

    /// What follows it at the start of a text.
    pub(super) fn after_prefix<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Self::Text(prefix) => text.strip_prefix(&**prefix),
            Self::Mixed(letters) => {
                let mut rest = text.chars();
                letters.iter().all(|letter| is_next(*letter, rest.next())).then_some(rest.as_str())
            }
        }
    }

    /// Whether a text ends in it.
    pub(super) fn is_suffix_of(&self, text: &str) -> bool {
        match self {
            Self::Text(suffix) => text.ends_with(&**suffix),
            Self::Mixed(letters) => {
                let mut rest = text.chars();
                letters.iter().rev().all(|letter| is_next(*letter, rest.next_back()))
            }
        }
    }

    /// What follows its first place in a text.
    pub(super) fn after_first<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Self::Text(part) => text.find(&**part).and_then(|start| text.get(start + part.len()..)),
            Self::Mixed(letters) => after_first_mixed(letters, text),
        }
    }
}

fn is_next(letter: Option<char>, next: Option<char>) -> bool {
    next.is_some_and(|next| letter.is_none_or(|letter| letter == next))
}

fn after_first_mixed<'t>(letters: &[Option<char>], text: &'t str) -> Option<&'t str> {
    let words = letters.len().div_ceil(WORD_BITS);
    let last_bit = 1_u64 << ((letters.len() + WORD_BITS - 1) % WORD_BITS);
    let (of_any, of_letter) = masks(letters, words);
    let mut reached = vec![0_u64; words];
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        let mask = of_letter.get(&next).unwrap_or(&of_any);
        let mut carry = 1;
        for (word, mask) in reached.iter_mut().zip(mask) {
            let overflow = *word >> (WORD_BITS - 1);
            *word = ((*word << 1) | carry) & mask;
            carry = overflow;
        }
        if reached.last().is_some_and(|word| word & last_bit != 0) {
            return Some(rest.as_str());
        }
    }
    None
}

/// The positions that any character fits, and for each character of the part those that it fits.
fn masks(letters: &[Option<char>], words: usize) -> (Vec<u64>, BTreeMap<char, Vec<u64>>) {
    let mut of_any = vec![0; words];
    let set = |bits: &mut Vec<u64>, position: usize| {
        if let Some(word) = bits.get_mut(position / WORD_BITS) {
            *word |= 1 << (position % WORD_BITS);
        }
    };
    for (position, _) in letters.iter().enumerate().filter(|(_, letter)| letter.is_none()) {
        set(&mut of_any, position);
    }
    let mut of_letter: BTreeMap<char, Vec<u64>> = BTreeMap::new();
    for (position, letter) in letters.iter().enumerate() {
        if let Some(letter) = letter {
            set(of_letter.entry(*letter).or_insert_with(|| of_any.clone()), position);
        }
    }
    (of_any, of_letter)
}
