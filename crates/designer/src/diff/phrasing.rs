//! Wording that many sentences of a plan share.

use super::input::{Count, SubjectPattern, SubjectTable};

/// The patterns that a sentence is about.
pub(super) struct Subjects {
    names: String,
    many: bool,
}

impl Subjects {
    pub(super) fn of<'p>(
        patterns: impl Iterator<Item = &'p SubjectPattern>,
        unknown: impl FnOnce() -> String,
    ) -> Self {
        let mut ids: Vec<String> = Vec::new();
        for pattern in patterns {
            // Two versions of one pattern count as one.
            if !ids.contains(&pattern.id) {
                ids.push(pattern.id.clone());
            }
        }
        let names = if ids.is_empty() { unknown() } else { and(&ids) };
        Self { names, many: ids.len() > 1 }
    }

    pub(super) fn names(&self) -> &str {
        &self.names
    }

    pub(super) const fn is_many(&self) -> bool {
        self.many
    }

    /// The subjects with their verb, singular or plural.
    pub(super) fn each(&self, one: &str, many: &str) -> String {
        format!("{} {}", self.names, if self.many { many } else { one })
    }

    pub(super) fn no_longer(&self, one: &str, many: &str) -> String {
        format!("{} no longer {}", self.names, if self.many { many } else { one })
    }
}

/// Names in a sentence: `a, b and c`.
pub(super) fn and(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

pub(super) fn items(count: Count, entity: &str) -> String {
    match count {
        Count::Declared(1) => format!("1 item of {entity}"),
        Count::Declared(count) => format!("{count} items of {entity}"),
        // The model declares no count.
        Count::Shown(_) => format!("items of {entity}"),
    }
}

pub(super) fn with_indexes(table: &SubjectTable) -> String {
    match table.definition.schema.indexes.len() {
        0 => String::new(),
        1 => " with 1 index".to_owned(),
        many => format!(" with {many} indexes"),
    }
}
