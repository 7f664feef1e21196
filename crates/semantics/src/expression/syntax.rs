//! The syntax tree of expressions: borrowed text without parentheses, with placeholders not yet replaced.
//!
//! It does not know whether names are reserved, functions exist or placeholders are defined. The trees of
//! conditions and updates are public, for readers of model files, whose names need no placeholders.

use super::lexer::Comparator;

/// One step of a path as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawStep<'t> {
    /// An attribute's name as it stands in the text.
    Name(&'t str),
    /// With its `#`.
    Placeholder(&'t str),
    /// The digits between the brackets.
    Index(&'t str),
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
    pub fn steps(&self) -> impl Iterator<Item = RawStep<'t>> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

/// A function with its arguments: any name, any number of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall<'t> {
    /// In the case in which it was written.
    pub name: &'t str,
    /// In the order of the text.
    pub arguments: Vec<RawOperand<'t>>,
}

/// One side of a comparison or an argument, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawOperand<'t> {
    /// An attribute or a part of one.
    Path(RawPath<'t>),
    /// With its `:`.
    Value(&'t str),
    /// A function whose result is the operand, such as `size`.
    Call(RawCall<'t>),
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
    Add(&'t str),
    /// The placeholder of the elements that are deleted, with its `:`.
    Delete(&'t str),
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
