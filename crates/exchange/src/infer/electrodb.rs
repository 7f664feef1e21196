//! Keys of `ElectroDB`, which contain the names of their
//! attributes: `$taskapp#employeeid_7`, `$tasks_1#project_x`.
//!
//! Such keys need no counting. A key begins with the service, or with a collection or
//! entity and its version. Each value follows its attribute's name in lower case, unless
//! the author chose another label (`ElectroDB`'s guide: indexes, composite attributes).
//! The attributes `__edb_e__` and `__edb_v__` hold an item's entity and version.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::Item;

use super::classify::text;
use super::shape::Cut;

/// The attributes in which `ElectroDB` stores an item's entity and version.
const ENTITY: &str = "__edb_e__";
const VERSION: &str = "__edb_v__";

/// The first character of every such key.
const SIGN: char = '$';
const DELIMITER: &str = "#";
const LABEL_END: &str = "_";

/// The labels that a table's keys can contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Labels {
    /// Attributes by their lower-case names.
    attributes: BTreeMap<String, String>,
    /// Entities with their versions, in lower case.
    entities: BTreeSet<String>,
}

impl Labels {
    /// The labels of a table whose items have `ElectroDB`'s attributes.
    pub(super) fn of(items: &[&Item]) -> Option<Self> {
        let mut found = Self::default();
        for item in items {
            let Some((entity, version)) = text(item, ENTITY).zip(text(item, VERSION)) else { continue };
            found.entities.insert(format!("{entity}_{version}").to_lowercase());
            found.attributes.extend(item.keys().map(|name| (name.to_lowercase(), name.clone())));
        }
        (!found.entities.is_empty()).then_some(found)
    }

    /// A key's text in parts, and which of them are words; `None` if it is not such a key.
    pub(super) fn cut<'t>(&self, text: &'t str) -> Option<(Cut<'t>, Vec<bool>)> {
        if !text.starts_with(SIGN) {
            return None;
        }
        let mut cut = Cut::default();
        let mut words = Vec::new();
        for (place, segment) in text.split(DELIMITER).enumerate() {
            if place > 0 {
                cut.between.push(DELIMITER);
            }
            if let Some((label, value)) = self.label(segment).filter(|_| place > 0) {
                cut.parts.extend([label, value]);
                cut.between.push(LABEL_END);
                words.extend([true, false]);
            } else {
                cut.parts.push(segment);
                words.push(true);
            }
        }
        Some((cut, words))
    }

    /// A segment's label and value. The label is the longest one that
    /// names an attribute, otherwise the text before the first underscore.
    fn label<'t>(&self, segment: &'t str) -> Option<(&'t str, &'t str)> {
        if self.entities.contains(segment.trim_start_matches(SIGN)) {
            return None;
        }
        let ends = segment.match_indices(LABEL_END).map(|(at, _)| at).filter(|at| *at > 0);
        let known = |at: &usize| segment.get(..*at).is_some_and(|label| self.attributes.contains_key(label));
        let at = ends.clone().filter(known).max().or_else(|| ends.min())?;
        let (label, value) = segment.split_at_checked(at)?;
        // No template produces an empty value; the segment stays whole.
        Some((label, value.strip_prefix(LABEL_END)?)).filter(|(_, value)| !value.is_empty())
    }

    /// The attribute that a label names.
    pub(super) fn attribute_of(&self, label: &str) -> Option<&str> {
        self.attributes.get(label).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keywright_semantics::value::AttributeValue;

    #[test]
    fn a_key_is_cut_at_its_labels() {
        let names = [
            ("__edb_e__", "tasks"),
            ("__edb_v__", "1"),
            ("employeeId", "x"),
            ("project_id", "p"),
            ("closed", ""),
        ];
        let item: Item =
            names.into_iter().map(|(name, text)| (name.to_owned(), AttributeValue::from(text))).collect();
        let labels = Labels::of(&[&item]).expect("ElectroDB's");
        for (text, wanted) in [
            ("$taskapp#employeeid_a_b", "$taskapp! # employeeid! _ a_b"),
            ("$tasks_1", "$tasks_1!"),
            (
                "$assignments#tasks_1#project_id_7#status_open",
                "$assignments! # tasks_1! # project_id! _ 7 # status! _ open",
            ),
            ("$overview#work#tasks_1", "$overview! # work! # tasks_1!"),
            ("$tasks_1#closed_", "$tasks_1! # closed_!"),
        ] {
            let (cut, words) = labels.cut(text).expect("such a key");
            let parts = cut
                .parts
                .iter()
                .zip(words)
                .map(|(part, word)| format!("{part}{}", if word { "!" } else { "" }));
            let between = cut.between.iter().map(|own| format!(" {own} ")).chain([String::new()]);
            let joined: String = parts.zip(between).flat_map(|(part, then)| [part, then]).collect();
            assert_eq!(joined, wanted);
        }
        assert!(labels.cut("l_2020#s_lattes").is_none());
        assert_eq!(labels.attribute_of("employeeid"), Some("employeeId"));
        assert!(Labels::of(&[&Item::new()]).is_none());
    }
}
