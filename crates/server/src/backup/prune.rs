//! `keywright backup prune`: removes backups that are too old, or one, and never one that another needs.

use clap::{ArgGroup, Args};
use keywright_archive::{Keep, Place, Plan, plan, plan_of_id};

use super::place::{self, PlaceArguments, failure, unknown};
use crate::client::time_argument::period;
use crate::process::failure::Failure;
use crate::process::runtime::block_on;
use crate::process::{environment, output};

/// Remove backups that are too old, or one of them
///
/// A backup on which an increment that stays builds stays too, and so does the newest of each table that can
/// be restored. What a stopped writer has left goes once it is a day old.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true),
    override_usage = "keywright backup prune [OPTIONS] <FROM> <ID|--keep <PERIOD>>"
)]
pub(crate) struct PruneArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Remove this backup, of all its tables
    #[arg(group = "what")]
    id: Option<String>,
    /// Remove backups that are older than this, such as 7d or 12h
    #[arg(long, value_name = "PERIOD", value_parser = period, group = "what")]
    keep: Option<u64>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(arguments: &PruneArguments) -> Result<(), Failure> {
    let place = arguments.place.open()?;
    let plan = block_on(prune(&place, arguments))?;
    let removed = if arguments.dry_run { "would remove" } else { "removed" };
    for path in &plan.backups {
        output::say(&format!("{removed} {path}"));
    }
    for path in &plan.needed {
        output::say(&format!(
            "kept {path}: an increment that stays builds on it, or it is the newest of its table"
        ));
    }
    for path in &plan.unreadable {
        output::say(&format!(
            "kept all of {}/{}: what {path} builds on cannot be read",
            path.scope(),
            path.table()
        ));
    }
    if plan.backups.is_empty() {
        output::say("nothing is to be removed");
    }
    Ok(())
}

async fn prune(place: &Place, arguments: &PruneArguments) -> Result<Plan, Failure> {
    let listing = place::list(place).await?;
    let plan = match (&arguments.id, arguments.keep) {
        (Some(id), _) => plan_of_id(&listing, id).map_err(|child| {
            Failure::new(format!("cannot remove backup {id}: {child} is an increment on it"))
                .advising("remove that one first")
        })?,
        (None, keep) => {
            let for_ms = keep.ok_or("name a backup, or write --keep PERIOD")?;
            plan(&listing, Keep { for_ms }, environment::now().0)
        }
    };
    if let Some(id) = &arguments.id
        && plan.backups.is_empty()
    {
        return Err(unknown(id, &arguments.place.from));
    }
    if !arguments.dry_run {
        plan.apply(place).await.map_err(|fault| failure(&fault))?;
    }
    Ok(plan)
}
