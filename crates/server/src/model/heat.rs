//! `keywright model heat`: the load of a model's busiest partition keys, and the number of shards that a
//! write rate needs.

use std::path::PathBuf;

use clap::Args;
use keywright_workbench::heat::{json, markdown, of_model, of_writes, of_writes_json, text};

use super::cost;
use super::files::Source;
use super::format::{Format, one_of};
use crate::process::failure::Failure;
use crate::process::output;

/// Find partition keys that are too busy
///
/// Shows the peak load of the busiest key of each table and index, compared with the 1000 write and 3000 read
/// units per second of a partition, and over how many shards it must be spread; or the shards that a write
/// rate needs.
#[derive(Debug, Args)]
pub(crate) struct HeatArguments {
    /// The model file
    #[arg(required_unless_present = "writes")]
    model: Option<PathBuf>,
    /// Without a model: print the shards needed for this many write units per second on one key
    #[arg(long, value_name = "UNITS", conflicts_with = "model")]
    writes: Option<u64>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json, Format::Markdown]))]
    format: Format,
}

pub(crate) fn run(arguments: &HeatArguments) -> Result<(), Failure> {
    if let Some(writes) = arguments.writes {
        let printed =
            if arguments.format == Format::Json { of_writes_json(writes) } else { of_writes(writes) };
        output::say(printed.trim_end());
    }
    let Some(path) = &arguments.model else { return Ok(()) };
    let source = Source::read(path)?;
    let measured = cost::measured(&source)?;
    let model = &source.model;
    let keys = of_model(model, &measured.report);
    let silent: Vec<&str> =
        model.patterns.iter().filter(|own| own.rate.is_none()).map(|own| own.id.as_str()).collect();
    let printed = match arguments.format {
        Format::Json => json(&model.name, &keys, &silent),
        Format::Markdown => markdown(&model.name, &keys),
        Format::Text | Format::Junit => text(&keys),
    };
    output::say(printed.trim_end());
    if !silent.is_empty() && arguments.format != Format::Json {
        output::say(&format!("\nNot counted, because they have no rate: {}.", silent.join(", ")));
    }
    Ok(())
}
