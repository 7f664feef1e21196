//! `keywright model design`: finds the cheapest keys for a model's entities and patterns, and runs them as a
//! proof.

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

/// Find the cheapest keys and indexes, with proof
///
/// Every pattern is answered with one request. Shows why fewer indexes are not enough, and runs the design on
/// generated items. Entities need a count and `unique` (or keys), patterns a rate.
#[derive(Debug, Args)]
pub(crate) struct DesignArguments {
    /// The model file
    model: PathBuf,
    /// Only this table [default: all]
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// A built-in price file, or the path of one
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Maximum number of global secondary indexes
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=20))]
    indexes: u8,
    /// Keep the keys, indexes and table classes that the model has, and design only what is missing
    #[arg(long)]
    keep: bool,
    /// Also show what each pattern costs and which indexes it needs, the purpose of each key, the next best
    /// designs, and the rates at which another design is cheaper
    #[arg(long)]
    explain: bool,
    /// Write the model with its keys to this file
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
        banner::say(&format!("All tables: {} a month.", own.bill.total()));
    }
    report_run(arguments, &own.model)?;
    let checked = billing.report_check(&own);
    let Some(output) = &arguments.output else { return checked };
    for notice in &own.notices {
        banner::say(notice);
    }
    if has_comments(&arguments.model)? {
        banner::say("The written model does not keep the comments of the original.");
    }
    files::write(output, &own.text, arguments.force)?;
    checked
}

/// Whether a model's file has comments, which the parsed model does not have. Standard input cannot be read
/// again.
fn has_comments(path: &Path) -> Result<bool, String> {
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.contains(" # ");
    Ok(path != Path::new("-") && files::read(path)?.lines().any(is_comment))
}

/// Every table's design and their bill. The solver compares declared sizes, while the bill measures a run. Of
/// two close designs the one with fewer global indexes is taken if it does as much and its bill is not
/// higher.
fn cheapest(arguments: &DesignArguments, billing: &Billing<'_>) -> Result<(Vec<Designed>, Billed), String> {
    let mut most = BTreeMap::new();
    loop {
        let (model, found) = designed(arguments, billing.original, billing.prices, &most)?;
        let own = during("metering the design", || billing.of(model, &found))?;
        let better = found.iter().enumerate().find_map(|(place, designed)| {
            let fewer = designed.design.fewer.as_deref().filter(|fewer| fewer.bounded)?;
            let as_cheap =
                matches!(billing.cost_difference(&found, place, fewer, &own), CostDifference::More(by) if by < SAME);
            as_cheap.then(|| (designed.table.clone(), fewer.gsis))
        });
        match better {
            Some((table, gsis)) => most.insert(table, gsis),
            None => return Ok((found, own)),
        };
    }
}

/// Every table's design, and the model with all of them. `most` limits the global indexes of some tables.
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

/// The inputs of a designed model's bill.
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

    /// Reports the errors of `model check` in the written model.
    fn report_check(&self, own: &Billed) -> Result<(), String> {
        let read_file = |name: &str| self.read(name);
        let checked = during("checking the design", || check(&own.model, &read_file, &mut |_| {}))
            .map_err(|faults| cost::shown(self.path, &faults))?;
        for finding in checked.findings.iter().filter(|own| own.severity == Severity::Error) {
            let Finding { rule, subject, text, fix, .. } = finding;
            banner::say(&format!(
                "`model check` reports an error in the design, {rule} of {subject}: {text}; {fix}."
            ));
        }
        let mut failed = Vec::new();
        for pattern in &checked.report.patterns {
            let reasons = match &pattern.outcome {
                Outcome::Met | Outcome::Ran => continue,
                Outcome::Unmet(reasons) | Outcome::NoPlan(reasons) => reasons.join("; "),
                Outcome::Failed(reason) => reason.clone(),
            };
            banner::say(&format!("In `model check` of the design {} fails: {reasons}.", pattern.id));
            failed.push(pattern.id.as_str());
        }
        if failed.is_empty() {
            Ok(())
        } else {
            Err(format!("{} could not be verified on the model's data", failed.join(", ")))
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

    /// The change of the bill with another design of one of the tables.
    fn cost_difference(
        &self,
        found: &[Designed],
        place: usize,
        other: &Design,
        than: &Billed,
    ) -> CostDifference {
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
        priced().map_or_else(CostDifference::Unpriced, CostDifference::More)
    }
}

/// What another design costs, compared with the written one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CostDifference {
    /// More per month.
    More(Money),
    /// It has no price, because something did not run; the reason.
    Unpriced(String),
}

/// The prices of the designs with fewer indexes.
#[derive(Debug, Clone, Default)]
struct CostDifferences {
    /// The cheapest design.
    fewer: Option<CostDifference>,
    /// The cheapest design with one item per record.
    fewer_same: Option<CostDifference>,
}

/// Prints a table's design and its cost.
fn say(billing: &Billing<'_>, found: &[Designed], place: usize, billed: &Billed) {
    let Some(own) = found.get(place) else { return };
    let of =
        |other: &Option<Box<Design>>| Some(billing.cost_difference(found, place, other.as_ref()?, billed));
    let differences = match &own.design.proof {
        Proof::Possible { .. } => during("metering the alternatives", || CostDifferences {
            fewer: of(&own.design.fewer),
            fewer_same: of(&own.design.fewer_same),
        }),
        Proof::NoIndexes | Proof::AllKept | Proof::Impossible { .. } => CostDifferences::default(),
    };
    banner::say(&text::text(own, &differences, billed, billing.prices));
    let provisioned = |table: &&Table| {
        own.tables.contains(&table.name)
            && matches!(table.billing, model::DeclaredCapacity::Provisioned { .. })
    };
    if billed.model.tables.iter().any(|table| provisioned(&table)) {
        banner::say("The bill is for provisioned capacity; designs were compared at on-demand prices.");
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
            "{pattern} must first read {names}, for {monthly} a month, because keys that it sets contain it; it is refused if that \
             has changed in between."
        ));
    }
    for pattern in unordered(&billed.model, &own.design) {
        banner::say(&format!(
            "{pattern} has an order, but neither a range nor `order` names the attribute, so its items come in an arbitrary \
             order: write `order: {{by: ATTRIBUTE, direction: desc}}`."
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
        "\nVerified on generated items: {right} of {} reads return the expected items at the predicted units.",
        verified.len()
    ));
    for own in &wrong {
        let failed = own.failed.as_deref().unwrap_or("the results differ");
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
        Err("the design does not behave as predicted".to_owned())
    }
}

/// Whether all writes behaved as predicted.
fn report_writes(writes: &[VerifiedWrite]) -> bool {
    if writes.is_empty() {
        return true;
    }
    let wrong: Vec<&VerifiedWrite> = writes.iter().filter(|own| !own.agrees()).collect();
    // A refused write has changed nothing and shows nothing.
    let right: Vec<&VerifiedWrite> = writes.iter().filter(|own| own.agrees() && !own.refused).collect();
    let reads: usize = right.iter().map(|own| own.reads.len()).sum();
    banner::say(&format!(
        "{} of {} writes keep every key and derived item up to date at the predicted units; {reads} reads after them return the expected items.",
        right.len(),
        writes.len()
    ));
    for own in writes.iter().filter(|own| own.refused) {
        banner::say(&format!(
            "{}: not verified, because its condition does not hold on the generated items.",
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
            let failed = read.failed.as_deref().unwrap_or("the results differ");
            banner::say(&format!(
                "{} after {id}: {failed}: {} items for {} expected, {} of other entities, {} half units for {} predicted",
                read.pattern, read.returned, read.expected, read.strangers, read.measured.0, read.predicted.0
            ));
        }
    }
    wrong.is_empty()
}
