//! `keywright model import`: creates a model file from a file of another tool, or from live tables.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_exchange::cloudformation::Parameters;
use keywright_exchange::fault::ExchangeFault;
use keywright_exchange::import::{FORMATS, Source, import_with, takes_a_side};
use keywright_exchange::live;
use keywright_exchange::workbench_json::Document;
use keywright_model::{self as model, Model};

use super::fetch;
use super::files::{self, with_ending};
use crate::client::aws_settings;
use crate::client::endpoint::{Credentials, Endpoint};
use crate::process::failure::Failure;
use crate::process::output;

/// Create a model file from a document or from live tables
///
/// Reads a NoSQL Workbench document, CreateTable or DescribeTable JSON, a CloudFormation or SAM template, or
/// the tables of a live endpoint.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct ImportArguments {
    /// The file to read; `-` reads standard input
    #[arg(conflicts_with = "endpoint")]
    file: Option<PathBuf>,
    /// Describe and sample the tables of this endpoint, such as `http://localhost:8000` [default without FILE:
    /// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// Only these tables of the endpoint
    #[arg(long = "table", value_name = "NAME", conflicts_with = "file")]
    tables: Vec<String>,
    /// Number of items to sample from each table; Scan reads them and costs read units
    #[arg(long, value_name = "ITEMS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=100_000), conflicts_with = "file")]
    sample: u64,
    #[command(flatten)]
    credentials: Credentials,
    /// Write the model here [default: standard output]
    #[arg(short, long, value_name = "MODEL")]
    output: Option<PathBuf>,
    /// Name of the model, if the source has none [default: the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Take patterns, counts and everything else that a NoSQL Workbench document cannot hold from this model
    /// [default: FILE.keywright.yaml next to the document, as `export` writes it]
    #[arg(long, value_name = "MODEL", conflicts_with = "endpoint")]
    side: Option<PathBuf>,
    /// The value of a parameter of a CloudFormation template; a parameter without a value and a default is
    /// assumed and reported. Repeat it for several
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter, conflicts_with = "endpoint")]
    parameters: Vec<(String, String)>,
    /// Do not look for a model next to the document
    #[arg(long, conflicts_with_all = ["side", "endpoint"])]
    no_side: bool,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

/// `NAME=VALUE`; the value can have further signs of equality.
fn parameter(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("write NAME=VALUE, such as Stage=prod")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(crate) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.file {
        return import_file(arguments, file);
    }
    match aws_settings::endpoint(arguments.endpoint.as_ref())? {
        Some(target) => import_live(arguments, &target.endpoint),
        None => Err(Failure::new(
            "name a file, or pass --endpoint, for example --endpoint http://localhost:8000 (see `keywright model import --help`)",
        )),
    }
}

fn import_file(arguments: &ImportArguments, file: &Path) -> Result<(), Failure> {
    let text = files::read(file).map_err(|fault| unreadable(file, fault.into()))?;
    let parameters = parameters(arguments)?;
    let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-").unwrap_or("model");
    let name = arguments.name.as_deref().unwrap_or(stem);
    let side = side(arguments, file, &text)?;
    let imported = import_with(name, &text, side.as_ref(), &parameters)
        .map_err(|faults| files::faults(file, &faults))?;
    let base = match (&imported.source, &arguments.output) {
        (Source::Workbench(_), Some(output)) => Some(with_ending(output, "workbench.json")),
        _ => None,
    };
    let base = base.filter(|base| !same_file(base, file));
    for path in arguments.output.iter().chain(&base) {
        files::may_write(path, arguments.force)?;
    }
    for note in &imported.notes {
        output::note(note);
    }
    let kept = match (imported.source, base) {
        (Source::Workbench(document), Some(base)) => Some((base, format!("{}\n", document.to_text()))),
        _ => None,
    };
    write_model(
        arguments,
        &imported.model,
        kept.as_ref().map(|(base, text)| (base.as_path(), text.as_str())),
    )?;
    if let Some((base, _)) = kept {
        output::note(&format!(
            "{} keeps the content that the model cannot hold; `keywright model export --to workbench` restores it.",
            base.display()
        ));
    }
    Ok(())
}

/// The given values of parameters, each once.
fn parameters(arguments: &ImportArguments) -> Result<Parameters, Failure> {
    let mut found = Parameters::new();
    for (name, value) in &arguments.parameters {
        if found.insert(name.clone(), value.clone()).is_some() {
            return Err(Failure::new(format!("--parameter {name} is given twice")));
        }
    }
    Ok(found)
}

/// Why a file is not read; of one that is there and holds no text, also what is read.
fn unreadable(file: &Path, fault: String) -> String {
    if file.is_file() && std::fs::File::open(file).is_ok() {
        return format!("{fault}; import reads {FORMATS}");
    }
    fault
}

/// The model that holds what a Workbench document cannot. An unreadable model that was found by its name is
/// skipped with a note. One of another design is an error, because nobody would notice the mix.
fn side(arguments: &ImportArguments, file: &Path, text: &str) -> Result<Option<Model>, Failure> {
    if let Some(path) = &arguments.side {
        if !takes_a_side(text) {
            return Err(Failure::new(format!(
                "--side needs a NoSQL Workbench document; {} is not one, and its entities would have to be those of {}",
                file.display(),
                path.display()
            )));
        }
        return files::read_model(path).map(Some);
    }
    let path = with_ending(file, "keywright.yaml");
    if arguments.no_side || !path.exists() || !takes_a_side(text) {
        return Ok(None);
    }
    match files::read_model(&path) {
        Ok(model) => {
            let document = Document::parse(text).map_err(|faults| files::faults(file, &faults))?;
            let draft = document.read_all().draft;
            let tables: Vec<&str> = draft.tables.iter().map(|table| table.definition.name.as_str()).collect();
            if let Some(other) = files::another(&model, &draft.name, &tables) {
                return Err(Failure::new(format!(
                    "{path} next to {file} belongs to another model ({other}): pass --side {path} to use it anyway, or --no-side to ignore it",
                    path = path.display(),
                    file = file.display()
                )));
            }
            output::note(&format!(
                "Patterns, counts and the like are taken from {} (--no-side ignores it).",
                path.display()
            ));
            Ok(Some(model))
        }
        Err(fault) => {
            output::note(&format!("{} is ignored: {fault}", path.display()));
            Ok(None)
        }
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other
        || one.canonicalize().ok().is_some_and(|path| other.canonicalize().is_ok_and(|other| path == other))
}

fn import_live(arguments: &ImportArguments, endpoint: &Endpoint) -> Result<(), Failure> {
    let fetched = fetch::tables(endpoint, &arguments.credentials, &arguments.tables, arguments.sample)?;
    if fetched.is_empty() {
        return Err(Failure::new(format!("{endpoint} has no tables")));
    }
    let name = arguments.name.as_deref().unwrap_or("imported");
    let joined = |faults: Vec<ExchangeFault>| {
        let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
        messages.join("\n")
    };
    let made = live::import(name, &fetched).map_err(joined)?;
    for note in &made.notes {
        output::note(note);
    }
    write_model(arguments, &made.model, None)
}

/// Writes the model and the Workbench document that goes with it.
fn write_model(
    arguments: &ImportArguments,
    made: &Model,
    second: Option<(&Path, &str)>,
) -> Result<(), Failure> {
    let text = model::write(made);
    let Some(path) = &arguments.output else {
        output::say(text.trim_end());
        return Ok(());
    };
    let together: Vec<(&Path, &str)> =
        std::iter::once((path.as_path(), text.as_str())).chain(second).collect();
    files::write_all(&together, arguments.force)?;
    let entities: Vec<&str> = made.entities.iter().map(|entity| entity.name.as_str()).collect();
    output::note(&format!(
        "{}: {}, {} ({}). Add access patterns with their rates, then run `keywright model check {}`.",
        path.display(),
        counted(made.tables.len(), "table", "tables"),
        counted(entities.len(), "entity", "entities"),
        entities.join(", "),
        model::shell::word(&path.to_string_lossy())
    ));
    Ok(())
}

fn counted(number: usize, one: &str, several: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {several}") }
}
