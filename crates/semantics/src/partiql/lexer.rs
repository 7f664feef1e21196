//! From the text of a statement to tokens.
//!
//! It knows comments, quotes and numbers. It does not know the grammar.

use crate::messages::partiql as messages;

use super::PartiqlFault;

/// A range of bytes in the statement's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

/// Line, column and length of a range, as messages have them: in characters, line and column from 1.
pub(super) fn place(text: &str, span: Span) -> String {
    let before = text.get(..span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let length = text.get(span.start..span.end).unwrap_or_default().chars().count();
    format!("{line}:{column}:{length}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenBag,
    CloseBag,
    Comma,
    Dot,
    Colon,
    Semicolon,
    Star,
    Parameter,
    Plus,
    Minus,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Symbols by their text, longer ones before those they start with.
const SYMBOLS: [(&str, Symbol); 23] = [
    ("<<", Symbol::OpenBag),
    (">>", Symbol::CloseBag),
    ("<>", Symbol::NotEqual),
    ("!=", Symbol::NotEqual),
    ("<=", Symbol::LessOrEqual),
    (">=", Symbol::GreaterOrEqual),
    ("<", Symbol::Less),
    (">", Symbol::Greater),
    ("=", Symbol::Equal),
    ("(", Symbol::OpenParenthesis),
    (")", Symbol::CloseParenthesis),
    ("[", Symbol::OpenBracket),
    ("]", Symbol::CloseBracket),
    ("{", Symbol::OpenBrace),
    ("}", Symbol::CloseBrace),
    (",", Symbol::Comma),
    (".", Symbol::Dot),
    (":", Symbol::Colon),
    (";", Symbol::Semicolon),
    ("*", Symbol::Star),
    ("?", Symbol::Parameter),
    ("+", Symbol::Plus),
    ("-", Symbol::Minus),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A keyword or a name without quotes.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// A number without sign, as written.
    Number(String),
    Symbol(Symbol),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

fn unreadable() -> PartiqlFault {
    PartiqlFault::new(messages::not_well_formed(""))
}

/// All tokens of a statement.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, PartiqlFault> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let (kind, length) = if first.is_whitespace() {
            rest = rest.trim_start();
            continue;
        } else if let Some(length) = comment(rest)? {
            rest = rest.get(length..).unwrap_or_default();
            continue;
        } else {
            token(first, rest)?
        };
        assert!(length > 0, "every token takes some of the text");
        found.push(Token { kind, span: Span { start, end: start + length } });
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(found)
}

/// The length of the comment that the text starts with.
fn comment(text: &str) -> Result<Option<usize>, PartiqlFault> {
    if text.starts_with("--") {
        return Ok(Some(text.find('\n').unwrap_or(text.len())));
    }
    if text.starts_with("/*") {
        let body = text.get(2..).unwrap_or_default();
        return Ok(Some(body.find("*/").ok_or_else(unreadable)? + 4));
    }
    Ok(None)
}

fn token(first: char, rest: &str) -> Result<(TokenKind, usize), PartiqlFault> {
    if first.is_alphabetic() || matches!(first, '_' | '$') {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        return Ok((TokenKind::Word(word.to_owned()), length));
    }
    let after_dot = rest.get(1..).and_then(|rest| rest.chars().next());
    if first.is_ascii_digit() || (first == '.' && after_dot.is_some_and(|next| next.is_ascii_digit())) {
        let length = number_length(rest.as_bytes());
        return Ok((TokenKind::Number(rest.get(..length).unwrap_or_default().to_owned()), length));
    }
    match first {
        '\'' => quoted(rest, '\'').map(|(text, length)| (TokenKind::Text(text), length)),
        '"' => quoted(rest, '"').map(|(text, length)| (TokenKind::Quoted(text), length)),
        _ => {
            let symbol = SYMBOLS.iter().find(|(text, _)| rest.starts_with(text)).ok_or_else(unreadable)?;
            Ok((TokenKind::Symbol(symbol.1), symbol.0.len()))
        }
    }
}

/// `12`, `1.5`, `.5`, `1.`, each with or without an exponent.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        from + tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

/// A text in quotes; the quote itself is written twice.
fn quoted(rest: &str, quote: char) -> Result<(String, usize), PartiqlFault> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            text.push(letter);
        } else if letters.peek().is_some_and(|(_, next)| *next == quote) {
            letters.next();
            text.push(quote);
        } else {
            return Ok((text, at + 1));
        }
    }
    Err(unreadable())
}
