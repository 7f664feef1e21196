//! `keywright access export`: the users and policies of a running server as an access file.

use clap::Args;

use crate::access::{account, iam};
use crate::client::endpoint::block_on;
use crate::client::endpoint_arguments::EndpointArguments;
use crate::process::failure::Failure;
use crate::process::output;

/// Print users, groups, roles and policies as an access file
///
/// Secrets of access keys cannot be read: the file names the keys alone. To apply it to another server, say
/// where their secrets are, or remove the keys.
#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    endpoint: EndpointArguments,
}

pub(super) fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    let file = block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        let own = iam::account_of(&mut client).await?;
        let there = account::read(&mut client).await?;
        Ok(account::exported(&own, there))
    })?;
    output::say(file.text().trim_end());
    Ok(())
}
