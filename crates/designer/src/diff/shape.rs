//! The texts that a key template can write: which templates write the same texts, and which can write a
//! common one.
//!
//! A variable counts by its position and type; its name does not matter for the text.

use keywright_semantics::value::ValueType;

use super::input::SubjectEntity;
use keywright_model::template::matching::{Part, parts, variable};

/// The pieces of a template. Invariant: no two words are adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Word(String),
    Place {
        variable: String,
        value_type: Option<ValueType>,
        /// The value's format: `:pad(10)`, `|shard(20)`, or none.
        written: String,
    },
}

/// One letter, or any number of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Letter(char),
    Digits,
    Text,
}

impl Shape {
    /// The shape of an entity's template; without a template, any text.
    pub(super) fn of(template: Option<&str>, entity: &SubjectEntity) -> Self {
        let any = || Piece::Place { variable: String::new(), value_type: None, written: String::new() };
        let Some(template) = template else { return Self { pieces: vec![any()] } };
        let pieces = parts(template).into_iter().map(|part| match part {
            Part::Word(word) => Piece::Word(word.to_owned()),
            Part::Place(place) => {
                let name = variable(place);
                Piece::Place {
                    variable: name.to_owned(),
                    value_type: entity.attributes.get(name).copied(),
                    written: place.trim().strip_prefix(name).unwrap_or(place).trim().to_owned(),
                }
            }
        });
        Self { pieces: pieces.collect() }
    }

    /// The pairs of variables by position, if words, types and formats are equal.
    pub(super) fn alike<'a>(&'a self, other: &'a Self) -> Option<Vec<(&'a str, &'a str)>> {
        if self.pieces.len() != other.pieces.len() {
            return None;
        }
        let mut names = Vec::new();
        for pair in self.pieces.iter().zip(&other.pieces) {
            match pair {
                (Piece::Word(one), Piece::Word(two)) if one == two => {}
                (
                    Piece::Place { variable: one, value_type: first, written },
                    Piece::Place { variable: two, value_type: second, written: other },
                ) if first == second && written == other => names.push((one.as_str(), two.as_str())),
                _ => return None,
            }
        }
        Some(names)
    }

    /// Whether both can write a common text.
    pub(super) fn meets(&self, other: &Self) -> bool {
        meet(&self.tokens(), &other.tokens())
    }

    /// Whether both can write a common text for one item: equal pieces cancel out, and the rest must have the
    /// same length.
    pub(super) fn may_be_of_one_item(&self, other: &Self) -> bool {
        let mut rest: Vec<&Piece> = other.places().collect();
        let mut own = 0_usize;
        for place in self.places() {
            match rest.iter().position(|known| *known == place) {
                Some(at) => drop(rest.swap_remove(at)),
                None => own += 1,
            }
        }
        let (letters, others) = (self.letters(), other.letters());
        self.meets(other)
            && match (own > 0, !rest.is_empty()) {
                (true, true) => true,
                (true, false) => letters <= others,
                (false, true) => letters >= others,
                (false, false) => letters == others,
            }
    }

    fn places(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Place { .. }))
    }

    /// The number of letters in its words.
    fn letters(&self) -> usize {
        let letters = self.pieces.iter().map(|piece| match piece {
            Piece::Word(word) => word.chars().count(),
            Piece::Place { .. } => 0,
        });
        letters.sum()
    }

    /// Whether the other can write a text that begins like this one up to its first variable: what a prefix
    /// query finds.
    pub(super) fn begins_like(&self, other: &Self) -> bool {
        let first: Vec<Piece> =
            self.pieces.iter().take_while(|piece| matches!(piece, Piece::Word(_))).cloned().collect();
        let mut tokens = Self { pieces: first }.tokens();
        tokens.push(Token::Text);
        meet(&tokens, &other.tokens())
    }

    fn tokens(&self) -> Vec<Token> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Word(word) => found.extend(word.chars().map(Token::Letter)),
                Piece::Place { value_type: Some(ValueType::N), .. } => found.push(Token::Digits),
                Piece::Place { .. } => found.push(Token::Text),
            }
        }
        found
    }
}

impl Token {
    fn takes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Digits, Self::Letter(letter)) => {
                letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+' | 'E' | 'e')
            }
            (Self::Letter(one), Self::Letter(two)) => one == two,
            // A token for any number of letters also matches none.
            (Self::Text | Self::Digits, _) => true,
            (Self::Letter(_), _) => false,
        }
    }
}

/// Whether two token sequences have a common text. Row by row: which prefixes of the second match what was
/// read of the first.
fn meet(one: &[Token], two: &[Token]) -> bool {
    let gap = |token: Option<&Token>| token.is_some_and(|token| !matches!(token, Token::Letter(_)));
    let mut reached = vec![vec![false; two.len() + 1]; one.len() + 1];
    let mut open = vec![(0, 0)];
    while let Some((left, right)) = open.pop() {
        let Some(seen) = reached.get_mut(left).and_then(|row| row.get_mut(right)) else { continue };
        if std::mem::replace(seen, true) {
            continue;
        }
        let (first, second) = (one.get(left), two.get(right));
        if gap(first) {
            open.push((left + 1, right));
        }
        if gap(second) {
            open.push((left, right + 1));
        }
        if let (Some(first), Some(second)) = (first, second) {
            if gap(Some(first)) && first.takes(*second) {
                open.push((left, right + 1));
            }
            if gap(Some(second)) && second.takes(*first) {
                open.push((left + 1, right));
            }
            if first == second && !gap(Some(first)) {
                open.push((left + 1, right + 1));
            }
        }
    }
    reached.last().and_then(|row| row.last()).copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(template: &str) -> Shape {
        let types = [("a", ValueType::S), ("b", ValueType::S), ("n", ValueType::N)];
        let entity = SubjectEntity {
            name: "E".to_owned(),
            attributes: types.map(|(name, value_type)| (name.to_owned(), value_type)).into(),
            ..SubjectEntity::default()
        };
        Shape::of(Some(template), &entity)
    }

    #[test]
    fn templates_write_the_same_when_words_types_and_padding_agree_whatever_the_variables_are_called() {
        assert_eq!(shape("o#{a}").alike(&shape("o#{b}")), Some(vec![("a", "b")]));
        for other in ["p#{a}", "o#{n}", "o#{a}#", "o#{a:pad(3)}", "o#x"] {
            assert_eq!(shape("o#{a}").alike(&shape(other)), None, "{other}");
        }
    }

    #[test]
    fn templates_meet_when_one_text_can_be_written_by_both() {
        for (one, other) in
            [("o#{a}", "o#{a}#{b}"), ("{a}", "u#{n}"), ("u#{a}", "{b}#x"), ("x{n}", "x7"), ("u", "u")]
        {
            assert!(shape(one).meets(&shape(other)) && shape(other).meets(&shape(one)), "{one} {other}");
        }
        for (one, other) in
            [("u", "m"), ("o#{a}", "ord#{a}"), ("o#{n}", "o#x"), ("{n}#a", "{a}#b"), ("x{n}y", "xzy")]
        {
            assert!(!shape(one).meets(&shape(other)) && !shape(other).meets(&shape(one)), "{one} {other}");
        }
    }

    #[test]
    fn one_item_has_two_texts_where_one_of_them_has_more_than_the_other() {
        for (one, other) in
            [("o#{a}", "o#{b}#{a}"), ("{a}", "u#{a}"), ("u", "{a}#u"), ("{a}#{b}", "{b}-{a}#")]
        {
            assert!(!shape(one).may_be_of_one_item(&shape(other)), "{one} {other}");
            assert!(!shape(other).may_be_of_one_item(&shape(one)), "{one} {other}");
        }
        for (one, other) in [("{a|shard(20)}", "{a|shard(40)}"), ("o#{a}", "o#{b}"), ("{a}#{b}", "{b}#{a}")] {
            assert!(shape(one).may_be_of_one_item(&shape(other)), "{one} {other}");
        }
    }

    #[test]
    fn texts_with_the_prefix_of_a_key_are_found_by_it() {
        assert!(shape("o#{a}").begins_like(&shape("o#{b}#{a}")));
        assert!(!shape("o#{a}").begins_like(&shape("ord#{a}")));
        assert!(shape("{a}").begins_like(&shape("ord#{a}")));
    }
}
