//! Texts with wildcards: `*` for any run of characters, `?` for any one.
//!
//! Matching takes time linear in the text. It does not know what a text means, nor variables.

mod segment;

use segment::Segment;

/// One character of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// This character.
    Char(char),
    /// Any one character: `?`.
    One,
    /// Any run of characters: `*`.
    Many,
}

impl Token {
    /// A character of a policy's text, where `*` and `?` are wildcards.
    pub(crate) const fn of_policy(letter: char) -> Self {
        match letter {
            '*' => Self::Many,
            '?' => Self::One,
            other => Self::Char(other),
        }
    }
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// Every text.
    Any,
    /// This text alone.
    Exact(Box<str>),
    /// The parts between `*`. Invariant: at least one; the first is a prefix and the last a suffix.
    Parts(Box<[Segment]>),
}

impl Pattern {
    /// The pattern of a policy's text.
    pub(crate) fn parse(text: &str) -> Self {
        Self::of(text.chars().map(Token::of_policy))
    }

    /// The pattern of these characters.
    pub(crate) fn of(tokens: impl Iterator<Item = Token>) -> Self {
        let tokens: Vec<Token> = tokens.collect();
        let is_exact = tokens.iter().all(|token| matches!(token, Token::Char(_)));
        if is_exact {
            let text: String = tokens.iter().filter_map(|token| token_char(*token)).collect();
            return Self::Exact(text.into());
        }
        if tokens.iter().all(|token| *token == Token::Many) {
            return Self::Any;
        }
        Self::Parts(tokens.split(|token| *token == Token::Many).map(Segment::of).collect())
    }

    /// Whether it matches every text.
    pub(crate) const fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Whether the whole text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => **exact == *text,
            Self::Parts(parts) => match &**parts {
                [] => false,
                [whole] => whole.after_prefix(text).is_some_and(str::is_empty),
                [first, middle @ .., last] => {
                    let Some(mut rest) = first.after_prefix(text) else { return false };
                    for part in middle {
                        match part.after_first(rest) {
                            Some(after) => rest = after,
                            None => return false,
                        }
                    }
                    last.is_suffix_of(rest)
                }
            },
        }
    }
}

const fn token_char(token: Token) -> Option<char> {
    match token {
        Token::Char(letter) => Some(letter),
        Token::One | Token::Many => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, in exponential time.
    fn matches_by_definition(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => {
                matches_by_definition(rest, text)
                    || (!text.is_empty() && matches_by_definition(pattern, &text[1..]))
            }
            (['?', rest @ ..], [_, after @ ..]) => matches_by_definition(rest, after),
            ([letter, rest @ ..], [other, after @ ..]) => {
                letter == other && matches_by_definition(rest, after)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_the_definition_says(pattern in "[ab*?]{0,9}", text in "[abé]{0,9}") {
            let by_definition = matches_by_definition(
                &pattern.chars().collect::<Vec<_>>(),
                &text.chars().collect::<Vec<_>>(),
            );
            prop_assert_eq!(Pattern::parse(&pattern).matches(&text), by_definition);
        }

        #[test]
        fn long_runs_of_single_wildcards_match_as_the_definition_says(
            before in 0_usize..3, ones in 60_usize..140, letters in 55_usize..145,
        ) {
            let pattern = format!("*{}b{}a*", "a".repeat(before), "?".repeat(ones));
            let text = format!("{}b{}a", "a".repeat(before), "c".repeat(letters));
            prop_assert_eq!(Pattern::parse(&pattern).matches(&text), ones == letters);
        }
    }
}
