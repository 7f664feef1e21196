//! What `docker build` makes the image of: Dockerfile, compose file and an empty folder, next to the binary.
//! They stand in a folder of their own and in the archive.

use std::fs;
use std::path::PathBuf;

use super::Dist;
use super::tarball::Entry;

/// Files of the repository's `packaging/docker`.
const FILES: [&str; 3] = ["Dockerfile", "compose.yaml", ".dockerignore"];
/// The folder that the image gets as its `/data`.
const EMPTY: &str = "empty";

/// The files for the archive; none if its binary needs libraries that the image does not have.
pub(super) fn entries(dist: &Dist) -> Result<Vec<Entry>, String> {
    if !dist.binary.is_static {
        return Ok(Vec::new());
    }
    let files =
        FILES.iter().map(|name| Ok(Entry::file(name, dist.source(&format!("packaging/docker/{name}"))?)));
    files.chain([Ok(Entry::folder(EMPTY))]).collect()
}

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    if !dist.binary.is_static {
        return Err(format!(
            "{} needs libraries that an image FROM scratch does not have: leave --binary out, or name the other parts",
            dist.binary.path.display()
        ));
    }
    let folder = dist.output.join("docker");
    let explain = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    fs::create_dir_all(folder.join(EMPTY)).map_err(explain)?;
    for name in FILES {
        fs::write(folder.join(name), dist.source(&format!("packaging/docker/{name}"))?).map_err(explain)?;
    }
    // A copy keeps the mode.
    fs::copy(&dist.binary.path, folder.join("keywright")).map_err(explain)?;
    Ok(vec![folder])
}
