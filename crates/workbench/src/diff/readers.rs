//! Which questions are asked elsewhere, and when: after what they ask is there, and before what they asked goes.

use std::collections::BTreeSet;

use super::subject::{Subject, SubjectPattern, SubjectTable};

/// What a release that moves the reads does, one sentence a question.
pub(super) fn switches(before: &Subject, after: &Subject, moved: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in after.patterns.iter().filter(|pattern| !pattern.writes) {
        let known = before.patterns.iter().find(|known| known.id == pattern.id);
        let place = place(pattern, after);
        let rekeyed = index_of(pattern, after).is_none()
            && pattern.entities.iter().any(|entity| moved.contains(entity));
        let is_new = index_of(pattern, after).is_some_and(|(table, index)| {
            before.table(&table.definition.name).and_then(|was| was.index(index)) != table.index(index)
        });
        match known {
            None if rekeyed || is_new => found.push(format!("{}, which is new, asks {place}", pattern.id)),
            Some(was) if was.uses != pattern.uses && (was.uses.is_some() || pattern.uses.is_some()) => {
                let from = self::place(was, before);
                if from != place || is_new {
                    found.push(format!("{} asks {place} instead of {from}", pattern.id));
                }
            }
            Some(_) if is_new => found.push(format!("{} asks the new {place}", pattern.id)),
            Some(_) if rekeyed => found.push(format!("{} asks {place} by the new key", pattern.id)),
            None | Some(_) => {}
        }
    }
    for pattern in before.patterns.iter().filter(|pattern| !pattern.writes) {
        if after.patterns.iter().any(|known| known.id == pattern.id) {
            continue;
        }
        let gone = match index_of(pattern, before) {
            Some((table, index)) => {
                after.table(&table.definition.name).is_none_or(|now| now.index(index) != table.index(index))
            }
            None => pattern.entities.iter().any(|entity| !has(after, entity)),
        };
        if gone {
            found.push(format!("{} is asked no more", pattern.id));
        }
    }
    found.extend(unread(before, after));
    found
}

/// Indexes that go and that no question is known to ask: something else may.
fn unread(before: &Subject, after: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    for was in &before.tables {
        let Some(now) = after.table(&was.definition.name) else { continue };
        for index in
            was.definition.schema.indexes.iter().filter(|index| now.index(&index.name) != Some(*index))
        {
            let asked =
                before.patterns.iter().any(|pattern| pattern.uses.as_deref() == Some(index.name.as_str()));
            if !asked {
                found.push(format!(
                    "nothing asks {} any more: its consumed read capacity stays at nought",
                    index.name
                ));
            }
        }
    }
    found
}

fn has(subject: &Subject, entity: &str) -> bool {
    subject.tables.iter().any(|table| table.entity(entity).is_some())
}

/// The index that a question asks, with its table; none where it asks a table itself.
fn index_of<'a>(pattern: &'a SubjectPattern, subject: &'a Subject) -> Option<(&'a SubjectTable, &'a str)> {
    let uses = pattern.uses.as_deref()?;
    let own = |table: &&SubjectTable| pattern.entities.iter().any(|entity| table.entity(entity).is_some());
    let table = subject.tables.iter().filter(own).find(|table| table.index(uses).is_some())?;
    Some((table, uses))
}

/// Where a question is asked, in words.
fn place(pattern: &SubjectPattern, subject: &Subject) -> String {
    if let Some((table, index)) = index_of(pattern, subject) {
        return format!("index {index} of {}", table.definition.name);
    }
    let tables = subject
        .tables
        .iter()
        .filter(|table| pattern.entities.iter().any(|entity| table.entity(entity).is_some()));
    let names: Vec<&str> = tables.map(|table| table.definition.name.as_str()).collect();
    if names.is_empty() { "the table".to_owned() } else { format!("table {}", names.join(", ")) }
}
