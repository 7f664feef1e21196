//! The text of designs: keys, costs by the bill of the written model, proof and explanation.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::bill::Billed;
use super::choice::{Choice, OtherBill, TableDesign};
use super::explain::Explanation;
use super::from_model::{unlisted, unordered};
use super::name::name;
use super::problem::{Problem, Projected, Slot};
use super::proof::{Proof, Same, Without};
use super::relaxations::Unless;
use super::to_model::index_name;
use super::uniqueness::unguarded;
use super::{Design, Placed};
use keywright_model::{DeclaredCapacity, Model, Table};
use keywright_semantics::schema::TableClass;
use keywright_workbench::cost::{Bill, Line, Parts, open, taken};
use keywright_workbench::price::{Money, Prices};
use keywright_workbench::run::Note;

/// A design should not change while a rate is between these percentages of the declared one.
const STABLE_PERCENT_MIN: u64 = 50;
/// See `STABLE_PERCENT_MIN`.
const STABLE_PERCENT_MAX: u64 = 200;

impl Choice {
    /// The designs of all tables with their costs.
    pub fn text(&self, original: &Model, prices: &Prices) -> String {
        let mut lines = Vec::new();
        for own in &self.tables {
            lines.push(table_text(own, &self.billed, prices));
            lines.extend(notes(own, &self.billed, original));
            lines.extend(own.explanation.as_ref().map(|explanation| explained(own, explanation)));
        }
        lines.extend(left_open(&self.billed.bill));
        if self.tables.len() > 1 {
            lines.push(format!("All tables: {} a month.", self.billed.bill.total()));
        }
        lines.join("\n")
    }
}

/// What the written model needs to be complete, and what it costs in addition.
fn notes(own: &TableDesign, billed: &Billed, original: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    let provisioned = |table: &&Table| {
        own.tables.contains(&table.name) && matches!(table.billing, DeclaredCapacity::Provisioned { .. })
    };
    if billed.model.tables.iter().any(|table| provisioned(&table)) {
        lines.push(
            "The bill is for provisioned capacity; designs were compared at on-demand prices.".to_owned(),
        );
    }
    lines.extend(unlisted(original, &own.design));
    lines.extend(unguarded(original, &own.design));
    let read = |pattern: &str| billed.model.pattern(&format!("{pattern}-read")).is_some();
    for reading in own.design.reading.iter().filter(|own| read(&own.pattern)) {
        let names: Vec<&str> = reading.names.iter().map(String::as_str).collect();
        let (pattern, names, monthly) = (&reading.pattern, names.join(", "), reading.monthly);
        lines.push(format!(
            "{pattern} must first read {names}, for {monthly} a month, because keys that it sets contain it; it is refused if that \
             has changed in between."
        ));
    }
    for pattern in unordered(&billed.model, &own.design) {
        lines.push(format!(
            "{pattern} has an order, but neither a range nor `order` names the attribute, so its items come in an arbitrary \
             order: write `order: {{by: ATTRIBUTE, direction: desc}}`."
        ));
    }
    lines
}

fn slot(problem: &Problem, slot: Slot) -> String {
    let other = if slot == Slot::Copy { "derived" } else { "table" };
    index_name(&problem.kept, slot).unwrap_or_else(|| other.to_owned())
}

/// A table's design, and its cost by the bill of the written model.
fn table_text(own: &TableDesign, billed: &Billed, prices: &Prices) -> String {
    let (design, problem) = (&own.design, &own.design.problem);
    let sums = billed.bill.parts(|name| own.tables.iter().any(|table| table == name));
    let mut lines = vec![format!(
        "{}: {}, {} a month at {} ({}){}.",
        own.table,
        counted(design.gsis, "global secondary index", "es"),
        sums.total(),
        prices.name,
        kinds(&sums),
        left_out(billed)
    )];
    lines.extend(unwritten(design));
    lines.push(proof(own));
    lines.extend(shapes(design));
    lines.push(String::new());
    for own in name(design) {
        let (entity, place) = (&own.entity, slot(problem, own.slot));
        let sort = if own.sort.is_empty() { "-" } else { &own.sort };
        lines.push(format!("{entity:<20} {place:<8} pk {:<32} sk {sort}", own.partition));
    }
    lines.push(String::new());
    lines.extend(costs(own, &billed.model, &billed.bill));
    lines.join("\n")
}

/// Says which derived items of the design nothing writes: the model declares no writes of their source.
fn unwritten(design: &Design) -> Option<String> {
    let problem = &design.problem;
    let copied = design.placed.iter().filter(|own| own.slot == Slot::Copy);
    let entities = copied.filter_map(|own| problem.entities.get(own.view.entity));
    let names: BTreeSet<&str> = entities
        .map(|entity| entity.name.as_str())
        .filter(|name| !problem.writes.iter().any(|write| write.entity == *name))
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "Nothing writes the derived items of {names}: the model has no writes of {names}, so the cost of keeping the derived items \
             is missing. Declare these writes before you trust this design.",
            names = names.join(", ")
        )
    })
}

/// The patterns whose cost is missing in the sum, because they did not run.
fn left_out(billed: &Billed) -> String {
    let patterns = billed.left_out();
    if patterns.is_empty() {
        String::new()
    } else {
        format!(" without {}, which did not run", patterns.join(", "))
    }
}

/// Assumptions of the bill that the model does not state. One that many patterns need is printed once.
fn left_open(bill: &Bill) -> Vec<String> {
    let sizeless =
        |note: &Note| if let Note::NoAverage { pattern, .. } = note { Some(pattern.clone()) } else { None };
    let patterns: Vec<String> = bill.notes.iter().filter_map(sizeless).collect();
    if patterns.len() < 2 {
        return open(bill);
    }
    let rest = Bill {
        notes: bill.notes.iter().filter(|note| sizeless(note).is_none()).cloned().collect(),
        without_rate: bill.without_rate.clone(),
        ..Bill::default()
    };
    let mut said = open(&rest);
    said.push(format!(
        "{} have no `returns` and are metered on the sample: write `returns: {{avg: 10}}`.",
        patterns.join(", ")
    ));
    said
}

/// The sums of a bill by kind.
fn kinds(sums: &Parts) -> String {
    let mut said = vec![
        format!("reads {}", sums.reads),
        format!("writes {}", sums.writes),
        format!("storage {}", sums.storage),
        format!("indexes {}", sums.indexes),
    ];
    if sums.unused > Money::ZERO {
        said.push(format!("unused provisioned units {}", sums.unused));
    }
    said.extend(sums.features.iter().map(|(name, monthly)| format!("{name} {monthly}")));
    said.join(", ")
}

/// The units and cost of each pattern: reads on the table or index that they use, writes on all that they
/// change.
fn costs(own: &TableDesign, model: &Model, bill: &Bill) -> Vec<String> {
    let mut said = Vec::new();
    for pattern in &model.patterns {
        let here = |line: &&Line| line.pattern == pattern.id && own.tables.contains(&line.target.table);
        let lines: Vec<&Line> = bill.lines.iter().filter(here).collect();
        let cost: Money = lines.iter().map(|line| line.monthly.total()).sum();
        let (id, asked) = (&pattern.id, own.design.asked.iter().find(|asked| asked.pattern == pattern.id));
        if let Some(asked) = asked {
            let place = slot(&own.design.problem, asked.slot);
            let by = asked.partition.join(", ");
            let requests = counted(usize::try_from(asked.shards).unwrap_or(usize::MAX), "request", "s");
            let units = lines.first().map_or_else(|| "?".to_owned(), |line| taken(line));
            said.push(format!("{id:<20} {place:<8} by {by:<24} {requests:<12} {units:>10} {cost:>12}"));
        } else if !lines.is_empty() {
            let each =
                |line: &&Line| format!("{} {}", line.target.index.as_deref().unwrap_or("table"), taken(line));
            let each = lines.iter().map(each).collect::<Vec<_>>().join(", ");
            said.push(format!("{id:<20} {each:<59} {cost:>12}"));
        }
    }
    said
}

fn counted(number: usize, what: &str, plural: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}{plural}") }
}

/// Why there are not fewer indexes. "Cannot" is said only of what is impossible with everything that the
/// designer supports.
fn proof(own: &TableDesign) -> String {
    let problem = &own.design.problem;
    let (number, by, with, same) = match &own.design.proof {
        Proof::NoIndexes => return "No index is needed.".to_owned(),
        Proof::AllKept => return "All indexes exist already and stay.".to_owned(),
        Proof::Impossible { gsis, entities, unless } => return impossible(*gsis, entities, unless),
        Proof::Possible { gsis, by, with, same } => (gsis, by, with, same),
    };
    let gsis = counted(*number, "global secondary index", "es");
    let by = own.fewer.clone().unwrap_or(OtherBill::More(*by));
    let unwritten = |name: &&str| !problem.writes.iter().any(|write| write.entity == **name);
    let second: BTreeSet<&str> =
        with.second_items.iter().map(|(name, _)| name.as_str()).filter(unwritten).collect();
    if with.is_empty() {
        return format!("{gsis} would do; that {}.", costs_more(&by));
    }
    let means = means(with);
    let said = match same {
        Same::NotAsked => format!("{gsis} would do with {means}; that {}.", costs_more(&by)),
        Same::Dearer(dearer) => {
            let dearer = own.fewer_same.clone().unwrap_or(OtherBill::More(*dearer));
            format!("{gsis} would do; that {}. With {means} that {}.", costs_more(&dearer), costs_more(&by))
        }
        Same::Impossible(entities) => format!(
            "{}, at least one pattern of {} takes several requests. With {means}, each pattern takes one; that {}.",
            with_indexes(*number),
            entities.join(", "),
            costs_more(&by)
        ),
    };
    let mut said = vec![said];
    if !second.is_empty() {
        let names = second.into_iter().collect::<Vec<_>>().join(", ");
        said.push(format!("No declared write keeps {names} up to date."));
    }
    if matches!(by, OtherBill::More(by) if by <= Money::ZERO) && with.local_indexes > 0 {
        said.push(
            "The item collections have no stated bound, and a local index limits them to 10 GB: write `returns.max`."
                .to_owned(),
        );
    }
    said.join(" ")
}

/// What another design costs, as the end of a sentence.
fn costs_more(other: &OtherBill) -> String {
    match other {
        OtherBill::More(by) => match by.cmp(&Money::ZERO) {
            Ordering::Greater => format!("costs {by} more a month"),
            Ordering::Equal => "costs the same".to_owned(),
            Ordering::Less => format!("costs {} less a month", Money::ZERO - *by),
        },
        OtherBill::Unbilled(reason) => {
            format!("could not be priced ({})", reason.lines().collect::<Vec<_>>().join(" "))
        }
    }
}

fn impossible(gsis: usize, entities: &[String], unless: &[Unless]) -> String {
    let (gsis, entities) = (with_indexes(gsis), entities.join(", "));
    if unless.is_empty() {
        return format!(
            "{gsis}, at least one pattern of {entities} takes several requests, even with derived items, local \
             indexes and embedded lists."
        );
    }
    let unless: Vec<String> = unless.iter().map(ToString::to_string).collect();
    format!(
        "{gsis}, at least one pattern of {entities} takes several requests, even with derived items. This assumes that \
         updates and deletes know only an item's identity, the values in `example` and those that `if` compares with \
         `=`; {}.",
        unless.join("; ")
    )
}

/// The beginning of a sentence on a design with so many indexes.
fn with_indexes(number: usize) -> String {
    match number {
        0 => "Without a global secondary index".to_owned(),
        _ => format!("With {}", counted(number, "global secondary index", "es")),
    }
}

fn means(with: &Without) -> String {
    let items = with
        .second_items
        .iter()
        .map(|(entity, by)| format!("derived items of {entity} by {}", by.join(", ")));
    let locals = (with.local_indexes > 0).then(|| counted(with.local_indexes, "local index", "es"));
    let lists = with.embedded.iter().map(|own| format!("{} kept as a list in {}", own.child, own.parent));
    items.chain(locals).chain(lists).collect::<Vec<_>>().join(", ")
}

/// Deviations from one table whose indexes project everything.
fn shapes(design: &Design) -> Vec<String> {
    let problem = &design.problem;
    let mut lines: Vec<String> = design
        .embedded
        .iter()
        .map(|own| format!("{} is kept as the list `{}` in its {}. List elements have no key, condition or expiry of their own.", own.child, own.list, own.parent))
        .collect();
    for table in &design.tables {
        let names = table.entities.iter().filter_map(|place| problem.entities.get(*place));
        let names: Vec<&str> = names.map(|entity| entity.name.as_str()).collect();
        if table.class == TableClass::StandardInfrequentAccess {
            lines.push(format!("In a table of class Standard-IA: {}.", names.join(", ")));
        }
        for (place, projected) in &table.projections {
            if let Projected::Only(held) = projected {
                let held: Vec<&str> = held.iter().map(String::as_str).collect();
                let held = if held.is_empty() {
                    "only keys".to_owned()
                } else {
                    format!("keys and {}", held.join(", "))
                };
                lines.push(format!("{} holds {held}.", slot(problem, *place)));
            }
        }
    }
    lines
}

fn key(problem: &Problem, own: &Placed) -> String {
    let entity = problem.entities.get(own.view.entity).map_or("?", |entity| entity.name.as_str());
    let sort =
        if own.view.sort.is_empty() { String::new() } else { format!(" then {}", own.view.sort.join(", ")) };
    let held = match &own.projected {
        Projected::Only(held) if own.slot == Slot::Copy && held.is_empty() => ", only keys".to_owned(),
        Projected::Only(held) if own.slot == Slot::Copy => {
            format!(", holds {}", held.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    format!("{entity} in {} by {}{sort}{held}", slot(problem, own.slot), own.view.partition.join(", "))
}

fn explained(own: &TableDesign, explanation: &Explanation) -> String {
    let problem = &own.design.problem;
    let mut lines = vec![
        String::new(),
        "The figures below are estimates for comparing designs; only those above are billed.".to_owned(),
    ];
    lines.extend(steps(explanation));
    for own in &explanation.patterns {
        let forced = if own.forces {
            format!(" and need {}", counted(own.gsis_without, "global secondary index", "es"))
        } else {
            String::new()
        };
        lines.push(format!("Without {} the table would cost {} less{forced}.", own.pattern, own.saves));
    }
    for own in &explanation.keys {
        let without = match own.without {
            Some(more) => format!("the best design without it costs {more} more"),
            None => "there is no design without it".to_owned(),
        };
        lines.push(format!("{}: for {}; {without}.", key(problem, &own.key), own.patterns.join(", ")));
    }
    for (at, own) in explanation.runners_up.iter().enumerate() {
        let keys: Vec<String> = own.keys.iter().map(|own| key(problem, own)).collect();
        let instead = if keys.is_empty() { "fewer keys".to_owned() } else { keys.join("; ") };
        let rank = if at == 0 { "Next best" } else { "After that" };
        lines.push(format!("{rank}, {} more a month: {instead}.", own.more));
    }
    if explanation.runners_up.is_empty() {
        lines.push("There is no other design.".to_owned());
    }
    for own in &explanation.break_evens {
        let (pattern, percent) = (&own.pattern, own.percent);
        lines.push(format!("At {percent} % of the rate of {pattern} another design would be cheaper."));
    }
    lines.push(stability(explanation));
    if explanation.break_evens.is_empty() {
        lines.push("No single rate changes the design, from zero to 1024 times its value.".to_owned());
    }
    lines.join("\n")
}

/// Whether the design stays the same when rates are halved or doubled.
fn stability(explanation: &Explanation) -> String {
    let within = |percent: u64| (STABLE_PERCENT_MIN..=STABLE_PERCENT_MAX).contains(&percent);
    let near: Vec<String> = explanation
        .break_evens
        .iter()
        .filter(|own| within(own.percent))
        .map(|own| format!("{} at {} %", own.pattern, own.percent))
        .collect();
    let alone = if near.is_empty() {
        "Halving or doubling any single rate does not change the design".to_owned()
    } else {
        format!("Between half and twice its rate another design is cheaper for {}", near.join(", "))
    };
    let together: Vec<String> = explanation.together.iter().map(|percent| format!("{percent} %")).collect();
    if together.is_empty() {
        format!("{alone}; halving or doubling all rates together does not change the design.")
    } else {
        format!("{alone}; with all rates at {} another design is cheaper.", together.join(" and at "))
    }
}

/// The steps of the method (each pattern alone, common keys grouped, groups simplified) and two measures.
fn steps(explanation: &Explanation) -> Vec<String> {
    let steps = &explanation.steps;
    let yes = |it: bool| if it { "yes" } else { "no" };
    vec![
        format!(
            "{} patterns, each on its own, need {} different keys; the design has {} keys in {} places (table and indexes).",
            steps.alone.len(),
            steps.grouped,
            steps.keys,
            steps.slots
        ),
        format!(
            "All patterns use keys or indexes: {}. This is the simplest design at this cost: {}.",
            yes(steps.all_indexed),
            yes(steps.simplest)
        ),
    ]
}
