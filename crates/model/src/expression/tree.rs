//! The tree of an expression, with attribute names instead of placeholders.

use std::fmt;

use keywright_semantics::expression::{Comparator, RawCall, RawCondition, RawOperand, RawPath, RawStep};

use super::names::Readable;

/// An attribute of an item, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The top-level attribute's name, placeholders resolved.
    pub attribute: String,
    /// Members and elements inside the attribute, outermost first.
    pub rest: Vec<Step>,
}

/// A step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member of a map, by its name.
    Member(String),
    /// The element's number, as digits.
    Element(String),
}

/// One side of a comparison, or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An attribute of the item, or a part of one.
    Path(Path),
    /// A value placeholder, without its colon.
    Value(String),
    /// The result of a function.
    Call(Call),
}

/// A function with its arguments. Whether there is such a function is decided when the model runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name in the author's spelling.
    pub function: String,
    /// The arguments in their order.
    pub arguments: Vec<Operand>,
}

/// A condition, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the expression's syntax")]
pub enum Clause {
    And(Box<Clause>, Box<Clause>),
    Or(Box<Clause>, Box<Clause>),
    Not(Box<Clause>),
    Compare { comparator: Comparator, left: Operand, right: Operand },
    Between { subject: Operand, lower: Operand, upper: Operand },
    In { subject: Operand, list: Vec<Operand> },
    Call(Call),
}

/// What is known of an attribute where a condition is judged without an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The item has it.
    Present,
    /// The item lacks it.
    Missing,
    /// Nothing says whether the item has it.
    Unknown,
}

/// The results that a condition can have.
#[derive(Clone, Copy)]
struct Results {
    holds: bool,
    fails: bool,
}

const ALWAYS: Results = Results { holds: true, fails: false };
const NEVER: Results = Results { holds: false, fails: true };
const EITHER: Results = Results { holds: true, fails: true };

impl Path {
    /// A whole attribute.
    pub fn of(attribute: &str) -> Self {
        Self { attribute: attribute.to_owned(), rest: Vec::new() }
    }

    pub(super) fn read(raw: &RawPath<'_>, readable: &Readable) -> Self {
        let name = |step: &RawStep<'_>| match step {
            RawStep::Placeholder(placeholder) => readable.name(placeholder),
            RawStep::Name(text) | RawStep::Index(text) => text.clone().into_owned(),
        };
        let step = |step: &RawStep<'_>| match step {
            RawStep::Index(digits) => Step::Element(digits.clone().into_owned()),
            RawStep::Name(_) | RawStep::Placeholder(_) => Step::Member(name(step)),
        };
        Self { attribute: name(&raw.first), rest: raw.rest.iter().map(step).collect() }
    }

    /// The attribute, if the path is not a part of one.
    pub fn whole(&self) -> Option<&str> {
        self.rest.is_empty().then_some(self.attribute.as_str())
    }

    /// The path as text, with another text for each name.
    pub(super) fn render(&self, name: &mut dyn FnMut(&str) -> String) -> String {
        let mut text = name(&self.attribute);
        for step in &self.rest {
            match step {
                Step::Member(member) => {
                    text.push('.');
                    text.push_str(&name(member));
                }
                Step::Element(number) => {
                    text.push('[');
                    text.push_str(number);
                    text.push(']');
                }
            }
        }
        text
    }

    /// The placeholders that an author wrote for names; model files have none.
    pub(super) fn name_placeholders<'a>(&'a self, found: &mut Vec<&'a str>) {
        let members = self.rest.iter().filter_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Element(_) => None,
        });
        let names = std::iter::once(self.attribute.as_str()).chain(members);
        found.extend(names.filter_map(|name| name.strip_prefix('#')));
    }
}

impl Operand {
    pub(super) fn read(raw: &RawOperand<'_>, readable: &Readable) -> Self {
        match raw {
            RawOperand::Path(path) => Self::Path(Path::read(path, readable)),
            RawOperand::Value(name) => Self::Value(without_colon(name)),
            RawOperand::Call(call) => Self::Call(Call::read(call, readable)),
        }
    }

    /// The attribute, if the operand is a whole one.
    pub fn whole(&self) -> Option<&str> {
        match self {
            Self::Path(path) => path.whole(),
            Self::Value(_) | Self::Call(_) => None,
        }
    }

    /// The placeholder, if the operand is a value.
    pub fn value(&self) -> Option<&str> {
        match self {
            Self::Value(name) => Some(name),
            Self::Path(_) | Self::Call(_) => None,
        }
    }

    /// Its paths and values, in the order of the text.
    pub(super) fn leaves<'a>(&'a self, visit: &mut dyn FnMut(&'a Operand)) {
        match self {
            Self::Path(_) | Self::Value(_) => visit(self),
            Self::Call(call) => call.arguments.iter().for_each(|argument| argument.leaves(visit)),
        }
    }

    pub(super) fn render(&self, name: &mut dyn FnMut(&str) -> String) -> String {
        match self {
            Self::Path(path) => path.render(name),
            Self::Value(value) => format!(":{value}"),
            Self::Call(call) => {
                let arguments: Vec<String> =
                    call.arguments.iter().map(|argument| argument.render(name)).collect();
                format!("{}({})", call.function, arguments.join(", "))
            }
        }
    }

    fn is_missing(&self, presence: &dyn Fn(&str) -> Presence) -> bool {
        match self {
            Self::Path(path) => presence(&path.attribute) == Presence::Missing,
            Self::Value(_) => false,
            Self::Call(call) => call.is_missing(presence),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(&mut str::to_owned))
    }
}

impl Call {
    fn read(raw: &RawCall<'_>, readable: &Readable) -> Self {
        let arguments = raw.arguments.iter().map(|argument| Operand::read(argument, readable));
        Self { function: raw.name.clone().into_owned(), arguments: arguments.collect() }
    }

    /// The attribute of `attribute_exists(…)`.
    pub fn required(&self) -> Option<&Path> {
        self.only_path("attribute_exists")
    }

    /// The attribute of `attribute_not_exists(…)`.
    pub fn excluded(&self) -> Option<&Path> {
        self.only_path("attribute_not_exists")
    }

    fn only_path(&self, function: &str) -> Option<&Path> {
        match self.arguments.as_slice() {
            [Operand::Path(path)] if self.function == function => Some(path),
            _ => None,
        }
    }

    fn is_missing(&self, presence: &dyn Fn(&str) -> Presence) -> bool {
        self.arguments.iter().any(|argument| argument.is_missing(presence))
    }

    /// `attribute_not_exists` holds for what is missing; every other function holds only for what is there.
    fn results(&self, presence: &dyn Fn(&str) -> Presence) -> Results {
        let known = |path: &Path| match presence(&path.attribute) {
            // A part can be missing from an attribute that is there.
            Presence::Present if !path.rest.is_empty() => Presence::Unknown,
            known => known,
        };
        match (self.required().map(known), self.excluded().map(known)) {
            (Some(Presence::Present), _) | (_, Some(Presence::Missing)) => ALWAYS,
            (_, Some(Presence::Present)) => NEVER,
            _ if self.is_missing(presence) => NEVER,
            _ => EITHER,
        }
    }
}

impl Clause {
    pub(super) fn read(raw: &RawCondition<'_>, readable: &Readable) -> Self {
        let clause = |raw: &RawCondition<'_>| Box::new(Self::read(raw, readable));
        let operand = |raw: &RawOperand<'_>| Operand::read(raw, readable);
        match raw {
            RawCondition::And(left, right) => Self::And(clause(left), clause(right)),
            RawCondition::Or(left, right) => Self::Or(clause(left), clause(right)),
            RawCondition::Not(inner) => Self::Not(clause(inner)),
            RawCondition::Compare { comparator, left, right } => {
                Self::Compare { comparator: *comparator, left: operand(left), right: operand(right) }
            }
            RawCondition::Between { subject, lower, upper } => {
                Self::Between { subject: operand(subject), lower: operand(lower), upper: operand(upper) }
            }
            RawCondition::In { subject, list } => {
                Self::In { subject: operand(subject), list: list.iter().map(operand).collect() }
            }
            RawCondition::Call(call) => Self::Call(Call::read(call, readable)),
        }
    }

    /// The clauses that `AND` joins, in the order of the text.
    pub fn conjuncts(&self) -> Vec<&Self> {
        match self {
            Self::And(left, right) => [left.conjuncts(), right.conjuncts()].concat(),
            _ => vec![self],
        }
    }

    /// The attribute and the placeholder of a comparison of the two.
    pub fn compared(&self) -> Option<(Comparator, &str, &str)> {
        let Self::Compare { comparator, left, right } = self else { return None };
        let pair = left.whole().zip(right.value()).or_else(|| right.whole().zip(left.value()));
        pair.map(|(attribute, value)| (*comparator, attribute, value))
    }

    /// Whether it can hold for an item of which this is known.
    pub fn can_hold(&self, presence: &dyn Fn(&str) -> Presence) -> bool {
        self.results(presence).holds
    }

    fn results(&self, presence: &dyn Fn(&str) -> Presence) -> Results {
        let missing = |operand: &Operand| operand.is_missing(presence);
        match self {
            Self::And(left, right) => {
                let (left, right) = (left.results(presence), right.results(presence));
                Results { holds: left.holds && right.holds, fails: left.fails || right.fails }
            }
            Self::Or(left, right) => {
                let (left, right) = (left.results(presence), right.results(presence));
                Results { holds: left.holds || right.holds, fails: left.fails && right.fails }
            }
            Self::Not(inner) => {
                let inner = inner.results(presence);
                Results { holds: inner.fails, fails: inner.holds }
            }
            // What is missing differs from every value and has no order.
            Self::Compare { comparator, left, right } if missing(left) || missing(right) => {
                if *comparator == Comparator::Ne { ALWAYS } else { NEVER }
            }
            Self::Between { subject, lower, upper }
                if missing(subject) || missing(lower) || missing(upper) =>
            {
                NEVER
            }
            Self::In { subject, list } if missing(subject) || list.iter().all(missing) => NEVER,
            Self::Compare { .. } | Self::Between { .. } | Self::In { .. } => EITHER,
            Self::Call(call) => call.results(presence),
        }
    }

    /// Its paths and values, in the order of the text.
    pub(super) fn leaves<'a>(&'a self, visit: &mut dyn FnMut(&'a Operand)) {
        self.operands(&mut |operand| operand.leaves(visit));
    }

    /// The functions in it that are conditions.
    pub fn calls(&self) -> Vec<&Call> {
        match self {
            Self::And(left, right) | Self::Or(left, right) => [left.calls(), right.calls()].concat(),
            Self::Not(inner) => inner.calls(),
            Self::Call(call) => vec![call],
            Self::Compare { .. } | Self::Between { .. } | Self::In { .. } => Vec::new(),
        }
    }

    fn operands<'a>(&'a self, visit: &mut dyn FnMut(&'a Operand)) {
        match self {
            Self::And(left, right) | Self::Or(left, right) => {
                left.operands(visit);
                right.operands(visit);
            }
            Self::Not(inner) => inner.operands(visit),
            Self::Compare { left, right, .. } => [left, right].into_iter().for_each(visit),
            Self::Between { subject, lower, upper } => [subject, lower, upper].into_iter().for_each(visit),
            Self::In { subject, list } => std::iter::once(subject).chain(list).for_each(visit),
            Self::Call(call) => call.arguments.iter().for_each(visit),
        }
    }

    /// Each value with the attribute that it is compared with, in the order of the text.
    pub(super) fn meanings<'a>(&'a self, found: &mut Vec<(&'a str, &'a str)>) {
        match self {
            Self::And(left, right) | Self::Or(left, right) => {
                left.meanings(found);
                right.meanings(found);
            }
            Self::Not(inner) => inner.meanings(found),
            Self::Compare { left, right, .. } => meanings(None, &[left, right], found),
            Self::Between { subject, lower, upper } => meanings(None, &[subject, lower, upper], found),
            Self::In { subject, list } => {
                meanings(None, &std::iter::once(subject).chain(list).collect::<Vec<_>>(), found);
            }
            Self::Call(call) => meanings(None, &call.arguments.iter().collect::<Vec<_>>(), found),
        }
    }
}

/// Finds what values mean: a value stands for a value of the last attribute before it, else of the first one
/// after it. Parts of documents mean nothing: their types are not declared.
pub(super) fn meanings<'a>(
    mut before: Option<&'a str>,
    operands: &[&'a Operand],
    found: &mut Vec<(&'a str, &'a str)>,
) {
    let mut first = None;
    for operand in operands {
        operand.leaves(&mut |leaf| first = first.or(leaf.whole()));
    }
    for operand in operands {
        operand.leaves(&mut |leaf| match leaf {
            Operand::Value(value) => found.extend(before.or(first).map(|name| (value.as_str(), name))),
            Operand::Path(path) => (before, first) = (path.whole(), None),
            Operand::Call(_) => {}
        });
    }
}

pub(super) fn without_colon(placeholder: &str) -> String {
    placeholder.trim_start_matches(':').to_owned()
}
