//! Conditions by precedence: OR, AND, NOT; then comparisons, BETWEEN, IN and function calls.

use super::{Fault, Grouped, Parser};
use crate::expression::lexer::{Keyword, TokenKind};
use crate::expression::syntax::{RawCondition, RawOperand};

/// A whole text as a condition.
pub(in crate::expression) fn condition(text: &str) -> Result<RawCondition<'_>, Fault> {
    let mut parser = Parser::new(text);
    let term = parser.any_of_or()?;
    let condition = parser.require_condition(term)?;
    parser.end()?;
    Ok(*condition)
}

/// The content of parentheses: after `(`, the parser cannot know yet whether an operand or a condition
/// follows. Boxed, because every level of the parser's recursion holds one.
enum Term<'t> {
    Condition(Box<RawCondition<'t>>),
    Operand(Box<RawOperand<'t>>),
}

type GroupedTerm<'t> = Grouped<Term<'t>>;

impl<'t> Parser<'t> {
    fn any_of_or(&mut self) -> Result<GroupedTerm<'t>, Fault> {
        let mut left = self.any_of_and()?;
        while self.peek().kind == TokenKind::Keyword(Keyword::Or) {
            let first = self.require_condition(left)?;
            self.advance();
            self.count_operator()?;
            let second = self.any_of_and()?;
            let second = self.require_condition(second)?;
            left = bare_condition(RawCondition::Or(first, second));
        }
        Ok(left)
    }

    fn any_of_and(&mut self) -> Result<GroupedTerm<'t>, Fault> {
        let mut left = self.any_of_not()?;
        while self.peek().kind == TokenKind::Keyword(Keyword::And) {
            let first = self.require_condition(left)?;
            self.advance();
            self.count_operator()?;
            let second = self.any_of_not()?;
            let second = self.require_condition(second)?;
            left = bare_condition(RawCondition::And(first, second));
        }
        Ok(left)
    }

    fn any_of_not(&mut self) -> Result<GroupedTerm<'t>, Fault> {
        if !self.take(TokenKind::Keyword(Keyword::Not)) {
            return self.primary();
        }
        self.count_operator()?;
        let inner = self.nested(Self::any_of_not)?;
        let inner = self.require_condition(inner)?;
        Ok(bare_condition(RawCondition::Not(inner)))
    }

    fn primary(&mut self) -> Result<GroupedTerm<'t>, Fault> {
        let term = if self.take(TokenKind::OpenParen) {
            let inner = self.nested(Self::any_of_or)?;
            self.close(inner)?
        } else {
            let operand = self.bare_operand()?;
            Grouped::bare(Term::Operand(Box::new(operand)))
        };
        match term.node {
            Term::Condition(_) => Ok(term),
            Term::Operand(operand) => {
                self.after_operand(Grouped { node: operand, in_parens: term.in_parens })
            }
        }
    }

    /// The token after an operand decides whether the operand begins a comparison; otherwise it stays an
    /// operand.
    fn after_operand(&mut self, operand: Grouped<Box<RawOperand<'t>>>) -> Result<GroupedTerm<'t>, Fault> {
        let condition = match self.peek().kind {
            TokenKind::Comparator(comparator) => {
                self.advance();
                self.count_operator()?;
                let right = self.operand()?;
                RawCondition::Compare { comparator, left: *operand.node, right }
            }
            TokenKind::Keyword(Keyword::Between) => {
                self.advance();
                self.count_operator()?;
                let lower = self.operand()?;
                self.expect(TokenKind::Keyword(Keyword::And))?;
                let upper = self.operand()?;
                RawCondition::Between { subject: *operand.node, lower, upper }
            }
            TokenKind::Keyword(Keyword::In) => {
                self.advance();
                self.count_operator()?;
                self.expect(TokenKind::OpenParen)?;
                let list = self.operand_list()?;
                RawCondition::In { subject: *operand.node, list }
            }
            _ => return Ok(operand.map(Term::Operand)),
        };
        Ok(bare_condition(condition))
    }

    /// A condition stays one and a call becomes one. A path or value is the start of a comparison that breaks
    /// off here.
    fn require_condition(&self, term: GroupedTerm<'t>) -> Result<Box<RawCondition<'t>>, Fault> {
        match term.node {
            Term::Condition(condition) => Ok(condition),
            Term::Operand(operand) => match *operand {
                RawOperand::Call(call) => Ok(Box::new(RawCondition::Call(call))),
                RawOperand::Path(_) | RawOperand::Value(_) => Err(self.syntax_error()),
            },
        }
    }
}

fn bare_condition(condition: RawCondition<'_>) -> GroupedTerm<'_> {
    Grouped::bare(Term::Condition(Box::new(condition)))
}
