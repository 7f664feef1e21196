//! From tokens to a syntax tree.
//!
//! Recursive descent, with one function for each level of the grammar. Names and values are not resolved
//! here.

use crate::limits::{PARTIQL_PARSER_DEPTH_MAX, PARTIQL_PATH_INDEX_MAX};
use crate::messages::partiql as messages;

use super::PartiqlFault;
use super::lexer::{Span, Symbol, Token, TokenKind, place, tokens};
use super::syntax::{
    Binary, Descending, Path, RawChange, RawSelect, RawStatement, Returned, Source, Step, Term, TermKind,
    TypeName,
};

/// Words that begin or join clauses. They are names only in quotes.
const CLAUSE_WORDS: [&str; 16] = [
    "select",
    "from",
    "where",
    "order",
    "by",
    "insert",
    "into",
    "update",
    "set",
    "remove",
    "delete",
    "returning",
    "as",
    "asc",
    "desc",
    "group",
];
/// Words that join terms.
const OPERATOR_WORDS: [&str; 6] = ["and", "or", "in", "between", "is", "like"];
/// Further words of the language that need quotes after a dot.
const DOT_WORDS: [&str; 22] = [
    "inner", "outer", "left", "right", "full", "cross", "join", "on", "using", "natural", "case", "when",
    "then", "else", "end", "cast", "distinct", "exists", "having", "limit", "union", "values",
];

type Parsed<T> = Result<T, PartiqlFault>;

fn malformed<T>(detail: &str) -> Parsed<T> {
    Err(PartiqlFault::new(messages::not_well_formed(detail)))
}

/// Parses the text of one statement.
pub(super) fn parse(text: &str) -> Parsed<RawStatement> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, at: 0, parameters: 0, depth: 0 };
    let statement = parser.statement()?;
    assert_eq!(parser.depth, 0, "every term that was opened is closed");
    parser.take_symbol(Symbol::Semicolon);
    if parser.peek().is_some() {
        return malformed(messages::LEFTOVER);
    }
    Ok(statement)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    /// Parameters met so far.
    parameters: usize,
    /// The number of open terms around the present one; it bounds the depth of the tree.
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn span(&self) -> Span {
        let end = self.text.len();
        self.tokens.get(self.at).map_or(Span { start: end, end }, |token| token.span)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn at_end(&self) -> bool {
        matches!(self.peek(), None | Some(TokenKind::Symbol(Symbol::Semicolon)))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let found = self.peek() == Some(&TokenKind::Symbol(symbol));
        self.at += usize::from(found);
        found
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(word))
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { malformed(messages::LEFTOVER) }
    }

    fn expect_symbol(&mut self, symbol: Symbol) -> Parsed<()> {
        if self.take_symbol(symbol) { Ok(()) } else { malformed(messages::UNEXPECTED_TERM) }
    }

    fn statement(&mut self) -> Parsed<RawStatement> {
        if self.is_word("select") {
            return self.select().map(RawStatement::Select);
        }
        if self.take_word("insert") {
            return self.insert();
        }
        if self.take_word("update") {
            return self.update();
        }
        if self.take_word("delete") {
            return self.delete();
        }
        if self.take_word("from") {
            return self.update_from();
        }
        let exists = self.is_word("exists")
            && matches!(self.tokens.get(self.at + 2), Some(Token { kind: TokenKind::Word(word), .. })
                if word.eq_ignore_ascii_case("select"));
        if exists {
            self.at += 1;
            self.expect_symbol(Symbol::OpenParenthesis)?;
            let select = self.select()?;
            self.expect_symbol(Symbol::CloseParenthesis)?;
            return Ok(RawStatement::Exists(select));
        }
        self.term().map(RawStatement::Expression)
    }

    fn select(&mut self) -> Parsed<RawSelect> {
        self.expect_word("select")?;
        let columns = if self.take_symbol(Symbol::Star) { None } else { Some(self.columns()?) };
        self.expect_word("from")?;
        let source = self.source(messages::UNEXPECTED_TERM)?;
        self.refuse_limit()?;
        self.refuse_alias()?;
        let condition = self.where_clause()?;
        self.refuse_limit()?;
        let order = if self.take_word("order") { self.order()? } else { Vec::new() };
        self.refuse_limit()?;
        Ok(RawSelect { columns, source, condition, order })
    }

    fn columns(&mut self) -> Parsed<Vec<Term>> {
        let mut columns = Vec::new();
        loop {
            columns.push(self.term()?);
            if self.is_word("as") {
                return Err(PartiqlFault::new(messages::ALIASING));
            }
            if !self.take_symbol(Symbol::Comma) {
                return Ok(columns);
            }
        }
    }

    fn order(&mut self) -> Parsed<Vec<(Term, Descending)>> {
        self.expect_word("by")?;
        let mut order = Vec::new();
        loop {
            let term = self.term()?;
            let descending = self.take_word("desc");
            if !descending {
                self.take_word("asc");
            }
            order.push((term, Descending(descending)));
            if !self.take_symbol(Symbol::Comma) {
                return Ok(order);
            }
        }
    }

    fn insert(&mut self) -> Parsed<RawStatement> {
        self.expect_word("into")?;
        let span = self.span();
        let Source { table, index } = self.source(messages::EXPECTED_TABLE)?;
        if index.is_some() {
            let text = messages::single_table_name(&place(self.text, span));
            return Err(PartiqlFault::new(text));
        }
        self.expect_word("value")?;
        let value = self.term()?;
        Ok(RawStatement::Insert { table, value })
    }

    fn update(&mut self) -> Parsed<RawStatement> {
        let source = self.source(messages::EXPECTED_TABLE)?;
        self.refuse_alias()?;
        let changes = self.changes()?;
        let condition = self.where_clause()?;
        let returned = self.returning()?;
        Ok(RawStatement::Update { source, changes, condition, returned })
    }

    fn update_from(&mut self) -> Parsed<RawStatement> {
        let source = self.source(messages::UNEXPECTED_TERM)?;
        self.refuse_alias()?;
        let condition = self.where_clause()?;
        let changes = self.changes()?;
        let returned = self.returning()?;
        Ok(RawStatement::Update { source, changes, condition, returned })
    }

    fn delete(&mut self) -> Parsed<RawStatement> {
        self.expect_word("from")?;
        let source = self.source(messages::EXPECTED_TABLE)?;
        self.refuse_alias()?;
        let condition = self.where_clause()?;
        let returned = self.returning()?;
        Ok(RawStatement::Delete { source, condition, returned })
    }

    /// A table, or a table and an index joined by a dot.
    fn source(&mut self, otherwise: &str) -> Parsed<Source> {
        let table = self.table(otherwise)?;
        let index = if self.take_symbol(Symbol::Dot) {
            Some(self.table(messages::INVALID_DOT_COMPONENT)?)
        } else {
            None
        };
        if self.peek() == Some(&TokenKind::Symbol(Symbol::Dot)) {
            return Err(PartiqlFault::new(messages::TOO_MANY_PATH_COMPONENTS));
        }
        if table.is_empty() || index.as_deref() == Some("") {
            return Err(PartiqlFault::new(messages::EMPTY_PATH_COMPONENT));
        }
        Ok(Source { table, index })
    }

    /// A name of a table or index.
    fn table(&mut self, otherwise: &str) -> Parsed<String> {
        let is_clause = self.is_any(&CLAUSE_WORDS);
        match self.next().map(|token| token.kind) {
            Some(TokenKind::Quoted(name)) => Ok(name),
            Some(TokenKind::Word(name)) if !is_clause => Ok(name),
            _ => malformed(otherwise),
        }
    }

    /// Refuses LIMIT: the limit is a member of the request. The service's message has the position of the
    /// number.
    fn refuse_limit(&self) -> Parsed<()> {
        match self.tokens.get(self.at + 1) {
            Some(Token { kind: TokenKind::Number(_) | TokenKind::Symbol(Symbol::Parameter), span })
                if self.is_word("limit") =>
            {
                Err(PartiqlFault::new(messages::unsupported_clause("LIMIT", &place(self.text, *span))))
            }
            _ => Ok(()),
        }
    }

    fn refuse_alias(&self) -> Parsed<()> {
        let named = match self.peek() {
            Some(TokenKind::Quoted(_)) => true,
            Some(TokenKind::Word(_)) => self.is_word("as") || !self.is_any(&CLAUSE_WORDS),
            _ => false,
        };
        if named { Err(PartiqlFault::new(messages::ALIASING)) } else { Ok(()) }
    }

    fn where_clause(&mut self) -> Parsed<Option<Term>> {
        if self.take_word("where") { self.term().map(Some) } else { Ok(None) }
    }

    fn changes(&mut self) -> Parsed<Vec<RawChange>> {
        let mut changes = Vec::new();
        loop {
            if self.take_word("set") {
                loop {
                    let path = self.primary()?;
                    self.expect_symbol(Symbol::Equal)?;
                    let value = self.sum()?;
                    changes.push(RawChange::Set(path, value));
                    if !self.take_symbol(Symbol::Comma) {
                        break;
                    }
                }
            } else if self.take_word("remove") {
                loop {
                    changes.push(RawChange::Remove(self.primary()?));
                    if !self.take_symbol(Symbol::Comma) {
                        break;
                    }
                }
            } else if changes.is_empty() {
                return malformed(if self.at_end() { messages::UNEXPECTED_TERM } else { messages::LEFTOVER });
            } else {
                return Ok(changes);
            }
        }
    }

    fn returning(&mut self) -> Parsed<Option<Returned>> {
        if !self.take_word("returning") {
            return Ok(None);
        }
        let all = self.take_word("all");
        if !all && !self.take_word("modified") {
            return malformed(messages::UNEXPECTED_TERM);
        }
        let new = self.take_word("new");
        if !new && !self.take_word("old") {
            return malformed(messages::UNEXPECTED_TERM);
        }
        self.expect_symbol(Symbol::Star)?;
        Ok(Some(match (all, new) {
            (true, true) => Returned::AllNew,
            (true, false) => Returned::AllOld,
            (false, true) => Returned::ModifiedNew,
            (false, false) => Returned::ModifiedOld,
        }))
    }

    /// Any expression.
    fn term(&mut self) -> Parsed<Term> {
        self.deepen(1)?;
        let mut operands = vec![self.conjunction()?];
        while self.take_word("or") {
            self.require_right_side()?;
            operands.push(self.conjunction()?);
        }
        self.depth -= 1;
        joined(Binary::Or, operands)
    }

    fn conjunction(&mut self) -> Parsed<Term> {
        let mut operands = vec![self.negation()?];
        while self.take_word("and") {
            self.require_right_side()?;
            operands.push(self.negation()?);
        }
        joined(Binary::And, operands)
    }

    fn negation(&mut self) -> Parsed<Term> {
        let span = self.span();
        let mut count = 0_usize;
        while self.take_word("not") {
            count += 1;
            self.deepen(1)?;
        }
        let mut term = self.comparison()?;
        self.depth -= count;
        for _ in 0..count {
            term = Term { kind: TermKind::Not(Box::new(term)), span };
        }
        Ok(term)
    }

    fn deepen(&mut self, levels: usize) -> Parsed<()> {
        self.depth += levels;
        if self.depth > PARTIQL_PARSER_DEPTH_MAX { malformed("") } else { Ok(()) }
    }

    fn require_right_side(&self) -> Parsed<()> {
        if self.at_end() { malformed(messages::MISSING_RIGHT_SIDE) } else { Ok(()) }
    }

    fn comparison(&mut self) -> Parsed<Term> {
        let left = self.sum()?;
        let span = left.span;
        let operator = match self.peek() {
            Some(TokenKind::Symbol(Symbol::Equal)) => Binary::Equal,
            Some(TokenKind::Symbol(Symbol::NotEqual)) => Binary::NotEqual,
            Some(TokenKind::Symbol(Symbol::Less)) => Binary::Less,
            Some(TokenKind::Symbol(Symbol::LessOrEqual)) => Binary::LessOrEqual,
            Some(TokenKind::Symbol(Symbol::Greater)) => Binary::Greater,
            Some(TokenKind::Symbol(Symbol::GreaterOrEqual)) => Binary::GreaterOrEqual,
            _ => return self.word_comparison(left, span),
        };
        self.at += 1;
        self.require_right_side()?;
        Ok(binary(operator, left, self.sum()?))
    }

    /// IS, IN and BETWEEN, each also with NOT.
    fn word_comparison(&mut self, left: Term, span: Span) -> Parsed<Term> {
        let subject = Box::new(left);
        if self.take_word("is") {
            let negated = self.take_word("not");
            let type_name = self.type_name()?;
            return Ok(negate(negated, Term { kind: TermKind::Is { subject, type_name }, span }));
        }
        let negated = self.is_word("not");
        self.at += usize::from(negated);
        if self.take_word("in") {
            let list = self.candidates()?;
            return Ok(negate(negated, Term { kind: TermKind::In { subject, list }, span }));
        }
        if self.take_word("between") {
            self.require_right_side()?;
            let lower = Box::new(self.sum()?);
            if !self.take_word("and") {
                return malformed(messages::UNEXPECTED_TERM);
            }
            self.require_right_side()?;
            let upper = Box::new(self.sum()?);
            return Ok(negate(negated, Term { kind: TermKind::Between { subject, lower, upper }, span }));
        }
        if self.is_word("like") {
            return Err(PartiqlFault::new(messages::unsupported_operation("Like")));
        }
        self.at -= usize::from(negated);
        Ok(*subject)
    }

    fn candidates(&mut self) -> Parsed<Vec<Term>> {
        let close = match self.next().map(|token| token.kind) {
            Some(TokenKind::Symbol(Symbol::OpenBracket)) => Symbol::CloseBracket,
            Some(TokenKind::Symbol(Symbol::OpenParenthesis)) => Symbol::CloseParenthesis,
            None => return malformed(messages::MISSING_RIGHT_SIDE),
            Some(_) => return malformed(messages::UNEXPECTED_TERM),
        };
        self.terms_until(close)
    }

    fn type_name(&mut self) -> Parsed<TypeName> {
        let Some(TokenKind::Word(word)) = self.next().map(|token| token.kind) else {
            return malformed(messages::EXPECTED_TYPE);
        };
        let follows = |parser: &mut Self, word: &str| {
            if parser.take_word(word) { Ok(()) } else { malformed(messages::EXPECTED_TYPE) }
        };
        Ok(match word.to_ascii_lowercase().as_str() {
            "missing" => TypeName::Missing,
            "null" => TypeName::Null,
            "bool" | "boolean" => TypeName::Bool,
            "int" | "int2" | "int4" | "int8" | "integer" | "integer2" | "integer4" | "integer8"
            | "smallint" | "bigint" | "float" | "real" | "decimal" | "dec" | "numeric" => TypeName::Number,
            "double" => {
                follows(self, "precision")?;
                TypeName::Number
            }
            "character" => {
                self.take_word("varying");
                TypeName::Text
            }
            "string" | "char" | "varchar" | "symbol" => TypeName::Text,
            "blob" | "clob" => TypeName::Binary,
            "list" => TypeName::List,
            "struct" | "tuple" => TypeName::Map,
            "bag" | "sexp" => TypeName::Set,
            _ => return malformed(messages::EXPECTED_TYPE),
        })
    }

    fn sum(&mut self) -> Parsed<Term> {
        let mut left = self.primary()?;
        let mut count = 0_usize;
        loop {
            let operator = if self.take_symbol(Symbol::Plus) {
                Binary::Plus
            } else if self.take_symbol(Symbol::Minus) {
                Binary::Minus
            } else {
                self.depth -= count;
                return Ok(left);
            };
            count += 1;
            self.deepen(1)?;
            self.require_right_side()?;
            left = binary(operator, left, self.primary()?);
        }
    }

    fn primary(&mut self) -> Parsed<Term> {
        let span = self.span();
        if self.is_any(&OPERATOR_WORDS) {
            return malformed(messages::UNEXPECTED_OPERATOR);
        }
        if self.is_any(&CLAUSE_WORDS) {
            return malformed(messages::UNEXPECTED_KEYWORD);
        }
        let term = |kind| Ok(Term { kind, span });
        match self.next().map(|token| token.kind) {
            Some(TokenKind::Text(text)) => term(TermKind::Text(text)),
            Some(TokenKind::Number(text)) => term(TermKind::Number(text)),
            Some(TokenKind::Quoted(name)) => self.path(name, span),
            Some(TokenKind::Word(word)) => self.word(word, span),
            Some(TokenKind::Symbol(sign @ (Symbol::Minus | Symbol::Plus))) => {
                self.signed_number(sign == Symbol::Minus).and_then(|text| term(TermKind::Number(text)))
            }
            Some(TokenKind::Symbol(Symbol::Parameter)) => {
                self.parameters += 1;
                term(TermKind::Parameter(self.parameters - 1))
            }
            Some(TokenKind::Symbol(Symbol::OpenParenthesis)) => {
                let inner = self.term()?;
                self.expect_symbol(Symbol::CloseParenthesis)?;
                Ok(inner)
            }
            Some(TokenKind::Symbol(Symbol::OpenBracket)) => {
                let elements = self.terms_until(Symbol::CloseBracket)?;
                term(TermKind::List(elements))
            }
            Some(TokenKind::Symbol(Symbol::OpenBag)) => {
                let elements = self.terms_until(Symbol::CloseBag)?;
                term(TermKind::Bag(elements))
            }
            Some(TokenKind::Symbol(Symbol::OpenBrace)) => {
                let members = self.members()?;
                term(TermKind::Struct(members))
            }
            Some(TokenKind::Symbol(
                Symbol::Equal
                | Symbol::NotEqual
                | Symbol::Less
                | Symbol::LessOrEqual
                | Symbol::Greater
                | Symbol::GreaterOrEqual,
            )) => malformed(messages::UNEXPECTED_OPERATOR),
            Some(TokenKind::Symbol(_)) | None => malformed(messages::UNEXPECTED_TERM),
        }
    }

    /// The number after one or more signs.
    fn signed_number(&mut self, mut is_negative: bool) -> Parsed<String> {
        loop {
            match self.next().map(|token| token.kind) {
                Some(TokenKind::Number(text)) if is_negative => return Ok(format!("-{text}")),
                Some(TokenKind::Number(text)) => return Ok(text),
                Some(TokenKind::Symbol(Symbol::Minus)) => is_negative = !is_negative,
                Some(TokenKind::Symbol(Symbol::Plus)) => {}
                _ => return malformed(messages::UNEXPECTED_TERM),
            }
        }
    }

    /// A literal, a call or a path.
    fn word(&mut self, word: String, span: Span) -> Parsed<Term> {
        let literal = match word.to_ascii_lowercase().as_str() {
            "true" => Some(TermKind::Bool(true)),
            "false" => Some(TermKind::Bool(false)),
            "null" => Some(TermKind::Null),
            "missing" => Some(TermKind::Missing),
            _ => None,
        };
        if let Some(kind) = literal {
            return Ok(Term { kind, span });
        }
        if !self.take_symbol(Symbol::OpenParenthesis) {
            return self.path(word, span);
        }
        let star = self.peek() == Some(&TokenKind::Symbol(Symbol::Star));
        let arguments = if star {
            let span = self.span();
            self.at += 1;
            self.expect_symbol(Symbol::CloseParenthesis)?;
            vec![Term { kind: TermKind::Star, span }]
        } else {
            self.terms_until(Symbol::CloseParenthesis)?
        };
        Ok(Term { kind: TermKind::Call { name: word, arguments }, span })
    }

    fn path(&mut self, first: String, span: Span) -> Parsed<Term> {
        let mut steps = Vec::new();
        let mut end = span.end;
        loop {
            if self.take_symbol(Symbol::Dot) {
                let is_language = self.is_any(&DOT_WORDS) || self.is_any(&CLAUSE_WORDS);
                end = self.span().end;
                match self.next().map(|token| token.kind) {
                    Some(TokenKind::Quoted(name)) => steps.push(Step::Field(name)),
                    Some(TokenKind::Word(name)) if !is_language => steps.push(Step::Field(name)),
                    _ => return malformed(messages::INVALID_DOT_COMPONENT),
                }
            } else if self.take_symbol(Symbol::OpenBracket) {
                steps.push(self.bracketed()?);
                end = self.span().end;
                self.expect_symbol(Symbol::CloseBracket)?;
            } else {
                let span = Span { start: span.start, end };
                return Ok(Term { kind: TermKind::Path(Path { first, steps }), span });
            }
        }
    }

    /// The index or name in the brackets of a path.
    fn bracketed(&mut self) -> Parsed<Step> {
        let is_negative = self.take_symbol(Symbol::Minus);
        let span = self.span();
        match self.next().map(|token| token.kind) {
            Some(TokenKind::Number(digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                let index: Option<usize> =
                    digits.parse().ok().filter(|index| *index <= PARTIQL_PATH_INDEX_MAX);
                match index {
                    Some(index) if !is_negative || index == 0 => Ok(Step::Index(index)),
                    _ => {
                        let written = format!("{}{digits}", if is_negative { "-" } else { "" });
                        let text = messages::list_index_out_of_range(&written, &place(self.text, span));
                        Err(PartiqlFault::new(text))
                    }
                }
            }
            Some(TokenKind::Text(name)) if !is_negative => Ok(Step::Field(name)),
            _ => malformed(messages::UNEXPECTED_TERM),
        }
    }

    fn terms_until(&mut self, close: Symbol) -> Parsed<Vec<Term>> {
        let mut terms = Vec::new();
        if self.take_symbol(close) {
            return Ok(terms);
        }
        loop {
            terms.push(self.term()?);
            if self.take_symbol(close) {
                return Ok(terms);
            }
            self.expect_symbol(Symbol::Comma)?;
        }
    }

    fn members(&mut self) -> Parsed<Vec<(String, Term)>> {
        let mut members = Vec::new();
        if self.take_symbol(Symbol::CloseBrace) {
            return Ok(members);
        }
        loop {
            let Some(TokenKind::Text(name) | TokenKind::Quoted(name)) = self.next().map(|token| token.kind)
            else {
                return malformed(messages::UNEXPECTED_TERM);
            };
            self.expect_symbol(Symbol::Colon)?;
            members.push((name, self.term()?));
            if self.take_symbol(Symbol::CloseBrace) {
                return Ok(members);
            }
            self.expect_symbol(Symbol::Comma)?;
        }
    }
}

fn binary(operator: Binary, left: Term, right: Term) -> Term {
    let span = left.span;
    Term { kind: TermKind::Binary { operator, left: Box::new(left), right: Box::new(right) }, span }
}

/// Joins the operands of AND or OR into a balanced tree: grouping does not change their result.
fn joined(operator: Binary, mut operands: Vec<Term>) -> Parsed<Term> {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut left = operands.into_iter();
        while let Some(one) = left.next() {
            pairs.push(match left.next() {
                Some(other) => binary(operator, one, other),
                None => one,
            });
        }
        operands = pairs;
    }
    operands.pop().map_or_else(|| malformed(""), Ok)
}

fn negate(negated: bool, term: Term) -> Term {
    let span = term.span;
    if negated { Term { kind: TermKind::Not(Box::new(term)), span } } else { term }
}
