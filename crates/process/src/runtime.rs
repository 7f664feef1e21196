//! A runtime for commands that do one thing at a time.

use crate::failure::Failure;

/// Runs the work of a command that waits for the network, on this thread.
pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(work)
}
