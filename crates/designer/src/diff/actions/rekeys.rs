//! What a release changes in the writes of re-keyed items, and of other copies under another key.

use super::super::kinds::kinds;
use super::super::phrasing::{Subjects, and};
use super::{KeyPlace, shown};

kinds! {
    /// A change of the writes of items that get another key.
    RekeyWrite {
        /// Every writer of the entity writes each item under its old and its new key in one transaction. An
        /// update takes the attributes that it does not name from the old item.
        "dual-write" DualWrite { entity: String, patterns: Vec<String>, old: KeyPlace, new: KeyPlace }
        /// During the dual write conditions are checked on the old item.
        "check-old-copy" CheckOldCopy { entity: String, old: KeyPlace, new: KeyPlace }
        /// During the dual write an update reads the old item and puts the whole new one.
        "put-whole" PutWhole { entity: String, patterns: Vec<String>, old: KeyPlace, new: KeyPlace }
        /// Conditions and updates use the new item; the old one is still written. `patterns` are the updates.
        "use-new-copy" UseNewCopy {
            entity: String, patterns: Vec<String>, updated: bool, old: KeyPlace, new: KeyPlace
        }
        /// Writers stop the dual write and write the new item only.
        "stop-dual-write" StopDualWrite { entity: String, patterns: Vec<String>, old: KeyPlace }
        /// A writer that changes, replaces or deletes an item reads it first. The same transaction deletes
        /// the copy under the item's previous key. `undetermined` are the attributes of the copy's key that
        /// the writer does not know.
        "delete-stale-copy" DeleteStaleCopy {
            entity: String, patterns: Vec<String>, known: Vec<String>, stale: Vec<String>, undetermined: Vec<String>
        }
        /// After the plan, writers find the item by attributes that its key did not have before.
        "find-by-attributes" FindByAttributes {
            entity: String, patterns: Vec<String>, attributes: Vec<String>, key: Vec<String>
        }
    }
}

impl RekeyWrite {
    pub(super) fn text(&self) -> String {
        match self {
            Self::DualWrite { entity, patterns, old, new } => {
                let who = Subjects::writers(patterns, entity);
                let places = if old.is_same_table(new) {
                    format!("under {} and under {}", shown(&old.key), shown(&new.key))
                } else {
                    format!("in {} and as {} in {}", old.table_text(), shown(&new.key), new.table_text())
                };
                format!("{} {entity} {places}, both in one transaction", who.each("keeps", "keep"))
            }
            Self::CheckOldCopy { old, new, .. } => format!(
                "conditions check the item {} only: its copy {} may not exist yet",
                old.apart_from(new),
                new.apart_from(old)
            ),
            Self::PutWhole { patterns, old, new, .. } => {
                let who = Subjects::of(patterns, || "an update".to_owned());
                let (reads, changes, puts) =
                    if who.is_many() { ("read", "change", "put") } else { ("reads", "changes", "puts") };
                format!(
                    "{} {reads} the whole item {}, {changes} it there on condition that it is unchanged, and {puts} it whole {}: an update would leave a partial copy there",
                    who.names(),
                    old.apart_from(new),
                    new.apart_from(old)
                )
            }
            Self::UseNewCopy { patterns, updated, old, new, .. } => {
                let (second, first) = (new.apart_from(old), old.apart_from(new));
                if !updated {
                    return format!("conditions check the copy {second}");
                }
                let who = Subjects::of(patterns, || "an update".to_owned());
                let (reads, puts) = if who.is_many() { ("read", "put") } else { ("reads", "puts") };
                format!(
                    "conditions check the copy {second}; {} {reads} and {} it there, and {puts} the item {first} whole until old writes stop",
                    who.names(),
                    if who.is_many() { "change" } else { "changes" }
                )
            }
            Self::StopDualWrite { entity, patterns, old } => {
                let who = Subjects::writers(patterns, entity);
                format!(
                    "{} {entity} under {} in {}",
                    who.no_longer("keeps", "keep"),
                    shown(&old.key),
                    old.table
                )
            }
            Self::DeleteStaleCopy { patterns, known, stale, undetermined, .. } => {
                let who =
                    Subjects::of(patterns, || "every writer that changes, replaces or deletes it".to_owned());
                let why = if undetermined.is_empty() {
                    String::new()
                } else {
                    format!(", which alone has {}", and(undetermined))
                };
                format!(
                    "{} the item under {} first{why}, and {} the copy under its previous {} unless the write puts it there again: in one transaction, on condition that the item is unchanged",
                    who.each("reads", "read"),
                    shown(known),
                    if who.is_many() { "delete" } else { "deletes" },
                    shown(stale),
                )
            }
            Self::FindByAttributes { patterns, attributes, key, .. } => {
                let who =
                    Subjects::of(patterns, || "every writer that changes, replaces or deletes it".to_owned());
                format!(
                    "{} the item by {} too, which {} contains: since a key cannot be updated, a change of it deletes the item and puts it under its new key in one transaction",
                    who.each("continues to find", "continue to find"),
                    and(attributes),
                    shown(key)
                )
            }
        }
    }
}
