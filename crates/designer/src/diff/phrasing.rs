//! Wording that many sentences of a plan share.

/// The patterns that a sentence is about.
pub(super) struct Subjects {
    names: String,
    many: bool,
}

impl Subjects {
    /// The patterns, or what stands for them if the models have none.
    pub(super) fn of(patterns: &[String], unknown: impl FnOnce() -> String) -> Self {
        let names = if patterns.is_empty() { unknown() } else { and(patterns) };
        Self { names, many: patterns.len() > 1 }
    }

    pub(super) fn writers(patterns: &[String], entity: &str) -> Self {
        Self::of(patterns, || format!("every writer of {entity}"))
    }

    pub(super) fn readers(patterns: &[String], entity: &str) -> Self {
        Self::of(patterns, || format!("every reader of {entity}"))
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
