//! Statements without the values that they hold, for logs.
//!
//! A statement is shown with its tables, attributes and keywords. A value stays only if it is compared for
//! equality with a key attribute, or is a key attribute's value in an inserted item; comments are left out.

use super::lexer::{Symbol, Token, TokenKind, tokens};
use super::parser;

/// What stands for a value, as in the service's audit records.
const REDACTED: &str = "***(Redacted)";

/// The statement without values of attributes that are not of this key; none if it is not well-formed: then
/// nothing is known of what it holds.
pub fn redacted(text: &str, key: &[String]) -> Option<String> {
    parser::parse(text).ok()?;
    let tokens = tokens(text).ok()?;
    let mut shown = String::with_capacity(text.len());
    let (mut depth, mut end) = (0_usize, 0);
    for (place, token) in tokens.iter().enumerate() {
        assert!(token.span.start >= end, "tokens stand one after the other");
        let between = text.get(end..token.span.start).unwrap_or_default();
        shown.push_str(if between.trim().is_empty() { between } else { " " });
        end = token.span.end;
        match token.kind {
            TokenKind::Symbol(Symbol::OpenBrace) => depth += 1,
            TokenKind::Symbol(Symbol::CloseBrace) => depth = depth.saturating_sub(1),
            _ => {}
        }
        let before = tokens.get(..place).unwrap_or_default();
        let is_name = depth == 1 && is_symbol(tokens.get(place + 1), Symbol::Colon);
        if !is_value(token) || is_name || is_of_key(before, depth, key) {
            shown.push_str(text.get(token.span.start..token.span.end).unwrap_or_default());
        } else {
            shown.push_str(REDACTED);
        }
    }
    Some(shown)
}

/// Whether a token is a value by itself.
fn is_value(token: &Token) -> bool {
    match &token.kind {
        TokenKind::Text(_) | TokenKind::Number(_) => true,
        TokenKind::Word(word) => word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false"),
        TokenKind::Quoted(_) | TokenKind::Symbol(_) => false,
    }
}

fn is_symbol(token: Option<&Token>, symbol: Symbol) -> bool {
    token.is_some_and(|token| token.kind == TokenKind::Symbol(symbol))
}

/// Whether the value after these tokens is that of a key attribute: `key = VALUE`, also with a sign, or
/// `{'key': VALUE`.
fn is_of_key(before: &[Token], depth: usize, key: &[String]) -> bool {
    let signs = before
        .iter()
        .rev()
        .take_while(|token| is_symbol(Some(token), Symbol::Minus) || is_symbol(Some(token), Symbol::Plus));
    let before = before.get(..before.len() - signs.count()).unwrap_or_default();
    let [rest @ .., named, joined] = before else { return false };
    let is_key = |name: &String| key.contains(name);
    match (&named.kind, &joined.kind) {
        (TokenKind::Text(name), TokenKind::Symbol(Symbol::Colon)) => depth == 1 && is_key(name),
        (TokenKind::Word(name) | TokenKind::Quoted(name), TokenKind::Symbol(Symbol::Equal)) => {
            let is_below = is_symbol(rest.last(), Symbol::Dot);
            depth == 0 && !is_below && is_key(name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out_unless_they_are_those_of_the_key() {
        let key = ["pk".to_owned(), "sk".to_owned()];
        let cases = [
            (
                "SELECT * FROM T WHERE pk = 'a' AND x = 'b'",
                "SELECT * FROM T WHERE pk = 'a' AND x = ***(Redacted)",
            ),
            (
                "SELECT * FROM T WHERE m.pk = 'a' AND \"sk\" = -1",
                "SELECT * FROM T WHERE m.pk = ***(Redacted) AND \"sk\" = -1",
            ),
            (
                "INSERT INTO T VALUE {'pk': 'a', 'm': {'pk': 'b', 'c': TRUE}}",
                "INSERT INTO T VALUE {'pk': 'a', 'm': {***(Redacted): ***(Redacted), ***(Redacted): ***(Redacted)}}",
            ),
            (
                "UPDATE T SET x = 1 /* 'why' */ WHERE pk = 'a' -- it's",
                "UPDATE T SET x = ***(Redacted)   WHERE pk = 'a'",
            ),
            (
                "DELETE FROM T WHERE pk = ? AND begins_with(sk, 'z')",
                "DELETE FROM T WHERE pk = ? AND begins_with(sk, ***(Redacted))",
            ),
            (
                "SELECT a FROM T WHERE pk IN ['a', 5]",
                "SELECT a FROM T WHERE pk IN [***(Redacted), ***(Redacted)]",
            ),
        ];
        for (text, shown) in cases {
            let found = redacted(text, &key).unwrap();
            assert_eq!(
                found.split_whitespace().collect::<Vec<_>>(),
                shown.split_whitespace().collect::<Vec<_>>(),
                "{text}"
            );
        }
        assert_eq!(redacted("my password is 'x'", &key), None);
    }
}
