//! The overlay: what the service does differently from its own public model.
//!
//! A text file, one change a line, applied to the model before the table is made from it:
//! `SUBJECT CHANGE [VALUE…] | CASE`, where CASE is the `file/row` of a case in `crates/wire/tests/cases`.

use std::path::Path;

use super::model::{Member, Model, Presence};

/// How one operation words one kind of violation.
#[derive(Clone, Debug)]
pub(super) struct Wording {
    pub(super) operation: String,
    pub(super) kind: String,
}

/// What the overlay says beyond changes to shapes.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) unechoed: Vec<Wording>,
    /// Enumerations that are checked when the part is made, with a message of their own.
    pub(super) unchecked_enums: Vec<String>,
    pub(super) lines: usize,
}

/// Applies every line to the model.
pub(super) fn apply(model: &mut Model, text: &str, cases: &Path) -> Result<Extras, String> {
    let mut extras = Extras::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = |fault: String| format!("overlay line {}: {fault}\n  {line}", index + 1);
        let (change, case) = line.split_once('|').ok_or_else(|| place("no case is named".to_owned()))?;
        check_case(cases, case.trim()).map_err(place)?;
        let words: Vec<&str> = change.split_whitespace().collect();
        apply_line(model, &mut extras, &words).map_err(place)?;
        extras.lines += 1;
    }
    Ok(extras)
}

fn apply_line(model: &mut Model, extras: &mut Extras, words: &[&str]) -> Result<(), String> {
    match words {
        [operation, "unechoed", kinds @ ..] => {
            extras.unechoed.extend(
                kinds
                    .iter()
                    .map(|kind| Wording { operation: (*operation).to_owned(), kind: (*kind).to_owned() }),
            );
            Ok(())
        }
        [member, "absence-kept"] => {
            find_member(model, member)?.presence = Presence::Optional;
            let (structure, name) = member.split_once('.').ok_or("no member is named")?;
            model.tell_absence(structure, name);
            Ok(())
        }
        [member, "alias-of", sibling] => insert(model, member, sibling),
        [member, change, rest @ ..] if member.contains('.') => {
            change_member(find_member(model, member)?, change, rest)
        }
        [structure, "order", members @ ..] => reorder(&mut model.shape_mut(structure)?.members, members),
        [shape, "copy-of", original] => {
            let copy = model.shape(original)?.clone();
            model.shapes.insert((*shape).to_owned(), copy);
            Ok(())
        }
        [shape, "enum", values @ ..] => {
            let shape = model.shape_mut(shape)?;
            shape.values = values.iter().map(|value| (*value).to_owned()).collect();
            Ok(())
        }
        [shape, "arn-passes"] => {
            model.shape_mut(shape)?.arn_passes = true;
            Ok(())
        }
        [shape, "enum-unchecked"] => {
            extras.unchecked_enums.push((*shape).to_owned());
            Ok(())
        }
        [shape, "spelling-kept"] => {
            model.shape_mut(shape)?.spelling_kept = true;
            Ok(())
        }
        [list, "element", element] => {
            model.shape_mut(list)?.element = Some((*element).to_owned());
            Ok(())
        }
        [shape, "key", key] => {
            model.shape_mut(shape)?.key = Some((*key).to_owned());
            Ok(())
        }
        [shape, "min", value] => bound(&mut model.shape_mut(shape)?.min, value),
        [shape, "max", value] => bound(&mut model.shape_mut(shape)?.max, value),
        [shape, "pattern", value] => {
            model.shape_mut(shape)?.pattern = (*value != "none").then(|| (*value).to_owned());
            Ok(())
        }
        _ => Err("this change is not known".to_owned()),
    }
}

fn change_member(member: &mut Member, change: &str, rest: &[&str]) -> Result<(), String> {
    match (change, rest) {
        ("required", []) => member.presence = Presence::Required,
        ("required-first", []) => member.presence = Presence::RequiredFirst,
        ("optional", []) => member.presence = Presence::Optional,
        ("shape", [shape]) => (*shape).clone_into(&mut member.shape),
        _ => return Err("this change of a member is not known".to_owned()),
    }
    Ok(())
}

fn find_member<'a>(model: &'a mut Model, path: &str) -> Result<&'a mut Member, String> {
    let (structure, name) = path.split_once('.').ok_or("no member is named")?;
    let members = &mut model.shape_mut(structure)?.members;
    members
        .iter_mut()
        .find(|member| member.name == name)
        .ok_or_else(|| format!("{structure} has no member {name}"))
}

/// A member that the public model does not have, right after the one it is an alias of and alike in all but
/// its name.
fn insert(model: &mut Model, path: &str, sibling: &str) -> Result<(), String> {
    let (structure, name) = path.split_once('.').ok_or("no member is named")?;
    let members = &mut model.shape_mut(structure)?.members;
    if members.iter().any(|member| member.name == name) {
        return Err(format!("the model has {path} by now"));
    }
    let place = members.iter().position(|member| member.name == sibling);
    let (place, original) = place
        .and_then(|place| members.get(place).map(|member| (place, member.clone())))
        .ok_or_else(|| format!("{structure} has no member {sibling}"))?;
    members.insert(place.saturating_add(1), Member { name: name.to_owned(), ..original });
    Ok(())
}

/// The named members first and in that order, the others after them in the model's order.
fn reorder(members: &mut [Member], first: &[&str]) -> Result<(), String> {
    if let Some(unknown) = first.iter().find(|name| members.iter().all(|member| member.name != **name)) {
        return Err(format!("there is no member {unknown}"));
    }
    members.sort_by_key(|member| first.iter().position(|name| *name == member.name).unwrap_or(first.len()));
    Ok(())
}

fn bound(limit: &mut Option<i64>, value: &str) -> Result<(), String> {
    *limit = if value == "none" {
        None
    } else {
        Some(value.parse().map_err(|error| format!("{value} is no number: {error}"))?)
    };
    Ok(())
}

/// The case must be a row of the case files, so that no difference goes untested.
fn check_case(cases: &Path, case: &str) -> Result<(), String> {
    let (file, row) = case.split_once('/').ok_or_else(|| format!("\"{case}\" is not FILE/ROW"))?;
    let path = cases.join(format!("{file}.txt"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let found = text.lines().any(|line| line.split('|').next().is_some_and(|name| name.trim() == row));
    if found { Ok(()) } else { Err(format!("{} has no row \"{row}\"", path.display())) }
}
