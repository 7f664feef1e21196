//! Step 1: the list of access patterns.

use super::facts::{bytes, bytes_text, kind, or_nothing, rate_text, touched};
use super::page::NOTHING;
use super::{Looked, Page};
use keywright_model::{Consistency, GivenOp, Order, Pattern};

const HEADERS: [&str; 9] =
    ["id", "text", "kind", "of", "given, order, filter", "returns", "rate", "size", "consistency"];

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Patterns of {}", looked.model.name));
    let rows = looked.model.patterns.iter().map(|pattern| row(looked, pattern)).collect();
    page.table(HEADERS, rows);
    let without: Vec<&str> = looked
        .model
        .patterns
        .iter()
        .filter(|pattern| pattern.rate.is_none())
        .map(|pattern| pattern.id.as_str())
        .collect();
    if !without.is_empty() {
        page.say(format!("No rate is given for {}: their cost and heat are unknown.", without.join(", ")));
    }
    page
}

fn row(looked: &Looked<'_>, pattern: &Pattern) -> Vec<String> {
    let rate = pattern.rate.map_or_else(
        || "missing".to_owned(),
        |rate| {
            if rate.average == rate.peak {
                format!("{}/s", rate_text(rate.average))
            } else {
                format!("{}/s, peak {}", rate_text(rate.average), rate_text(rate.peak))
            }
        },
    );
    let consistency = pattern.read().map_or(NOTHING, |read| match read.consistency {
        Consistency::Eventual => "eventual",
        Consistency::Strong => "strong",
    });
    vec![
        pattern.id.clone(),
        pattern.text.clone().unwrap_or_default(),
        kind(pattern).to_owned(),
        touched(pattern).join(", "),
        or_nothing(condition(pattern)),
        or_nothing(returns(pattern)),
        rate,
        or_nothing(size(looked, pattern)),
        consistency.to_owned(),
    ]
}

/// The given attributes, the order and the filter.
fn condition(pattern: &Pattern) -> String {
    let Some(read) = pattern.read() else {
        let conditions = pattern.steps().iter().filter(|step| step.condition.is_some()).count();
        let of = pattern.steps().len();
        return if conditions == 0 { String::new() } else { format!("{conditions} of {of} conditional") };
    };
    let given = read.given.iter().map(|given| {
        let op = match given.op {
            GivenOp::Eq => "=",
            GivenOp::Between => "between",
            GivenOp::BeginsWith => "begins with",
            GivenOp::Lt => "<",
            GivenOp::Le => "<=",
            GivenOp::Gt => ">",
            GivenOp::Ge => ">=",
        };
        format!("{} {op}", given.attribute)
    });
    let mut parts: Vec<String> = given.collect();
    parts.extend(read.order.map(|order| {
        let direction = match order {
            Order::Ascending => "ascending",
            Order::Descending => "descending",
        };
        read.order_by
            .as_ref()
            .map_or_else(|| direction.to_owned(), |by| format!("by {} {direction}", by.attribute))
    }));
    parts.extend(read.filter.iter().map(|filter| format!("filter {filter}")));
    parts.join(", ")
}

/// The number of items returned: one for a get, else as declared.
fn returns(pattern: &Pattern) -> String {
    let Some(read) = pattern.read() else {
        let items: u64 = pattern.steps().iter().map(|step| step.n).sum();
        return format!("{items} written");
    };
    if read.kind == keywright_model::ReadKind::Get {
        return "1".to_owned();
    }
    let Some(returns) = pattern.returns else { return String::new() };
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let average = returns.average.map(|average| average.to_string());
    let parts = [("avg", average), ("max", text(returns.max)), ("page", text(returns.page))];
    let counts =
        parts.iter().filter_map(|(name, count)| count.as_ref().map(|count| format!("{name} {count}")));
    counts.collect::<Vec<_>>().join(", ")
}

/// Average size of one item of each entity.
fn size(looked: &Looked<'_>, pattern: &Pattern) -> String {
    let entities = touched(pattern).into_iter().filter_map(|name| looked.model.entity(name));
    let sizes = entities.filter_map(|entity| bytes(looked, entity)).map(bytes_text);
    sizes.collect::<Vec<_>>().join(", ")
}
