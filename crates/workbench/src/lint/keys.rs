//! Rules on keys: L008 to L012, L023, L024, L027.

use std::collections::BTreeSet;

use keywright_semantics::share::ALL_PPM;

use super::collection_order::{Collection, written};
use super::context::{Context, finding, names};
use super::{Finding, Severity};
use crate::run::PatternReport;
use keywright_model::overlap::{Side, can_be_equal, meeting};
use keywright_model::{
    AttributeFormat, Condition, Entity, KeyType, Model, Part, Pattern, Table, Template, WriteKind,
};
use keywright_semantics::value::ValueType;

/// Delimiters to choose from.
const DELIMITERS: [char; 4] = ['#', '|', '~', '^'];

pub(super) fn overlap(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (one, two) in meeting(context.model, &|entity, key| context.stored(entity, key)) {
        let entities = &context.model.entities;
        let (Some(entity), Some(other)) = (entities.get(one), entities.get(two)) else { continue };
        found.push(finding(
            "L008",
            Severity::Error,
            other.at,
            &other.name,
            format!(
                "{} and {} can have the same key: one would overwrite the other",
                entity.name, other.name
            ),
            prefixed(context.model, entity, other),
        ));
    }
    for (pattern, _, report) in context.reads() {
        if let Some(stranger) =
            report.strangers.first().filter(|_| report.operation != crate::run::OperationKind::Scan)
        {
            found.push(finding(
                "L008",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!(
                    "{} also returns items of other entities, such as [{}]",
                    pattern.id,
                    stranger.join(", ")
                ),
                apart(context, pattern, report),
            ));
        }
    }
    for collision in context.report.collisions.iter().filter(|collision| collision.first != collision.second)
    {
        found.push(finding(
            "L008",
            Severity::Error,
            collision.at,
            collision.second.as_deref().unwrap_or(&collision.table),
            format!("[{}] is the key of two entities' items in the data", collision.key.join(", ")),
            "give each entity a prefix of its own",
        ));
    }
    found
}

/// The fix for two entities that can have the same key: which key needs another prefix, and which.
fn prefixed(model: &Model, entity: &Entity, other: &Entity) -> String {
    let Some(table) = model.table(&entity.table) else { return String::new() };
    let texts = table.key_parts().filter(|part| part.key_type == KeyType::S);
    let parts: Vec<&str> = texts.map(|part| part.name.as_str()).collect();
    for (own, stranger) in [(other, entity), (entity, other)] {
        for part in parts.iter().rev() {
            let (Some(template), Some(foreign)) = (own.template(part), stranger.template(part)) else {
                continue;
            };
            let text = format!("{}#{template}", own.name.to_uppercase());
            let Ok(apart) = Template::parse(&text) else { continue };
            let side = |entity, template| Side { entity, template, stored: &[] };
            let named = own.key.template(part).is_some();
            if named && !can_be_equal(side(own, &apart), side(stranger, &foreign)) {
                return format!("write `{part}: \"{apart}\"` for {}: a prefix of its own", own.name);
            }
        }
    }
    format!("begin the keys of {} and of {} with words that differ", entity.name, other.name)
}

/// The fix for a read that returns foreign items: its range covers everything that sorts between its own
/// items.
fn apart(context: &Context<'_>, pattern: &Pattern, report: &PatternReport) -> String {
    let collection = Collection::of(context, report);
    if let Some(openings) = collection.and_then(|own| own.apart(&pattern.id)) {
        return format!("{}: the items that the pattern reads are then contiguous", written(&openings));
    }
    if report.entities.len() == 1 {
        return "give the entities of one partition sort keys with prefixes of their own".to_owned();
    }
    "no sort key suits all patterns: read each entity in a pattern of its own, or use an index with only these entities"
        .to_owned()
}

pub(super) fn delimiter(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (_, entity) in context.entities() {
        for (_, template) in names(entity) {
            for (place, part) in template.parts.iter().enumerate() {
                let Some(attribute) = part.attribute().and_then(|name| entity.attribute(name)) else {
                    continue;
                };
                let Some(Part::Literal(text)) = template.parts.get(place + 1) else { continue };
                let Some(delimiter) = text.chars().next() else { continue };
                let may_contain = |delimiter: char| match attribute.format {
                    Some(AttributeFormat::Iso8601 | AttributeFormat::LocalTime) => {
                        "-:T.Z".contains(delimiter)
                    }
                    Some(AttributeFormat::Date | AttributeFormat::Uuid) => delimiter == '-',
                    Some(AttributeFormat::Email) => "@.-_".contains(delimiter),
                    _ => {
                        let listed = attribute.values.iter().filter_map(keywright_model::Node::scalar);
                        let entities = std::slice::from_ref(&entity.name);
                        let mut values = listed.chain(context.recorded(entities, &attribute.name));
                        values.any(|text| text.contains(delimiter))
                    }
                };
                if may_contain(delimiter) {
                    let other = DELIMITERS.iter().find(|other| **other != delimiter && !may_contain(**other));
                    let such = other.map(|other| format!(", such as `{other}`,")).unwrap_or_default();
                    found.push(finding(
                        "L009",
                        Severity::Warning,
                        entity.at,
                        &entity.name,
                        format!("`{}` may contain `{delimiter}`, which delimits it in `{template}`", attribute.name),
                        format!("choose a delimiter that no value contains{such} and keep the attribute itself instead of splitting the key"),
                    ));
                }
            }
        }
    }
    found
}

pub(super) fn not_unique(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for collision in context.report.collisions.iter().filter(|collision| collision.first == collision.second)
    {
        found.push(finding(
            "L010",
            Severity::Error,
            collision.at,
            collision.second.as_deref().unwrap_or(&collision.table),
            format!(
                "two items of the data have the key [{}]: the second overwrites the first",
                collision.key.join(", ")
            ),
            "add an attribute that tells them apart to the sort key",
        ));
    }
    for (table, entity) in context.entities() {
        if !found.iter().any(|twins| twins.subject == entity.name) {
            found.extend(too_few_values(context, table, entity));
        }
    }
    let open = |entity: &Entity| !guarded(context, entity) && !is_said(entity);
    for (table, entity) in context.entities().filter(|(_, entity)| open(entity)) {
        if let Some(text) = timed(context, table, entity) {
            let mut key: Vec<&str> = Vec::new();
            let templates =
                table.key_parts().filter_map(|part| entity.template(&part.name)).collect::<Vec<_>>();
            for name in templates.iter().flat_map(Template::attributes) {
                if !key.contains(&name) {
                    key.push(name);
                }
            }
            let fix = format!(
                "end the sort key with an id: `…#{{time}}#{{id}}`; if there are never two at once, say so: `unique: [[{}]]`",
                key.join(", ")
            );
            found.push(finding("L010", Severity::Error, entity.at, &entity.name, text, fix));
            continue;
        }
        // Neither a parent's identity nor an attribute that identifies another entity distinguishes this
        // entity's items. The identity of the source items does distinguish items that are copies of them.
        let copied = entity.attributes.iter().all(|own| own.copy_of.is_some());
        let repeated = |name: &str| !copied && context.model.is_repeated(entity, name);
        let names: BTreeSet<&str> =
            entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
        let (inherited, own): (BTreeSet<&str>, BTreeSet<&str>) =
            names.into_iter().partition(|name| repeated(name));
        let times = own.iter().filter(|name| {
            entity
                .attribute(name)
                .and_then(|attribute| attribute.format)
                .is_some_and(AttributeFormat::is_time)
        });
        if !own.is_empty() && !inherited.is_empty() && times.count() == own.len() {
            found.push(finding(
                "L010",
                Severity::Error,
                entity.at,
                &entity.name,
                format!(
                    "only a time tells two {} with one partition key apart: two at once are one item",
                    entity.name
                ),
                "end the sort key with an id: `…#{time}#{id}`",
            ));
        }
    }
    found
}

/// An entity with a larger declared `count` than its key, or its `unique` attributes, has values.
fn too_few_values(context: &Context<'_>, table: &Table, entity: &Entity) -> Vec<Finding> {
    let Some(count) = entity.count else { return Vec::new() };
    let mut found = Vec::new();
    let keys: Option<Vec<Template>> = table.key_parts().map(|part| entity.template(&part.name)).collect();
    let values = keys.and_then(|keys| keywright_model::distribution::different(context.model, entity, &keys));
    if let Some(values) = values.filter(|values| *values < count) {
        let text = format!(
            "{count} {} are declared, and their key has only {values} different values: later ones overwrite earlier ones",
            entity.name
        );
        let fix = "add an attribute that tells them apart to the sort key, or correct `count` or `distinct`";
        found.push(finding("L010", Severity::Error, entity.at, &entity.name, text, fix));
    }
    for names in &entity.unique {
        let mut values = names.iter().map(|name| context.distinct(entity, name));
        let values = values.try_fold(1_u64, |product, values| Some(product.saturating_mul(values?)));
        let present = names.iter().filter_map(|name| entity.attribute(name)?.present_ppm).min();
        let having = u128::from(count) * u128::from(present.unwrap_or(ALL_PPM)) / u128::from(ALL_PPM);
        let Some(values) = values.filter(|values| u128::from(*values) < having) else { continue };
        let listed = names.join(", ");
        let text = format!(
            "{having} {} are to differ in [{listed}], which has only {values} different values",
            entity.name
        );
        let fix = "correct `unique`, `count`, or how many values the attributes have";
        found.push(finding("L010", Severity::Error, entity.at, &entity.name, text, fix));
    }
    found
}

/// Whether the author declares that the key's values are unique: a sensor may measure once a second.
fn is_said(entity: &Entity) -> bool {
    let key: BTreeSet<&str> = entity.key_attributes().collect();
    entity
        .unique
        .iter()
        .any(|names| !names.is_empty() && names.iter().all(|name| key.contains(name.as_str())))
}

/// Whether every put refuses an existing item: a simultaneous second one then fails instead of being lost.
fn guarded(context: &Context<'_>, entity: &Entity) -> bool {
    let puts =
        context.steps().filter(|(_, step, put)| step.kind == WriteKind::Put && put.name == entity.name);
    let guards: Vec<bool> = puts.map(|(_, step, _)| step.condition == Some(Condition::NotExists)).collect();
    !guards.is_empty() && guards.into_iter().all(|guard| guard)
}

/// Why a sort key of nothing but a time is not unique, if several items share a partition key: there are
/// more items than partition keys, or nothing declares the partition keys unique. A date alone may be
/// unique (one item a day), so it counts only if numbers are declared.
fn timed(context: &Context<'_>, table: &Table, entity: &Entity) -> Option<String> {
    let partition = entity.template(&table.partition.name)?;
    let sort = entity.template(&table.sort.as_ref()?.name)?;
    let mut formats =
        sort.attributes().map(|name| entity.attribute(name)?.format.filter(|own| own.is_time()));
    let first = formats.next()??;
    if !formats.all(|format| format.is_some()) || partition.is_constant() {
        return None;
    }
    let is_distinct =
        partition.attributes().filter_map(|name| entity.attribute(name)?.format).any(|format| {
            matches!(format, AttributeFormat::Uuid | AttributeFormat::Ulid | AttributeFormat::Sequence)
        });
    let names: Vec<String> = partition.attributes().map(str::to_owned).collect();
    let unique = entity.unique.iter().any(|unique| unique.iter().all(|name| names.contains(name)));
    if is_distinct || unique {
        return None;
    }
    let partitions = context.partitions(entity, std::slice::from_ref(&partition));
    match entity.count.zip(partitions) {
        Some((count, partitions)) if count > partitions => {
            // The declared number of days may be as large as the number of items: then each day has one item.
            let days = sort
                .attributes()
                .try_fold(0_u64, |sum, name| Some(sum.saturating_add(context.distinct(entity, name)?)));
            let enough = days.is_some_and(|days| partitions.saturating_mul(days) >= count);
            (first != AttributeFormat::Date || !enough).then(|| {
                format!(
                    "{count} {} have {partitions} partition keys, and only a time tells those of one apart: two at once are one item",
                    entity.name
                )
            })
        }
        Some(_) => None,
        None if first == AttributeFormat::Date => None,
        None => Some(format!(
            "nothing says that `{partition}` is of one {} only, and only a time tells those of one apart: two at once are one item",
            entity.name
        )),
    }
}

pub(super) fn unpadded(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (table, entity) in context.entities() {
        let parts = table.sort.iter().chain(table.indexes.iter().flat_map(|index| &index.sort));
        let mut seen: Vec<&str> = Vec::new();
        for key in parts.filter(|key| key.key_type == KeyType::S) {
            let Some(template) = entity.template(&key.name).filter(|_| !seen.contains(&key.name.as_str()))
            else {
                continue;
            };
            seen.push(&key.name);
            for part in &template.parts {
                let Part::Attribute { name, pad: None } = part else { continue };
                let Some(attribute) = entity.attribute(name) else { continue };
                let epoch = matches!(
                    attribute.format,
                    Some(AttributeFormat::EpochMs | AttributeFormat::EpochSeconds)
                );
                if (attribute.value_type == ValueType::N && !epoch)
                    || attribute.format == Some(AttributeFormat::Sequence)
                {
                    found.push(finding(
                        "L011",
                        Severity::Warning,
                        entity.at,
                        &entity.name,
                        format!("`{{{name}}}` in `{template}` is a number in a text: 10 sorts before 9"),
                        as_number(table, &key.name, name, template.whole().is_some()),
                    ));
                }
            }
        }
    }
    found
}

/// How to make a number sort as a number: padded, or a key attribute of type N if it is the whole key.
fn as_number(table: &Table, key: &str, name: &str, whole: bool) -> String {
    let padded = format!("write `{{{name}:pad(10)}}`");
    match (whole, table.key_parts().any(|part| part.name == key)) {
        (false, _) => padded,
        (true, true) => format!("{padded}, or make `{key}` a number in the table's key: `{key}: N`"),
        (true, false) => format!("{padded}, or let the index have the attribute itself: `sk: {name}`"),
    }
}

pub(super) fn time_forms(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut forms: Vec<(String, String, AttributeFormat)> = Vec::new();
    for (table, entity) in context.entities() {
        for template in context.all_sort_templates(table, entity) {
            for name in template.attributes() {
                let format = entity.attribute(name).and_then(|attribute| attribute.format);
                let Some(format) = format.filter(|format| format.is_time()) else {
                    // Without a declared format the data decide whether it is a time.
                    found.extend(format.is_none().then(|| mixed(context, entity, name)).flatten());
                    continue;
                };
                if format == AttributeFormat::LocalTime {
                    found.push(finding(
                        "L012",
                        Severity::Warning,
                        entity.at,
                        &entity.name,
                        format!("`{name}` in the sort key `{template}` is local time: it jumps twice a year and differs between machines"),
                        "store UTC in one precision: `format: iso8601`",
                    ));
                }
                found.extend(precisions(context, entity, name));
                let known =
                    forms.iter().find(|(other_table, other, _)| *other_table == table.name && other == name);
                match known {
                    Some((_, _, other)) if *other != format => found.push(finding(
                        "L012",
                        Severity::Warning,
                        entity.at,
                        &entity.name,
                        format!("`{name}` is written in two forms in the sort keys of table {}", table.name),
                        "use one form and precision everywhere",
                    )),
                    Some(_) => {}
                    None => forms.push((table.name.clone(), name.to_owned(), format)),
                }
            }
        }
    }
    found.dedup();
    found
}

/// Values that all look like times but are written in several forms: with and without a zone, with more and
/// fewer digits, in seconds and in milliseconds.
fn mixed(context: &Context<'_>, entity: &Entity, name: &str) -> Option<Finding> {
    let recorded = context.recorded(std::slice::from_ref(&entity.name), name);
    let forms: Option<Vec<String>> = recorded.iter().map(|value| form(value)).collect();
    let forms = forms?;
    let place = forms.iter().position(|form| Some(form) != forms.first())?;
    Some(finding(
        "L012",
        Severity::Warning,
        entity.at,
        &entity.name,
        format!(
            "`{name}` is written as `{}` and as `{}`, which do not sort as times do",
            recorded.first()?,
            recorded.get(place)?
        ),
        "use one precision and one zone everywhere, such as `2026-08-01T12:00:00.000Z`, and say `format: iso8601`",
    ))
}

/// The written form of a time, every digit replaced by `0`; `None` if the value is not a time.
fn form(value: &str) -> Option<String> {
    let form: String =
        value.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    let epoch = matches!(form.as_str(), "0000000000" | "0000000000000");
    let date = form.starts_with("0000-00-00");
    // A zone's offset differs in more than its digits.
    let zoned = form.get(10..).is_some_and(|clock| clock.contains(['+', '-']));
    match (epoch || date, zoned) {
        (false, _) => None,
        (true, false) => Some(form),
        (true, true) => Some(format!("{form} at {}", value.get(value.len().saturating_sub(6)..)?)),
    }
}

/// Times of one attribute with more and with fewer digits, or with and without a zone.
fn precisions(context: &Context<'_>, entity: &Entity, name: &str) -> Option<Finding> {
    let recorded = context.recorded(std::slice::from_ref(&entity.name), name);
    let first = recorded.first()?;
    let other = recorded.iter().find(|value| value.len() != first.len())?;
    Some(finding(
        "L012",
        Severity::Warning,
        entity.at,
        &entity.name,
        format!("`{name}` is written as `{first}` and as `{other}`, which do not sort as times do"),
        "use one precision and one zone everywhere, such as `2026-08-01T12:00:00.000Z`",
    ))
}

/// Whether successive values of a format increase: times and sequence numbers.
pub const fn counts_up(format: AttributeFormat) -> bool {
    format.is_time() || matches!(format, AttributeFormat::Sequence)
}

pub(super) fn monotonic(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        let names: Vec<&str> = templates.iter().flat_map(Template::attributes).collect();
        let sharded = templates.iter().any(|template| template.shards() > 1);
        let counted = names
            .iter()
            .all(|name| entity.attribute(name).and_then(|attribute| attribute.format).is_some_and(counts_up));
        if counted && !names.is_empty() && !sharded {
            let place = index.map_or("the table", |index| &index.name);
            found.push(finding(
                "L023",
                Severity::Warning,
                entity.at,
                &entity.name,
                format!(
                    "the partition key of {} in {place} counts up ({}): all current writes go to one partition key",
                    entity.name,
                    names.join(", ")
                ),
                "add shards, `{…|shard(n)}`, or lead with an attribute that spreads",
            ));
        }
    });
    found
}

pub(super) fn shard_in_sort_key(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (table, entity) in context.entities() {
        let sharded_sort =
            context.all_sort_templates(table, entity).iter().any(|template| template.shards() > 1);
        let mut sharded_partition = false;
        context.each_partition(|_, _, other, templates| {
            sharded_partition |=
                other.name == entity.name && templates.iter().any(|template| template.shards() > 1);
        });
        if sharded_sort && !sharded_partition {
            found.push(finding(
                "L024",
                Severity::Error,
                entity.at,
                &entity.name,
                format!(
                    "{} has its shard in the sort key only: all of it stays in one partition",
                    entity.name
                ),
                "put `{…|shard(n)}` into the partition key's template",
            ));
        }
    }
    found
}

pub(super) fn constant(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        if templates.iter().all(Template::is_constant) {
            let place = index.map_or("the table", |index| &index.name);
            found.push(finding(
                "L027",
                Severity::Warning,
                entity.at,
                &entity.name,
                format!(
                    "all {} share one partition key in {place}: {} 1000 writes a second for all of them",
                    entity.name, "at most"
                ),
                "put an attribute that spreads, or a shard, into the partition key",
            ));
        }
    });
    found
}
