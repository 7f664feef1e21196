//! Conditions of statements: an operator, a key and the values that a policy wants.
//!
//! Source: IAM user guide, condition operators, single- and multivalued context keys. It does not know
//! statements.

mod moment;
mod operator;
mod wanted;

use crate::context::{Facts, Found, Key};
use crate::template::{Variable, Variables, resolved};
use crate::truth::Truth;
pub(crate) use operator::{Operator, Quantifier, Test};
use wanted::Wanted;

/// A condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) operator: Operator,
    pub(crate) operator_name: String,
    pub(crate) key: Key,
    /// The values as they were written.
    pub(crate) values: Vec<String>,
    wanted: Vec<Wanted>,
}

impl Condition {
    /// The condition of these texts; the value that the operator cannot read otherwise.
    pub(crate) fn new(
        operator: Operator,
        operator_name: &str,
        key: Key,
        values: Vec<String>,
        variables: Variables,
    ) -> Result<Self, String> {
        let read =
            |value: &String| Wanted::parse(operator.test, value, variables).ok_or_else(|| value.clone());
        let wanted = values.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { operator, operator_name: operator_name.to_owned(), key, values, wanted })
    }

    /// The variables in its values.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.wanted.iter().flat_map(Wanted::variables)
    }

    /// Its values as they were written, each with what its variables make of it in this request.
    pub(crate) fn shown(&self, facts: &Facts<'_>) -> Vec<String> {
        if self.variables().next().is_none() {
            return self.values.clone();
        }
        let shown = |value: &String| match resolved(value, facts) {
            Some(resolved) => format!("{value} (here {resolved})"),
            None => value.clone(),
        };
        self.values.iter().map(shown).collect()
    }

    /// Whether a request meets it.
    pub(crate) fn holds(&self, facts: &Facts<'_>) -> Truth {
        let found = facts.find(&self.key);
        if found == Found::Unknown {
            return Truth::Unknown;
        }
        if self.operator.test == Test::Null {
            let is_absent = found == Found::Absent;
            return self.wanted.iter().any(|wanted| wanted.is_null(is_absent)).into();
        }
        let fits = |value: &str| self.wanted.iter().any(|wanted| wanted.fits(value, facts));
        let meets = |value: &str| fits(value) != self.operator.is_negated;
        let is_multivalued = self.key.is_multivalued() == Some(true);
        let holds = match (self.operator.quantifier, found) {
            (_, Found::Unknown) => return Truth::Unknown,
            (_, Found::Absent) if self.operator.if_exists => true,
            (Quantifier::Single, Found::Absent) => self.operator.is_negated,
            (Quantifier::ForAllValues, Found::Absent) => true,
            // A plain operator asks nothing of a key with several values, also where it has one.
            (Quantifier::ForAnyValue, Found::Absent) | (Quantifier::Single, Found::Many(_)) => false,
            (Quantifier::Single, Found::One(_)) if is_multivalued => false,
            (_, Found::One(value)) => meets(value),
            (Quantifier::ForAllValues, Found::Many(values)) => values.iter().all(|value| meets(value)),
            (Quantifier::ForAnyValue, Found::Many(values)) => values.iter().any(|value| meets(value)),
        };
        holds.into()
    }
}
