//! Metric math: numbers, ids of other queries, `+ - * /`, and the functions SUM, AVG, MIN, MAX, PERIOD, FILL
//! and METRICS.
//!
//! It parses; the engine computes.

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
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// A changed sign.
    Negative(Box<Expression>),
}

impl Expression {
    /// The ids that it names.
    pub fn ids(&self) -> Vec<&str> {
        match self {
            Self::Number(_) | Self::Metrics(_) => Vec::new(),
            Self::Id(id) | Self::Period(id) => vec![id],
            Self::Fill(inner, _) | Self::Aggregate(_, inner) | Self::Negative(inner) => inner.ids(),
            Self::List(elements) => elements.iter().flat_map(Self::ids).collect(),
            Self::Binary(_, left, right) => [left.ids(), right.ids()].concat(),
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
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Add,
                () if self.take('-') => Operator::Subtract,
                () => return Ok(left),
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.operand()?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Multiply,
                () if self.take('/') => Operator::Divide,
                () => return Ok(left),
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(self.operand()?));
        }
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
        let id = |name: &str| Box::new(Expression::Id(name.to_owned()));
        let product = Expression::Binary(Operator::Multiply, id("m2"), id("m3"));
        assert_eq!(parse("m1 + m2*m3"), Ok(Expression::Binary(Operator::Add, id("m1"), Box::new(product))));
        assert_eq!(
            parse("m1/PERIOD(m1)"),
            Ok(Expression::Binary(Operator::Divide, id("m1"), Box::new(Expression::Period("m1".into()))))
        );
        assert_eq!(parse("SUM(METRICS(\"ab\"))").map(|parsed| parsed.ids().len()), Ok(0));
        assert_eq!(parse("FILL(m1, -1.5)"), Ok(Expression::Fill(id("m1"), Filler::Number(-1.5))));
        assert_eq!(parse("MAX([m1, (m2)])").unwrap().ids(), ["m1", "m2"]);
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
