//! Files of users: applied to a server's account, and made of it.
//!
//! - `iam`: calls of IAM, to the engine of this process or to an endpoint.
//! - `account`: what an account has, by such calls. `apply`: makes it as a file says. `secrets`: which
//!   secrets of a file differ. `start`: applies a file before a server listens.
//! - `scene`: one request with the policies that bind it, to explain.
//!
//! What a file says and which calls make an account so is the crate `access`'s.

pub(crate) mod account;
pub(crate) mod apply;
pub(crate) mod iam;
pub(crate) mod scene;
pub(crate) mod secrets;
pub(crate) mod start;

use std::path::Path;

use keywright_access::file::AccessFile;

use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// Reads a file of users.
pub(crate) fn read(path: &Path) -> Result<AccessFile, Failure> {
    let text = std::fs::read_to_string(path).map_err(failed("read the access file", path))?;
    AccessFile::parse(&text)
        .map_err(|fault| Failure::new(format!("the access file {} is not valid: {fault}", path.display())))
}
