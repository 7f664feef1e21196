//! The syntax tree of statements, with positions. Names are not resolved and parameters not replaced.

use std::fmt::{self, Display, Formatter};

use super::lexer::Span;

/// A step of a written path below its first name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Field(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub first: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
}

impl Binary {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Or => "OR",
            Self::And => "AND",
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }

    /// The precedence: an operand of lower precedence needs parentheses.
    const fn tightness(self) -> u8 {
        match self {
            Self::Or => 0,
            Self::And => 1,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual => 3,
            Self::Plus | Self::Minus => SUM,
        }
    }
}

/// The type that IS tests for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeName {
    Missing,
    Null,
    Bool,
    Number,
    Text,
    Binary,
    List,
    Map,
    Set,
}

impl TypeName {
    const fn text(self) -> &'static str {
        match self {
            Self::Missing => "MISSING",
            Self::Null => "NULL",
            Self::Bool => "BOOL",
            Self::Number => "DECIMAL",
            Self::Text => "STRING",
            Self::Binary => "BLOB",
            Self::List => "LIST",
            Self::Map => "STRUCT",
            Self::Set => "BAG",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    Text(String),
    /// With its sign.
    Number(String),
    Bool(bool),
    Null,
    Missing,
    /// `?`, counted from 0.
    Parameter(usize),
    Path(Path),
    Call {
        name: String,
        arguments: Vec<Term>,
    },
    /// `*` as an argument.
    Star,
    List(Vec<Term>),
    Bag(Vec<Term>),
    Struct(Vec<(String, Term)>),
    Not(Box<Term>),
    Binary {
        operator: Binary,
        left: Box<Term>,
        right: Box<Term>,
    },
    In {
        subject: Box<Term>,
        list: Vec<Term>,
    },
    Between {
        subject: Box<Term>,
        lower: Box<Term>,
        upper: Box<Term>,
    },
    Is {
        subject: Box<Term>,
        type_name: TypeName,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Term {
    pub kind: TermKind,
    /// The range of a call's name; of any other term, the whole range.
    pub span: Span,
}

/// Terms are compared without their positions.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Term {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub table: String,
    pub index: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawSelect {
    /// The columns; absent: `*`.
    pub columns: Option<Vec<Term>>,
    pub source: Source,
    pub condition: Option<Term>,
    /// The ORDER BY clause; empty without one.
    pub order: Vec<(Term, Descending)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descending(pub bool);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawChange {
    Set(Term, Term),
    Remove(Term),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    AllOld,
    AllNew,
    ModifiedOld,
    ModifiedNew,
}

impl Returned {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::AllOld => "ALL OLD",
            Self::AllNew => "ALL NEW",
            Self::ModifiedOld => "MODIFIED OLD",
            Self::ModifiedNew => "MODIFIED NEW",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawStatement {
    Select(RawSelect),
    Insert {
        table: String,
        value: Term,
    },
    Update {
        source: Source,
        changes: Vec<RawChange>,
        condition: Option<Term>,
        returned: Option<Returned>,
    },
    Delete {
        source: Source,
        condition: Option<Term>,
        returned: Option<Returned>,
    },
    Exists(RawSelect),
    /// An expression without a statement, which the service does not execute.
    Expression(Term),
}

fn quote(formatter: &mut Formatter<'_>, text: &str, with: char) -> fmt::Result {
    let doubled = text.replace(with, &format!("{with}{with}"));
    write!(formatter, "{with}{doubled}{with}")
}

fn list<T: Display>(formatter: &mut Formatter<'_>, items: &[T], ends: (&str, &str)) -> fmt::Result {
    formatter.write_str(ends.0)?;
    for (place, item) in items.iter().enumerate() {
        write!(formatter, "{}{item}", if place > 0 { ", " } else { "" })?;
    }
    formatter.write_str(ends.1)
}

impl Display for Path {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        quote(formatter, &self.first, '"')?;
        for step in &self.steps {
            match step {
                Step::Field(name) => {
                    formatter.write_str(".")?;
                    quote(formatter, name, '"')?;
                }
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The precedence of sums.
const SUM: u8 = 4;
/// The precedence of paths, values and what is in parentheses.
const PRIMARY: u8 = 5;

impl Term {
    const fn tightness(&self) -> u8 {
        match &self.kind {
            TermKind::Binary { operator, .. } => operator.tightness(),
            TermKind::Not(_) => 2,
            TermKind::In { .. } | TermKind::Between { .. } | TermKind::Is { .. } => 3,
            _ => PRIMARY,
        }
    }

    fn within(&self, formatter: &mut Formatter<'_>, tightness: u8) -> fmt::Result {
        if self.tightness() >= tightness {
            write!(formatter, "{self}")
        } else {
            write!(formatter, "({self})")
        }
    }
}

impl Display for Term {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TermKind::Text(text) => quote(formatter, text, '\''),
            TermKind::Number(text) => formatter.write_str(text),
            TermKind::Bool(value) => write!(formatter, "{value}"),
            TermKind::Null => formatter.write_str("NULL"),
            TermKind::Missing => formatter.write_str("MISSING"),
            TermKind::Parameter(_) => formatter.write_str("?"),
            TermKind::Path(path) => path.fmt(formatter),
            TermKind::Star => formatter.write_str("*"),
            TermKind::Call { name, arguments } => {
                formatter.write_str(name)?;
                list(formatter, arguments, ("(", ")"))
            }
            TermKind::List(elements) => list(formatter, elements, ("[", "]")),
            TermKind::Bag(elements) => list(formatter, elements, ("<<", ">>")),
            TermKind::Struct(members) => {
                formatter.write_str("{")?;
                for (place, (name, value)) in members.iter().enumerate() {
                    formatter.write_str(if place > 0 { ", " } else { "" })?;
                    quote(formatter, name, '\'')?;
                    write!(formatter, ": {value}")?;
                }
                formatter.write_str("}")
            }
            TermKind::Not(inner) => {
                formatter.write_str("NOT ")?;
                inner.within(formatter, 2)
            }
            TermKind::Binary { operator, left, right } => {
                let tightness = operator.tightness();
                // Comparisons do not chain.
                left.within(formatter, if tightness == 3 { 4 } else { tightness })?;
                write!(formatter, " {} ", operator.text())?;
                let joins = matches!(operator, Binary::Or | Binary::And);
                right.within(formatter, if joins { tightness } else { tightness + 1 })
            }
            TermKind::In { subject, list: candidates } => {
                subject.within(formatter, 4)?;
                formatter.write_str(" IN ")?;
                list(formatter, candidates, ("[", "]"))
            }
            TermKind::Between { subject, lower, upper } => {
                subject.within(formatter, 4)?;
                formatter.write_str(" BETWEEN ")?;
                lower.within(formatter, 4)?;
                formatter.write_str(" AND ")?;
                upper.within(formatter, 4)
            }
            TermKind::Is { subject, type_name } => {
                subject.within(formatter, 4)?;
                write!(formatter, " IS {}", type_name.text())
            }
        }
    }
}

fn where_clause(formatter: &mut Formatter<'_>, condition: Option<&Term>) -> fmt::Result {
    condition.map_or(Ok(()), |condition| write!(formatter, " WHERE {condition}"))
}

fn table(formatter: &mut Formatter<'_>, name: &str) -> fmt::Result {
    quote(formatter, name, '"')
}

impl Display for Source {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        table(formatter, &self.table)?;
        let Some(index) = &self.index else { return Ok(()) };
        formatter.write_str(".")?;
        table(formatter, index)
    }
}

impl Display for RawSelect {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &self.columns {
            None => formatter.write_str("SELECT *")?,
            Some(columns) => list(formatter, columns, ("SELECT ", ""))?,
        }
        write!(formatter, " FROM {}", self.source)?;
        where_clause(formatter, self.condition.as_ref())?;
        for (place, (term, Descending(descending))) in self.order.iter().enumerate() {
            let start = if place > 0 { ", " } else { " ORDER BY " };
            write!(formatter, "{start}{term}{}", if *descending { " DESC" } else { "" })?;
        }
        Ok(())
    }
}

/// The canonical text.
impl Display for RawStatement {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Select(select) => select.fmt(formatter),
            Self::Exists(select) => write!(formatter, "EXISTS({select})"),
            Self::Expression(term) => term.fmt(formatter),
            Self::Insert { table: name, value } => {
                formatter.write_str("INSERT INTO ")?;
                table(formatter, name)?;
                write!(formatter, " VALUE {value}")
            }
            Self::Update { source, changes, condition, returned } => {
                write!(formatter, "UPDATE {source}")?;
                for change in changes {
                    match change {
                        RawChange::Set(path, value) => {
                            formatter.write_str(" SET ")?;
                            path.within(formatter, PRIMARY)?;
                            formatter.write_str(" = ")?;
                            value.within(formatter, SUM)?;
                        }
                        RawChange::Remove(path) => {
                            formatter.write_str(" REMOVE ")?;
                            path.within(formatter, PRIMARY)?;
                        }
                    }
                }
                where_clause(formatter, condition.as_ref())?;
                returned.map_or(Ok(()), |returned| write!(formatter, " RETURNING {} *", returned.text()))
            }
            Self::Delete { source, condition, returned } => {
                write!(formatter, "DELETE FROM {source}")?;
                where_clause(formatter, condition.as_ref())?;
                returned.map_or(Ok(()), |returned| write!(formatter, " RETURNING {} *", returned.text()))
            }
        }
    }
}
