//! `keywright bench`: what the load generator gets of this program.

use std::path::Path;

use keywright_store_local::{LocalOptions, LocalStore};

use crate::bench::{BenchArguments, Settings, run as run_bench};
use crate::client::aws_settings;
use crate::client::confirm::confirm;
use crate::process::failure::Failure;
use crate::settings::config::DEFAULT_CACHE_BYTES;
use crate::storage::backend::unopened;

pub(crate) fn run(arguments: &BenchArguments) -> Result<(), Failure> {
    run_bench(arguments, &OfUser)
}

/// The settings that the user has for the AWS tools, and a store as `serve` opens it.
struct OfUser;

impl Settings for OfUser {
    fn endpoint(&self) -> Result<Option<String>, Failure> {
        Ok(aws_settings::endpoint(None)?.map(|target| target.endpoint.to_string()))
    }

    fn region(&self, flag: Option<&str>) -> Result<String, Failure> {
        aws_settings::region(flag)
    }

    fn confirm(&self, change: &str) -> Result<(), Failure> {
        aws_settings::endpoint(None)?.map_or(Ok(()), |target| confirm(&target, change))
    }

    fn bare_store(&self, folder: &Path) -> Result<LocalStore, Failure> {
        let options = LocalOptions { cache_bytes: DEFAULT_CACHE_BYTES, ..LocalOptions::default() };
        LocalStore::open(folder, options)
            .map_err(|fault| Failure::new(unopened("bare store", folder, &fault)))
    }
}
