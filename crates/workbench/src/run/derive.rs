//! Values of key attributes that an update sets: their templates applied to the updated item.

use keywright_semantics::request::UpdateItem;
use keywright_semantics::request::parts::UpdateItemParts;
use keywright_semantics::schema::KeyType;
use keywright_semantics::value::{AttributeValue, Item};

use keywright_model::data::fill;
use keywright_model::{Entity, Index, Node, Table, Template, Write, WriteKind};

/// A key attribute that an update sets to a placeholder's value.
pub(super) struct Derived {
    /// With its colon.
    pub(super) placeholder: String,
    /// The key attribute.
    pub(super) attribute: String,
    /// The entity's attribute that the same placeholder sets: the placeholder has that attribute's value.
    pub(super) owner: Option<String>,
    key_type: KeyType,
    template: Template,
}

/// The templated key attributes that an update sets, except those for which the example gives a value of
/// their own.
pub(super) fn derived(
    table: &Table,
    entity: &Entity,
    step: &Write,
    example: &[(String, Node)],
) -> Vec<Derived> {
    if step.kind != WriteKind::Update {
        return Vec::new();
    }
    let assigned: Vec<(&str, &str)> = step.assigned().collect();
    let given = |value: &str| example.iter().any(|(name, _)| name == value);
    let owner = |value: &str| {
        let own = assigned.iter().find(|(name, own)| *own == value && entity.attribute(name).is_some());
        own.map(|(name, _)| (*name).to_owned())
    };
    let mut found: Vec<Derived> = Vec::new();
    for part in table.indexes.iter().flat_map(Index::key_parts) {
        let is_known = found.iter().any(|known| known.attribute == part.name);
        if is_known || entity.attribute(&part.name).is_some() {
            continue;
        }
        let set = assigned.iter().find(|(name, _)| *name == part.name);
        let Some(((_, placeholder), template)) = set.zip(entity.template(&part.name)) else { continue };
        let owner = owner(placeholder);
        if owner.is_none() && given(placeholder) {
            continue;
        }
        found.push(Derived {
            placeholder: format!(":{placeholder}"),
            attribute: part.name.clone(),
            owner,
            key_type: part.key_type,
            template,
        });
    }
    found
}

/// The item after an update.
pub(super) fn updated(parts: UpdateItemParts, item: &Item, key: &Item) -> Result<Option<Item>, String> {
    let request = UpdateItem::validate(parts).map_err(|fault| fault.message)?;
    let Some(update) = request.update else { return Ok(None) };
    update.apply(Some(item), key).map(|updated| Some(updated.new)).map_err(|fault| fault.message)
}

impl Derived {
    /// Its value; `None` if the item lacks an attribute of the template.
    pub(super) fn value(&self, item: &Item) -> Option<AttributeValue> {
        fill(&self.template, self.key_type, item).ok()
    }

    /// The message for one placeholder that needs two values: the key's template makes another value than the
    /// attribute has.
    pub(super) fn not_also(&self, other: &str) -> String {
        format!(
            "`{placeholder}` sets both `{other}` and `{name}`, but `{name}` is made as `{template}`: give it a placeholder of its own, `{name} = :{name}`",
            placeholder = self.placeholder,
            name = self.attribute,
            template = self.template
        )
    }
}
