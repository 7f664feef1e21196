//! Rule on whose an item is: L058.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::model::{Attribute, Entity, Index, Pattern, Table, Template};

/// Beginnings of names by which models call whom an item belongs to, without marks between words.
const OWNERS: &[&str] = &["tenant", "owner", "org", "organization", "organisation", "workspace"];
const ENDINGS: &[&str] = &["", "id", "key", "name"];

pub(super) fn tenant(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|table, index, entity, templates| {
        let Some(owner) = entity.attributes.iter().find(|attribute| is_owner(attribute)) else { return };
        let first = templates.iter().flat_map(Template::attributes).next();
        if first == Some(owner.name.as_str()) || !asked(context, table, index, entity) {
            return;
        }
        let somewhere = templates.iter().flat_map(Template::attributes).any(|name| name == owner.name);
        let key = match index {
            None => format!("partition key of {}", entity.name),
            Some(index) => format!("partition key of {} in index `{}`", entity.name, index.name),
        };
        let text = if somewhere {
            format!(
                "`{}` does not come first in the {key}: access is confined by how a key begins",
                owner.name
            )
        } else {
            format!("`{}` is not in the {key}: access cannot be confined to a tenant by key", owner.name)
        };
        found.push(finding(
            "L058",
            Severity::Warning,
            entity.at,
            &entity.name,
            text,
            format!("begin the partition key with `{{{}}}`", owner.name),
        ));
    });
    found
}

fn is_owner(attribute: &Attribute) -> bool {
    let name: String =
        attribute.name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
    OWNERS.iter().any(|owner| name.strip_prefix(owner).is_some_and(|rest| ENDINGS.contains(&rest)))
}

/// The table always; an index unless only operators ask it: their questions go across tenants on purpose.
fn asked(context: &Context<'_>, table: &Table, index: Option<&Index>, entity: &Entity) -> bool {
    let Some(index) = index else { return true };
    let askers: Vec<&Pattern> = context
        .reads()
        .filter(|(_, read, report)| {
            report.table == table.name
                && report.index.as_deref() == Some(index.name.as_str())
                && read.entities.contains(&entity.name)
        })
        .map(|(pattern, _, _)| pattern)
        .collect();
    askers.iter().any(|pattern| !pattern.admin)
}
