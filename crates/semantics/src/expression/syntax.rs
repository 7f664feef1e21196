//! The syntax tree of expressions: text without parentheses, with placeholders not yet replaced. A tree
//! borrows from the expression, or owns its texts to be kept longer.
//!
//! It does not know whether names are reserved, functions exist or placeholders are defined. The trees of
//! conditions and updates are public, for readers of model files, whose names need no placeholders.

use std::borrow::Cow;

use super::lexer::Comparator;

/// One step of a path as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawStep<'t> {
    /// An attribute's name as it stands in the text.
    Name(Cow<'t, str>),
    /// With its `#`.
    Placeholder(Cow<'t, str>),
    /// The digits between the brackets.
    Index(Cow<'t, str>),
}

impl RawStep<'_> {
    fn into_owned(self) -> RawStep<'static> {
        match self {
            Self::Name(name) => RawStep::Name(owned(name)),
            Self::Placeholder(name) => RawStep::Placeholder(owned(name)),
            Self::Index(digits) => RawStep::Index(owned(digits)),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// A path as written. Invariant: the first step is not an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPath<'t> {
    /// The attribute.
    pub first: RawStep<'t>,
    /// What lies in it: members and elements, outermost first.
    pub rest: Vec<RawStep<'t>>,
}

impl<'t> RawPath<'t> {
    /// All steps, the attribute first.
    pub fn steps(&self) -> impl Iterator<Item = &RawStep<'t>> + '_ {
        std::iter::once(&self.first).chain(&self.rest)
    }

    pub(super) fn into_owned(self) -> RawPath<'static> {
        let rest = self.rest.into_iter().map(RawStep::into_owned).collect();
        RawPath { first: self.first.into_owned(), rest }
    }
}

/// A function with its arguments: any name, any number of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall<'t> {
    /// In the case in which it was written.
    pub name: Cow<'t, str>,
    /// In the order of the text.
    pub arguments: Vec<RawOperand<'t>>,
}

/// One side of a comparison or an argument, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawOperand<'t> {
    /// An attribute or a part of one.
    Path(RawPath<'t>),
    /// With its `:`.
    Value(Cow<'t, str>),
    /// A function whose result is the operand, such as `size`.
    Call(RawCall<'t>),
}

impl RawCall<'_> {
    fn into_owned(self) -> RawCall<'static> {
        RawCall { name: owned(self.name), arguments: all_owned(self.arguments) }
    }
}

impl RawOperand<'_> {
    fn into_owned(self) -> RawOperand<'static> {
        match self {
            Self::Path(path) => RawOperand::Path(path.into_owned()),
            Self::Value(name) => RawOperand::Value(owned(name)),
            Self::Call(call) => RawOperand::Call(call.into_owned()),
        }
    }
}

fn all_owned(operands: Vec<RawOperand<'_>>) -> Vec<RawOperand<'static>> {
    operands.into_iter().map(RawOperand::into_owned).collect()
}

/// A condition as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawCondition<'t> {
    /// Both hold.
    And(Box<RawCondition<'t>>, Box<RawCondition<'t>>),
    /// One or both hold.
    Or(Box<RawCondition<'t>>, Box<RawCondition<'t>>),
    /// It does not hold.
    Not(Box<RawCondition<'t>>),
    /// `left comparator right`
    Compare {
        /// The comparison.
        comparator: Comparator,
        /// The operand before it.
        left: RawOperand<'t>,
        /// The operand after it.
        right: RawOperand<'t>,
    },
    /// `subject BETWEEN lower AND upper`, bounds included.
    Between {
        /// The operand that is compared.
        subject: RawOperand<'t>,
        /// The lower bound.
        lower: RawOperand<'t>,
        /// The upper bound.
        upper: RawOperand<'t>,
    },
    /// `subject IN (list)`
    In {
        /// The operand that is compared.
        subject: RawOperand<'t>,
        /// The operands it may equal.
        list: Vec<RawOperand<'t>>,
    },
    /// A function that is true or false, such as `begins_with`.
    Call(RawCall<'t>),
}

impl RawCondition<'_> {
    pub(super) fn into_owned(self) -> RawCondition<'static> {
        let boxed = |condition: Box<RawCondition<'_>>| Box::new(condition.into_owned());
        match self {
            Self::And(left, right) => RawCondition::And(boxed(left), boxed(right)),
            Self::Or(left, right) => RawCondition::Or(boxed(left), boxed(right)),
            Self::Not(inner) => RawCondition::Not(boxed(inner)),
            Self::Compare { comparator, left, right } => {
                RawCondition::Compare { comparator, left: left.into_owned(), right: right.into_owned() }
            }
            Self::Between { subject, lower, upper } => RawCondition::Between {
                subject: subject.into_owned(),
                lower: lower.into_owned(),
                upper: upper.into_owned(),
            },
            Self::In { subject, list } => {
                RawCondition::In { subject: subject.into_owned(), list: all_owned(list) }
            }
            Self::Call(call) => RawCondition::Call(call.into_owned()),
        }
    }
}

/// The two arithmetic operators of SET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Plus,
    /// `-`
    Minus,
}

impl Arithmetic {
    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

/// The right-hand side of a SET action, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawSetValue<'t> {
    /// One operand.
    Operand(RawOperand<'t>),
    /// A sum or difference.
    Arithmetic {
        /// `+` or `-`.
        operator: Arithmetic,
        /// The operand before it.
        left: RawOperand<'t>,
        /// The operand after it.
        right: RawOperand<'t>,
    },
}

/// What an action does at its path, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawChange<'t> {
    /// An assignment.
    Set(RawSetValue<'t>),
    /// A removal.
    Remove,
    /// The placeholder of what is added, with its `:`.
    Add(Cow<'t, str>),
    /// The placeholder of the elements that are deleted, with its `:`.
    Delete(Cow<'t, str>),
}

/// One action of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAction<'t> {
    /// What changes.
    pub path: RawPath<'t>,
    /// How it changes.
    pub change: RawChange<'t>,
}

/// The four sections of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `SET`
    Set,
    /// `REMOVE`
    Remove,
    /// `ADD`
    Add,
    /// `DELETE`
    Delete,
}

impl Section {
    /// Its keyword.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Remove => "REMOVE",
            Self::Add => "ADD",
            Self::Delete => "DELETE",
        }
    }
}

/// An update as written: sections in order. A section can occur twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawUpdate<'t> {
    /// Each section with its actions.
    pub sections: Vec<(Section, Vec<RawAction<'t>>)>,
}

impl RawUpdate<'_> {
    pub(super) fn into_owned(self) -> RawUpdate<'static> {
        let sections = self
            .sections
            .into_iter()
            .map(|(section, actions)| (section, actions.into_iter().map(RawAction::into_owned).collect()));
        RawUpdate { sections: sections.collect() }
    }
}

impl RawAction<'_> {
    fn into_owned(self) -> RawAction<'static> {
        RawAction { path: self.path.into_owned(), change: self.change.into_owned() }
    }
}

impl RawChange<'_> {
    fn into_owned(self) -> RawChange<'static> {
        match self {
            Self::Set(RawSetValue::Operand(operand)) => {
                RawChange::Set(RawSetValue::Operand(operand.into_owned()))
            }
            Self::Set(RawSetValue::Arithmetic { operator, left, right }) => {
                let (left, right) = (left.into_owned(), right.into_owned());
                RawChange::Set(RawSetValue::Arithmetic { operator, left, right })
            }
            Self::Remove => RawChange::Remove,
            Self::Add(name) => RawChange::Add(owned(name)),
            Self::Delete(name) => RawChange::Delete(owned(name)),
        }
    }
}
