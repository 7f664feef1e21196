//! Texts of policies with wildcards and variables: `table/${aws:username}-*`.
//!
//! A variable's text is literal: a user named `a*` is no wildcard. It does not know which statement a text is
//! of; a statement whose variables cannot be resolved is not asked.

use std::borrow::Cow;

use crate::context::{Facts, Found, Key};
use crate::pattern::{Pattern, Token};
use crate::truth::Truth;

/// What `*` and `?` mean in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wildcards {
    Match,
    Literal,
}

/// What `${…}` means in a text: plain text before Version 2012-10-17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    Resolve,
    Literal,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Wildcard(Token),
    Variable(Variable),
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) key: Key,
    default: Option<String>,
}

impl Variable {
    /// Whether a request has the one value that it needs.
    pub(crate) fn is_resolved(&self, facts: &Facts<'_>) -> Truth {
        if self.key.is_multivalued() == Some(true) {
            return Truth::No;
        }
        match facts.find(&self.key) {
            Found::One(_) => Truth::Yes,
            Found::Absent => self.default.is_some().into(),
            Found::Many(_) => Truth::No,
            Found::Unknown => Truth::Unknown,
        }
    }

    fn text<'c>(&'c self, facts: &Facts<'c>) -> &'c str {
        match facts.find(&self.key) {
            Found::One(text) => text,
            Found::Absent | Found::Unknown | Found::Many(_) => self.default.as_deref().unwrap_or_default(),
        }
    }
}

/// A variable without its closing brace, or without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnclosedVariable;

/// The parts of a text.
pub(crate) fn pieces(
    text: &str,
    wildcards: Wildcards,
    variables: Variables,
) -> Result<Vec<Piece>, UnclosedVariable> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..).unwrap_or_default();
        let opened = if variables == Variables::Resolve { rest.strip_prefix("${") } else { None };
        if let Some(opened) = opened {
            let (inside, after) = opened.split_once('}').ok_or(UnclosedVariable)?;
            match inside {
                "*" | "?" | "$" => push_text(&mut pieces, inside),
                _ => pieces.push(Piece::Variable(variable(inside)?)),
            }
            rest = after;
            continue;
        }
        match Token::of_policy(letter) {
            Token::Char(_) => push_text(&mut pieces, letter.encode_utf8(&mut [0; 4])),
            _ if wildcards == Wildcards::Literal => push_text(&mut pieces, letter.encode_utf8(&mut [0; 4])),
            wildcard => pieces.push(Piece::Wildcard(wildcard)),
        }
        rest = after;
    }
    Ok(pieces)
}

fn push_text(pieces: &mut Vec<Piece>, more: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push_str(more),
        _ => pieces.push(Piece::Text(more.to_owned())),
    }
}

/// `aws:username`, or `aws:PrincipalTag/team, 'company-wide'`.
fn variable(inside: &str) -> Result<Variable, UnclosedVariable> {
    let (key, default) = match inside.split_once(',') {
        Some((key, default)) => {
            let quoted = default.trim().strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            (key.trim(), Some(quoted.ok_or(UnclosedVariable)?.to_owned()))
        }
        None => (inside.trim(), None),
    };
    if key.is_empty() {
        return Err(UnclosedVariable);
    }
    Ok(Variable { key: Key::parse(key), default })
}

/// Whether letters of both cases are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Exact,
    Ignored,
}

impl Case {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => text.into(),
            Self::Ignored => text.to_lowercase().into(),
        }
    }
}

/// A text as it is wanted of a request: with the values of its variables. None if it has none.
pub(crate) fn resolved(text: &str, facts: &Facts<'_>) -> Option<String> {
    let pieces = pieces(text, Wildcards::Literal, Variables::Resolve).ok()?;
    let has_variable = pieces.iter().any(|piece| matches!(piece, Piece::Variable(_)));
    let shown = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Variable(variable) => variable.text(facts).to_owned(),
        Piece::Wildcard(_) => String::new(),
    };
    has_variable.then(|| pieces.iter().map(shown).collect())
}

/// A compiled text.
#[derive(Clone, Debug)]
pub(crate) enum Template {
    /// Without variables, or with case ignored in lower case.
    Fixed(Pattern),
    /// With variables.
    Variable(Box<[Piece]>),
}

impl Template {
    pub(crate) fn of(pieces: Vec<Piece>, case: Case) -> Self {
        if pieces.iter().any(|piece| matches!(piece, Piece::Variable(_))) {
            return Self::Variable(pieces.into());
        }
        let mut tokens = Vec::new();
        for piece in &pieces {
            match piece {
                Piece::Text(text) => tokens.extend(case.of(text).chars().map(Token::Char)),
                Piece::Wildcard(token) => tokens.push(*token),
                Piece::Variable(_) => {}
            }
        }
        Self::Fixed(Pattern::of(tokens.into_iter()))
    }

    /// The pattern that every text matches.
    pub(crate) const fn any() -> Self {
        Self::Fixed(Pattern::Any)
    }

    /// The variables in it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let pieces = match self {
            Self::Fixed(_) => &[],
            Self::Variable(pieces) => &**pieces,
        };
        pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable) => Some(variable),
            Piece::Text(_) | Piece::Wildcard(_) => None,
        })
    }

    /// Whether the whole text matches. Its variables are resolved.
    pub(crate) fn matches(&self, text: &str, case: Case, facts: &Facts<'_>) -> bool {
        let pieces = match self {
            Self::Fixed(pattern) if case == Case::Exact => return pattern.matches(text),
            Self::Fixed(pattern) => return pattern.matches(&case.of(text)),
            Self::Variable(pieces) => pieces,
        };
        let has_wildcards = pieces.iter().any(|piece| matches!(piece, Piece::Wildcard(_)));
        if case == Case::Exact && !has_wildcards {
            return matches_exactly(pieces, text, facts);
        }
        let mut tokens = Vec::new();
        for piece in pieces {
            let literal = match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Variable(variable) => variable.text(facts),
                Piece::Wildcard(token) => {
                    tokens.push(*token);
                    continue;
                }
            };
            tokens.extend(case.of(literal).chars().map(Token::Char));
        }
        Pattern::of(tokens.into_iter()).matches(&case.of(text))
    }
}

/// The frequent case, without taking memory: texts and variables in a row.
fn matches_exactly(pieces: &[Piece], text: &str, facts: &Facts<'_>) -> bool {
    let mut rest = text;
    for piece in pieces {
        let literal = match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Variable(variable) => variable.text(facts),
            Piece::Wildcard(_) => return false,
        };
        match rest.strip_prefix(literal) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}
