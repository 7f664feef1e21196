//! `keywright model design`: the cheapest keys for a model's entities and patterns, proved by running them.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_workbench::cost::Class;
use keywright_workbench::design::{
    Design, Explanation, Placed, Problem, Projected, Proof, Same, Slot, Unless, Verified, VerifiedWrite,
    Without, carry, explain, from_model, index_name, keep, name, solve, to_model, unordered, verify,
    verify_writes,
};
use keywright_workbench::model::{Billing, Model, write};
use keywright_workbench::price::{Money, Prices};

use super::progress::during;
use super::{cost, files};
use crate::banner;

/// Rates between these hundredths of what is declared should not change a design.
const STABLE_PERCENT_MIN: u64 = 50;
/// See the least.
const STABLE_PERCENT_MAX: u64 = 200;

/// Finds the cheapest keys and indexes that answer every pattern with one request, shows that fewer indexes do not do,
/// and runs the design on generated items. Entities need a count and `unique` (or keys), patterns a rate.
#[derive(Debug, Args)]
pub(crate) struct DesignArguments {
    /// The model file
    model: PathBuf,
    /// Only this table [default: each]
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// A built-in price file, or the path of one
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// At most so many global secondary indexes
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=20))]
    indexes: u8,
    /// What the model has stays: keys, indexes, class. Only what is missing is designed
    #[arg(long)]
    keep: bool,
    /// Also say what each pattern costs and forces, what each key is for, the next best designs, and at which rates another
    /// design is cheaper
    #[arg(long)]
    explain: bool,
    /// Write the model with its keys here
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Overwrite the output if it exists
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &DesignArguments) -> Result<(), String> {
    let mut model = files::read_model(&arguments.model)?;
    let prices = cost::prices(arguments.prices.as_deref().or(model.prices.as_deref()))?;
    let tables: Vec<_> = model
        .tables
        .iter()
        .filter(|own| arguments.table.as_ref().is_none_or(|name| *name == own.name))
        .cloned()
        .collect();
    if tables.is_empty() {
        return Err("the model has no such table".to_owned());
    }
    let original = model.clone();
    let mut embedded = Vec::new();
    for table in &tables {
        let mut problem =
            from_model(&model, table).map_err(|faults| cost::shown(&arguments.model, &faults))?;
        problem.gsi_max = usize::from(arguments.indexes);
        if arguments.keep {
            keep(&mut problem, &model, table);
        }
        let designing = format!("designing the keys of {}", table.name);
        let design = during(&designing, || solve(&problem, &prices)).map_err(|faults| sentences(&faults))?;
        banner::say(&text(&table.name, &design, &prices));
        if matches!(table.billing, Billing::Provisioned { .. }) {
            banner::say(
                "Compared at on-demand prices; the table is provisioned, and `keywright model cost` bills it so.",
            );
        }
        for pattern in unordered(&model, &design) {
            banner::say(&format!(
                "{pattern} asks for an order, and neither a range nor `order` says of what, so that its items come in an order \
                 that means nothing: write `order: {{by: ATTRIBUTE, direction: desc}}`."
            ));
        }
        if arguments.explain {
            banner::say(&explained(&problem, &design, &prices)?);
        }
        model = to_model(&model, &table.name, &design)?;
        embedded.extend(design.embedded);
    }
    report_run(arguments, &model)?;
    let Some(output) = &arguments.output else { return Ok(()) };
    let folder = arguments.model.parent().unwrap_or(Path::new(""));
    let read_file = |name: &str| files::read(&folder.join(name));
    let notices = during("carrying the items over", || carry(&original, &read_file, &embedded, &mut model))
        .map_err(|faults| cost::shown(&arguments.model, &faults))?;
    for notice in &notices {
        banner::say(notice);
    }
    files::write(output, &write(&model), arguments.force)
}

fn sentences(faults: &[keywright_workbench::design::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn slot(problem: &Problem, slot: Slot) -> String {
    let other = if slot == Slot::Copy { "2nd item" } else { "table" };
    index_name(&problem.kept, slot).unwrap_or_else(|| other.to_owned())
}

fn text(table: &str, design: &Design, prices: &Prices) -> String {
    let (monthly, problem) = (&design.monthly, &design.problem);
    let mut lines = vec![format!(
        "{table}: {}, {} a month at {} (reads {}, writes {}, storage {}, indexes {}).",
        counted(design.gsis, "global secondary index", "es"),
        monthly.total(),
        prices.name,
        monthly.reads,
        monthly.base_writes,
        monthly.base_storage,
        monthly.indexes
    )];
    lines.push(proof(&design.proof));
    lines.extend(shapes(design));
    lines.push(String::new());
    for own in name(design) {
        let (entity, place) = (&own.entity, slot(problem, own.slot));
        lines.push(format!("{entity:<20} {place:<8} pk {:<32} sk {}", own.partition, own.sort));
    }
    lines.push(String::new());
    for own in &design.asked {
        let requests =
            if own.shards == 1 { "1 request".to_owned() } else { format!("{} requests", own.shards) };
        let (place, cost) = (slot(problem, own.slot), own.monthly);
        lines.push(format!(
            "{:<20} {place:<8} by {:<24} {requests:<12} {cost:>12}",
            own.pattern,
            own.partition.join(", ")
        ));
    }
    lines.join("\n")
}

fn counted(number: usize, what: &str, plural: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}{plural}") }
}

/// Why there are not fewer indexes, in words that hold: what is called impossible is so with everything the designer knows.
fn proof(proof: &Proof) -> String {
    let (gsis, by, with, same) = match proof {
        Proof::NoIndexes => return "No index is needed.".to_owned(),
        Proof::AllKept => return "All of them exist and stay.".to_owned(),
        Proof::Impossible { gsis, entities, unless } => return impossible(*gsis, entities, unless),
        Proof::Possible { gsis, by, with, same } => (gsis, by, with, same),
    };
    let costs = |by: &Money| {
        if *by > Money::ZERO { format!("costs {by} more a month") } else { "costs the same".to_owned() }
    };
    if with.is_empty() {
        return format!("With {gsis} it is possible and {}.", costs(by));
    }
    let means = means(with);
    match same {
        Same::NotAsked => format!("With {gsis} it is possible with {means}, and {}.", costs(by)),
        Same::Dearer(dearer) => {
            format!("With {gsis} it is possible and {}; with {means} it {}.", costs(dearer), costs(by))
        }
        Same::Impossible(entities) => format!(
            "With {gsis} and one item for each record it is impossible: {} cannot. With {means} it is possible, and {}.",
            entities.join(", "),
            costs(by)
        ),
    }
}

fn impossible(gsis: usize, entities: &[String], unless: &[Unless]) -> String {
    let entities = entities.join(", ");
    if unless.is_empty() {
        return format!(
            "With {gsis} it is impossible to answer every pattern with one request, even with second items, local indexes \
             and lists: {entities} cannot."
        );
    }
    let unless: Vec<String> = unless.iter().map(ToString::to_string).collect();
    format!(
        "With {gsis} it is impossible to answer every pattern with one request as long as an update or a delete knows only \
         what identifies its item: {entities} cannot; {}.",
        unless.join("; ")
    )
}

fn means(with: &Without) -> String {
    let items =
        with.second_items.iter().map(|(entity, by)| format!("second items of {entity} by {}", by.join(", ")));
    let locals = (with.local_indexes > 0).then(|| counted(with.local_indexes, "local index", "es"));
    let lists = with.embedded.iter().map(|own| format!("{} kept as a list in {}", own.child, own.parent));
    items.chain(locals).chain(lists).collect::<Vec<_>>().join(", ")
}

/// What is not one table whose indexes hold everything.
fn shapes(design: &Design) -> Vec<String> {
    let problem = &design.problem;
    let mut lines: Vec<String> = design
        .embedded
        .iter()
        .map(|own| format!("{} is kept in the list `{}` of its {}.", own.child, own.list, own.parent))
        .collect();
    for table in &design.tables {
        let names = table.entities.iter().filter_map(|place| problem.entities.get(*place));
        let names: Vec<&str> = names.map(|entity| entity.name.as_str()).collect();
        if table.class == Class::Infrequent {
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
    format!("{entity} in {} by {}{sort}", slot(problem, own.slot), own.view.partition.join(", "))
}

fn explained(problem: &Problem, design: &Design, prices: &Prices) -> Result<String, String> {
    let explanation = during("designing without each pattern", || explain(problem, prices))
        .map_err(|faults| sentences(&faults))?;
    let problem = &design.problem;
    let mut lines = vec![String::new()];
    lines.extend(steps(&explanation));
    for own in &explanation.patterns {
        let forced = if own.forces {
            format!("; it forces an index: without it {}", own.gsis_without)
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
    for own in &explanation.runners_up {
        let keys: Vec<String> = own.keys.iter().map(|own| key(problem, own)).collect();
        let instead = if keys.is_empty() { "fewer keys".to_owned() } else { keys.join("; ") };
        lines.push(format!("A next best design costs {} more a month: {instead}.", own.more));
    }
    if explanation.runners_up.is_empty() {
        lines.push("There is no other design.".to_owned());
    }
    for own in &explanation.break_evens {
        let (pattern, percent) = (&own.pattern, own.percent);
        lines.push(format!("If {pattern} came {percent} % as often, another design would be cheaper."));
    }
    lines.push(stability(&explanation));
    if explanation.break_evens.is_empty() {
        lines.push("No rate, alone taken to nought or 1024 times, changes the design.".to_owned());
    }
    Ok(lines.join("\n"))
}

/// Whether the design is the same when rates are half or twice what is declared.
fn stability(explanation: &Explanation) -> String {
    let within = |percent: u64| (STABLE_PERCENT_MIN..=STABLE_PERCENT_MAX).contains(&percent);
    let near: Vec<String> = explanation
        .break_evens
        .iter()
        .filter(|own| within(own.percent))
        .map(|own| format!("{} at {} %", own.pattern, own.percent))
        .collect();
    let alone = if near.is_empty() {
        "Any one rate can be half or twice as high and the design is the same".to_owned()
    } else {
        format!("Between half and twice the rate another design is cheaper for {}", near.join(", "))
    };
    let together: Vec<String> = explanation.together.iter().map(|percent| format!("{percent} %")).collect();
    if together.is_empty() {
        format!("{alone}; with all rates at half or at twice it is the same.")
    } else {
        format!("{alone}; with all rates at {} it is another.", together.join(" and at "))
    }
}

/// Each pattern alone, commonalities grouped, groups simplified; and the two measures.
fn steps(explanation: &Explanation) -> Vec<String> {
    let steps = &explanation.steps;
    let yes = |it: bool| if it { "yes" } else { "no" };
    vec![
        format!(
            "{} patterns, solved one by one, want {} different keys; the design has {} keys in {} places.",
            steps.alone.len(),
            steps.grouped,
            steps.keys,
            steps.slots
        ),
        format!(
            "All patterns on keys or indexes: {}. The simplest that does it at this cost: {}.",
            yes(steps.all_indexed),
            yes(steps.simplest)
        ),
    ]
}

fn report_run(arguments: &DesignArguments, model: &Model) -> Result<(), String> {
    let verified = during("running the design", || verify(model))
        .map_err(|faults| cost::shown(&arguments.model, &faults))?;
    let wrong: Vec<&Verified> = verified.iter().filter(|own| !own.agrees()).collect();
    let right = verified.len() - wrong.len();
    banner::say(&format!(
        "\nRun on generated items: {right} of {} reads return what a plain evaluation finds, at the predicted units.",
        verified.len()
    ));
    for own in &wrong {
        let failed = own.failed.as_deref().unwrap_or("the answers differ");
        banner::say(&format!(
            "{}: {failed}: {} items for {} expected, {} of other entities, {} half units for {} predicted",
            own.pattern, own.returned, own.expected, own.strangers, own.measured.0, own.predicted.0
        ));
    }
    let writes = during("running its writes", || verify_writes(model))
        .map_err(|faults| cost::shown(&arguments.model, &faults))?;
    if wrong.is_empty() & report_writes(&writes) {
        Ok(())
    } else {
        Err("the design does not do what was predicted".to_owned())
    }
}

/// Whether all writes did what was predicted.
fn report_writes(writes: &[VerifiedWrite]) -> bool {
    if writes.is_empty() {
        return true;
    }
    let wrong: Vec<&VerifiedWrite> = writes.iter().filter(|own| !own.agrees()).collect();
    // A write that was refused has changed nothing, and so shows nothing.
    let right: Vec<&VerifiedWrite> = writes.iter().filter(|own| own.agrees() && !own.refused).collect();
    let reads: usize = right.iter().map(|own| own.reads.len()).sum();
    banner::say(&format!(
        "{} of {} writes leave every key and second item current at the predicted units; {reads} reads after them return what they should.",
        right.len(),
        writes.len()
    ));
    for own in writes.iter().filter(|own| own.refused) {
        banner::say(&format!(
            "{}: not shown, as its condition does not hold on the generated items.",
            own.pattern
        ));
    }
    for own in &wrong {
        let id = &own.pattern;
        if let Some(failed) = &own.failed {
            banner::say(&format!("{id}: {failed}"));
        }
        if !own.stale.is_empty() {
            banner::say(&format!("{id} leaves stale: {}", own.stale.join(", ")));
        }
        if own.measured != own.predicted {
            let (measured, predicted) = (own.measured.0, own.predicted.0);
            banner::say(&format!("{id}: {measured} half units for {predicted} predicted"));
        }
        for read in own.reads.iter().filter(|read| !read.agrees()) {
            let failed = read.failed.as_deref().unwrap_or("the answers differ");
            banner::say(&format!(
                "{} after {id}: {failed}: {} items for {} expected, {} of other entities, {} half units for {} predicted",
                read.pattern, read.returned, read.expected, read.strangers, read.measured.0, read.predicted.0
            ));
        }
    }
    wrong.is_empty()
}
