//! `keywright model design`: the cheapest keys for a model's entities and patterns, proved by running them.

use std::path::PathBuf;

use clap::Args;
use keywright_workbench::design::{
    Design, Problem, Proof, Verified, explain, from_model, index_name, name, solve, to_model, verify,
};
use keywright_workbench::model::{Model, write};
use keywright_workbench::price::Prices;

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
    /// Also say what each pattern costs, which of them force an index, and how far the next best design is
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
    for table in &tables {
        let mut problem =
            from_model(&model, table).map_err(|faults| cost::shown(&arguments.model, &faults))?;
        problem.gsi_max = usize::from(arguments.indexes);
        let designing = format!("designing the keys of {}", table.name);
        let design = during(&designing, || solve(&problem, &prices)).map_err(|faults| sentences(&faults))?;
        banner::say(&text(&table.name, &problem, &design, &prices));
        if arguments.explain {
            banner::say(&explained(&problem, &prices)?);
        }
        model = to_model(&model, &table.name, &problem, &design)?;
    }
    report_run(arguments, &model)?;
    match &arguments.output {
        Some(path) => files::write(path, &write(&model), arguments.force),
        None => Ok(()),
    }
}

fn sentences(faults: &[keywright_workbench::design::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn slot(number: usize) -> String {
    index_name(number).unwrap_or_else(|| "table".to_owned())
}

fn text(table: &str, problem: &Problem, design: &Design, prices: &Prices) -> String {
    let monthly = &design.monthly;
    let mut lines = vec![format!(
        "{table}: {} global secondary indexes, {} a month at {} (reads {}, writes {}, storage {}, indexes {}).",
        design.gsis,
        monthly.total(),
        prices.name,
        monthly.reads,
        monthly.base_writes,
        monthly.base_storage,
        monthly.indexes
    )];
    lines.push(match &design.proof {
        Proof::NoIndexes => "No index is needed.".to_owned(),
        Proof::Infeasible { gsis, entities } => {
            format!("With {gsis} it is impossible to answer every pattern: {} cannot.", entities.join(", "))
        }
        Proof::Dearer { gsis, by } => format!("With {gsis} it is possible and costs {by} more."),
    });
    lines.push(String::new());
    for own in name(problem, design) {
        let (entity, place) = (&own.entity, slot(own.slot));
        lines.push(format!("{entity:<20} {place:<6} pk {:<32} sk {}", own.partition, own.sort));
    }
    lines.push(String::new());
    for own in &design.asked {
        let requests =
            if own.shards == 1 { "1 request".to_owned() } else { format!("{} requests", own.shards) };
        let (place, cost) = (slot(own.slot), own.monthly);
        lines.push(format!(
            "{:<20} {place:<6} by {:<24} {requests:<12} {cost:>12}",
            own.pattern,
            own.partition.join(", ")
        ));
    }
    lines.join("\n")
}

fn explained(problem: &Problem, prices: &Prices) -> Result<String, String> {
    let explanation = during("designing without each pattern", || explain(problem, prices))
        .map_err(|faults| sentences(&faults))?;
    let mut lines = vec![String::new()];
    for own in &explanation.patterns {
        let forced = if own.forces {
            format!("; it forces an index: without it {}", own.gsis_without)
        } else {
            String::new()
        };
        lines.push(format!("Without {} the table would cost {} less{forced}.", own.pattern, own.saves));
    }
    lines.push(match explanation.runner_up {
        Some(more) => format!("The next best design costs {more} more a month."),
        None => "There is no other design.".to_owned(),
    });
    Ok(lines.join("\n"))
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
    if wrong.is_empty() { Ok(()) } else { Err("the design does not do what was predicted".to_owned()) }
}
