//! Checks the templates of an entity against the items they were inferred from: each must give every item the
//! key that the item has.
//!
//! Each step of the inference judges names and values by itself, so two of them can contradict each other.
//! This is the one place that compares the outcome with the items, as the model will be read: a variable has
//! the value of the attribute with its name, otherwise the value that the first key with it shows. A template
//! that does not hold is replaced by the entity's own names, then by variables of its own, then by the raw
//! key attribute.

use std::collections::BTreeSet;

use keywright_semantics::schema::IndexSchema;
use keywright_semantics::value::{AttributeValue, Item};

use super::classify::Group;
use super::template::{Doubt, KeyPlace, Templates};
use keywright_model::data::{FillFault, fill, key_text};
use keywright_model::tables::TableDefinition;
use keywright_model::{Part, Template};

/// Bytes of a key that a note shows.
const SHOWN_BYTES_MAX: usize = 200;

/// The templates that hold for all items of the group, and their variables. `alone` are those of the entity
/// by itself, before it took names from others.
pub(super) fn verified(
    table: &TableDefinition,
    items: &[&Item],
    group: &Group,
    places: &[KeyPlace<'_>],
    found: Templates,
    alone: &Templates,
) -> Templates {
    let rows = group.members.iter().filter_map(|at| items.get(*at).copied());
    let rows = rows.map(|item| Row { item, read: Item::new() }).collect();
    let mut check = Check { group, rows, found, changed: false };
    for place in places {
        check.key(place, alone);
    }
    for index in &table.schema.indexes {
        check.index(index);
    }
    if check.changed {
        check.found.variables = check.variables(places);
    }
    check.found
}

/// An item, and the values of variables that its keys show and no attribute holds.
struct Row<'a> {
    item: &'a Item,
    read: Item,
}

struct Check<'a> {
    group: &'a Group,
    rows: Vec<Row<'a>>,
    found: Templates,
    changed: bool,
}

/// What a template makes of an item with another key.
struct Contradiction {
    made: Option<String>,
    stored: String,
}

impl Row<'_> {
    fn value(&self, variable: &str) -> Option<&AttributeValue> {
        self.item.get(variable).or_else(|| self.read.get(variable))
    }

    /// The values of the template's variables that neither an attribute nor an earlier key has, from the text
    /// of a key; `None` if the text does not fit.
    fn read_from(&self, template: &Template, text: &str) -> Option<Item> {
        let mut read = Item::new();
        for (part, value) in template.fit(text)? {
            let Some(name) = part.readable().filter(|name| self.value(name).is_none()) else { continue };
            read.get_or_insert_with(name, || AttributeValue::from(value));
        }
        Some(read)
    }

    /// The key that a template makes of the item.
    fn made(
        &self,
        template: &Template,
        place: &KeyPlace<'_>,
        read: &Item,
    ) -> Result<AttributeValue, FillFault> {
        let value = |name: &str| self.value(name).or_else(|| read.get(name)).cloned();
        let given = template.attributes().filter_map(|name| Some((name.to_owned(), value(name)?))).collect();
        fill(template, place.key_type, &given)
    }

    /// The values that a template reads from the item's key, if it also makes that key of them.
    fn holding(&self, template: &Template, place: &KeyPlace<'_>) -> Result<Item, Contradiction> {
        let raw = template.whole() == Some(place.name);
        let Some(stored) = self.item.get(place.name).filter(|_| !raw) else { return Ok(Item::new()) };
        let text = key_text(stored).unwrap_or_default();
        let read = self.read_from(template, &text);
        let made = self.made(template, place, read.as_ref().unwrap_or(&Item::new()));
        match (read, made) {
            (Some(read), Ok(made)) if made == *stored => Ok(read),
            // A shard number does not show the value that it was made from.
            (Some(read), Err(FillFault::Missing { .. })) => Ok(read),
            (_, made) => Err(Contradiction { made: made.ok().as_ref().and_then(key_text), stored: text }),
        }
    }
}

impl Check<'_> {
    /// Keeps the template of a key if it holds; otherwise replaces it by the first one that does.
    fn key(&mut self, place: &KeyPlace<'_>, alone: &Templates) {
        let Some(template) = self.found.keys.get(place.name).cloned() else { return };
        let Some(contradiction) = self.take(&template, place) else { return };
        if place.is_authored() {
            let text = format!(
                "its template `{template}` is kept, though {}",
                contradiction.text(&template, place.name)
            );
            self.found.doubts.push(Doubt::new(self.group, place.name, &text));
            return;
        }
        let own = alone.keys.get(place.name).filter(|own| **own != template).cloned();
        if let Some(own) = own.filter(|own| self.take(own, place).is_none()) {
            self.replace(place.name, &own, &contradiction.text(&template, place.name));
            self.found.doubts.extend(alone.doubts.iter().filter(|doubt| doubt.key == place.name).cloned());
            return;
        }
        let own = self.with_own_variables(&template, place);
        if let Some(own) = own.filter(|own| self.take(own, place).is_none()) {
            self.replace(place.name, &own, &contradiction.text(&template, place.name));
            return;
        }
        self.replace(
            place.name,
            &Template::of_attribute(place.name),
            &contradiction.text(&template, place.name),
        );
    }

    /// Notes the values that a template reads from all items' keys, if it holds for all of them; otherwise
    /// returns the first contradiction.
    fn take(&mut self, template: &Template, place: &KeyPlace<'_>) -> Option<Contradiction> {
        let mut read = Vec::new();
        for row in &self.rows {
            match row.holding(template, place) {
                Ok(own) => read.push(own),
                Err(contradiction) => return Some(contradiction),
            }
        }
        assert_eq!(read.len(), self.rows.len(), "a template is taken once it holds for every item");
        for (row, own) in self.rows.iter_mut().zip(read) {
            row.read.extend(own);
        }
        None
    }

    /// The template with a variable of its own at each place that shows another value than its variable has.
    fn with_own_variables(&self, template: &Template, place: &KeyPlace<'_>) -> Option<Template> {
        let mut differing = BTreeSet::new();
        for row in &self.rows {
            let Some(text) = row.item.get(place.name).and_then(key_text) else { continue };
            let read = row.read_from(template, &text)?;
            let parts = template.parts.iter().enumerate().filter(|(_, part)| part.attribute().is_some());
            for ((at, part), (_, shown)) in parts.zip(template.fit(&text)?) {
                let alone = Template { parts: vec![part.clone()] };
                let own = row.made(&alone, place, &read).ok().as_ref().and_then(key_text);
                if own.as_deref() != Some(shown) {
                    differing.insert(at);
                }
            }
        }
        let mut own = template.clone();
        let mut taken = self.names();
        for at in differing {
            let part = own.parts.get_mut(at)?;
            let name = free(&taken, part.attribute()?);
            taken.insert(name.clone());
            *part = Part::Attribute { name, pad: None };
        }
        Some(own)
    }

    /// All names that items have or templates use.
    fn names(&self) -> BTreeSet<String> {
        let stored = self.rows.iter().flat_map(|row| row.item.keys().cloned());
        let used = self.found.keys.values().flat_map(Template::attributes).map(str::to_owned);
        stored.chain(used).collect()
    }

    /// An item is in an index of the model if its attributes fill the index's key, and it must be in the
    /// index of the table then. The first key attribute that the item lacks becomes a raw one.
    fn index(&mut self, index: &IndexSchema) {
        let parts: Vec<KeyPlace<'_>> = index.key.attributes().map(KeyPlace::of).collect();
        let whole = |item: &Item| parts.iter().all(|part| item.contains_key(part.name));
        for at in 0..self.rows.len() {
            let Some(row) = self.rows.get(at) else { continue };
            let filled = |part: &KeyPlace<'_>| {
                let template = self.found.keys.get(part.name);
                row.item.contains_key(part.name)
                    || template.is_some_and(|template| row.made(template, part, &Item::new()).is_ok())
            };
            if whole(row.item) || !parts.iter().all(filled) {
                continue;
            }
            let Some(lacking) = parts.iter().find(|part| !row.item.contains_key(part.name)) else { continue };
            let Some(template) = self.found.keys.get(lacking.name) else { continue };
            let (all, inside) = (self.rows.len(), self.rows.iter().filter(|row| whole(row.item)).count());
            let reason =
                format!("`{template}` puts all {all} items into {}, and {inside} are in it", index.name);
            self.replace(lacking.name, &Template::of_attribute(lacking.name), &reason);
        }
    }

    fn replace(&mut self, key: &str, template: &Template, reason: &str) {
        self.changed = true;
        self.found.doubts.retain(|doubt| doubt.key != key);
        let text = if template.whole() == Some(key) {
            format!("the model has the raw attribute, because {reason}")
        } else {
            format!("made of `{template}`, because {reason}")
        };
        self.found.doubts.push(Doubt::new(self.group, key, &text));
        self.found.keys.insert(key.to_owned(), template.clone());
    }

    /// The variables that are not attributes of the items, in the order of the keys.
    fn variables(&self, places: &[KeyPlace<'_>]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for place in places {
            let template = self.found.keys.get(place.name).filter(|own| own.whole() != Some(place.name));
            for name in template.iter().flat_map(|template| template.attributes()) {
                let held = self.rows.iter().any(|row| row.item.contains_key(name));
                if !held && !found.iter().any(|known| known == name) {
                    found.push(name.to_owned());
                }
            }
        }
        found
    }
}

impl Contradiction {
    fn text(&self, template: &Template, key: &str) -> String {
        let cut = |text: &str| text.get(..text.floor_char_boundary(SHOWN_BYTES_MAX)).map(str::to_owned);
        let stored = cut(&self.stored).unwrap_or_default();
        match self.made.as_deref().and_then(cut) {
            Some(made) => format!("`{template}` makes `{made}` of an item whose {key} is `{stored}`"),
            None => format!("`{template}` does not fit an item whose {key} is `{stored}`"),
        }
    }
}

/// The name with the first free number.
fn free(taken: &BTreeSet<String>, wanted: &str) -> String {
    let mut number = 2_usize;
    loop {
        let name = format!("{wanted}{number}");
        if !taken.contains(&name) {
            return name;
        }
        number += 1;
    }
}
