//! Conditions and filters: their text, their tree, and what follows from the tree.

use std::fmt;
use std::ops::Range;

use keywright_semantics::expression::{Comparator, read_condition};

use super::names::{Readable, places, with_names};
use super::tree::{Clause, Operand, Path, Presence};

/// A condition or filter. Invariant: the tree is that of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionExpression {
    text: String,
    names: Vec<Range<usize>>,
    tree: Box<Clause>,
}

impl ConditionExpression {
    /// Reads a text. The error says what the syntax does not allow.
    pub fn parse(text: &str) -> Result<Self, String> {
        let readable = Readable::of(text);
        let tree = read_condition(&readable.text).map_err(|fault| fault.message)?;
        let tree = Box::new(Clause::read(&tree, &readable));
        Ok(Self { text: text.to_owned(), names: places(text), tree })
    }

    /// As its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its parts, with names and placeholders as the author wrote them.
    pub const fn tree(&self) -> &Clause {
        &self.tree
    }

    /// The text with placeholders, which the service requires for many names.
    pub fn render(&self, placeholder: impl FnMut(&str) -> String) -> String {
        with_names(&self.text, &self.names, placeholder)
    }

    /// The clauses that all have to hold.
    pub fn clauses(&self) -> Vec<&Clause> {
        self.tree.conjuncts()
    }

    /// The attributes that it names, in the order of the text; parts of documents count as their attribute.
    pub fn attributes(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.tree.leaves(&mut |leaf| {
            if let Operand::Path(path) = leaf {
                found.push(path.attribute.as_str());
            }
        });
        found
    }

    /// Whether it names an attribute or a part of it.
    pub fn names(&self, attribute: &str) -> bool {
        self.attributes().contains(&attribute)
    }

    /// Its value placeholders, without their colon.
    pub fn values(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.tree.leaves(&mut |leaf| found.extend(leaf.value()));
        found
    }

    /// The placeholders that an author wrote for names, without their hash; model files need none.
    pub fn name_placeholders(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.tree.leaves(&mut |leaf| {
            if let Operand::Path(path) = leaf {
                path.name_placeholders(&mut found);
            }
        });
        found
    }

    /// Each value placeholder with an attribute whose value it stands for.
    pub fn meanings(&self) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        self.tree.meanings(&mut found);
        found
    }

    /// The equalities that have to hold, as attribute and placeholder.
    pub fn equal(&self) -> Vec<(&str, &str)> {
        self.compared(Comparator::Eq)
    }

    /// The inequalities (`<>`) that have to hold, as attribute and placeholder.
    pub fn unequal(&self) -> Vec<(&str, &str)> {
        self.compared(Comparator::Ne)
    }

    fn compared(&self, wanted: Comparator) -> Vec<(&str, &str)> {
        let clauses = self.clauses().into_iter().filter_map(Clause::compared);
        let clauses = clauses.filter(|(comparator, ..)| *comparator == wanted);
        clauses.map(|(_, attribute, value)| (attribute, value)).collect()
    }

    /// Whether it can hold only for an existing item.
    pub fn requires_item(&self) -> bool {
        !self.tree.can_hold(&|_| Presence::Missing)
    }

    /// Whether it can hold only for an item that has an attribute.
    pub fn requires(&self, attribute: &str) -> bool {
        let known = |name: &str| if name == attribute { Presence::Missing } else { Presence::Unknown };
        !self.tree.can_hold(&known)
    }

    /// Whether it can hold only if one of some attributes is missing.
    pub fn excludes(&self, these: impl Fn(&str) -> bool) -> bool {
        let known = |name: &str| if these(name) { Presence::Present } else { Presence::Unknown };
        !self.tree.can_hold(&known)
    }

    /// This condition, and further equalities of attribute and placeholder.
    #[must_use]
    pub fn and_equal(self, more: &[(String, String)]) -> Self {
        if more.is_empty() {
            return self;
        }
        more.iter()
            .fold(self.grouped(), |both, (attribute, value)| both.and(Self::equality(attribute, value)))
    }

    /// Equalities of attribute and placeholder; `None` without any.
    pub fn of_equal(equal: &[(String, String)]) -> Option<Self> {
        let clauses = equal.iter().map(|(attribute, value)| Self::equality(attribute, value));
        clauses.reduce(Self::and)
    }

    fn equality(attribute: &str, value: &str) -> Self {
        let tree = Box::new(Clause::Compare {
            comparator: Comparator::Eq,
            left: Operand::Path(Path::of(attribute)),
            right: Operand::Value(value.to_owned()),
        });
        let names = std::iter::once(0..attribute.len()).collect();
        Self { text: format!("{attribute} = :{value}"), names, tree }
    }

    fn and(self, other: Self) -> Self {
        let joined = format!("{} and ", self.text);
        let moved = other.names.into_iter().map(|place| shifted(place, joined.len()));
        Self {
            names: self.names.into_iter().chain(moved).collect(),
            text: joined + &other.text,
            tree: Box::new(Clause::And(self.tree, other.tree)),
        }
    }

    /// In parentheses, if another clause could not follow it: `OR` binds less than `AND`.
    fn grouped(self) -> Self {
        let text = format!("({})", self.text);
        // The language does not allow a second pair around a text that is in parentheses.
        if !matches!(*self.tree, Clause::Or(..)) || Self::parse(&text).is_err() {
            return self;
        }
        Self { names: self.names.into_iter().map(|place| shifted(place, 1)).collect(), text, ..self }
    }
}

fn shifted(place: Range<usize>, by: usize) -> Range<usize> {
    place.start + by..place.end + by
}

impl fmt::Display for ConditionExpression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ConditionExpression {
        ConditionExpression::parse(text).expect(text)
    }

    #[test]
    fn a_condition_that_a_missing_item_meets_requires_none() {
        for text in [
            "version = :v",
            "a <> :a AND total < :t",
            "attribute_exists(id)",
            "NOT attribute_not_exists(id)",
            "NOT a <> :a",
            "version = :v OR total BETWEEN :low AND :high",
            "(a = :a OR b IN (:b, :c)) and c <> :c",
            "size(name) > :n",
            "begins_with(name, :n)",
        ] {
            assert!(read(text).requires_item(), "{text}");
        }
        for text in [
            "a <> :a",
            "attribute_not_exists(id) OR version = :v",
            "version = :v OR attribute_not_exists(id)",
            "attribute_exists(id) OR a <> :a",
            "NOT a = :a",
            "NOT attribute_exists(id)",
            "NOT (a = :a AND b = :b)",
            ":a = :b",
        ] {
            assert!(!read(text).requires_item(), "{text}");
        }
    }

    #[test]
    fn a_condition_requires_and_excludes_attributes() {
        for (text, required, excluded) in [
            ("a = :a AND b <> :b", true, false),
            ("a = :a OR b = :b", false, false),
            ("a = :a OR attribute_exists(a.b)", true, false),
            ("NOT (attribute_not_exists(a) OR b = :b)", true, false),
            ("attribute_not_exists(a) AND b = :b", false, true),
            ("attribute_not_exists(a) OR b = :b", false, false),
            ("attribute_not_exists(a.b)", false, false),
            ("NOT attribute_exists(a)", false, true),
        ] {
            let condition = read(text);
            assert_eq!(condition.requires("a"), required, "{text}");
            assert_eq!(condition.excludes(|name| name == "a"), excluded, "{text}");
        }
    }

    #[test]
    fn only_equalities_that_have_to_hold_are_found() {
        let equal = |text: &str| {
            let condition = read(text);
            let pairs: Vec<String> = condition.equal().iter().map(|(a, v)| format!("{a} {v}")).collect();
            pairs
        };
        assert_eq!(
            equal("status = :open And (x = :y) AND n >= :n AND :z = b AND (c = :c OR d = :d)"),
            ["status open", "x y", "b z"]
        );
        assert_eq!(equal("a BETWEEN :low and :high AND b = :b"), ["b b"]);
        assert_eq!(equal("a = :a or b = :b"), [""; 0]);
        assert_eq!(equal("not a = :a"), [""; 0]);
        assert_eq!(equal("a <> :a and size(b) = :c and d.e = :f"), [""; 0]);
        assert_eq!(read("a <> :a and b = :b").unequal(), [("a", "a")]);
    }

    #[test]
    fn attributes_values_and_what_the_values_mean() {
        let condition = read("info.name = :n AND name <> :m AND size (a[0].b) > :s AND :l < _id");
        assert_eq!(condition.attributes(), ["info", "name", "a", "_id"]);
        assert_eq!(condition.values(), ["n", "m", "s", "l"]);
        assert_eq!(condition.meanings(), [("m", "name"), ("l", "_id")]);
        let between = read("a BETWEEN :low AND :high OR begins_with(b, :p)");
        assert_eq!(between.meanings(), [("low", "a"), ("high", "a"), ("p", "b")]);
        assert_eq!(read("#s = :s AND a.#b = :b").name_placeholders(), ["s", "b"]);
    }

    #[test]
    fn further_equalities_keep_the_meaning() {
        let more = [("x".to_owned(), "y".to_owned())];
        for (text, both) in [
            ("a = :a", "a = :a and x = :y"),
            ("a = :a OR b = :b", "(a = :a OR b = :b) and x = :y"),
            ("(a = :a Or b = :b)", "(a = :a Or b = :b) and x = :y"),
        ] {
            let made = read(text).and_equal(&more);
            assert_eq!(made.text(), both);
            assert_eq!(made, read(both));
        }
        assert_eq!(read("a = :a OR b = :b").and_equal(&[]).text(), "a = :a OR b = :b");
    }

    #[test]
    fn names_get_placeholders() {
        let made = read("status = :s and info.name <> :n").and_equal(&[("_id".to_owned(), "id".to_owned())]);
        let text = made.render(|name| format!("#{name}"));
        assert_eq!(text, "#status = :s and #info.#name <> :n and #_id = :id");
    }
}
