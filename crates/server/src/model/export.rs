//! `keywright model export`: a model file to the formats of other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keywright_workbench::exchange::cloudformation::Resource;
use keywright_workbench::exchange::export::{Target, export};
use keywright_workbench::exchange::of_model::of_model;
use keywright_workbench::exchange::workbench_json::Document;
use keywright_workbench::model::{self, DataSource, Model};

use super::files::{self, beside};
use crate::{banner, environment};

/// Writes a model as a NoSQL Workbench document, CreateTable JSON, a script for the AWS command line, or a
/// CloudFormation template.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The model file
    model: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT")]
    to: Format,
    /// Write here [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The Workbench document the model came from, whose other content is kept [default: MODEL.workbench.json beside the
    /// model, as `import` writes it]
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Write the template as JSON instead of YAML
    #[arg(long)]
    json: bool,
    /// Write global tables with a replica in each of these regions [default: the region of the stack and the `replicas` of
    /// each table]
    #[arg(long, value_name = "REGION", value_delimiter = ',')]
    regions: Vec<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// NoSQL Workbench JSON; patterns and the like go to a second file beside it
    Workbench,
    /// The CreateTable request; a list of them for several tables
    CreateTable,
    /// A shell script for the AWS command line
    Cli,
    /// A CloudFormation template
    #[value(name = "cloudformation")]
    CloudFormation,
}

pub(crate) fn run(arguments: &ExportArguments) -> Result<(), String> {
    let (made, items) = files::load(&arguments.model)?;
    let target = target(arguments)?;
    let draft = of_model(&made, &items);
    let exported = export(&draft, &target).map_err(|faults| files::faults(&arguments.model, &faults))?;
    match &arguments.output {
        Some(path) => files::write(path, &exported.text, arguments.force)?,
        None => banner::say(exported.text.trim_end()),
    }
    for told in &exported.told {
        banner::note(told);
    }
    match (arguments.to, &arguments.output) {
        (Format::Workbench, Some(path)) => write_side(path, &made, arguments.force),
        (Format::Workbench, None) => {
            banner::note(&left_out(&made));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn target(arguments: &ExportArguments) -> Result<Target, String> {
    let resource = match arguments.regions.as_slice() {
        [] => Resource::AsModelled,
        regions => Resource::GlobalTable(regions.to_vec()),
    };
    Ok(match arguments.to {
        Format::Workbench => Target::Workbench { base: base(arguments)?, written: workbench_date() },
        Format::CreateTable => Target::CreateTable,
        Format::Cli => Target::AwsCli,
        Format::CloudFormation if arguments.json => Target::CloudFormationJson(resource),
        Format::CloudFormation => Target::CloudFormationYaml(resource),
    })
}

fn base(arguments: &ExportArguments) -> Result<Option<Document>, String> {
    let path = if let Some(path) = &arguments.base {
        path.clone()
    } else {
        let path = beside(&arguments.model, "workbench.json");
        if !path.exists() {
            return Ok(None);
        }
        banner::note(&format!("What the model does not say is taken from {}.", path.display()));
        path
    };
    let document = Document::parse(&files::read(&path)?).map_err(|faults| files::faults(&path, &faults))?;
    Ok(Some(document))
}

/// What a document on standard output leaves behind, as there is no place beside it.
fn left_out(made: &Model) -> String {
    let patterns = made.patterns.len();
    format!(
        "Left out: {patterns} patterns with their rates and expectations, counts, sizes, templates of indexes and whatever else a document cannot hold. \
         With -o FILE they are kept beside it, and `import` puts them back."
    )
}

/// The model without its data, for `import` to put back what a Workbench document cannot hold.
fn write_side(path: &Path, made: &Model, force: bool) -> Result<(), String> {
    let side = beside(path, "keywright.yaml");
    let without_data = Model { data: DataSource::default(), ..made.clone() };
    files::write(&side, &model::write(&without_data), force)?;
    banner::note(&format!(
        "{} keeps patterns, counts and whatever else the document cannot hold; `keywright model import` finds it there.",
        side.display()
    ));
    Ok(())
}

/// Now, as the Workbench writes it: `Apr 25, 2023, 05:37 PM`.
fn workbench_date() -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let basic = environment::now().to_basic();
    let number = |range: std::ops::Range<usize>| -> usize {
        basic.get(range).and_then(|digits| digits.parse().ok()).unwrap_or_default()
    };
    let (year, month, day) = (number(0..4), number(4..6), number(6..8));
    let (hour, minute) = (number(9..11), number(11..13));
    let month = MONTHS.get(month.saturating_sub(1)).copied().unwrap_or("Jan");
    let (half, hour) = (if hour < 12 { "AM" } else { "PM" }, (hour + 11) % 12 + 1);
    format!("{month} {day:02}, {year}, {hour:02}:{minute:02} {half}")
}
