//! Reasons why there is no plan: carried out, it would lose data or leave a read without an answer.

use keywright_semantics::limits::GLOBAL_INDEXES_MAX;

use super::super::actions::Access;
use super::super::kinds::{Field, kinds};
use super::super::phrasing::{Subjects, and};
use keywright_model::json::Json;

kinds! {
    /// A reason why there is no plan.
    Refusal {
        /// The new model does not answer a read that the old one answers.
        "unanswered" Unanswered { pattern: String }
        /// The new model's own check reports an error that the old one's does not.
        "fails-check" FailsCheck { subject: String, rule: Option<String>, fault: String, fix: String }
        /// The key of a read's items changes before the items that it reads instead exist.
        "read-gap" ReadGap { pattern: String, entity: String, from: Access, instead: String }
        /// A read changes what it searches by while the key of its items changes.
        "read-changes-with-key" ReadChangesWithKey {
            pattern: String, entity: String, from: Access, was: SearchedBy, becomes: SearchedBy
        }
        /// Old and new indexes together exceed the limit by `surplus`; `indexes` are the old ones.
        "too-many-indexes" TooManyIndexes { table: String, number: u64, surplus: u64, indexes: Vec<String> }
        /// An item can have the same key before and after.
        "same-key" SameKey { entity: String, old: Vec<String>, new: Vec<String> }
        /// The new key needs attributes that the items lack.
        "unknown-key" UnknownKey { entity: String, key: Vec<String>, attributes: Vec<String> }
        /// The patterns compute an attribute from its previous value, and the items lack it.
        "counted-attribute" CountedAttribute { entity: String, attribute: String, patterns: Vec<String> }
        /// An attribute is optional by design; the patterns remove it.
        "optional-attribute" OptionalAttribute { entity: String, attribute: String, patterns: Vec<String> }
    }
}

/// The attributes that a read searches by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedBy {
    /// Those with one value.
    pub equal: Vec<String>,
    /// Those with a range of values.
    pub ranges: Vec<String>,
}

impl Refusal {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Unanswered { pattern } => format!(
                "both models have {pattern}, and nothing in the new one answers it. Give it a key or an index, or remove it"
            ),
            Self::FailsCheck { rule, fault, fix, .. } => {
                let rule = rule.as_ref().map(|rule| format!("{rule}: ")).unwrap_or_default();
                let fix = if fix.is_empty() { String::new() } else { format!(" ({fix})") };
                format!(
                    "the new model fails its check where the old one does not: {rule}{fault}{fix}. Run `keywright model check`"
                )
            }
            Self::ReadGap { pattern, entity, from, instead } => format!(
                "{pattern} reads {entity} by {} and will read {instead}, but the key of {entity} in {} changes before {instead} exists. First migrate to a model that adds {instead} and keeps that key",
                from.key.join(", "),
                from.place
            ),
            Self::ReadChangesWithKey { pattern, entity, from, was, becomes } => format!(
                "{pattern} searches by {} and will search by {}, while the key of {entity} in {}, {}, changes. Give the new read an id and an index of its own, and first migrate to a model that has both reads",
                was.text(),
                becomes.text(),
                from.place,
                from.key.join(", ")
            ),
            Self::TooManyIndexes { table, number, surplus, indexes } => {
                let all = u64::try_from(indexes.len()).is_ok_and(|all| all == *surplus);
                let which = if all { and(indexes) } else { format!("{surplus} of {}", and(indexes)) };
                format!(
                    "{table} would have {number} global indexes while old and new ones exist, and a table has at most {GLOBAL_INDEXES_MAX}. First migrate to a model without {which}, whose reads use something else or stop meanwhile"
                )
            }
            Self::SameKey { entity, old, new } => format!(
                "{entity} may have the same key as {} and as {}, so its old and new items cannot be told apart. Give the new key another beginning",
                old.join(", "),
                new.join(", ")
            ),
            Self::UnknownKey { entity, key, attributes } => {
                let (names, them) = (and(attributes), if attributes.len() > 1 { "them" } else { "it" });
                format!(
                    "the new key {} of {entity} is made of {names}, which the items lack: a writer could not compute the key of the copy. First migrate to a model that only adds {names} and a read that returns {them}, and fill {them} in every item",
                    key.join(", ")
                )
            }
            Self::CountedAttribute { entity, attribute, patterns } => {
                let who = Subjects::writers(patterns, entity);
                format!(
                    "{} {attribute} of {entity} from its previous value, and the items lack it: a value counted from nothing is never complete. Give every {entity} its {attribute} while {} stopped, or in a transaction that checks what is counted, and add it to the old model. If it may start from nothing, let no pattern read it and give it `present` below 1",
                    who.each("computes", "compute"),
                    who.each("is", "are"),
                )
            }
            Self::OptionalAttribute { entity, attribute, patterns } => {
                let why = if patterns.is_empty() {
                    "not every item has it".to_owned()
                } else {
                    Subjects::writers(patterns, entity).each("removes it", "remove it")
                };
                format!(
                    "the models do not say which {entity} have {attribute}, as {why}: a backfill would also give it to those that must not have it. Write it in every writer, set it where it belongs on condition that what decides it is unchanged, and add it to the old model"
                )
            }
        }
    }
}

impl SearchedBy {
    fn text(&self) -> String {
        let ranges = self.ranges.iter().map(|name| format!("a range of {name}"));
        let all: Vec<String> = self.equal.iter().cloned().chain(ranges).collect();
        if all.is_empty() { "nothing".to_owned() } else { and(&all) }
    }
}

impl Field for SearchedBy {
    fn json(&self) -> Option<Json> {
        Some(Json::object([("equal", self.equal.json()?), ("ranges", self.ranges.json()?)]))
    }
}
