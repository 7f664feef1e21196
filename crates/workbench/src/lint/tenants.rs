//! Rule on the owner of an item: L058.

use super::context::{Context, finding};
use super::{Finding, Severity};
use keywright_model::{Attribute, Entity, Index, Model, Pattern, Table, Template};

pub(super) fn tenant(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|table, index, entity, templates| {
        let Some(owner) = owner(context.model, entity) else { return };
        let first = templates.iter().flat_map(Template::attributes).next();
        if first == Some(owner.name.as_str()) || !asked(context, table, index, entity) {
            return;
        }
        // A value that is unique across all owners has a key without the owner.
        if index.is_none() && context.model.keeps_unique(entity) {
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

/// The attribute that names an item's owner, as the entity or the nearest ancestor declares it with `owner`.
pub fn owner<'a>(model: &'a Model, entity: &'a Entity) -> Option<&'a Attribute> {
    let mut line = vec![entity];
    for _ in 0..model.entities.len() {
        let parents = line.iter().flat_map(|own| &own.parents).filter_map(|name| model.entity(name));
        let more: Vec<&Entity> =
            parents.filter(|parent| line.iter().all(|known| known.name != parent.name)).collect();
        line.extend(more);
    }
    line.iter().find_map(|own| entity.attribute(own.owner.as_ref()?))
}

/// The table always counts; an index does not if only operators read it: they read across tenants on purpose.
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
