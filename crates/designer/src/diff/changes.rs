//! The list of differences.

use keywright_semantics::schema::{IndexKind, IndexSchema, KeySchema, Projection};

use super::input::{Subject, SubjectEntity, SubjectPattern, SubjectTable};
use super::settings::settings;
use super::{Change, ChangeKind, Thing};

/// All differences: tables and what is in them, then patterns.
pub(super) fn changes(before: &Subject, after: &Subject) -> Vec<Change> {
    let mut found = Vec::new();
    for table in &after.tables {
        match before.table(&table.definition.name) {
            Some(was) => table_changes(was, table, &mut found),
            None => new_table(table, &mut found),
        }
    }
    for table in &before.tables {
        let name = &table.definition.name;
        if after.table(name).is_none() {
            push(&mut found, ChangeKind::Removed, Thing::Table, name.clone(), String::new());
        }
    }
    pattern_changes(&before.patterns, &after.patterns, &mut found);
    found
}

fn push(found: &mut Vec<Change>, kind: ChangeKind, thing: Thing, name: String, detail: String) {
    found.push(Change { kind, thing, name, detail });
}

fn new_table(table: &SubjectTable, found: &mut Vec<Change>) {
    let definition = &table.definition;
    push(found, ChangeKind::Added, Thing::Table, definition.name.clone(), key_text(&definition.schema.key));
    for index in &definition.schema.indexes {
        push(found, ChangeKind::Added, Thing::Index, in_table(table, &index.name), index_text(index));
    }
    for entity in &table.entities {
        push(
            found,
            ChangeKind::Added,
            Thing::Entity,
            in_table(table, &entity.name),
            entity_text(entity, table),
        );
    }
}

fn in_table(table: &SubjectTable, name: &str) -> String {
    format!("{}.{name}", table.definition.name)
}

fn table_changes(was: &SubjectTable, table: &SubjectTable, found: &mut Vec<Change>) {
    let (old, new) = (&was.definition, &table.definition);
    if old.schema.key != new.schema.key {
        let detail = format!("key was {}, is {}", key_text(&old.schema.key), key_text(&new.schema.key));
        push(found, ChangeKind::Changed, Thing::Table, new.name.clone(), detail);
    }
    for (setting, before, after) in settings(old, new) {
        if before != after {
            push(
                found,
                ChangeKind::Changed,
                Thing::Setting,
                in_table(table, setting.name()),
                format!("was {before}, is {after}"),
            );
        }
    }
    index_changes(was, table, found);
    entity_changes(was, table, found);
}

fn index_changes(was: &SubjectTable, table: &SubjectTable, found: &mut Vec<Change>) {
    for index in &table.definition.schema.indexes {
        let name = in_table(table, &index.name);
        match was.index(&index.name) {
            None => push(found, ChangeKind::Added, Thing::Index, name, index_text(index)),
            Some(old) if old != index => {
                let typed = old.key != index.key && key_text(&old.key) == key_text(&index.key);
                let text = |index: &IndexSchema| {
                    let names: Vec<String> = index
                        .key
                        .attributes()
                        .map(|key| format!("{} ({:?})", key.name, key.key_type))
                        .collect();
                    if typed { names.join(", ") } else { index_text(index) }
                };
                let detail = format!("was {}, is {}", text(old), text(index));
                push(found, ChangeKind::Changed, Thing::Index, name, detail);
            }
            Some(_) => {}
        }
    }
    for index in &was.definition.schema.indexes {
        if table.index(&index.name).is_none() {
            push(found, ChangeKind::Removed, Thing::Index, in_table(table, &index.name), String::new());
        }
    }
}

fn entity_changes(was: &SubjectTable, table: &SubjectTable, found: &mut Vec<Change>) {
    for entity in &table.entities {
        let name = in_table(table, &entity.name);
        match was.entity(&entity.name) {
            None => push(found, ChangeKind::Added, Thing::Entity, name, entity_text(entity, table)),
            Some(old) => {
                let details = entity_details(old, entity, was, table);
                if !details.is_empty() {
                    push(found, ChangeKind::Changed, Thing::Entity, name, details.join("; "));
                }
            }
        }
    }
    for entity in &was.entities {
        if table.entity(&entity.name).is_none() {
            push(found, ChangeKind::Removed, Thing::Entity, in_table(table, &entity.name), String::new());
        }
    }
}

fn entity_details(
    old: &SubjectEntity,
    new: &SubjectEntity,
    was: &SubjectTable,
    table: &SubjectTable,
) -> Vec<String> {
    let mut details = Vec::new();
    let (old_key, new_key) = (&was.definition.schema.key, &table.definition.schema.key);
    if old_key.attributes().map(|key| &key.name).eq(new_key.attributes().map(|key| &key.name)) {
        for key in new_key.attributes() {
            let (before, after) = (old.template_of(&key.name), new.template_of(&key.name));
            if let (Some(before), Some(after)) = (before, after)
                && before != after
            {
                details.push(format!("{} was {before}, is {after}", key.name));
            }
        }
    } else if slot(old, old_key) != slot(new, new_key) {
        // Under other names no attribute has its own old value: the keys are compared whole.
        details.push(format!("key was {}, is {}", slot_text(old, old_key), slot_text(new, new_key)));
    }
    let (before, after) = (shards(old, old_key), shards(new, new_key));
    if before != after {
        details.push(format!("shards were {}, are {}", shards_text(before), shards_text(after)));
    }
    for index in &table.definition.schema.indexes {
        let known = was.index(&index.name).filter(|known| old.is_in(known));
        let old_slot = known.map(|known| slot_text(old, &known.key)).unwrap_or_default();
        match (known.is_some(), new.is_in(index)) {
            (false, true) => details.push(format!("enters {} as {}", index.name, slot_text(new, &index.key))),
            (true, false) => details.push(format!("leaves {}", index.name)),
            (true, true) if old_slot != slot_text(new, &index.key) => {
                details.push(format!(
                    "in {} was {}, is {}",
                    index.name,
                    old_slot,
                    slot_text(new, &index.key)
                ));
            }
            _ => {}
        }
    }
    attribute_details(old, new, table, &mut details);
    details
}

/// Attributes that were added, removed or changed their type. A changed key attribute shows in the key's
/// template.
fn attribute_details(
    old: &SubjectEntity,
    new: &SubjectEntity,
    table: &SubjectTable,
    details: &mut Vec<String>,
) {
    let is_key = |name: &str| table.definition.key_attributes().iter().any(|key| key.name == name);
    let telling = |name: &str| !is_key(name) && !new.fills_key(name) && !old.fills_key(name);
    for (name, value_type) in new.attributes.iter().filter(|(name, _)| telling(name)) {
        match old.attributes.get(name) {
            None => details.push(format!("attribute {name} ({}) added", value_type.name())),
            Some(before) if before != value_type => {
                details.push(format!("attribute {name} was {}, is {}", before.name(), value_type.name()));
            }
            Some(_) => {}
        }
    }
    let gone = old.attributes.keys().filter(|name| telling(name) && !new.attributes.contains_key(*name));
    details.extend(gone.map(|name| format!("attribute {name} removed")));
}

fn pattern_changes(before: &[SubjectPattern], after: &[SubjectPattern], found: &mut Vec<Change>) {
    for pattern in after {
        match before.iter().find(|known| known.id == pattern.id) {
            None => {
                let served = pattern.uses.as_ref().map(|uses| format!(" (uses {uses})")).unwrap_or_default();
                let detail = format!("{}{served}", pattern.text);
                push(found, ChangeKind::Added, Thing::Pattern, pattern.id.clone(), detail);
            }
            Some(was) if was != pattern => {
                push(found, ChangeKind::Changed, Thing::Pattern, pattern.id.clone(), pattern.text.clone());
            }
            Some(_) => {}
        }
    }
    for pattern in before {
        if !after.iter().any(|known| known.id == pattern.id) {
            push(found, ChangeKind::Removed, Thing::Pattern, pattern.id.clone(), pattern.text.clone());
        }
    }
}

fn key_text(key: &KeySchema) -> String {
    let names: Vec<&str> = key.attributes().map(|attribute| attribute.name.as_str()).collect();
    names.join(", ")
}

/// An index's key and what it holds.
pub(super) fn index_text(index: &IndexSchema) -> String {
    let kind = match index.kind {
        IndexKind::Global => "",
        IndexKind::Local => "local, ",
    };
    let projection = match &index.projection {
        Projection::All => "all attributes".to_owned(),
        Projection::KeysOnly => "keys only".to_owned(),
        Projection::Include(names) => {
            format!("with {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
    };
    format!("{kind}{}, {projection}", key_text(&index.key))
}

fn entity_text(entity: &SubjectEntity, table: &SubjectTable) -> String {
    let mut text = slot_text(entity, &table.definition.schema.key);
    for index in table.definition.schema.indexes.iter().filter(|index| entity.is_in(index)) {
        text = format!("{text}; {} {}", index.name, slot_text(entity, &index.key));
    }
    text
}

/// The partitions that the items of one key are spread over by its templates.
fn shards(entity: &SubjectEntity, key: &KeySchema) -> u32 {
    let templates = key.attributes().filter_map(|attribute| entity.template_of(&attribute.name));
    templates.map(|template| template.shards()).fold(1, u32::saturating_mul)
}

fn shards_text(shards: u32) -> String {
    if shards == 1 { "none".to_owned() } else { shards.to_string() }
}

/// The templates of a key's attributes.
pub(super) fn slot(entity: &SubjectEntity, key: &KeySchema) -> Vec<String> {
    key.attributes().filter_map(|attribute| Some(entity.template_of(&attribute.name)?.to_string())).collect()
}

/// The same in words.
pub(super) fn slot_text(entity: &SubjectEntity, key: &KeySchema) -> String {
    slot(entity, key).join(", ")
}
