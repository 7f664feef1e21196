//! Updates: SET, REMOVE, ADD and DELETE sections in any order.

use super::{Fault, Grouped, Parser};
use crate::expression::lexer::{Comparator, Keyword, TokenKind};
use crate::expression::syntax::{Arithmetic, RawAction, RawChange, RawSetValue, RawUpdate, Section};

/// A whole text as an update.
pub(in crate::expression) fn update(text: &str) -> Result<RawUpdate<'_>, Fault> {
    let mut parser = Parser::new(text);
    let mut sections = vec![parser.section()?];
    while parser.peek().kind != TokenKind::End {
        sections.push(parser.section()?);
    }
    Ok(RawUpdate { sections })
}

impl<'t> Parser<'t> {
    fn section(&mut self) -> Result<(Section, Vec<RawAction<'t>>), Fault> {
        let section = match self.peek().kind {
            TokenKind::Keyword(Keyword::Set) => Section::Set,
            TokenKind::Keyword(Keyword::Remove) => Section::Remove,
            TokenKind::Keyword(Keyword::Add) => Section::Add,
            TokenKind::Keyword(Keyword::Delete) => Section::Delete,
            _ => return Err(self.syntax_error()),
        };
        self.advance();
        let mut actions = vec![self.action(section)?];
        while self.take(TokenKind::Comma) {
            actions.push(self.action(section)?);
        }
        Ok((section, actions))
    }

    fn action(&mut self, section: Section) -> Result<RawAction<'t>, Fault> {
        let path = self.path()?;
        let change = match section {
            Section::Set => {
                self.expect(TokenKind::Comparator(Comparator::Eq))?;
                RawChange::Set(self.set_value()?.node)
            }
            Section::Remove => RawChange::Remove,
            Section::Add => RawChange::Add(self.expect(TokenKind::ValuePlaceholder)?.text.into()),
            Section::Delete => RawChange::Delete(self.expect(TokenKind::ValuePlaceholder)?.text.into()),
        };
        Ok(RawAction { path, change })
    }

    /// An operand or the sum or difference of two, perhaps in parentheses.
    fn set_value(&mut self) -> Result<Grouped<RawSetValue<'t>>, Fault> {
        let left = if self.take(TokenKind::OpenParen) {
            let inner = self.nested(Self::set_value)?;
            self.close(inner)?
        } else {
            self.bare_operand().map(|operand| Grouped::bare(RawSetValue::Operand(operand)))?
        };
        let operator = match self.peek().kind {
            TokenKind::Plus => Arithmetic::Plus,
            TokenKind::Minus => Arithmetic::Minus,
            _ => return Ok(left),
        };
        let RawSetValue::Operand(left) = left.node else { return Err(self.syntax_error()) };
        self.advance();
        self.count_operator()?;
        let right = self.operand()?;
        Ok(Grouped::bare(RawSetValue::Arithmetic { operator, left, right }))
    }
}
