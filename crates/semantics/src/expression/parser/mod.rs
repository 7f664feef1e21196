//! From tokens to a syntax tree: paths, operands and calls, which all kinds of expressions share.
//!
//! Parsing time is linear in the text and recursion is bounded. Redundant parentheses are reported here, when
//! the outer one closes: the service reports them before any later syntax error.

mod condition;
mod update;

use super::fault::Fault;
use super::functions::Function;
use super::lexer::{Token, TokenKind, Tokens};
use super::syntax::{RawCall, RawOperand, RawPath, RawStep};
use crate::limits::{EXPRESSION_OPERATORS_MAX, EXPRESSION_PARSER_DEPTH_MAX};
use crate::messages::expression as messages;

pub(super) use condition::condition;
pub(super) use update::update;

/// The paths of a projection.
pub(super) fn projection(text: &str) -> Result<Vec<RawPath<'_>>, Fault> {
    let mut parser = Parser::new(text);
    let mut paths = vec![parser.path()?];
    while parser.take(TokenKind::Comma) {
        paths.push(parser.path()?);
    }
    parser.end()?;
    Ok(paths)
}

/// A node and whether parentheses surround it.
struct Grouped<T> {
    node: T,
    in_parens: bool,
}

impl<T> Grouped<T> {
    fn bare(node: T) -> Self {
        Self { node, in_parens: false }
    }

    fn map<U>(self, convert: impl FnOnce(T) -> U) -> Grouped<U> {
        Grouped { node: convert(self.node), in_parens: self.in_parens }
    }
}

struct Parser<'t> {
    tokens: Tokens<'t>,
    position: usize,
    operators: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        Self { tokens: Tokens::new(text), position: 0, operators: 0, depth: 0 }
    }

    fn peek(&self) -> Token<'t> {
        self.tokens.at(self.position)
    }

    fn peek_second(&self) -> Token<'t> {
        self.tokens.at(self.position + 1)
    }

    fn advance(&mut self) -> Token<'t> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.position += 1;
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Token<'t>, Fault> {
        if self.peek().kind == kind { Ok(self.advance()) } else { Err(self.syntax_error()) }
    }

    fn end(&self) -> Result<(), Fault> {
        assert_eq!(self.depth, 0, "every level that was opened is closed");
        if self.peek().kind == TokenKind::End { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn syntax_error(&self) -> Fault {
        Fault::new(self.tokens.syntax_error(self.position))
    }

    /// Counts an operator. The service stops at the first operator beyond its limit.
    fn count_operator(&mut self) -> Result<(), Fault> {
        self.operators += 1;
        if self.operators > EXPRESSION_OPERATORS_MAX {
            return Err(Fault::new(messages::too_many_operators(self.operators)));
        }
        Ok(())
    }

    /// Parses one level deeper. Each pair of parentheses that matters encloses an operator, so an expression
    /// nested more deeply than operators are allowed has redundant parentheses.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth >= EXPRESSION_PARSER_DEPTH_MAX {
            return Err(Fault::new(messages::redundant_parentheses()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Closes a group whose content is read.
    fn close<T>(&mut self, inner: Grouped<T>) -> Result<Grouped<T>, Fault> {
        self.expect(TokenKind::CloseParen)?;
        if inner.in_parens {
            return Err(Fault::new(messages::redundant_parentheses()));
        }
        Ok(Grouped { node: inner.node, in_parens: true })
    }

    /// A path, a value or a call, perhaps in parentheses.
    fn operand(&mut self) -> Result<RawOperand<'t>, Fault> {
        self.grouped_operand().map(|grouped| grouped.node)
    }

    fn grouped_operand(&mut self) -> Result<Grouped<RawOperand<'t>>, Fault> {
        if self.take(TokenKind::OpenParen) {
            let inner = self.nested(Self::grouped_operand)?;
            return self.close(inner);
        }
        self.bare_operand().map(Grouped::bare)
    }

    fn bare_operand(&mut self) -> Result<RawOperand<'t>, Fault> {
        match self.peek().kind {
            TokenKind::ValuePlaceholder => Ok(RawOperand::Value(self.advance().text.into())),
            TokenKind::Identifier if self.peek_second().kind == TokenKind::OpenParen => {
                self.call().map(RawOperand::Call)
            }
            TokenKind::Identifier | TokenKind::NamePlaceholder => self.path().map(RawOperand::Path),
            _ => Err(self.syntax_error()),
        }
    }

    fn call(&mut self) -> Result<RawCall<'t>, Fault> {
        let name = self.advance().text;
        self.expect(TokenKind::OpenParen)?;
        if self.depth >= EXPRESSION_PARSER_DEPTH_MAX {
            return Err(Fault::new(too_deep_call(name)));
        }
        let arguments = self.nested(Self::operand_list)?;
        Ok(RawCall { name: name.into(), arguments })
    }

    /// One or more operands and the closing parenthesis.
    fn operand_list(&mut self) -> Result<Vec<RawOperand<'t>>, Fault> {
        let mut operands = vec![self.operand()?];
        while self.take(TokenKind::Comma) {
            operands.push(self.operand()?);
        }
        self.expect(TokenKind::CloseParen)?;
        Ok(operands)
    }

    fn path(&mut self) -> Result<RawPath<'t>, Fault> {
        let first = self.name_step()?;
        let mut rest = Vec::new();
        loop {
            if self.take(TokenKind::Dot) {
                rest.push(self.name_step()?);
            } else if self.take(TokenKind::OpenBracket) {
                rest.push(RawStep::Index(self.expect(TokenKind::Integer)?.text.into()));
                self.expect(TokenKind::CloseBracket)?;
            } else {
                return Ok(RawPath { first, rest });
            }
        }
    }

    fn name_step(&mut self) -> Result<RawStep<'t>, Fault> {
        match self.peek().kind {
            TokenKind::Identifier => Ok(RawStep::Name(self.advance().text.into())),
            TokenKind::NamePlaceholder => Ok(RawStep::Placeholder(self.advance().text.into())),
            _ => Err(self.syntax_error()),
        }
    }
}

/// The fault of calls nested beyond the parser's bound: either the function is unknown, or it cannot be
/// nested.
fn too_deep_call(name: &str) -> String {
    match Function::from_name(name) {
        Some(_) => messages::function_misplaced(name),
        None => messages::function_unknown(name),
    }
}
