//! Tokens of the expression language. One lexer serves every kind of expression, so `SET` is a keyword in a
//! condition too, as in the service.
//!
//! It does not know the grammar.

use crate::messages;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A letter, then letters, digits and `_`.
    Identifier,
    /// `#name`.
    NamePlaceholder,
    /// `:value`.
    ValuePlaceholder,
    /// Decimal digits without a leading zero.
    Integer,
    Keyword(Keyword),
    Comparator(Comparator),
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    Comma,
    Dot,
    Plus,
    Minus,
    /// A character that begins no token.
    Unknown,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Add,
    And,
    Between,
    Delete,
    In,
    Not,
    Or,
    Remove,
    Set,
}

/// The six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparator {
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// A token and its position in the text, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    start: usize,
    end: usize,
}

/// The tokens of a text. Invariant: the last one, and only that, is `End`.
pub(super) struct Tokens<'t> {
    text: &'t str,
    before_end: Vec<Token<'t>>,
    end: Token<'t>,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        // With names, placeholders and spaces, most texts have fewer tokens than one for every third byte.
        let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
        let mut rest = text.trim_start_matches(is_space);
        while let Some(first) = rest.chars().next() {
            let start = text.len() - rest.len();
            let (kind, length) = scan(rest, first);
            assert!(length > 0, "every token takes some of the text");
            let (token, after) = rest.split_at(length);
            tokens.push(Token { kind, text: token, start, end: start + length });
            rest = after.trim_start_matches(is_space);
        }
        let end = Token { kind: TokenKind::End, text: "<EOF>", start: text.len(), end: text.len() };
        Self { text, before_end: tokens, end }
    }

    /// The token at a position; `End` beyond the last.
    pub(super) fn at(&self, position: usize) -> Token<'t> {
        self.before_end.get(position).copied().unwrap_or(self.end)
    }

    /// The message of a syntax error at a position: the token, and the text from the token before to the
    /// token after it.
    pub(super) fn syntax_error(&self, position: usize) -> String {
        let token = self.at(position);
        let first = if position > 0 { self.at(position - 1) } else { token };
        let last = match self.at(position + 1) {
            next if next.kind != TokenKind::End => next,
            _ if token.kind == TokenKind::End => first,
            _ => token,
        };
        let near = self.text.get(first.start..last.end).unwrap_or_default();
        messages::expression::syntax_error(token.text, near)
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The kind and the length in bytes of the token at the start of `rest`.
fn scan(rest: &str, first: char) -> (TokenKind, usize) {
    let word_length = |from: usize| {
        let tail = rest.get(from..).unwrap_or_default();
        from + tail.find(|character| !is_word(character)).unwrap_or(tail.len())
    };
    match first {
        'a'..='z' | 'A'..='Z' => {
            let length = word_length(0);
            (word_kind(rest.get(..length).unwrap_or_default()), length)
        }
        '#' | ':' => match word_length(1) {
            1 => (TokenKind::Unknown, 1),
            length if first == '#' => (TokenKind::NamePlaceholder, length),
            length => (TokenKind::ValuePlaceholder, length),
        },
        '0' => (TokenKind::Integer, 1),
        '1'..='9' => (
            TokenKind::Integer,
            rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len()),
        ),
        '<' if rest.starts_with("<>") => (TokenKind::Comparator(Comparator::Ne), 2),
        '<' if rest.starts_with("<=") => (TokenKind::Comparator(Comparator::Le), 2),
        '>' if rest.starts_with(">=") => (TokenKind::Comparator(Comparator::Ge), 2),
        '<' => (TokenKind::Comparator(Comparator::Lt), 1),
        '>' => (TokenKind::Comparator(Comparator::Gt), 1),
        '=' => (TokenKind::Comparator(Comparator::Eq), 1),
        '(' => (TokenKind::OpenParen, 1),
        ')' => (TokenKind::CloseParen, 1),
        '[' => (TokenKind::OpenBracket, 1),
        ']' => (TokenKind::CloseBracket, 1),
        ',' => (TokenKind::Comma, 1),
        '.' => (TokenKind::Dot, 1),
        '+' => (TokenKind::Plus, 1),
        '-' => (TokenKind::Minus, 1),
        other => (TokenKind::Unknown, other.len_utf8()),
    }
}

/// Keywords are not case-sensitive.
fn word_kind(word: &str) -> TokenKind {
    const KEYWORDS: [(&str, Keyword); 9] = [
        ("ADD", Keyword::Add),
        ("AND", Keyword::And),
        ("BETWEEN", Keyword::Between),
        ("DELETE", Keyword::Delete),
        ("IN", Keyword::In),
        ("NOT", Keyword::Not),
        ("OR", Keyword::Or),
        ("REMOVE", Keyword::Remove),
        ("SET", Keyword::Set),
    ];
    KEYWORDS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .map_or(TokenKind::Identifier, |(_, keyword)| TokenKind::Keyword(*keyword))
}
