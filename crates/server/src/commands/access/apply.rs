//! `keywright access apply`: makes the users and policies of a running server as a file says.

use std::path::PathBuf;

use clap::Args;
use keywright_access::file::{Prune, plan};

use crate::access::{account, apply, iam, read};
use crate::client::confirm::{confirm, confirm_always};
use crate::client::endpoint::block_on;
use crate::client::endpoint_arguments::EndpointArguments;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;

/// Make users, groups, roles and policies as a file says
///
/// Shows each change. What the file does not name stays, unless --prune is given. The keys need the rights of
/// IAM that the changes need; root keys have all.
#[derive(Debug, Args)]
pub(super) struct ApplyArguments {
    /// The access file: JSON with users, groups, roles and policies
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also delete users, groups, roles, policies, keys and tags that the file does not name
    #[arg(long)]
    prune: bool,
    /// Show the changes and make none
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before deleting
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

pub(super) fn run(arguments: &ApplyArguments) -> Result<(), Failure> {
    let file = read(&arguments.file)?;
    let prune = if arguments.prune { Prune::All } else { Prune::Nothing };
    let target = arguments.endpoint.target()?;
    block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        let own = iam::account_of(&mut client).await?;
        let there = account::read(&mut client).await?;
        let steps = plan(&file, &there, &own, prune).map_err(|fault| Failure::new(fault.to_string()))?;
        if steps.is_empty() {
            output::say(&format!("nothing to change: account {own} is as the file says"));
            return Ok(());
        }
        if arguments.dry_run {
            for step in &steps {
                output::say(&format!("would {}", inline(&step.text)));
            }
            output::say(&format!("{} changes, none made", steps.len()));
            return Ok(());
        }
        let steps = apply::with_secrets(steps, &arguments.file)?;
        match prune {
            Prune::All if !arguments.yes => {
                confirm_always(&target, "this deletes what the file does not name")?;
            }
            Prune::All => {}
            Prune::Nothing => confirm(&target, "this changes users and policies")?,
        }
        apply::take(&mut client, &steps, |text| output::say(&inline(text))).await?;
        output::say(&format!("{} changes made in account {own}", steps.len()));
        Ok(())
    })
}
