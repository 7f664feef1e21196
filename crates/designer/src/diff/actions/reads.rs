//! What a release of the application changes in its reads.

use super::super::kinds::kinds;
use super::super::phrasing::{Subjects, and};
use super::{Access, Location, shown};

kinds! {
    /// A change of the application's reads. Without a `pattern` it concerns reads of programs that the
    /// models do not describe.
    ReadChange {
        /// The read queries by the old and the new key, and returns each item once and only what the pattern
        /// wants.
        "read-both-keys" ReadBothKeys { pattern: Option<String>, entity: String, from: Access, to: Option<Access> }
        /// The read no longer asks for the entity and ignores its items.
        "leave-out" LeaveOut { pattern: String, entity: String, from: Access }
        /// The read ignores items of the entity that already have their new key.
        "skip-new" SkipNew { pattern: String, entity: String, key: Vec<String>, place: Location }
        /// The read ignores items of the entity that still have their old key: until they are deleted, or
        /// until they leave the index (`leaving`).
        "skip-old" SkipOld { pattern: String, entity: String, key: Vec<String>, place: Location, leaving: bool }
        /// The read uses another table or index.
        "read-instead" ReadInstead { pattern: String, place: Location, from: Location }
        /// The read uses the table or index of the same name that the plan creates.
        "read-again" ReadAgain { pattern: String, place: Location }
        /// The read uses the new key only; for one entity if it is named.
        "read-by-new-key" ReadByNewKey { pattern: String, entity: Option<String>, place: Location }
        /// The read returns no items of the entity any more.
        "read-less" ReadLess { pattern: String, entity: String, place: Location }
        /// The read also returns items of the entity.
        "read-more" ReadMore { pattern: String, entity: String, from: Access }
        /// The read uses attributes that the items lacked.
        "rely-on" RelyOn { pattern: String, entity: String, attributes: Vec<String> }
        /// A read that only the new design has runs for the first time.
        "begin-read" BeginRead { pattern: String, place: Location }
        /// A read that the new design does not have.
        "end-read" EndRead { pattern: String }
        /// Reads accept an attribute with its old and its new type.
        "read-types" ReadTypes { entity: String, patterns: Vec<String>, attribute: String, types: Vec<String> }
        /// Reads no longer use attributes of the entity; they read those of `instead`.
        "stop-reading" StopReading {
            entity: String, patterns: Vec<String>, attributes: Vec<String>, instead: Option<String>
        }
        /// No pattern reads an index that is deleted: other programs must not read it either.
        "unused-index" UnusedIndex { table: String, index: String }
    }
}

impl ReadChange {
    /// The pattern that reads as the new design says from this operation on.
    pub const fn cut_over(&self) -> Option<&String> {
        match self {
            Self::ReadInstead { pattern, .. }
            | Self::ReadAgain { pattern, .. }
            | Self::ReadByNewKey { pattern, .. }
            | Self::ReadLess { pattern, .. }
            | Self::ReadMore { pattern, .. }
            | Self::RelyOn { pattern, .. }
            | Self::BeginRead { pattern, .. } => Some(pattern),
            Self::ReadBothKeys { .. }
            | Self::LeaveOut { .. }
            | Self::SkipNew { .. }
            | Self::SkipOld { .. }
            | Self::EndRead { .. }
            | Self::ReadTypes { .. }
            | Self::StopReading { .. }
            | Self::UnusedIndex { .. } => None,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::ReadBothKeys { pattern, entity, from, to } => {
                let who = pattern
                    .clone()
                    .unwrap_or_else(|| format!("every program that reads {}", from.place.short()));
                let then = match to {
                    Some(to) if to.place == from.place => format!("and by {}", shown(&to.key)),
                    Some(to) => format!("and {to}"),
                    None => "and by the new key".to_owned(),
                };
                format!(
                    "{who} reads {entity} from {from} {then}, takes each item once, and checks it by its own attributes"
                )
            }
            Self::LeaveOut { pattern, entity, from } => format!(
                "{pattern} no longer reads {entity} from {from}, and ignores items of it: their key changes there"
            ),
            Self::SkipNew { pattern, entity, key, place } => format!(
                "{pattern} ignores items of {entity} under {} in {} until the step \"switch reads\"",
                shown(key),
                place.short()
            ),
            Self::SkipOld { pattern, entity, key, place, leaving } => format!(
                "{pattern} ignores items of {entity} under {} in {} until they {}",
                shown(key),
                place.short(),
                if *leaving { "leave it" } else { "are deleted" }
            ),
            Self::ReadInstead { pattern, place, from } => {
                format!("{pattern} reads {place} instead of {from}")
            }
            Self::ReadAgain { pattern, place } => format!("{pattern} reads the new {place}"),
            Self::ReadByNewKey { pattern, entity: None, place } => {
                format!("{pattern} reads {place} by the new key")
            }
            Self::ReadByNewKey { pattern, entity: Some(entity), place } => {
                format!("{pattern} reads {entity} from {place} by the new key only")
            }
            Self::ReadLess { pattern, entity, place } => {
                format!("{pattern} no longer reads {entity} from {place}")
            }
            Self::ReadMore { pattern, entity, from } => {
                format!("{pattern} reads {entity} from {from} from now on")
            }
            Self::RelyOn { pattern, entity, attributes } => {
                format!("{pattern} relies on {} of {entity}", and(attributes))
            }
            Self::BeginRead { pattern, place } => format!("new pattern {pattern} reads {place}"),
            Self::EndRead { pattern } => format!("{pattern} is no longer used"),
            Self::ReadTypes { entity, patterns, attribute, types } => format!(
                "{} {attribute} of {entity} as {}",
                Subjects::readers(patterns, entity).each("accepts", "accept"),
                types.join(" and as ")
            ),
            Self::StopReading { entity, patterns, attributes, instead } => {
                let instead = instead.as_ref().map(|other| format!(", but from {other}")).unwrap_or_default();
                format!(
                    "{} {} from {entity}{instead}",
                    Subjects::readers(patterns, entity).no_longer("reads", "read"),
                    and(attributes)
                )
            }
            Self::UnusedIndex { index, .. } => {
                format!("nothing reads {index}: its ConsumedReadCapacityUnits stay at zero")
            }
        }
    }
}
