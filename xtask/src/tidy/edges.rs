//! Which crates of the workspace may depend on which.

use std::collections::BTreeMap;
use std::path::Path;

use super::{folders, read};

/// Which workspace crates each crate may depend on, in shipped code. Anything else is an error.
const EDGES: &[(&str, &[&str])] = &[
    ("keywright-access", &["keywright-semantics"]),
    ("keywright-archive", &["keywright-encryption", "keywright-objects"]),
    (
        "keywright-bench",
        &[
            "keywright-process",
            "keywright-semantics",
            "keywright-store",
            "keywright-store-local",
            "keywright-wire",
        ],
    ),
    ("keywright-connection", &["keywright-process", "keywright-semantics"]),
    (
        "keywright-designer",
        &["keywright-exchange", "keywright-model", "keywright-semantics", "keywright-workbench"],
    ),
    ("keywright-encryption", &[]),
    ("keywright-engine", &["keywright-access", "keywright-semantics", "keywright-store"]),
    ("keywright-exchange", &["keywright-model", "keywright-semantics"]),
    ("keywright-hot", &["keywright-engine", "keywright-server", "keywright-store", "keywright-wire"]),
    ("keywright-model", &["keywright-semantics"]),
    ("keywright-objects", &[]),
    ("keywright-process", &["keywright-wire"]),
    ("keywright-semantics", &[]),
    (
        "keywright-server",
        &[
            "keywright-access",
            "keywright-archive",
            "keywright-bench",
            "keywright-connection",
            "keywright-designer",
            "keywright-encryption",
            "keywright-engine",
            "keywright-exchange",
            "keywright-model",
            "keywright-objects",
            "keywright-process",
            "keywright-semantics",
            "keywright-store",
            "keywright-store-local",
            "keywright-store-postgres",
            "keywright-store-tikv",
            "keywright-studio",
            "keywright-wire",
            "keywright-workbench",
        ],
    ),
    ("keywright-store", &[]),
    ("keywright-store-local", &["keywright-encryption", "keywright-store"]),
    ("keywright-store-postgres", &["keywright-store"]),
    ("keywright-store-tikv", &["keywright-store"]),
    (
        "keywright-studio",
        &[
            "keywright-connection",
            "keywright-designer",
            "keywright-engine",
            "keywright-exchange",
            "keywright-model",
            "keywright-process",
            "keywright-semantics",
            "keywright-wire",
            "keywright-workbench",
        ],
    ),
    ("keywright-wire", &["keywright-semantics"]),
    (
        "keywright-workbench",
        &["keywright-engine", "keywright-model", "keywright-semantics", "keywright-store"],
    ),
];

/// Every crate's shipped dependencies on its siblings must be in `EDGES`.
pub(super) fn check(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let allowed: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    for folder in folders(&root.join("crates"))? {
        let manifest: toml::Table = read(&folder.join("Cargo.toml"))?
            .parse()
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(toml::Value::as_str)
            .unwrap_or_default();
        let Some(edges) = allowed.get(name) else {
            faults.push(format!("crate {name} has no line in the edge list of xtask/src/tidy/edges.rs"));
            continue;
        };
        let Some(dependencies) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
            continue;
        };
        for dependency in dependencies.keys().filter(|key| key.starts_with("keywright-")) {
            if !edges.contains(&dependency.as_str()) {
                faults.push(format!("crate {name} must not depend on {dependency}"));
            }
        }
    }
    Ok(())
}
