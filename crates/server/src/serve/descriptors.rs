//! File descriptors: raises the limit and divides it between the store and the connections.
//!
//! A store that gets no descriptor fails for good; a connection that gets none waits. The store comes first.

use crate::limits::{
    CONNECTIONS_AHEAD_MAX, CONNECTIONS_MIN, PROCESS_FILES, STORE_FILES_MAX, STORE_FILES_SHARE,
    STORE_SPARE_FILES,
};
use crate::process::failure::Failure;

/// Where data is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataIn {
    Files,
    Memory,
}

/// How the descriptors are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Table files that the store may keep open for reading.
    pub(crate) store_files_max: usize,
    pub(crate) connections_max: usize,
}

/// Raises the limit of this process to the system's maximum and divides it.
pub(crate) fn share(data_in: DataIn, connections_wanted: usize) -> Result<Shares, Failure> {
    let limit = raise_limit();
    let shares = shares(usize::try_from(limit).unwrap_or(usize::MAX), data_in, connections_wanted)?;
    if shares.connections_max < connections_wanted {
        tracing::warn!(
            "{limit} open files allow {} connections instead of {connections_wanted}: raise the limit (ulimit -n)",
            shares.connections_max
        );
    }
    Ok(shares)
}

/// The number of files that this process may open, after raising it to the system's maximum.
#[cfg(unix)]
fn raise_limit() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the number of open files");
        rlimit::Resource::NOFILE.get_soft().unwrap_or(u64::MAX)
    })
}

/// Windows has no such limit for sockets.
#[cfg(not(unix))]
fn raise_limit() -> u64 {
    u64::MAX
}

fn shares(limit: usize, data_in: DataIn, connections_wanted: usize) -> Result<Shares, Failure> {
    let (store_files_max, spare) = match data_in {
        DataIn::Files => (STORE_FILES_MAX.min(limit / STORE_FILES_SHARE), STORE_SPARE_FILES),
        DataIn::Memory => (0, 0),
    };
    let reserved = store_files_max + spare + PROCESS_FILES + CONNECTIONS_AHEAD_MAX;
    let connections_max = connections_wanted.min(limit.saturating_sub(reserved));
    if connections_max < CONNECTIONS_MIN.min(connections_wanted) {
        return Err(Failure::new(format!(
            "this process may open {limit} files, and {reserved} of them are needed for the data: raise the limit \
             (ulimit -n) to at least {}",
            2 * (STORE_SPARE_FILES + PROCESS_FILES + CONNECTIONS_AHEAD_MAX + CONNECTIONS_MIN)
        )));
    }
    Ok(Shares { store_files_max, connections_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_get_what_the_store_leaves() {
        let of =
            |limit, data_in| shares(limit, data_in, 10_000).map(|s| (s.store_files_max, s.connections_max));
        assert_eq!(of(1 << 20, DataIn::Files), Ok((900, 10_000)));
        assert_eq!(of(4_096, DataIn::Files), Ok((900, 4_096 - 900 - 292)));
        assert_eq!(of(1_024, DataIn::Files), Ok((256, 1_024 - 256 - 292)));
        assert_eq!(of(1_024, DataIn::Memory), Ok((0, 1_024 - 192)));
        assert_eq!(of(472, DataIn::Files).map(|(_, connections)| connections >= CONNECTIONS_MIN), Ok(true));
        assert!(of(256, DataIn::Files).unwrap_err().to_string().contains("ulimit -n"));
        assert_eq!(shares(1 << 20, DataIn::Files, 3).map(|s| s.connections_max), Ok(3));
    }
}
