//! Values of key attributes that an update sets: what their templates make of the item as the update leaves it.

use keywright_semantics::request::UpdateItem;
use keywright_semantics::request::parts::UpdateItemParts;
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::{AttributeValue, Item};

use crate::data::fill;
use crate::model::{Entity, Index, Node, Table, Template};

/// A key attribute that an update sets to a placeholder's value.
pub(super) struct Derived {
    /// With its colon.
    pub(super) placeholder: String,
    /// The key attribute.
    pub(super) attribute: String,
    key_type: KeyType,
    template: Template,
}

/// The made key attributes that a clause sets, but for those whose value the author gives.
pub(super) fn derived(table: &Table, entity: &Entity, set: &str, example: &[(String, Node)]) -> Vec<Derived> {
    let assigned: Vec<(&str, &str)> = set
        .split(',')
        .filter_map(|clause| clause.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(_, value)| value.starts_with(':'))
        .collect();
    let given = |value: &str| example.iter().any(|(name, _)| value.strip_prefix(':') == Some(name));
    let parts = table.indexes.iter().flat_map(Index::key_parts);
    parts
        .filter(|part| entity.attribute(&part.name).is_none())
        .filter_map(|part| {
            let (_, placeholder) =
                assigned.iter().find(|(name, value)| *name == part.name && !given(value))?;
            Some(Derived {
                placeholder: (*placeholder).to_owned(),
                attribute: part.name.clone(),
                key_type: part.key_type,
                template: entity.template(&part.name)?,
            })
        })
        .collect()
}

/// The item as an update leaves it.
pub(super) fn updated(parts: UpdateItemParts, item: &Item, key: &Item) -> Result<Option<Item>, String> {
    let request = UpdateItem::sense(parts).map_err(|fault| fault.message)?;
    let Some(update) = request.update else { return Ok(None) };
    update.apply(Some(item), key).map(|updated| Some(updated.new)).map_err(|fault| fault.message)
}

impl Derived {
    /// Its value; none if the item lacks what it is made of.
    pub(super) fn value(&self, item: &Item) -> Option<AttributeValue> {
        fill(&self.template, self.key_type, item).ok()
    }
}
