//! The `keywright` binary: the program of the library with its allocator.

use std::process::ExitCode;

/// A request makes about forty small allocations and a batch several hundred. Allocation is the second
/// largest part of a request's cost.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    keywright::run()
}
