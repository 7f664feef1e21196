//! From a WHERE clause to the condition type of the native requests.

use super::PartiqlFault;
use super::syntax::{Binary, Path, Step, Term, TermKind, TypeName};
use super::values::Scope;
use crate::codec::EncodedValue;
use crate::expression::{Comparator, DocumentPath, Expr, Operand, PathStep};
use crate::limits::{DOCUMENT_PATH_STEPS_MAX, EXPRESSION_IN_OPERANDS_MAX, EXPRESSION_OPERATORS_MAX};
use crate::messages::{expression as expression_messages, partiql as messages};
use crate::value::{AttributeValue, ValueType};

/// The document path of a parsed path.
pub(super) fn document_path(path: &Path) -> Result<DocumentPath, PartiqlFault> {
    let steps: Vec<PathStep> = path
        .steps
        .iter()
        .map(|step| match step {
            Step::Field(name) => PathStep::Field(name.clone()),
            Step::Index(index) => PathStep::Index(*index),
        })
        .collect();
    if steps.len() + 1 > DOCUMENT_PATH_STEPS_MAX {
        return Err(PartiqlFault::new(expression_messages::too_deep_path(steps.len() + 1)));
    }
    Ok(DocumentPath { attribute: path.first.clone(), steps })
}

/// The functions whose result is a truth value.
const TESTS: [&str; 5] =
    ["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"];

impl Scope<'_> {
    /// The condition of a WHERE clause. The service's bound on operators is not known; this is that of
    /// expressions.
    pub(super) fn clause(&self, term: &Term) -> Result<Expr, PartiqlFault> {
        self.condition(term).and_then(checked)
    }

    /// The condition of a term.
    pub(super) fn condition(&self, term: &Term) -> Result<Expr, PartiqlFault> {
        match &term.kind {
            TermKind::Not(inner) => Ok(Expr::Not(Box::new(self.condition(inner)?))),
            TermKind::Binary { operator: Binary::And, left, right } => {
                Ok(Expr::And(Box::new(self.condition(left)?), Box::new(self.condition(right)?)))
            }
            TermKind::Binary { operator: Binary::Or, left, right } => {
                Ok(Expr::Or(Box::new(self.condition(left)?), Box::new(self.condition(right)?)))
            }
            TermKind::Binary { operator, left, right } => self.comparison(*operator, left, right),
            TermKind::In { subject, list } => self.membership(subject, list),
            TermKind::Between { subject, .. } if is_condition(subject) => Err(truth_operand("BETWEEN")),
            TermKind::Between { subject, lower, upper } => {
                let [subject, lower, upper] = [subject, lower, upper].map(|term| self.operand(term));
                let (subject, lower, upper) = (subject?, lower?, upper?);
                check_ordered("BETWEEN", &lower)?;
                check_ordered("BETWEEN", &upper)?;
                Ok(Expr::Between { subject, lower, upper })
            }
            TermKind::Is { subject, type_name } => self.is(subject, *type_name),
            TermKind::Call { name, arguments } => self.test(term, name, arguments),
            TermKind::Path(_) => {
                let left = self.operand(term)?;
                let right = literal(&AttributeValue::Bool(true));
                Ok(Expr::Compare { comparator: Comparator::Eq, left, right })
            }
            _ => Err(PartiqlFault::new(messages::not_well_formed(messages::UNEXPECTED_TERM))),
        }
    }

    fn comparison(&self, operator: Binary, left: &Term, right: &Term) -> Result<Expr, PartiqlFault> {
        let comparator = match operator {
            Binary::Equal => Comparator::Eq,
            Binary::NotEqual => Comparator::Ne,
            Binary::Less => Comparator::Lt,
            Binary::LessOrEqual => Comparator::Le,
            Binary::Greater => Comparator::Gt,
            Binary::GreaterOrEqual => Comparator::Ge,
            Binary::And | Binary::Or => {
                return Err(PartiqlFault::new(messages::not_well_formed(messages::UNEXPECTED_TERM)));
            }
            Binary::Plus => return Err(PartiqlFault::new(messages::unsupported_operation("Plus"))),
            Binary::Minus => return Err(PartiqlFault::new(messages::unsupported_operation("Minus"))),
        };
        match (is_condition(left), is_condition(right)) {
            (true, _) => return self.truth(&self.condition(left)?, comparator, right),
            (false, true) => return self.truth(&self.condition(right)?, comparator, left),
            (false, false) => {}
        }
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        if !matches!(comparator, Comparator::Eq | Comparator::Ne) {
            check_ordered(comparator.symbol(), &left)?;
            check_ordered(comparator.symbol(), &right)?;
        }
        Ok(Expr::Compare { comparator, left, right })
    }

    fn membership(&self, subject: &Term, list: &[Term]) -> Result<Expr, PartiqlFault> {
        if list.is_empty() {
            return Err(PartiqlFault::new(messages::EMPTY_IN));
        }
        if list.len() > EXPRESSION_IN_OPERANDS_MAX {
            return Err(PartiqlFault::new(expression_messages::too_many_in_operands(list.len())));
        }
        if is_condition(subject) {
            let holds = self.condition(subject)?;
            check_operators(holds.operators().saturating_mul(list.len()))?;
            let equal = list.iter().map(|other| self.truth(&holds, Comparator::Eq, other));
            let equal = equal.collect::<Result<Vec<_>, _>>()?;
            let any = equal.into_iter().reduce(|left, right| Expr::Or(Box::new(left), Box::new(right)));
            return any.map_or_else(|| Err(PartiqlFault::new(messages::EMPTY_IN)), checked);
        }
        let subject = self.operand(subject)?;
        let list = list.iter().map(|term| self.operand(term)).collect::<Result<_, _>>()?;
        Ok(Expr::In { subject, list })
    }

    /// A condition compared with another operand. Observed: it is a truth value and equals the same truth
    /// value.
    fn truth(&self, holds: &Expr, comparator: Comparator, other: &Term) -> Result<Expr, PartiqlFault> {
        let not = |expr: Expr| Expr::Not(Box::new(expr));
        let both = |left: Expr, right: Expr| Expr::And(Box::new(left), Box::new(right));
        let either = |left: Expr, right: Expr| Expr::Or(Box::new(left), Box::new(right));
        let is_negated = match comparator {
            Comparator::Eq => false,
            Comparator::Ne => true,
            _ => return Err(truth_operand(comparator.symbol())),
        };
        let equal = if is_condition(other) {
            let other = self.condition(other)?;
            either(both(holds.clone(), other.clone()), both(not(holds.clone()), not(other)))
        } else if let TermKind::Path(path) = &other.kind {
            let path = document_path(path)?;
            let is = |truth| Expr::Compare {
                comparator: Comparator::Eq,
                left: Operand::Path(path.clone()),
                right: literal(&AttributeValue::Bool(truth)),
            };
            either(both(holds.clone(), is(true)), both(not(holds.clone()), is(false)))
        } else {
            match self.value(other)? {
                AttributeValue::Bool(true) => holds.clone(),
                AttributeValue::Bool(false) => not(holds.clone()),
                _ => both(holds.clone(), not(holds.clone())),
            }
        };
        checked(if is_negated { not(equal) } else { equal })
    }

    fn operand(&self, term: &Term) -> Result<Operand, PartiqlFault> {
        match &term.kind {
            TermKind::Path(path) => document_path(path).map(Operand::Path),
            TermKind::Call { name, arguments } if name.eq_ignore_ascii_case("size") => {
                let [argument] = arguments.as_slice() else { return Err(count("size", arguments)) };
                let inner = self.operand(argument)?;
                check_literal("size", &inner, |type_name| !matches!(type_name, "N" | "BOOL" | "NULL"))?;
                Ok(Operand::Size(Box::new(inner)))
            }
            TermKind::Call { name, .. } => Err(self.unrecognized(term, name)),
            TermKind::Binary { operator, left, right } => {
                self.comparison(*operator, left, right)?;
                Err(PartiqlFault::new(messages::not_well_formed(messages::UNEXPECTED_TERM)))
            }
            _ => self.value(term).map(|value| literal(&value)),
        }
    }

    fn is(&self, subject: &Term, type_name: TypeName) -> Result<Expr, PartiqlFault> {
        let has_type = |value_type: ValueType| {
            let wanted = EncodedValue::encode(&AttributeValue::S(value_type.name().to_owned()));
            self.operand(subject).map(|operand| Expr::HasType(operand, wanted))
        };
        match type_name {
            TypeName::Missing => match &subject.kind {
                TermKind::Path(path) => document_path(path).map(Expr::NotExists),
                _ => Err(not_a_path("IS MISSING")),
            },
            TypeName::Null => has_type(ValueType::Null),
            TypeName::Bool => has_type(ValueType::Bool),
            TypeName::Number => has_type(ValueType::N),
            TypeName::Text => has_type(ValueType::S),
            TypeName::Binary => has_type(ValueType::B),
            TypeName::List => has_type(ValueType::L),
            TypeName::Map => has_type(ValueType::M),
            TypeName::Set => {
                let texts = Expr::Or(Box::new(has_type(ValueType::Ss)?), Box::new(has_type(ValueType::Ns)?));
                Ok(Expr::Or(Box::new(texts), Box::new(has_type(ValueType::Bs)?)))
            }
        }
    }

    /// A function whose result is a truth value.
    fn test(&self, call: &Term, name: &str, arguments: &[Term]) -> Result<Expr, PartiqlFault> {
        let lower = name.to_ascii_lowercase();
        match (lower.as_str(), arguments) {
            ("attribute_exists", [argument]) => self.path_of(argument, &lower).map(Expr::Exists),
            ("attribute_not_exists", [argument]) => self.path_of(argument, &lower).map(Expr::NotExists),
            ("attribute_type", [subject, wanted]) => {
                let wanted = match self.value(wanted)? {
                    AttributeValue::S(name) if ValueType::from_name(&name).is_none() => {
                        return Err(PartiqlFault::new(messages::unknown_type_name(&name)));
                    }
                    value @ AttributeValue::S(_) => value,
                    other => {
                        let text = expression_messages::operand_type(&lower, other.type_name());
                        return Err(PartiqlFault::new(text));
                    }
                };
                Ok(Expr::HasType(self.operand(subject)?, EncodedValue::encode(&wanted)))
            }
            ("begins_with", [subject, prefix]) => {
                let (subject, prefix) = (self.operand(subject)?, self.operand(prefix)?);
                for operand in [&subject, &prefix] {
                    check_literal(&lower, operand, |type_name| matches!(type_name, "S" | "B"))?;
                }
                Ok(Expr::BeginsWith(subject, prefix))
            }
            ("contains", [container, part]) => {
                Ok(Expr::Contains(self.operand(container)?, self.operand(part)?))
            }
            (
                "attribute_exists" | "attribute_not_exists" | "attribute_type" | "begins_with" | "contains",
                _,
            ) => Err(count(&lower, arguments)),
            _ => Err(self.unrecognized(call, name)),
        }
    }

    fn path_of(&self, term: &Term, function: &str) -> Result<DocumentPath, PartiqlFault> {
        match &term.kind {
            TermKind::Path(path) => document_path(path),
            TermKind::Parameter(place) => {
                self.parameter(*place)?;
                Err(not_a_path(function))
            }
            _ => Err(not_a_path(function)),
        }
    }

    fn unrecognized(&self, term: &Term, name: &str) -> PartiqlFault {
        let place = self.place(term.span);
        PartiqlFault::new(messages::unrecognized_function(&name.to_ascii_lowercase(), &place))
    }
}

/// Whether a term is a condition by its syntax.
fn is_condition(term: &Term) -> bool {
    match &term.kind {
        TermKind::Not(_) | TermKind::In { .. } | TermKind::Between { .. } | TermKind::Is { .. } => true,
        TermKind::Binary { operator, .. } => !matches!(operator, Binary::Plus | Binary::Minus),
        TermKind::Call { name, .. } => TESTS.iter().any(|test| name.eq_ignore_ascii_case(test)),
        _ => false,
    }
}

/// Comparisons of truth values are expanded. The expansion may not have more operators than an expression.
fn checked(expr: Expr) -> Result<Expr, PartiqlFault> {
    check_operators(expr.operators()).map(|()| expr)
}

fn check_operators(count: usize) -> Result<(), PartiqlFault> {
    if count > EXPRESSION_OPERATORS_MAX {
        return Err(PartiqlFault::new(expression_messages::too_many_operators(count)));
    }
    Ok(())
}

fn truth_operand(operator: &str) -> PartiqlFault {
    PartiqlFault::new(expression_messages::operand_type(operator, "BOOL"))
}

fn literal(value: &AttributeValue) -> Operand {
    Operand::Value(EncodedValue::encode(value))
}

fn not_a_path(function: &str) -> PartiqlFault {
    PartiqlFault::new(expression_messages::operand_not_a_path(function))
}

fn count(function: &str, arguments: &[Term]) -> PartiqlFault {
    PartiqlFault::new(expression_messages::operand_count(function, arguments.len()))
}

/// Checks that a literal has an order: only texts, numbers and binary values do.
fn check_ordered(operator: &str, operand: &Operand) -> Result<(), PartiqlFault> {
    check_literal(operator, operand, |type_name| matches!(type_name, "S" | "N" | "B"))
}

/// Checks that a literal has a type that the operator or function takes.
fn check_literal(
    operator: &str,
    operand: &Operand,
    is_taken: impl Fn(&str) -> bool,
) -> Result<(), PartiqlFault> {
    let Operand::Value(value) = operand else { return Ok(()) };
    match value.view().type_name() {
        type_name if is_taken(type_name) => Ok(()),
        other => Err(PartiqlFault::new(expression_messages::operand_type(operator, other))),
    }
}
