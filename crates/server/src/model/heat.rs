//! `keywright model heat`: what the busiest partition keys of a model receive, and how many shards a rate of writes needs.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_workbench::heat::{HotKey, Verdict, of_model, shards_for_writes};
use keywright_workbench::run::run as execute;

use super::progress::during;
use super::{cost, files};
use crate::banner;

/// Says what the busiest key of each table and index receives at the peak, of the 1000 write and 3000 read units a second
/// that a partition gives, and over how many shards it must be spread; or the shards that a rate of writes needs.
#[derive(Debug, Args)]
pub(crate) struct HeatArguments {
    /// The model file
    #[arg(required_unless_present = "writes")]
    model: Option<PathBuf>,
    /// No model: only the shards for so many write units a second on one key
    #[arg(long, value_name = "UNITS", conflicts_with = "model")]
    writes: Option<u64>,
}

pub(crate) fn run(arguments: &HeatArguments) -> Result<(), String> {
    if let Some(writes) = arguments.writes {
        let shards = shards_for_writes(writes);
        banner::say(&format!("{writes} write units a second on one key need {shards} shards."));
    }
    let Some(path) = &arguments.model else { return Ok(()) };
    let model = files::read_model(path)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let read_file = |name: &str| files::read(&folder.join(name));
    let ran = during("running the model", || execute(&model, &read_file, &mut |_| {}));
    let report = ran.map_err(|faults| cost::shown(path, &faults))?;
    let keys = of_model(&model, &report);
    banner::say(&text(&keys));
    let silent: Vec<&str> =
        model.patterns.iter().filter(|own| own.rate.is_none()).map(|own| own.id.as_str()).collect();
    if !silent.is_empty() {
        banner::say(&format!("\nWithout a rate, and so not counted: {}.", silent.join(", ")));
    }
    Ok(())
}

fn text(keys: &[HotKey]) -> String {
    let head = format!(
        "{:<24} {:<32} {:>9} {:>9} {:>9} {:>6}  {:<5} shards",
        "of", "partition key", "share", "writes/s", "reads/s", "full", ""
    );
    let mut lines = vec!["The busiest key of each, at the peak:".to_owned(), String::new(), head];
    lines.extend(keys.iter().map(line));
    let unknown: Vec<&HotKey> = keys.iter().filter(|own| own.share_ppm.is_none()).collect();
    if !unknown.is_empty() {
        lines.push(String::new());
    }
    for own in unknown {
        lines.push(format!(
            "How many values `{}` has is not said: write `distinct: 1000` at its attributes in {}.",
            own.key,
            own.entities.join(", ")
        ));
    }
    lines.join("\n")
}

fn line(own: &HotKey) -> String {
    let place =
        own.index.as_ref().map_or_else(|| own.table.clone(), |index| format!("{}.{index}", own.table));
    let Some(share) = own.share_ppm else {
        return format!("{place:<24} {:<32} {:>9}", own.key, "unknown");
    };
    let verdict = match own.heat.verdict() {
        Verdict::Cool => "cool",
        Verdict::Warm => "warm",
        Verdict::Hot => "HOT",
    };
    let shards = if own.needed == own.shards || own.heat.verdict() == Verdict::Cool {
        own.shards.to_string()
    } else {
        format!("{}, needs {}", own.shards, own.needed)
    };
    format!(
        "{place:<24} {:<32} {:>9} {:>9} {:>9} {:>5}%  {verdict:<5} {shards}",
        own.key,
        percent(share),
        own.heat.write_units(),
        own.heat.read_units(),
        own.heat.used_ppm() / 10_000
    )
}

/// Millionths as a percentage of four places.
fn percent(ppm: u64) -> String {
    let text = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}
