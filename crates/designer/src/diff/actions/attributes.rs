//! Changes that a release makes to the attributes and items that it writes.

use super::super::kinds::{Field, kinds};
use super::super::phrasing::{Subjects, and};
use super::{Access, Source, Value, set};
use keywright_model::json::Json;

kinds! {
    /// A change of the attributes or items that the application writes.
    AttributeWrite {
        /// A writer that changes `from` of a source sets the copy in every item of the entity, in the same
        /// transaction. A put of a copy reads the source and checks it in the same transaction.
        "keep-copies" KeepCopies {
            entity: String, attribute: String, source: String, from: String, patterns: Vec<String>, found: Option<FoundBy>
        }
        /// A delete of the source leaves its copies.
        "leave-copies" LeaveCopies { entity: String, attribute: String, source: String, patterns: Vec<String> }
        /// Writers of new items write them.
        "write-new" WriteNew { entity: String, patterns: Vec<String> }
        /// While items are being loaded, an update may not find its item yet: it fetches the other
        /// attributes from where the item comes from, and puts the whole item.
        "put-loaded-whole" PutLoadedWhole { entity: String, table: String, patterns: Vec<String> }
        /// A writer of one of the attributes, or of an attribute in their old or new templates, writes all
        /// of them as the new design defines them. `added` says that the old items had none of them.
        "set-attributes" Set { entity: String, patterns: Vec<String>, values: Vec<Value>, added: bool }
        /// A writer of one of the attributes, or of an attribute in their templates, writes all of them as
        /// the old design defines them.
        "set-together" SetTogether { entity: String, patterns: Vec<String>, attributes: Vec<String> }
        /// Writers that do not know all values that the attributes are made of read the item.
        "read-first" ReadFirst { entity: String, patterns: Vec<String>, attributes: Vec<String> }
        /// Writers no longer set the attributes.
        "stop-setting" StopSetting { entity: String, patterns: Vec<String>, attributes: Vec<String> }
        /// Nothing writes the entity any more.
        "stop-writing" StopWriting { entity: String, patterns: Vec<String> }
        /// Writers write the attribute with another type.
        "write-type" WriteType { entity: String, patterns: Vec<String>, attribute: String, becomes: String }
    }
}

/// How a writer that changes a source finds its copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// One query finds them.
    Key(Access),
    /// A query finds items of another entity, which lead to the copies.
    #[expect(missing_docs, reason = "the entity in between and the read of it")]
    Through { entity: String, access: Access },
    /// No key leads to them.
    #[expect(missing_docs, reason = "the table and the units of one scan, if they are known")]
    Scan { table: String, read_units: Option<u64> },
}

impl AttributeWrite {
    pub(super) fn text(&self) -> String {
        match self {
            Self::KeepCopies { entity, attribute, source, from, patterns, found } => {
                let who = Subjects::of(patterns, || format!("every writer of {from} of {source}"));
                format!(
                    "{attribute} of {entity} is a copy of {source}.{from}: every put of {entity} reads the {source} and checks it in the same transaction; {} all existing copies{}",
                    who.each("also updates", "also update"),
                    found.as_ref().map(|found| found_by(found, entity, source)).unwrap_or_default()
                )
            }
            Self::LeaveCopies { entity, attribute, source, patterns } => format!(
                "{} {source} but not its {entity}: {attribute} keeps its value there, and verification leaves it",
                Subjects::writers(patterns, source).each("deletes", "delete")
            ),
            Self::WriteNew { entity, patterns } => {
                format!("{} {entity}", Subjects::writers(patterns, entity).each("writes", "write"))
            }
            Self::PutLoadedWhole { entity, table, patterns } => format!(
                "until every {entity} is loaded, {} it whole: an update would leave a partial item in {table}, which the load skips",
                Subjects::writers(patterns, entity).each("puts", "put")
            ),
            Self::Set { entity, patterns, values, added } => {
                let who = Subjects::writers(patterns, entity);
                let verb = if *added { who.each("also sets", "also set") } else { who.each("sets", "set") };
                let together = if values.len() > 1 { ", all of them in one write" } else { "" };
                format!("{verb} {} of {entity}{together}", set(&supplied(values)))
            }
            Self::SetTogether { entity, patterns, attributes } => format!(
                "{} {} of {entity} in one write already, as the old model defines them; a writer that does not know what they are made of reads the item first and writes on condition that it is unchanged",
                Subjects::writers(patterns, entity).each("sets", "set"),
                and(attributes)
            ),
            Self::ReadFirst { entity, patterns, attributes } => {
                let who = Subjects::writers(patterns, entity);
                format!(
                    "{} not know all that {} of {entity} {} made of: read the item first, and update it on condition that it is unchanged",
                    who.each("does", "do"),
                    and(attributes),
                    if attributes.len() > 1 { "are" } else { "is" },
                )
            }
            Self::StopSetting { entity, patterns, attributes } => {
                let who = Subjects::writers(patterns, entity);
                format!("{} {} of {entity}", who.no_longer("sets", "set"), and(attributes))
            }
            Self::StopWriting { entity, patterns } => {
                format!("{} {entity}", Subjects::writers(patterns, entity).no_longer("writes", "write"))
            }
            Self::WriteType { entity, patterns, attribute, becomes } => format!(
                "{} {attribute} of {entity} as {becomes}",
                Subjects::writers(patterns, entity).each("writes", "write")
            ),
        }
    }
}

/// The values as a writer knows them: it supplies those that the models do not define.
fn supplied(values: &[Value]) -> Vec<Value> {
    let known = |value: &Value| match &value.source {
        Source::Undefined => Value {
            attribute: value.attribute.clone(),
            source: Source::Template(format!("{{{}}}", value.attribute)),
        },
        _ => value.clone(),
    };
    values.iter().map(known).collect()
}

/// How the copies are found, as the end of a sentence.
fn found_by(found: &FoundBy, entity: &str, source: &str) -> String {
    match found {
        FoundBy::Key(access) => format!(", which it finds in {access}"),
        FoundBy::Through { entity, access } => format!(", which it finds through each {entity} in {access}"),
        FoundBy::Scan { table, read_units } => {
            let units = read_units.map(|units| format!(", {units} read units")).unwrap_or_default();
            format!(
                "; no key or index leads from {source} to its {entity}, so each change scans {table}{units}: add an index by the key of {source}"
            )
        }
    }
}

impl Field for FoundBy {
    fn json(&self) -> Option<Json> {
        match self {
            Self::Key(access) => access.json(),
            Self::Through { entity, access } => {
                let mut json = access.json()?;
                json.set("entity", Json::text(entity));
                Some(json)
            }
            Self::Scan { table, read_units } => {
                let mut json = Json::object([("scan", Json::text(table))]);
                if let Some(units) = read_units.json() {
                    json.set("readUnits", units);
                }
                Some(json)
            }
        }
    }
}
