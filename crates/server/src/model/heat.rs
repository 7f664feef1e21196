//! `keywright model heat`: how many shards a rate of writes on one key needs.

use clap::Args;
use keywright_workbench::heat::shards_for_writes;

use crate::banner;

/// Says over how many partition keys so many writes a second must be spread: one key sustains 1000 write units.
#[derive(Debug, Args)]
pub(crate) struct HeatArguments {
    /// Write units a second on one key at the peak
    #[arg(long, value_name = "UNITS")]
    writes: u64,
}

pub(crate) fn run(arguments: &HeatArguments) {
    let shards = shards_for_writes(arguments.writes);
    banner::say(&format!("{} write units a second on one key need {shards} shards.", arguments.writes));
}
