//! `keywright model export`: converts a model file to the formats of other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keywright_exchange::cloudformation::Resource;
use keywright_exchange::export::{Target, export};
use keywright_exchange::of_model::of_model;
use keywright_exchange::workbench_json::Document;
use keywright_model::{self as model, DataSource, Model};
use keywright_semantics::place::RegionName;

use super::files::{self, with_ending};
use crate::process::failure::Failure;
use crate::process::{output, timestamp};

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

pub(crate) fn run(arguments: &ExportArguments) -> Result<(), Failure> {
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
        None => output::say(exported.text.trim_end()),
    }
    for note in &exported.notes {
        output::note(note);
    }
    match (arguments.to, &side) {
        (Format::Workbench, Some(side)) => {
            output::note(&format!(
                "{} keeps patterns, counts and everything else that the document cannot hold; `keywright model import` reads it.",
                side.display()
            ));
            Ok(())
        }
        (Format::Workbench, None) => {
            output::note(&left_out(&made));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Rejects options that the chosen format does not have.
fn refuse_idle(arguments: &ExportArguments) -> Result<(), Failure> {
    let template = arguments.to == Format::CloudFormation;
    if arguments.json && !template {
        return Err(Failure::new("--json needs `--to cloudformation`; the other formats have one form each"));
    }
    if !arguments.regions.is_empty() && !template {
        return Err(Failure::new(
            "--regions needs `--to cloudformation`; for the other formats set `replicas` in the model",
        ));
    }
    if (arguments.base.is_some() || arguments.no_base) && arguments.to != Format::Workbench {
        return Err(Failure::new("--base and --no-base need `--to workbench`"));
    }
    Ok(())
}

fn region(text: &str) -> Result<String, String> {
    if RegionName::is_of_aws(text) {
        Ok(text.to_owned())
    } else {
        Err("a region has the form eu-west-1".to_owned())
    }
}

fn target(arguments: &ExportArguments, made: &Model) -> Result<Target, Failure> {
    let resource = match arguments.regions.as_slice() {
        [] => Resource::AsModelled,
        regions => Resource::GlobalTable(regions.to_vec()),
    };
    Ok(match arguments.to {
        Format::Workbench => {
            Target::Workbench { base: base(arguments, made)?, written: timestamp::of_workbench() }
        }
        Format::CreateTable => Target::CreateTable,
        Format::Cli => Target::AwsCli,
        Format::CloudFormation if arguments.json => Target::CloudFormationJson(resource),
        Format::CloudFormation => Target::CloudFormationYaml(resource),
    })
}

fn base(arguments: &ExportArguments, made: &Model) -> Result<Option<Document>, Failure> {
    let parsed =
        |path: &Path| Document::parse(&files::read(path)?).map_err(|faults| files::faults(path, &faults));
    if let Some(path) = &arguments.base {
        return parsed(path).map(Some).map_err(Failure::from);
    }
    let path = with_ending(&arguments.model, "workbench.json");
    if arguments.no_base || !path.exists() {
        return Ok(None);
    }
    let document = parsed(&path)?;
    let draft = document.read_all().draft;
    let tables: Vec<&str> = draft.tables.iter().map(|table| table.definition.name.as_str()).collect();
    if let Some(other) = files::another(made, &draft.name, &tables) {
        return Err(Failure::new(format!(
            "{path} next to {model} belongs to another model ({other}): pass --base {path} to use it anyway, or --no-base to ignore it",
            path = path.display(),
            model = arguments.model.display()
        )));
    }
    output::note(&format!(
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
