//! `keywright model export`: converts a model file to the formats of other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keywright_exchange::cloudformation::Resource;
use keywright_exchange::export::{Target, export};
use keywright_exchange::of_model::of_model;
use keywright_exchange::workbench_json::Document;
use keywright_model::{self as model, DataSource, Model};

use super::files::{self, with_ending};
use crate::process::{banner, environment};

/// Write a model in another format
///
/// The formats are a NoSQL Workbench document, CreateTable JSON, a script for the AWS command line, and a
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
    /// The Workbench document the model was imported from, whose other content is kept [default:
    /// MODEL.workbench.json next to the model, as `import` writes it]
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Do not look for a document next to the model
    #[arg(long, conflicts_with = "base")]
    no_base: bool,
    /// Write the template as JSON instead of YAML
    #[arg(long)]
    json: bool,
    /// Write global tables with a replica in each of these regions [default: the region of the stack and the
    /// `replicas` of each table]
    #[arg(long, value_name = "REGION", value_delimiter = ',', value_parser = region)]
    regions: Vec<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// NoSQL Workbench JSON; access patterns and the like go to a second file next to it
    Workbench,
    /// The CreateTable request; a list of requests for several tables
    CreateTable,
    /// A shell script for the AWS command line
    Cli,
    /// A CloudFormation template
    #[value(name = "cloudformation")]
    CloudFormation,
}

pub(crate) fn run(arguments: &ExportArguments) -> Result<(), String> {
    refuse_idle(arguments)?;
    let side = arguments.output.as_deref().filter(|_| arguments.to == Format::Workbench);
    let side = side.map(|path| with_ending(path, "keywright.yaml"));
    for path in arguments.output.iter().chain(&side) {
        files::may_write(path, arguments.force)?;
    }
    let (made, items) = files::load(&arguments.model)?;
    let target = target(arguments, &made)?;
    let draft = of_model(&made, &items);
    let exported = export(&draft, &target).map_err(|faults| files::faults(&arguments.model, &faults))?;
    let side_file = side.as_deref().map(|side| (side, without_data(&made)));
    match &arguments.output {
        Some(path) => {
            let first = (path.as_path(), exported.text.as_str());
            let second = side_file.as_ref().map(|(side, text)| (*side, text.as_str()));
            let together: Vec<(&Path, &str)> = std::iter::once(first).chain(second).collect();
            files::write_all(&together, arguments.force)?;
        }
        None => banner::say(exported.text.trim_end()),
    }
    for note in &exported.notes {
        banner::note(note);
    }
    match (arguments.to, &side) {
        (Format::Workbench, Some(side)) => {
            banner::note(&format!(
                "{} keeps patterns, counts and everything else that the document cannot hold; `keywright model import` reads it.",
                side.display()
            ));
            Ok(())
        }
        (Format::Workbench, None) => {
            banner::note(&left_out(&made));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rejects options that the chosen format does not have.
fn refuse_idle(arguments: &ExportArguments) -> Result<(), String> {
    let template = arguments.to == Format::CloudFormation;
    if arguments.json && !template {
        return Err("--json needs `--to cloudformation`; the other formats have one form each".to_owned());
    }
    if !arguments.regions.is_empty() && !template {
        return Err(
            "--regions needs `--to cloudformation`; for the other formats set `replicas` in the model"
                .to_owned(),
        );
    }
    if (arguments.base.is_some() || arguments.no_base) && arguments.to != Format::Workbench {
        return Err("--base and --no-base need `--to workbench`".to_owned());
    }
    Ok(())
}

/// Accepts a region by its form, because new ones open every year: `eu-west-1`, `us-gov-east-1`.
pub(crate) fn region(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let lower = |part: &&str| part.len() > 1 && part.bytes().all(|letter| letter.is_ascii_lowercase());
    let formed = match parts.split_last() {
        Some((number, words)) => {
            words.len() >= 2
                && words.iter().all(lower)
                && words.first().is_some_and(|area| area.len() <= 4)
                && !number.is_empty()
                && number.bytes().all(|digit| digit.is_ascii_digit())
        }
        None => false,
    };
    if formed { Ok(text.to_owned()) } else { Err("a region has the form eu-west-1".to_owned()) }
}

fn target(arguments: &ExportArguments, made: &Model) -> Result<Target, String> {
    let resource = match arguments.regions.as_slice() {
        [] => Resource::AsModelled,
        regions => Resource::GlobalTable(regions.to_vec()),
    };
    Ok(match arguments.to {
        Format::Workbench => Target::Workbench { base: base(arguments, made)?, written: workbench_date() },
        Format::CreateTable => Target::CreateTable,
        Format::Cli => Target::AwsCli,
        Format::CloudFormation if arguments.json => Target::CloudFormationJson(resource),
        Format::CloudFormation => Target::CloudFormationYaml(resource),
    })
}

fn base(arguments: &ExportArguments, made: &Model) -> Result<Option<Document>, String> {
    let parsed =
        |path: &Path| Document::parse(&files::read(path)?).map_err(|faults| files::faults(path, &faults));
    if let Some(path) = &arguments.base {
        return parsed(path).map(Some);
    }
    let path = with_ending(&arguments.model, "workbench.json");
    if arguments.no_base || !path.exists() {
        return Ok(None);
    }
    let document = parsed(&path)?;
    let draft = document.read_all().draft;
    let tables: Vec<&str> = draft.tables.iter().map(|table| table.definition.name.as_str()).collect();
    if let Some(other) = files::another(made, &draft.name, &tables) {
        return Err(format!(
            "{path} next to {model} belongs to another model ({other}): pass --base {path} to use it anyway, or --no-base to ignore it",
            path = path.display(),
            model = arguments.model.display()
        ));
    }
    banner::note(&format!(
        "Content that the model does not have is taken from {} (--no-base ignores it).",
        path.display()
    ));
    Ok(Some(document))
}

/// The note for a document on standard output, which has no second file.
fn left_out(made: &Model) -> String {
    let patterns = made.patterns.len();
    format!(
        "Left out: {patterns} patterns with their rates and expectations, counts, sizes, index templates and everything else \
         that a document cannot hold. -o FILE keeps them in a second file next to it, which `import` reads."
    )
}

/// The model without its data, from which `import` restores what a Workbench document cannot hold.
fn without_data(made: &Model) -> String {
    model::write(&Model { data: DataSource::default(), ..made.clone() })
}

/// The current time as the Workbench writes it: `Apr 25, 2023, 05:37 PM`.
pub(crate) fn workbench_date() -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_recognised_by_their_form() {
        for text in ["eu-west-1", "us-gov-east-1", "ap-southeast-5", "mx-central-1", "us-isob-east-1"] {
            assert_eq!(region(text).as_deref(), Ok(text));
        }
        for text in ["mars", "eu-west", "EU-WEST-1", "eu west 1", "1-2-3", "", "eu-west-1a", "-west-1"] {
            assert!(region(text).is_err(), "{text}");
        }
    }
}
