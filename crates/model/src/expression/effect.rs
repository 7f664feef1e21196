//! Effects: what an update does, attribute by attribute.

use std::fmt;

use keywright_semantics::expression::{Arithmetic, RawChange, RawSetValue, Section, read_update};

use super::names::Readable;
use super::tree::{Call, Operand, Path, meanings, without_colon};

/// What an update does to an attribute or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The attribute, or the part of it.
    pub path: Path,
    /// What becomes of it.
    pub change: Change,
}

/// A clause of an update, without its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `SET path = value`
    Set(SetValue),
    /// `REMOVE path`
    Remove,
    /// The placeholder of a number or a set that is added, without its colon.
    Add(String),
    /// The placeholder of a set of elements that are deleted, without its colon.
    Delete(String),
}

/// What a SET assigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A value, another attribute, or a function's result.
    Operand(Operand),
    /// A sum or difference.
    Arithmetic {
        /// Plus or minus.
        operator: Arithmetic,
        /// The number before the operator.
        left: Operand,
        /// The number after it.
        right: Operand,
    },
}

impl Effect {
    /// Reads the body of a section, such as `total = total + :n, open = :o`. The error says what the syntax
    /// does not allow.
    pub fn parse(section: Section, text: &str) -> Result<Vec<Self>, String> {
        let readable = Readable::of(&format!("{} {text}", section.name()));
        let update = read_update(&readable.text).map_err(|fault| fault.message)?;
        let actions = update.sections.iter().flat_map(|(_, actions)| actions);
        let effect = |path, change: &RawChange<'_>| Self {
            path: Path::read(path, &readable),
            change: Change::read(change, &readable),
        };
        Ok(actions.map(|action| effect(&action.path, &action.change)).collect())
    }

    /// `attribute = :value`
    pub fn set(attribute: &str, value: &str) -> Self {
        let value = SetValue::Operand(Operand::Value(value.to_owned()));
        Self { path: Path::of(attribute), change: Change::Set(value) }
    }

    /// `attribute = list_append(if_not_exists(attribute, :none), :more)`
    pub fn append(attribute: &str, none: &str, more: &str) -> Self {
        let value = |name: &str| Operand::Value(name.to_owned());
        let call =
            |function: &str, arguments| Operand::Call(Call { function: function.to_owned(), arguments });
        let own = call("if_not_exists", vec![Operand::Path(Path::of(attribute)), value(none)]);
        let list = call("list_append", vec![own, value(more)]);
        Self { path: Path::of(attribute), change: Change::Set(SetValue::Operand(list)) }
    }

    /// `REMOVE attribute`
    pub fn remove(attribute: &str) -> Self {
        Self { path: Path::of(attribute), change: Change::Remove }
    }

    /// The section of the update expression that has it.
    pub const fn section(&self) -> Section {
        match self.change {
            Change::Set(_) => Section::Set,
            Change::Remove => Section::Remove,
            Change::Add(_) => Section::Add,
            Change::Delete(_) => Section::Delete,
        }
    }

    /// The attribute that changes, as a whole or in part.
    pub fn attribute(&self) -> &str {
        &self.path.attribute
    }

    /// Whether the whole attribute is removed.
    pub fn removes_whole(&self) -> bool {
        self.change == Change::Remove && self.path.rest.is_empty()
    }

    /// The placeholder of a value that the writer assigns to a whole attribute, as it is.
    pub fn assigned(&self) -> Option<(&str, &str)> {
        match &self.change {
            Change::Set(SetValue::Operand(operand)) => self.path.whole().zip(operand.value()),
            Change::Set(SetValue::Arithmetic { .. })
            | Change::Remove
            | Change::Add(_)
            | Change::Delete(_) => None,
        }
    }

    /// The attributes that the new value is computed from, in the order of the text.
    pub fn reads(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for operand in self.operands() {
            operand.leaves(&mut |leaf| {
                if let Operand::Path(path) = leaf {
                    found.push(path.attribute.as_str());
                }
            });
        }
        found
    }

    /// Whether the attribute's new value depends on its old one.
    pub fn accumulates(&self) -> bool {
        match self.change {
            Change::Set(_) => !self.path.rest.is_empty() || self.reads().contains(&self.attribute()),
            Change::Remove => !self.path.rest.is_empty(),
            Change::Add(_) | Change::Delete(_) => true,
        }
    }

    /// Its value placeholders, without their colon.
    pub fn values(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.operands()
            .into_iter()
            .for_each(|operand| operand.leaves(&mut |leaf| found.extend(leaf.value())));
        match &self.change {
            Change::Add(value) | Change::Delete(value) => found.push(value),
            Change::Set(_) | Change::Remove => {}
        }
        found
    }

    /// Each value placeholder with an attribute whose value it stands for: the last one before it.
    pub fn meanings(&self) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        meanings(self.path.whole(), &self.operands(), &mut found);
        if let Change::Add(value) | Change::Delete(value) = &self.change {
            found.extend(self.path.whole().map(|attribute| (value.as_str(), attribute)));
        }
        found
    }

    /// The placeholders that an author wrote for names, without their hash; model files need none.
    pub fn name_placeholders(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.path.name_placeholders(&mut found);
        for operand in self.operands() {
            operand.leaves(&mut |leaf| {
                if let Operand::Path(path) = leaf {
                    path.name_placeholders(&mut found);
                }
            });
        }
        found
    }

    /// The effect as text, with placeholders, which the service requires for many names.
    pub fn render(&self, mut placeholder: impl FnMut(&str) -> String) -> String {
        let name = &mut placeholder;
        let path = self.path.render(name);
        match &self.change {
            Change::Set(SetValue::Operand(operand)) => format!("{path} = {}", operand.render(name)),
            Change::Set(SetValue::Arithmetic { operator, left, right }) => {
                let left = left.render(name);
                format!("{path} = {left} {} {}", operator.symbol(), right.render(name))
            }
            Change::Remove => path,
            Change::Add(value) | Change::Delete(value) => format!("{path} :{value}"),
        }
    }

    fn operands(&self) -> Vec<&Operand> {
        match &self.change {
            Change::Set(SetValue::Operand(operand)) => vec![operand],
            Change::Set(SetValue::Arithmetic { left, right, .. }) => vec![left, right],
            Change::Remove | Change::Add(_) | Change::Delete(_) => Vec::new(),
        }
    }
}

impl Change {
    fn read(raw: &RawChange<'_>, readable: &Readable) -> Self {
        match raw {
            RawChange::Set(RawSetValue::Operand(operand)) => {
                Self::Set(SetValue::Operand(Operand::read(operand, readable)))
            }
            RawChange::Set(RawSetValue::Arithmetic { operator, left, right }) => {
                Self::Set(SetValue::Arithmetic {
                    operator: *operator,
                    left: Operand::read(left, readable),
                    right: Operand::read(right, readable),
                })
            }
            RawChange::Remove => Self::Remove,
            RawChange::Add(value) => Self::Add(without_colon(value)),
            RawChange::Delete(value) => Self::Delete(without_colon(value)),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Effect> {
        Effect::parse(Section::Set, text).expect(text)
    }

    #[test]
    fn effects_print_as_they_were_read() {
        let text = "a = if_not_exists(b, :b), c[0].d = :d, n = n + :one, _id = list_append(_id, :more)";
        let printed: Vec<String> = read(text).iter().map(Effect::to_string).collect();
        assert_eq!(printed.join(", "), text);
        let named =
            read("a=(b - :n)").iter().map(|own| own.render(|name| format!("#{name}"))).collect::<Vec<_>>();
        assert_eq!(named, ["#a = #b - :n"]);
    }

    #[test]
    fn an_effect_knows_what_it_changes_and_reads() {
        let effects = read(
            "a = if_not_exists(b, :b), c[0].d = :d, n = n + :one, e = :e REMOVE f, g.h ADD k :k DELETE l :l",
        );
        let changed: Vec<&str> = effects.iter().map(Effect::attribute).collect();
        assert_eq!(changed, ["a", "c", "n", "e", "f", "g", "k", "l"]);
        let accumulated: Vec<&str> =
            effects.iter().filter(|own| own.accumulates()).map(Effect::attribute).collect();
        assert_eq!(accumulated, ["c", "n", "g", "k", "l"]);
        let removed: Vec<&str> =
            effects.iter().filter(|own| own.removes_whole()).map(Effect::attribute).collect();
        assert_eq!(removed, ["f"]);
        let assigned: Vec<(&str, &str)> = effects.iter().filter_map(Effect::assigned).collect();
        assert_eq!(assigned, [("e", "e")]);
        let values: Vec<&str> = effects.iter().flat_map(Effect::values).collect();
        assert_eq!(values, ["b", "d", "one", "e", "k", "l"]);
        let meanings: Vec<(&str, &str)> = effects.iter().flat_map(Effect::meanings).collect();
        assert_eq!(meanings, [("b", "b"), ("one", "n"), ("e", "e"), ("k", "k"), ("l", "l")]);
    }
}
