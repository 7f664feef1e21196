//! `keywright access apply`: makes the users and policies of a running server as a file says.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keywright_access::file::{self, AccessFile, Caller, Principals, Prune, Step, locks_out, plan};
use keywright_engine::built_in_policy;

use crate::access::iam::Identity;
use crate::access::{account, apply, iam, read, secrets};
use crate::client::aws_settings::Target;
use crate::client::confirm::{confirm, confirm_always};
use crate::client::endpoint::{Client, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::counted;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;

/// Make users, groups, roles and policies as a file says
///
/// Shows each change, and what differs from the file and is not changed. What the file does not name stays,
/// unless --prune is given. The keys need the rights of IAM that the changes need; root keys have all. Exit
/// status: 1 if a change fails, or if the secret of a key differs from the file's or could not be read to
/// compare it.
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

/// The exit status if the secret of a key is not known to be the file's.
const SECRETS_DIFFER: u8 = 1;

pub(super) fn run(arguments: &ApplyArguments) -> Result<ExitCode, Failure> {
    let file = read(&arguments.file)?;
    let target = arguments.endpoint.target()?;
    block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        let own = iam::identity_of(&mut client).await?;
        let there = account::read(&mut client).await?;
        let account = &own.account;
        let steps = planned(arguments, &file, &there, (&own, &client))?;
        let secrets = secrets::differing(&client, (&file, &arguments.file), &there).await?;
        let status = if secrets.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(SECRETS_DIFFER) };
        let left = left(arguments, (&file, &there), account, secrets)?;
        if steps.is_empty() && left.is_empty() {
            output::say(&format!("nothing to change: account {account} is as the file says"));
            return Ok(status);
        }
        if steps.is_empty() {
            output::say(&format!(
                "nothing to change in account {account}, though it is not as the file says"
            ));
        } else if arguments.dry_run {
            for step in &steps {
                output::say(&format!("would {}", inline(&step.text)));
            }
            output::say(&format!("{}, none made", changes(&steps)));
        } else {
            let steps = apply::with_secrets(steps, &arguments.file)?;
            confirm_changes(arguments, &target)?;
            apply::take(&mut client, &steps, |text| output::say(&inline(text))).await?;
            output::say(&format!("{} made in account {account}", changes(&steps)));
        }
        for line in &left {
            output::say(&inline(line));
        }
        Ok(status)
    })
}

/// The changes. None of them takes from the user or session that makes them what it needs for them.
fn planned(
    arguments: &ApplyArguments,
    file: &AccessFile,
    there: &Principals,
    (own, client): (&Identity, &Client),
) -> Result<Vec<Step>, Failure> {
    let of = |prune: Prune| {
        plan(file, there, &own.account, prune).map_err(|fault| Failure::new(fault.to_string()))
    };
    let steps = of(if arguments.prune { Prune::All } else { Prune::Nothing })?;
    let caller = Caller {
        account: &own.account,
        arn: &own.arn,
        key: client.access_key_id(),
        has_certificate: arguments.endpoint.has_certificate(),
    };
    let Some(lockout) = locks_out(&steps, there, caller, &built_in_policy) else { return Ok(steps) };
    let what = if of(Prune::Nothing)?.contains(lockout.step) { "the file" } else { "--prune" };
    Err(Failure::new(format!(
        "{what} would {}, and nothing is changed: let the file give what the caller needs, or use a root key or the key \
         of an administrator whom the file keeps",
        inline(&lockout.to_string())
    )))
}

/// What differs from the file and is not changed, for people.
fn left(
    arguments: &ApplyArguments,
    (file, there): (&AccessFile, &Principals),
    account: &str,
    secrets: Vec<String>,
) -> Result<Vec<String>, Failure> {
    let mut left: Vec<String> = secrets.into_iter().map(|text| format!("not changed: {text}")).collect();
    if !arguments.prune {
        let kept = file::left(file, there, account).map_err(|fault| Failure::new(fault.to_string()))?;
        left.extend(kept.into_iter().map(|text| format!("only with --prune: {text}")));
    }
    Ok(left)
}

fn confirm_changes(arguments: &ApplyArguments, target: &Target) -> Result<(), Failure> {
    match (arguments.prune, arguments.yes) {
        (true, false) => confirm_always(target, "this deletes what the file does not name"),
        (true, true) => Ok(()),
        (false, _) => confirm(target, "this changes users and policies"),
    }
}

fn changes(steps: &[Step]) -> String {
    counted(u64::try_from(steps.len()).unwrap_or(u64::MAX), "change")
}
