//! Rules on how reads are answered: L001 to L005, L007, L013, L014, L036, L050, L051, L055.

use super::collection_order::{Collection, Reading, begins_with_parent, page, written};
use super::context::{Context, finding, names};
use super::{Finding, Severity};
use crate::run::{Cause, OperationKind, Outcome, PatternReport, missing, units};
use keywright_model::expression::ConditionExpression;
use keywright_model::{
    AttributeFormat, GivenOp, HalfUnits, IndexKind, Part, Pattern, Read, ReadKind, WriteKind,
};

const DISCARD_WARNING_PERCENT: u64 = 50;
const DISCARD_ERROR_PERCENT: u64 = 90;

pub(super) fn no_path(context: &Context<'_>) -> Vec<Finding> {
    let found = context.reads().filter_map(|(pattern, read, report)| {
        let Outcome::NoPlan(reasons) = &report.outcome else { return None };
        // A more specific rule reports these refusals; do not report them twice.
        if report.refusals.iter().any(|refusal| !matches!(refusal.cause, Cause::Other(_))) {
            return None;
        }
        Some(finding(
            "L001",
            Severity::Error,
            pattern.at,
            &pattern.id,
            format!("no single GetItem or Query answers {}: {}", pattern.id, reasons.join("; ")),
            if read.kind == ReadKind::Get {
                "give every attribute of the table's key by `eq`, or write `query` for what an index or a part of the key finds"
            } else {
                "give an index a partition key of what the pattern gives by equality, and a sort key of its range"
            },
        ))
    });
    found.collect()
}

pub(super) fn scan(context: &Context<'_>) -> Vec<Finding> {
    let scans = context
        .reads()
        .filter(|(pattern, _, report)| report.operation == OperationKind::Scan && !pattern.admin);
    scans
        .map(|(pattern, read, _)| {
            let attribute = read.given.first().map_or("what it filters by", |given| &given.attribute);
            finding(
                "L002",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!("{} scans: it reads the whole table or index however little it returns", pattern.id),
                format!("query an index whose partition key is `{attribute}` (sparse if few items have it), or write `admin: true` for a rare job"),
            )
        })
        .collect()
}

pub(super) fn filter_discards(context: &Context<'_>) -> Vec<Finding> {
    let found = context.reads().filter_map(|(pattern, _, report)| {
        let filter = report
            .filter
            .as_ref()
            .filter(|_| report.operation != OperationKind::Scan && report.items_read > 1)?;
        let thrown = (report.items_read - report.items_returned).saturating_mul(100);
        let is_over = |percent: u64| thrown > report.items_read.saturating_mul(percent);
        let severity = if is_over(DISCARD_ERROR_PERCENT) {
            Severity::Error
        } else if is_over(DISCARD_WARNING_PERCENT) {
            Severity::Warning
        } else {
            return None;
        };
        let discarded = match (thrown / report.items_read, thrown % report.items_read) {
            (DISCARD_ERROR_PERCENT, 1..) => format!("more than {DISCARD_ERROR_PERCENT}"),
            (DISCARD_WARNING_PERCENT, 1..) => format!("more than {DISCARD_WARNING_PERCENT}"),
            (percent, _) => percent.to_string(),
        };
        Some(finding(
            "L003",
            severity,
            pattern.at,
            &pattern.id,
            format!(
                "{} reads {} items and its filter ({filter}) throws {discarded} % of them away",
                pattern.id, report.items_read
            ),
            "move the filtered attribute into a key; a filter saves no capacity",
        ))
    });
    found.collect()
}

pub(super) fn key_in_filter(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        let unequal = read.given.iter().filter(|given| given.op != GivenOp::Eq);
        for given in unequal.filter(|_| matches!(report.outcome, Outcome::NoPlan(_))) {
            let partitions = context.partition_templates(&read.entities);
            if partitions.iter().any(|template| template.attributes().any(|name| name == given.attribute)) {
                found.push(finding(
                    "L004",
                    Severity::Error,
                    given.at,
                    &pattern.id,
                    format!(
                        "{} gives `{}`, which stands in a partition key, by a range",
                        pattern.id, given.attribute
                    ),
                    "a partition key takes equality only: move the attribute to a sort key",
                ));
            }
        }
        let keys = context.key_names(report);
        let filtered = read.filter.as_ref().map(ConditionExpression::attributes).unwrap_or_default();
        let is_key = |name: &&str| keys.iter().any(|key| key == name);
        for name in filtered.into_iter().filter(|name| is_key(name) && read.kind == ReadKind::Query) {
            found.push(finding(
                "L004",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!(
                    "the filter of {} names the key attribute `{name}`, which a Query refuses",
                    pattern.id
                ),
                "say it in `given`, so that it becomes part of the key condition",
            ));
        }
    }
    found
}

pub(super) fn left_to_right(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        for refusal in &report.refusals {
            let Cause::LeftToRight { given, before } = &refusal.cause else { continue };
            let at = read
                .given
                .iter()
                .find(|known| known.attribute == *given)
                .map_or(pattern.at, |known| known.at);
            let text = format!(
                "{} gives `{given}`, but `{before}` comes before it in the sort key of `{}` and is not given by equality",
                pattern.id, refusal.path
            );
            let fix = format!(
                "give `{before}` by equality as well, or put `{given}` before it in the index's sort key"
            );
            found.push(finding("L005", Severity::Error, at, &pattern.id, text, fix));
        }
        if report.operation == OperationKind::Scan {
            continue;
        }
        let filtered = &report.filtered;
        let sorts = context.sort_templates(report);
        for given in read.given.iter().filter(|given| filtered.contains(&given.attribute)) {
            if sorts.iter().any(|template| template.attributes().any(|name| name == given.attribute)) {
                found.push(finding(
                    "L005",
                    Severity::Error,
                    given.at,
                    &pattern.id,
                    format!("{} gives `{}`, but the sort key has other parts before it that are not given by equality", pattern.id, given.attribute),
                    "order the sort key: what is given by equality first, the range last",
                ));
            }
        }
    }
    found
}

pub(super) fn open_prefix(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, _) in context.reads() {
        for given in read.given.iter().filter(|given| given.op == GivenOp::BeginsWith) {
            let example = pattern.example.iter().find(|(name, _)| *name == given.attribute);
            let prefix = example.and_then(|(_, node)| node.scalar()).unwrap_or_default();
            // The parts of a date have fixed widths: nothing continues a complete one.
            let format = context.attribute(&read.entities, &given.attribute).and_then(|own| own.format);
            if format.is_none_or(|format| !format.is_time())
                && prefix.ends_with(|letter: char| letter.is_ascii_digit())
            {
                found.push(finding(
                    "L007",
                    Severity::Warning,
                    given.at,
                    &pattern.id,
                    format!("begins-with `{prefix}` also finds `{prefix}0`, `{prefix}1`, …"),
                    "close the prefix with the delimiter that follows the value, or pad the number",
                ));
            }
        }
    }
    for (_, entity) in context.entities() {
        for (_, template) in names(entity) {
            let twins = template.parts.windows(2).any(|pair| {
                matches!(
                    pair,
                    [Part::Attribute { pad: None, .. }, Part::Attribute { .. } | Part::Shard { .. }]
                )
            });
            if twins {
                found.push(finding(
                    "L007",
                    Severity::Warning,
                    entity.at,
                    &entity.name,
                    format!("`{template}` of {} has no delimiter between two attributes: `1`+`10` and `11`+`0` are one key", entity.name),
                    "put a delimiter between them, such as `#`",
                ));
            }
        }
    }
    found
}

pub(super) fn time_first(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        let filtered = &report.filtered;
        for template in context.sort_templates(report) {
            let first = template.attributes().next().unwrap_or_default();
            let time = context
                .attribute(&read.entities, first)
                .and_then(|attribute| attribute.format)
                .is_some_and(AttributeFormat::is_time);
            let fixed = read.given.iter().find(|given| {
                given.op == GivenOp::Eq && given.attribute != first && filtered.contains(&given.attribute)
            });
            if let (true, Some(fixed)) = (time, fixed) {
                found.push(finding(
                    "L013",
                    Severity::Warning,
                    pattern.at,
                    &pattern.id,
                    format!(
                        "the sort key `{template}` begins with a time, but {} fixes `{}`",
                        pattern.id, fixed.attribute
                    ),
                    format!("put `{{{}}}` before the time in the sort key", fixed.attribute),
                ));
            }
        }
    }
    found
}

pub(super) fn parent_at_the_start(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in
        context.reads().filter(|(pattern, read, report)| page(pattern, read, report).is_some())
    {
        let entities: Vec<_> = read.entities.iter().filter_map(|name| context.model.entity(name)).collect();
        let reading = Reading::of(read);
        for child in &entities {
            for parent in entities.iter().filter(|parent| child.parents.contains(&parent.name)) {
                let sort = |entity| context.sort_of(entity, report).into_iter().next();
                let (Some(own), Some(other)) = (sort(parent), sort(child)) else { continue };
                if begins_with_parent(&own, &other, read, reading) == Some(false) {
                    let from = if reading == Reading::Backwards { "end" } else { "beginning" };
                    found.push(finding(
                        "L014",
                        Severity::Warning,
                        pattern.at,
                        &pattern.id,
                        format!(
                            "{} reads from the {from} of the collection, but its parent {} (`{own}`) sorts at the other end",
                            pattern.id, parent.name
                        ),
                        to_the_start(context, pattern, (read, report), &parent.name),
                    ));
                }
            }
        }
    }
    found
}

/// The fix that makes a read's pages begin with the parent without making another read worse.
fn to_the_start(
    context: &Context<'_>,
    pattern: &Pattern,
    (read, report): (&Read, &PatternReport),
    parent: &str,
) -> String {
    let collection = Collection::of(context, report);
    if let Some(openings) = collection.and_then(|own| own.parent_first(&pattern.id, parent)) {
        return format!("{}, which sorts where reading starts", written(&openings));
    }
    let entities = || read.entities.iter().filter_map(|name| context.model.entity(name));
    let sort = |entity| context.sort_of(entity, report).into_iter().next();
    let backwards = entities().all(|child| {
        entities().filter(|own| child.parents.contains(&own.name)).all(|own| {
            sort(own).zip(sort(child)).is_none_or(|(own, child)| {
                begins_with_parent(&own, &child, read, Reading::Backwards) != Some(false)
            })
        })
    });
    if read.order.is_none() && backwards {
        return "write `order: desc`: the parent sorts at the end, between the children of two patterns"
            .to_owned();
    }
    format!(
        "no sort key of {parent} suits all patterns: read it in a pattern of its own, or use an index with only these children"
    )
}

pub(super) fn not_projected(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        let id = &pattern.id;
        for refusal in &report.refusals {
            let Cause::NotHeld { attributes } = &refusal.cause else { continue };
            let (names, path) = (attributes.join(", "), &refusal.path);
            let text = format!("{id} filters by {names}, which index `{path}` does not hold");
            found.push(finding("L036", Severity::Error, pattern.at, id, text, PROJECT));
        }
        let Some(table) = context.model.table(&report.table) else { continue };
        let Some(index) = report.index.as_ref().and_then(|name| table.index(name)) else { continue };
        for entity in read.entities.iter().filter_map(|name| context.model.entity(name)) {
            let missing = missing(table, index, entity, read);
            if missing.is_empty() {
                continue;
            }
            let names = missing.join(", ");
            let lacks =
                format!("{id} needs {names} of {}, which index `{}` does not hold", entity.name, index.name);
            let (severity, text) = match index.kind {
                IndexKind::Global => (Severity::Error, lacks),
                IndexKind::Local => (Severity::Warning, format!("{lacks}: {}", fetches(report))),
            };
            // A pattern without `attributes` wants all of them, or its author has not considered it.
            let fix = if read.attributes.is_empty() {
                format!("say which are needed, `attributes: […]`, or {PROJECT}")
            } else {
                PROJECT.to_owned()
            };
            found.push(finding("L036", severity, pattern.at, id, text, fix));
        }
    }
    found
}

const PROJECT: &str = "add them to the index's `project`, or write `project: all`";

/// What a local index's fetches consumed in the example: they are metered on the table.
fn fetches(report: &PatternReport) -> String {
    let own = report.capacity.iter().filter(|known| known.table == report.table);
    let fetched = own.fold(HalfUnits(0), |sum, known| sum + known.usage.table.read);
    format!(
        "each item is fetched whole from the table, {} of its {} read units",
        units(fetched),
        units(report.read_units())
    )
}

pub(super) fn strong_index(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, _, report) in context.reads() {
        let strong = report.refusals.iter().filter(|refusal| refusal.cause == Cause::Strong);
        let indexes: Vec<String> = strong.map(|refusal| format!("`{}`", refusal.path)).collect();
        if !indexes.is_empty() {
            found.push(finding(
                "L050",
                Severity::Error,
                pattern.at,
                &pattern.id,
                format!(
                    "{} asks for a strongly consistent read, and only the global index {} answers it",
                    pattern.id,
                    indexes.join(" or ")
                ),
                "read the table or a local index, or write `consistency: eventual`",
            ));
        }
    }
    found
}

pub(super) fn read_after_write(context: &Context<'_>) -> Vec<Finding> {
    let found = context.reads().filter_map(|(pattern, read, report)| {
        let table = context.model.table(&report.table)?;
        let index = table.index(report.index.as_ref()?).filter(|index| index.kind == IndexKind::Global)?;
        let write = after(context, read, &pattern.after)?;
        Some(finding(
            "L051",
            Severity::Warning,
            pattern.at,
            &pattern.id,
            format!(
                "{} reads what {write} wrote before from index `{}`, which may not have it yet",
                pattern.id, index.name
            ),
            "take the item from the write itself (`returnValues: true` on it), or read the table",
        ))
    });
    found.collect()
}

/// The first of some writes that changes an item the pattern reads; other entities are not in its result.
fn after<'a>(context: &Context<'_>, read: &Read, writes: &'a [String]) -> Option<&'a String> {
    writes.iter().find(|write| {
        let mut steps = context.steps().filter(|(pattern, _, _)| pattern.id == **write);
        steps.any(|(_, step, entity)| {
            !matches!(step.kind, WriteKind::Get | WriteKind::Check) && read.entities.contains(&entity.name)
        })
    })
}

pub(super) fn unbounded(context: &Context<'_>) -> Vec<Finding> {
    let found = context.reads().filter_map(|(pattern, read, report)| {
        let returns = pattern.returns.unwrap_or_default();
        let bounded = read.limit.is_some() || returns.page.is_some() || returns.max.is_some();
        (report.operation == OperationKind::Query && !bounded && !report.whole_key).then(|| {
            finding(
                "L055",
                Severity::Warning,
                pattern.at,
                &pattern.id,
                format!("nothing says how many items {} can return", pattern.id),
                "write `returns: {avg: …, max: …, page: …}`",
            )
        })
    });
    found.collect()
}
