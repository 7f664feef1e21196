//! Metric math: numbers, ids of other queries, `+ - * /`, and the functions SUM, AVG, MIN, MAX, PERIOD, FILL
//! and METRICS.
//!
//! It parses; the engine computes.

use std::collections::BTreeSet;

use super::fault::Fault;

/// Nesting that is parsed at most.
const DEPTH_MAX: usize = 32;
/// Characters of one expression (API reference: `MetricDataQuery`).
const CHARACTERS_MAX: usize = 2048;

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

/// A function over series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// SUM
    Sum,
    /// AVG
    Average,
    /// MIN
    Minimum,
    /// MAX
    Maximum,
}

/// What FILL puts where a series has no point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filler {
    /// A number.
    Number(f64),
    /// The last point before.
    Repeat,
    /// The line between the points around.
    Linear,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// The series of another query.
    Id(String),
    /// `METRICS()`: all metrics of the request; with a text those whose id contains it.
    Metrics(Option<String>),
    /// `PERIOD(id)`: the period of a series, in seconds.
    Period(String),
    /// `FILL(series, filler)`.
    Fill(Box<Expression>, Filler),
    /// SUM, AVG, MIN or MAX.
    Aggregate(Aggregate, Box<Expression>),
    /// Several series, in brackets.
    List(Vec<Expression>),
    /// A first operand, and operators of one rank with their right operands. A chain may be long; the depth
    /// of an expression is bounded.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// A changed sign.
    Negative(Box<Expression>),
}

impl Expression {
    /// The ids that it names, each once.
    pub fn ids(&self) -> BTreeSet<&str> {
        let mut ids = BTreeSet::new();
        self.collect_ids(&mut ids);
        ids
    }

    fn collect_ids<'e>(&'e self, ids: &mut BTreeSet<&'e str>) {
        match self {
            Self::Number(_) | Self::Metrics(_) => {}
            Self::Id(id) | Self::Period(id) => {
                ids.insert(id);
            }
            Self::Fill(inner, _) | Self::Aggregate(_, inner) | Self::Negative(inner) => {
                inner.collect_ids(ids);
            }
            Self::List(elements) => {
                for element in elements {
                    element.collect_ids(ids);
                }
            }
            Self::Chain(first, rest) => {
                first.collect_ids(ids);
                for (_, operand) in rest {
                    operand.collect_ids(ids);
                }
            }
        }
    }

    /// Parses the expression of the query with this id.
    pub fn parse(id: &str, text: &str) -> Result<Self, Fault> {
        let wrong = |reason: String| Fault::validation(format!("Error in expression '{id}': {reason}"));
        if text.len() > CHARACTERS_MAX {
            return Err(wrong(format!("it is longer than {CHARACTERS_MAX} characters")));
        }
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let expression = parser.sum().map_err(wrong)?;
        if parser.rest.is_empty() {
            return Ok(expression);
        }
        Err(wrong(format!("Invalid syntax at '{}'", parser.rest)))
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn take(&mut self, symbol: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(symbol) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn expect(&mut self, symbol: char) -> Result<(), String> {
        if self.take(symbol) { Ok(()) } else { Err(format!("'{symbol}' is missing before '{}'", self.rest)) }
    }

    fn while_matching(&mut self, matches: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|symbol| !matches(symbol)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        taken
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(Self::product, [('+', Operator::Add), ('-', Operator::Subtract)])
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(Self::operand, [('*', Operator::Multiply), ('/', Operator::Divide)])
    }

    fn chain(
        &mut self,
        operand: impl Fn(&mut Self) -> Result<Expression, String>,
        operators: [(char, Operator); 2],
    ) -> Result<Expression, String> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some((_, operator)) = operators.into_iter().find(|(symbol, _)| self.take(*symbol)) {
            rest.push((operator, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Chain(Box::new(first), rest) })
    }

    fn operand(&mut self) -> Result<Expression, String> {
        if self.depth >= DEPTH_MAX {
            return Err(format!("it is nested more than {DEPTH_MAX} times"));
        }
        self.depth += 1;
        let parsed = self.parse_operand();
        self.depth -= 1;
        parsed
    }

    fn parse_operand(&mut self) -> Result<Expression, String> {
        if self.take('-') {
            return Ok(Expression::Negative(Box::new(self.operand()?)));
        }
        if self.take('(') {
            let inner = self.sum()?;
            return self.expect(')').map(|()| inner);
        }
        if self.take('[') {
            let mut elements = vec![self.sum()?];
            while self.take(',') {
                elements.push(self.sum()?);
            }
            return self.expect(']').map(|()| Expression::List(elements));
        }
        if self.rest.starts_with(|symbol: char| symbol.is_ascii_digit() || symbol == '.') {
            return self.number().map(Expression::Number);
        }
        let word = self.while_matching(|symbol| symbol.is_ascii_alphanumeric() || symbol == '_');
        if word.is_empty() {
            return Err(format!("Invalid syntax at '{}'", self.rest));
        }
        if self.take('(') {
            return self.function(word);
        }
        Ok(Expression::Id(word.to_owned()))
    }

    fn number(&mut self) -> Result<f64, String> {
        let digits = self.while_matching(|symbol| symbol.is_ascii_digit() || symbol == '.');
        digits.parse().map_err(|_| format!("'{digits}' is not a number"))
    }

    fn function(&mut self, name: &str) -> Result<Expression, String> {
        let aggregate = match name {
            "SUM" => Aggregate::Sum,
            "AVG" => Aggregate::Average,
            "MIN" => Aggregate::Minimum,
            "MAX" => Aggregate::Maximum,
            "PERIOD" => {
                let id = self.while_matching(|symbol| symbol.is_ascii_alphanumeric() || symbol == '_');
                return self.expect(')').map(|()| Expression::Period(id.to_owned()));
            }
            "METRICS" => {
                let filter = self.take('"').then(|| self.while_matching(|symbol| symbol != '"'));
                if filter.is_some() {
                    self.expect('"')?;
                }
                return self.expect(')').map(|()| Expression::Metrics(filter.map(str::to_owned)));
            }
            "FILL" => return self.fill(),
            _ => return Err(format!("Unsupported function '{name}'")),
        };
        let inner = self.sum()?;
        self.expect(')').map(|()| Expression::Aggregate(aggregate, Box::new(inner)))
    }

    fn fill(&mut self) -> Result<Expression, String> {
        let series = self.sum()?;
        self.expect(',')?;
        let negative = self.take('-');
        let filler = if self.rest.starts_with(|symbol: char| symbol.is_ascii_digit() || symbol == '.') {
            let number = self.number()?;
            Filler::Number(if negative { -number } else { number })
        } else {
            match self.while_matching(|symbol| symbol.is_ascii_alphabetic()) {
                "REPEAT" => Filler::Repeat,
                "LINEAR" => Filler::Linear,
                other => return Err(format!("FILL takes a number, REPEAT or LINEAR, not '{other}'")),
            }
        };
        self.expect(')').map(|()| Expression::Fill(Box::new(series), filler))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expression, String> {
        Expression::parse("e", text).map_err(|fault| fault.message)
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let id = |name: &str| Expression::Id(name.to_owned());
        let chain = |first, rest| Ok(Expression::Chain(Box::new(first), rest));
        let product = Expression::Chain(Box::new(id("m2")), vec![(Operator::Multiply, id("m3"))]);
        assert_eq!(
            parse("m1 + m2*m3 - m4"),
            chain(id("m1"), vec![(Operator::Add, product), (Operator::Subtract, id("m4"))])
        );
        assert_eq!(
            parse("m1/PERIOD(m1)"),
            chain(id("m1"), vec![(Operator::Divide, Expression::Period("m1".into()))])
        );
        assert_eq!(parse("SUM(METRICS(\"ab\"))").map(|parsed| parsed.ids().len()), Ok(0));
        assert_eq!(parse("FILL(m1, -1.5)"), Ok(Expression::Fill(Box::new(id("m1")), Filler::Number(-1.5))));
        assert_eq!(Vec::from_iter(parse("MAX([m2, (m1), m2])").unwrap().ids()), ["m1", "m2"]);
    }

    #[test]
    fn the_depth_of_a_long_expression_is_bounded() {
        let Ok(Expression::Chain(_, rest)) = parse(&vec!["1"; 1000].join("+")) else { panic!("a chain") };
        assert_eq!(rest.len(), 999);
    }

    #[test]
    fn what_is_not_an_expression_is_refused_with_its_query() {
        for text in
            ["", "m1 +", "(m1", "SUM(m1", "RATE(m1)", "m1 m2", "FILL(m1, NEVER)", "METRICS(\"a)", "1.2.3"]
        {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with("Error in expression 'e': "), "{text}: {message}");
        }
        assert!(parse(&"(".repeat(100)).unwrap_err().contains("nested"));
    }
}
