//! The choice of designs by bill. The solver compares declared sizes, while a bill meters a run: of two close
//! designs the one with fewer global indexes is taken if it does as much and its bill is not higher.

use std::collections::BTreeMap;

use super::bill::{Billed, Unbilled, billed};
use super::explain::{Explanation, explain};
use super::from_model::{from_model, keep};
use super::name::renamed;
use super::problem::{Fault, KeyStyle, Problem};
use super::proof::Proof;
use super::to_model::to_model;
use super::{Design, Embedded, SAME, solve};
use keywright_model::data::ReadFile;
use keywright_model::{Fault as ModelFault, Faults, Model, Table};
use keywright_workbench::cost::{Costing, Missing, Settings};
use keywright_workbench::price::{Money, Prices};

/// What to design.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Only this table; all tables if none is named.
    pub table: Option<&'a str>,
    /// The maximum number of global secondary indexes of a table.
    pub indexes: usize,
    /// Whether the keys, indexes and table classes that the model has stay.
    pub keep: bool,
    /// Whether reasons and other designs are searched too; each is solved again.
    pub explain: bool,
    /// How the keys are written.
    pub style: KeyStyle,
}

/// The designs of a model's tables, with their bill.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// One for each table of the wanted model, in its order.
    pub tables: Vec<TableDesign>,
    /// The model with all of them.
    pub billed: Billed,
}

/// One table's design.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDesign {
    /// The table of the wanted model.
    pub table: String,
    /// The tables of the written model that it became.
    pub tables: Vec<String>,
    /// What had to be solved.
    pub problem: Problem,
    /// The cheapest solution, with its proof.
    pub design: Design,
    /// The bill of the cheapest design with one global index less.
    pub fewer: Option<OtherBill>,
    /// The same with one item per record.
    pub fewer_same: Option<OtherBill>,
    /// Present if `Wanted::explain` is set.
    pub explanation: Option<Explanation>,
}

/// The bill of another design, compared with that of the chosen one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherBill {
    /// More per month.
    More(Money),
    /// It has no bill, because something did not run; the reason.
    Unbilled(String),
}

/// Why there is no choice.
#[derive(Debug, Clone, PartialEq)]
pub enum NoChoice {
    /// The model does not have the wanted table.
    NoTable,
    /// The model, or the model with the designs, has faults.
    Faults(Faults),
    /// The solver found no design.
    Unsolved(Vec<Fault>),
    /// A price is unknown.
    Price(Missing),
    /// A design cannot be written as a model.
    Unwritable(String),
}

/// The work that begins, for a display of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage<'a> {
    /// Solving the table's problem.
    Solving(&'a str),
    /// Metering the model with its designs.
    Metering,
    /// Metering designs with fewer indexes.
    MeteringAlternatives,
    /// Solving the problem without each pattern and key.
    Explaining,
}

/// A model that is designed.
struct Designer<'a> {
    original: &'a Model,
    wanted: &'a Wanted<'a>,
    prices: &'a Prices,
    read_file: ReadFile<'a>,
}

/// Finds the cheapest designs by their bills.
pub fn choose(
    original: &Model,
    wanted: &Wanted<'_>,
    prices: &Prices,
    read_file: ReadFile<'_>,
    stage: &mut dyn FnMut(Stage<'_>),
) -> Result<Choice, NoChoice> {
    let designer = Designer { original, wanted, prices, read_file };
    let mut choice = designer.cheapest(stage)?;
    for place in 0..choice.tables.len() {
        let (fewer, fewer_same) = designer.alternatives(&choice, place, stage);
        let Some(own) = choice.tables.get_mut(place) else { break };
        (own.fewer, own.fewer_same) = (fewer, fewer_same);
        if wanted.explain {
            stage(Stage::Explaining);
            own.explanation = Some(explain(&own.problem, prices).map_err(NoChoice::Unsolved)?);
        }
    }
    Ok(choice)
}

impl Designer<'_> {
    fn cheapest(&self, stage: &mut dyn FnMut(Stage<'_>)) -> Result<Choice, NoChoice> {
        let mut most = BTreeMap::new();
        loop {
            let (model, tables) = self.designed(&most, stage)?;
            stage(Stage::Metering);
            let embedded: Vec<Embedded> = tables.iter().flat_map(|own| own.design.embedded.clone()).collect();
            let choice = Choice { billed: self.billed(model, &embedded)?, tables };
            let better = choice.tables.iter().enumerate().find_map(|(place, own)| {
                let fewer = own.design.fewer.as_deref().filter(|fewer| fewer.bounded)?;
                let other = self.other_bill(&choice, place, fewer);
                matches!(other, OtherBill::More(by) if by < SAME).then(|| (own.table.clone(), fewer.gsis))
            });
            match better {
                Some((table, gsis)) => most.insert(table, gsis),
                None => return Ok(choice),
            };
        }
    }

    /// Every table's design, and the model with all of them. `most` limits the global indexes of some tables.
    fn designed(
        &self,
        most: &BTreeMap<String, usize>,
        stage: &mut dyn FnMut(Stage<'_>),
    ) -> Result<(Model, Vec<TableDesign>), NoChoice> {
        let wanted = |own: &&Table| self.wanted.table.is_none_or(|name| name == own.name);
        let (mut model, mut found) = (self.original.clone(), Vec::new());
        for table in self.original.tables.iter().filter(wanted) {
            let mut problem = from_model(&model, table).map_err(NoChoice::Faults)?;
            problem.gsi_max = self.wanted.indexes;
            problem.style = self.wanted.style;
            if self.wanted.keep {
                keep(&mut problem, &model, table);
            }
            problem.gsi_max = most.get(&table.name).copied().unwrap_or(problem.gsi_max);
            stage(Stage::Solving(&table.name));
            let design = solve(&problem, self.prices).map_err(NoChoice::Unsolved)?;
            self.prefixes_hold(&design)?;
            let before: Vec<String> = model.tables.iter().map(|own| own.name.clone()).collect();
            model = to_model(&model, &table.name, &design).map_err(NoChoice::Unwritable)?;
            let new = |name: &String| *name == table.name || !before.contains(name);
            let tables = model.tables.iter().map(|own| own.name.clone()).filter(new).collect();
            found.push(TableDesign {
                table: table.name.clone(),
                tables,
                problem,
                design,
                fewer: None,
                fewer_same: None,
                explanation: None,
            });
        }
        if found.is_empty() { Err(NoChoice::NoTable) } else { Ok((model, found)) }
    }

    /// Refuses a design in which an entity cannot have its prefix.
    fn prefixes_hold(&self, design: &Design) -> Result<(), NoChoice> {
        let mut faults = Faults::new();
        for (name, needed) in renamed(design) {
            let Some(own) = self.original.entity(&name) else { continue };
            let text = format!(
                "a pattern for several entities finds those of `{name}` among the others only if their sort keys begin \
                 with `{needed}#`: leave out its `prefix`, or write the keys yourself and design with --keep"
            );
            faults.push(ModelFault::new(own.at, text));
        }
        if faults.is_empty() { Ok(()) } else { Err(NoChoice::Faults(faults)) }
    }

    fn billed(&self, model: Model, embedded: &[Embedded]) -> Result<Billed, NoChoice> {
        let costing = Costing { prices: self.prices, settings: Settings::default() };
        billed(self.original, model, embedded, self.read_file, &costing).map_err(|reason| match reason {
            Unbilled::Faults(faults) => NoChoice::Faults(faults),
            Unbilled::Price(missing) => NoChoice::Price(missing),
        })
    }

    /// The bills of a table's designs with fewer indexes.
    fn alternatives(
        &self,
        choice: &Choice,
        place: usize,
        stage: &mut dyn FnMut(Stage<'_>),
    ) -> (Option<OtherBill>, Option<OtherBill>) {
        let own = choice.tables.get(place).map(|own| &own.design);
        let Some(own) = own.filter(|own| matches!(own.proof, Proof::Possible { .. })) else {
            return (None, None);
        };
        stage(Stage::MeteringAlternatives);
        let of = |other: &Option<Box<Design>>| Some(self.other_bill(choice, place, other.as_ref()?));
        (of(&own.fewer), of(&own.fewer_same))
    }

    /// The change of the bill with another design of one of the tables.
    fn other_bill(&self, choice: &Choice, place: usize, other: &Design) -> OtherBill {
        let billed = || -> Result<Money, String> {
            let (mut model, mut embedded) = (self.original.clone(), Vec::new());
            for (at, own) in choice.tables.iter().enumerate() {
                let design = if at == place { other } else { &own.design };
                model = to_model(&model, &own.table, design)?;
                embedded.extend(design.embedded.iter().cloned());
            }
            let other = self.billed(model, &embedded).map_err(|reason| reason.to_string())?;
            match choice.billed.unmetered().or_else(|| other.unmetered()) {
                Some(reason) => Err(reason),
                None => Ok(other.bill.total() - choice.billed.bill.total()),
            }
        };
        billed().map_or_else(OtherBill::Unbilled, OtherBill::More)
    }
}

impl std::fmt::Display for NoChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = match self {
            Self::NoTable => vec!["the model has no such table".to_owned()],
            Self::Faults(faults) => faults.iter().map(|fault| fault.text.clone()).collect(),
            Self::Unsolved(faults) => faults.iter().map(ToString::to_string).collect(),
            Self::Price(missing) => vec![missing.to_string()],
            Self::Unwritable(reason) => vec![reason.clone()],
        };
        f.write_str(&lines.join("\n"))
    }
}
