//! `keywright credentials`: adds, lists and removes the access keys of a file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::http::credentials::{self, CredentialFile, Purpose};
use crate::process::failure::Failure;
use crate::process::output;

#[derive(Debug, Args)]
pub(crate) struct CredentialArguments {
    /// File that holds the keys; pass the same file to `serve --credentials`
    #[arg(
        long,
        value_name = "FILE",
        env = "KEYWRIGHT_CREDENTIALS",
        default_value = "keywright-credentials.toml",
        global = true
    )]
    file: PathBuf,
    #[command(subcommand)]
    action: CredentialAction,
}

#[derive(Debug, Subcommand)]
enum CredentialAction {
    /// Create an access key, add it to the file and print it. The secret is not shown again.
    Add {
        /// 12-digit account whose tables the key can use
        #[arg(long, default_value = "123456789012")]
        account: String,
        /// What the key is for, instead of requests of clients
        #[arg(long = "for", value_name = "PURPOSE")]
        purpose: Option<Purpose>,
    },
    /// List the access keys and their accounts, without their secrets.
    List,
    /// Remove an access key.
    Remove {
        /// Id of the access key to remove
        access_key_id: String,
    },
}

pub(crate) fn run(arguments: &CredentialArguments) -> Result<(), Failure> {
    let path = &arguments.file;
    match &arguments.action {
        CredentialAction::Add { account, purpose } => {
            let added = CredentialFile::add(path, account, *purpose)?;
            output::note(&credentials::describe_added(&added, path));
            output::say(&credentials::exports(&added));
        }
        CredentialAction::List => {
            let file = CredentialFile::read(path)?;
            for line in file.lines() {
                output::say(&line);
            }
        }
        CredentialAction::Remove { access_key_id } => {
            CredentialFile::remove(path, access_key_id)?;
            output::say(&format!("removed {access_key_id} from {}", path.display()));
        }
    }
    Ok(())
}
