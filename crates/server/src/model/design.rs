//! `keywright model design`: the cheapest keys for a model's entities and patterns, proved by running them.

mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use keywright_designer::design::{
    Billed, Design, Embedded, Problem, Proof, SAME, Unbilled, Verified, VerifiedWrite, billed, from_model,
    keep, solve, to_model, unguarded, unlisted, unordered, verify, verify_writes,
};
use keywright_model::{self as model, Model, Table};
use keywright_workbench::check;
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::lint::{Finding, Severity};
use keywright_workbench::price::{Money, Prices};
use keywright_workbench::run::Outcome;

use super::progress::during;
use super::{cost, files};
use crate::banner;

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

/// One table's design, and the tables of the written model that it became.
struct Designed {
    table: String,
    tables: Vec<String>,
    problem: Problem,
    design: Design,
}

pub(crate) fn run(arguments: &DesignArguments) -> Result<(), String> {
    let original = files::read_model(&arguments.model)?;
    let prices = cost::prices(arguments.prices.as_deref().or(original.prices.as_deref()))?;
    let billing = Billing { path: &arguments.model, original: &original, prices: &prices };
    let (found, own) = cheapest(arguments, &billing)?;
    for place in 0..found.len() {
        say(&billing, &found, place, &own);
        if let (true, Some(own)) = (arguments.explain, found.get(place)) {
            banner::say(&text::explained(own, &prices)?);
        }
    }
    for line in text::left_open(&own.bill) {
        banner::say(&line);
    }
    if found.len() > 1 {
        banner::say(&format!("All tables together: {} a month.", own.bill.total()));
    }
    report_run(arguments, &own.model)?;
    let checked = billing.report_check(&own);
    let Some(output) = &arguments.output else { return checked };
    for notice in &own.notices {
        banner::say(notice);
    }
    if has_comments(&arguments.model)? {
        banner::say("The comments of the model are not in what is written.");
    }
    files::write(output, &own.text, arguments.force)?;
    checked
}

/// Whether a model's file has comments, which its model does not know. What came from standard input is gone.
fn has_comments(path: &Path) -> Result<bool, String> {
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.contains(" # ");
    Ok(path != Path::new("-") && files::read(path)?.lines().any(is_comment))
}

/// Every table's design and their bill. What the solver weighs are declared sizes and the bill is of what runs, so that of two
/// designs that are close the one with fewer global indexes is taken where it does as much and its bill is no higher.
fn cheapest(arguments: &DesignArguments, billing: &Billing<'_>) -> Result<(Vec<Designed>, Billed), String> {
    let mut most = BTreeMap::new();
    loop {
        let (model, found) = designed(arguments, billing.original, billing.prices, &most)?;
        let own = during("metering the design", || billing.of(model, &found))?;
        let better = found.iter().enumerate().find_map(|(place, designed)| {
            let fewer = designed.design.fewer.as_deref().filter(|fewer| fewer.bounded)?;
            let as_cheap =
                matches!(billing.beside(&found, place, fewer, &own), Beside::More(by) if by < SAME);
            as_cheap.then(|| (designed.table.clone(), fewer.gsis))
        });
        match better {
            Some((table, gsis)) => most.insert(table, gsis),
            None => return Ok((found, own)),
        };
    }
}

/// Every table's design, and the model with all of them; with at most so many global indexes where that is said of a table.
fn designed(
    arguments: &DesignArguments,
    original: &Model,
    prices: &Prices,
    most: &BTreeMap<String, usize>,
) -> Result<(Model, Vec<Designed>), String> {
    let wanted = |own: &&Table| arguments.table.as_ref().is_none_or(|name| *name == own.name);
    let (mut model, mut found) = (original.clone(), Vec::new());
    for table in original.tables.iter().filter(wanted) {
        let mut problem =
            from_model(&model, table).map_err(|faults| cost::shown(&arguments.model, &faults))?;
        problem.gsi_max = usize::from(arguments.indexes);
        if arguments.keep {
            keep(&mut problem, &model, table);
        }
        problem.gsi_max = most.get(&table.name).copied().unwrap_or(problem.gsi_max);
        let designing = format!("designing the keys of {}", table.name);
        let design = during(&designing, || solve(&problem, prices)).map_err(|faults| sentences(&faults))?;
        let before: Vec<String> = model.tables.iter().map(|own| own.name.clone()).collect();
        model = to_model(&model, &table.name, &design)?;
        let new = |name: &String| *name == table.name || !before.contains(name);
        let tables = model.tables.iter().map(|own| own.name.clone()).filter(new).collect();
        found.push(Designed { table: table.name.clone(), tables, problem, design });
    }
    if found.is_empty() { Err("the model has no such table".to_owned()) } else { Ok((model, found)) }
}

/// What designs of a model are billed by.
struct Billing<'a> {
    path: &'a Path,
    original: &'a Model,
    prices: &'a Prices,
}

impl Billing<'_> {
    /// The bill of a designed model.
    fn of(&self, model: Model, found: &[Designed]) -> Result<Billed, String> {
        let embedded: Vec<Embedded> = found.iter().flat_map(|own| own.design.embedded.clone()).collect();
        self.with(model, &embedded)
    }

    fn read(&self, name: &str) -> Result<String, String> {
        files::read(&self.path.parent().unwrap_or(Path::new("")).join(name))
    }

    /// What `check` finds wrong with what is written, so that nobody learns it only then.
    fn report_check(&self, own: &Billed) -> Result<(), String> {
        let read_file = |name: &str| self.read(name);
        let checked = during("checking the design", || check(&own.model, &read_file, &mut |_| {}))
            .map_err(|faults| cost::shown(self.path, &faults))?;
        for finding in checked.findings.iter().filter(|own| own.severity == Severity::Error) {
            let Finding { rule, subject, text, fix, .. } = finding;
            banner::say(&format!("The check of it finds an error, {rule} of {subject}: {text}; {fix}."));
        }
        let mut failed = Vec::new();
        for pattern in &checked.report.patterns {
            let reasons = match &pattern.outcome {
                Outcome::Met | Outcome::Ran => continue,
                Outcome::Unmet(reasons) | Outcome::NoPlan(reasons) => reasons.join("; "),
                Outcome::Failed(reason) => reason.clone(),
            };
            banner::say(&format!("In the check of it {} fails: {reasons}.", pattern.id));
            failed.push(pattern.id.as_str());
        }
        if failed.is_empty() {
            Ok(())
        } else {
            Err(format!("{} cannot be shown to work on the model's data", failed.join(", ")))
        }
    }

    fn with(&self, model: Model, embedded: &[Embedded]) -> Result<Billed, String> {
        let read_file = |name: &str| self.read(name);
        let costing = Costing { prices: self.prices, settings: Settings::default() };
        billed(self.original, model, embedded, &read_file, &costing).map_err(|reason| match reason {
            Unbilled::Faults(faults) => cost::shown(self.path, &faults),
            Unbilled::Price(missing) => missing.to_string(),
        })
    }

    /// What the bill is with another design of one of the tables.
    fn beside(&self, found: &[Designed], place: usize, other: &Design, than: &Billed) -> Beside {
        let priced = || -> Result<Money, String> {
            let (mut model, mut embedded) = (self.original.clone(), Vec::new());
            for (at, own) in found.iter().enumerate() {
                let design = if at == place { other } else { &own.design };
                model = to_model(&model, &own.table, design)?;
                embedded.extend(design.embedded.iter().cloned());
            }
            let other = self.with(model, &embedded)?;
            match than.unmetered().or_else(|| other.unmetered()) {
                Some(reason) => Err(reason),
                None => Ok(other.bill.total() - than.bill.total()),
            }
        };
        priced().map_or_else(Beside::Unpriced, Beside::More)
    }
}

/// What another design costs beside the one that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Beside {
    /// So much more a month.
    More(Money),
    /// Its bill would lack what did not run, so that it is no price; and why.
    Unpriced(String),
}

/// The prices of the designs with fewer indexes.
#[derive(Debug, Clone, Default)]
struct Besides {
    /// Of the cheapest.
    fewer: Option<Beside>,
    /// Of the cheapest with one item for each record.
    fewer_same: Option<Beside>,
}

/// Says what a table's design is and what it costs.
fn say(billing: &Billing<'_>, found: &[Designed], place: usize, billed: &Billed) {
    let Some(own) = found.get(place) else { return };
    let of = |other: &Option<Box<Design>>| Some(billing.beside(found, place, other.as_ref()?, billed));
    let besides = match &own.design.proof {
        Proof::Possible { .. } => during("metering the alternatives", || Besides {
            fewer: of(&own.design.fewer),
            fewer_same: of(&own.design.fewer_same),
        }),
        Proof::NoIndexes | Proof::AllKept | Proof::Impossible { .. } => Besides::default(),
    };
    banner::say(&text::text(own, &besides, billed, billing.prices));
    let provisioned = |table: &&Table| {
        own.tables.contains(&table.name) && matches!(table.billing, model::Billing::Provisioned { .. })
    };
    if billed.model.tables.iter().any(|table| provisioned(&table)) {
        banner::say("It is billed as provisioned; designs were compared at on-demand prices.");
    }
    for line in unlisted(billing.original, &own.design) {
        banner::say(&line);
    }
    for line in unguarded(billing.original, &own.design) {
        banner::say(&line);
    }
    let read = |pattern: &str| billed.model.pattern(&format!("{pattern}-read")).is_some();
    for reading in own.design.reading.iter().filter(|own| read(&own.pattern)) {
        let names: Vec<&str> = reading.names.iter().map(String::as_str).collect();
        let (pattern, names, monthly) = (&reading.pattern, names.join(", "), reading.monthly);
        banner::say(&format!(
            "{pattern} has to read {names} before it, for {monthly} a month, as keys that it sets are made of it; it is refused if that \
             has changed since."
        ));
    }
    for pattern in unordered(&billed.model, &own.design) {
        banner::say(&format!(
            "{pattern} asks for an order, and neither a range nor `order` says of what, so that its items come in an order \
             that means nothing: write `order: {{by: ATTRIBUTE, direction: desc}}`."
        ));
    }
}

fn sentences(faults: &[keywright_designer::design::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
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
