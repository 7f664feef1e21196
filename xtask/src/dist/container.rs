//! The folder in which `docker build` makes the image: Dockerfile, compose file, binary.

use std::fs;
use std::path::PathBuf;

use super::Dist;

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    if !dist.binary.is_static {
        return Err(format!(
            "{} needs libraries that an image FROM scratch does not have: leave --binary out, or name the other parts",
            dist.binary.path.display()
        ));
    }
    let folder = dist.output.join("docker");
    let explain = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    fs::create_dir_all(folder.join("data")).map_err(explain)?;
    for name in ["Dockerfile", "compose.yaml"] {
        fs::write(folder.join(name), dist.source(&format!("packaging/docker/{name}"))?).map_err(explain)?;
    }
    // A copy keeps the mode.
    fs::copy(&dist.binary.path, folder.join("keywright")).map_err(explain)?;
    Ok(vec![folder])
}
