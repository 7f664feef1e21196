//! `keywright model design`: finds the cheapest keys for a model's entities and patterns, and runs them as a
//! proof.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keywright_designer::design::{
    Billed, KeyStyle, NoChoice, Prefixes, Stage, Wanted, check_design, choose, try_out,
};

use super::files::Source;
use super::{cost, files};
use crate::client::progress::{Spinner, during};
use crate::process::failure::Failure;
use crate::process::output;

/// Find the cheapest keys and indexes, with proof
///
/// Every pattern is answered with one request. Shows why fewer indexes are not enough, and runs the design on
/// generated items. Entities need a count and `unique` (or keys), patterns a rate.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
    /// Prefixes of keys: `short` ones, which every item stores, or `readable` whole words
    #[arg(long, value_name = "PREFIXES", default_value = "short")]
    keys: Keys,
    /// Make no multi-attribute index keys; writers then set one key attribute made of several values
    #[arg(long)]
    no_multi_attribute_keys: bool,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keys {
    Short,
    Readable,
}

pub(crate) fn run(arguments: &DesignArguments) -> Result<(), Failure> {
    let source = Source::read(&arguments.model)?;
    let wanted = Wanted {
        table: arguments.table.as_deref(),
        indexes: usize::from(arguments.indexes),
        keep: arguments.keep,
        explain: arguments.explain,
        style: KeyStyle {
            prefixes: match arguments.keys {
                Keys::Short => Prefixes::Short,
                Keys::Readable => Prefixes::Readable,
            },
            multi_attribute: !arguments.no_multi_attribute_keys,
        },
    };
    let designed = designed(&source, &wanted, arguments.prices.as_deref(), &mut |part| output::say(part))?;
    if let Some(output) = &arguments.output {
        designed.billed.notices.iter().for_each(|notice| output::say(notice));
        if has_comments(&arguments.model)? {
            output::say("The written model does not keep the comments of the original.");
        }
        files::write(output, &designed.billed.text, arguments.force)?;
    }
    designed.fault.map_or(Ok(()), |fault| Err(Failure::new(fault)))
}

/// A design, run and checked.
pub(crate) struct Designed {
    /// The model with its keys.
    pub(crate) billed: Billed,
    /// What is left open: what did not behave as predicted, or could not be run.
    pub(crate) fault: Option<String>,
}

/// Designs keys, runs them as a proof and checks them; says each part when it is known.
pub(crate) fn designed(
    source: &Source,
    wanted: &Wanted<'_>,
    prices: Option<&str>,
    say: &mut dyn FnMut(&str),
) -> Result<Designed, Failure> {
    let original = &source.model;
    let prices = cost::prices_of(source, prices)?;
    let read_file = |name: &str| source.read_file(name);
    let spinner = Spinner::new();
    let choice = choose(original, wanted, &prices, &read_file, &mut |stage| spinner.show(&named(stage)));
    drop(spinner);
    let choice = choice.map_err(|reason| match reason {
        NoChoice::Faults(faults) => source.faults(&faults),
        other => other.to_string(),
    })?;
    say(&choice.text(original, &prices));

    let model = &choice.billed.model;
    let mut open = Vec::new();
    match during("running the design", || try_out(model)) {
        Ok(trial) => {
            say(&format!("\n{}", trial.text()));
            open.extend((!trial.agrees()).then(|| "the design does not behave as predicted".to_owned()));
        }
        Err(faults) => {
            open.push(format!("the design cannot be run on generated items: {}", source.faults(&faults)));
        }
    }
    match during("checking the design", || check_design(model, &read_file)) {
        Ok(checked) => {
            checked.lines().iter().for_each(|line| say(line));
            open.extend(checked.fault());
        }
        Err(faults) => open.push(format!("the design cannot be checked: {}", source.faults(&faults))),
    }
    let fault = (!open.is_empty()).then(|| open.join("\n"));
    Ok(Designed { billed: choice.billed, fault })
}

fn named(stage: Stage<'_>) -> String {
    match stage {
        Stage::Solving(table) => format!("designing the keys of {table}"),
        Stage::Metering => "metering the design".to_owned(),
        Stage::MeteringAlternatives => "metering the alternatives".to_owned(),
        Stage::Explaining => "designing without each pattern".to_owned(),
    }
}

/// Whether a model's file has comments, which the parsed model does not have. Standard input cannot be read
/// again.
fn has_comments(path: &Path) -> Result<bool, Failure> {
    let is_comment = |line: &str| line.trim_start().starts_with('#') || line.contains(" # ");
    Ok(path != Path::new("-") && files::read(path)?.lines().any(is_comment))
}
