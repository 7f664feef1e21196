//! What a release changes in the writes of derived items.

use super::super::kinds::kinds;
use super::super::phrasing::{Subjects, and};
use super::{Condition, shown};

kinds! {
    /// A change of the writes of derived items.
    DerivedWrite {
        /// Every writer of the source also writes the derived item in one transaction. It puts the whole
        /// item, or updates it if the item has attributes of its own (`apart`).
        "keep-derived" KeepDerived {
            entity: String, source: String, patterns: Vec<String>, table: String, key: Vec<String>, apart: Vec<String>
        }
        /// Conditions are checked on the source.
        "check-source" CheckSource { entity: String, source: String }
        /// A write of a derived item sets all copied attributes and leaves its own ones alone.
        "update-derived" UpdateDerived { entity: String, attributes: Vec<String>, apart: Vec<String> }
        /// Several source items may have one derived item: a delete of a source does not delete it.
        "keep-shared" KeepShared { entity: String, source: String }
        /// An update reads the whole source item, to write the whole derived item.
        "put-derived-whole" PutDerivedWhole { entity: String, source: String, patterns: Vec<String>, apart: bool }
        /// All derived items exist: updates of their source may update them.
        "derived-items-exist" DerivedItemsExist { entity: String, source: String, patterns: Vec<String> }
        /// Writers that keep derived items although the new model does not declare it; they leave the
        /// `except` attributes alone.
        "continue-dual-write" ContinueDualWrite { entity: String, patterns: Vec<String>, except: Vec<String> }
        /// A condition that no derived item exists is valid from this step on.
        "require-absence" RequireAbsence { entity: String, patterns: Vec<String> }
        /// From this step on the application writes the attributes that only the derived items have.
        "write-own-attributes" WriteOwn {
            entity: String, patterns: Vec<String>, attributes: Vec<String>, condition: Condition
        }
        /// Conditions and updates use the moved attributes of the derived items; writers still update those
        /// of the source.
        "move-attributes" MoveAttributes {
            entity: String, source: String, patterns: Vec<String>, attributes: Vec<String>
        }
    }
}

impl DerivedWrite {
    pub(super) fn text(&self) -> String {
        match self {
            Self::KeepDerived { entity, source, patterns, table, key, .. } => format!(
                "{} for each {source} its {entity} under {} in {table}, both in one transaction",
                Subjects::writers(patterns, source).each("keeps", "keep"),
                shown(key)
            ),
            Self::CheckSource { entity, source } => {
                format!("conditions check {source} only: its {entity} may not exist yet")
            }
            Self::UpdateDerived { entity, attributes, apart } => format!(
                "a write of {entity} is one update that sets all of {} and leaves {} unchanged",
                and(attributes),
                and(apart)
            ),
            Self::KeepShared { entity, source } => format!(
                "several {source} may have the same {entity}, and nothing in it says which: it stays when a {source} is changed or deleted"
            ),
            Self::PutDerivedWhole { entity, source, patterns, apart } => {
                let who = Subjects::of(patterns, || "an update".to_owned());
                let (reads, changes, puts) =
                    if who.is_many() { ("read", "change", "put") } else { ("reads", "changes", "puts") };
                let how = if *apart {
                    format!(
                        "{} all copied attributes of its {entity}",
                        if who.is_many() { "set" } else { "sets" }
                    )
                } else {
                    format!("{puts} its {entity} whole")
                };
                format!(
                    "{} {reads} the whole {source}, {changes} it on condition that it is unchanged, and {how}: an update of the changed attributes would leave a partial item there",
                    who.names(),
                )
            }
            Self::DerivedItemsExist { entity, source, patterns } => format!(
                "every {source} has its {entity} now: {} both as the new model says",
                Subjects::writers(patterns, source).each("updates", "update")
            ),
            Self::ContinueDualWrite { entity, patterns, except } => {
                let leaves = if except.is_empty() {
                    String::new()
                } else {
                    format!(", but leaves {} unchanged", and(except))
                };
                format!(
                    "{} to keep each {entity} as before{leaves}, also after the plan: the new model does not declare that write, and should",
                    Subjects::writers(patterns, entity).each("continues", "continue")
                )
            }
            Self::RequireAbsence { entity, patterns } => format!(
                "only from this step on {} require that no {entity} exists: until then one may be missing",
                Subjects::writers(patterns, entity).each("may", "may")
            ),
            Self::WriteOwn { entity, patterns, attributes, condition } => {
                let attributes = and(attributes);
                let who = Subjects::of(patterns, || format!("every writer of {attributes} of {entity}"));
                format!(
                    "only from this step on {} {attributes} of {entity}, since every {entity} exists; condition: {condition}",
                    who.each("sets", "set")
                )
            }
            Self::MoveAttributes { entity, source, patterns, attributes } => {
                let names = and(attributes);
                let who = Subjects::of(patterns, || format!("every writer of {names} of {source}"));
                format!(
                    "conditions and updates use {names} of {entity}: {} {names} there and in {source}, both in one transaction, until old writes stop",
                    who.each("changes", "change")
                )
            }
        }
    }
}
