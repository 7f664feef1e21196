//! `cargo xtask licences`: the rules of `deny.toml` for licences, wildcards and sources of everything the
//! workspace builds with, on every platform, as cargo-deny checks them.
//!
//! cargo-deny takes minutes to build; its own parser of licence expressions is a small library. It does not
//! know any security advisory: `.ci/deny` asks cargo-deny for those.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

/// The index that `Cargo.lock` names for every package of the public registry.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn run(root: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(root.join("deny.toml"))
        .map_err(|error| format!("licences: cannot read deny.toml: {error}"))?;
    let allowed = allowed(&text)?;
    let metadata = metadata(root)?;
    let packages = metadata.get("packages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if packages.is_empty() {
        return Err("licences: cargo metadata lists no package".to_owned());
    }
    let faults: Vec<String> = packages.iter().flat_map(|package| faults_of(package, &allowed)).collect();
    if faults.is_empty() {
        Ok(format!("licences: {} packages, {} licences allowed", packages.len(), allowed.len()))
    } else {
        Err(faults.join("\n"))
    }
}

/// What `deny.toml` allows.
fn allowed(text: &str) -> Result<Vec<Licensee>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("licences: deny.toml: {error}"))?;
    let names = table.get("licenses").and_then(|part| part.get("allow")).and_then(toml::Value::as_array);
    let names = names.ok_or("licences: deny.toml has no list `allow` in [licenses]")?;
    let parse = |name: &toml::Value| {
        let name = name.as_str().unwrap_or_default();
        Licensee::parse(name).map_err(|error| format!("licences: deny.toml: {name}: {error}"))
    };
    names.iter().map(parse).collect()
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("licences: cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err("licences: cargo metadata failed".to_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("licences: cargo metadata: {error}"))
}

fn faults_of(package: &Value, allowed: &[Licensee]) -> Vec<String> {
    let text = |name: &str| package.get(name).and_then(Value::as_str);
    let name = format!("{} {}", text("name").unwrap_or_default(), text("version").unwrap_or_default());
    let source = text("source");
    let foreign = source.filter(|source| *source != REGISTRY);
    let mut faults = Vec::new();
    faults.extend(foreign.map(|source| format!("{name}: comes from {source}, not from the public registry")));
    faults.extend(unlicensed(text("license"), allowed).map(|fault| format!("{name}: {fault}")));
    faults.extend(
        wildcards(package).iter().map(|other| {
            format!("{name}: takes any version of {other}: state the versions that it works with")
        }),
    );
    faults
}

/// Why a package's licence is not one of the allowed ones.
fn unlicensed(licence: Option<&str>, allowed: &[Licensee]) -> Option<String> {
    let Some(licence) = licence else {
        return Some("its manifest names no licence: use another package".to_owned());
    };
    // Manifests of long ago write a slash for "or".
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Ok(expression) => {
            let is_met = expression.evaluate(|wanted| allowed.iter().any(|one| one.satisfies(wanted)));
            (!is_met).then(|| format!("`{licence}` is not among the licences that deny.toml allows"))
        }
        Err(error) => Some(format!("its licence is not understood: {error}")),
    }
}

/// Dependencies of any version. One on a neighbouring folder has that folder's version, and is fine in what
/// is not published: tests, and crates that are not.
fn wildcards(package: &Value) -> BTreeSet<&str> {
    let is_ours = package.get("source").is_some_and(Value::is_null);
    let is_unpublished = package.get("publish").and_then(Value::as_array).is_some_and(Vec::is_empty);
    let is_wildcard = |dependency: &&Value| {
        let has = |name: &str, value: &str| dependency.get(name).and_then(Value::as_str) == Some(value);
        let is_folder = dependency.get("path").is_some_and(Value::is_string);
        has("req", "*") && !(is_folder && (is_unpublished || has("kind", "dev")))
    };
    let dependencies = package.get("dependencies").and_then(Value::as_array);
    let dependencies = dependencies.filter(|_| is_ours).map_or(&[][..], Vec::as_slice);
    dependencies.iter().filter(is_wildcard).filter_map(|one| one.get("name")?.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ok() -> Vec<Licensee> {
        allowed("[licenses]\nallow = ['MIT', 'ISC', 'Apache-2.0 WITH LLVM-exception']").unwrap()
    }

    #[test]
    fn an_expression_needs_what_it_joins_by_and_and_one_of_what_it_joins_by_or() {
        for (licence, is_allowed) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT AND ISC", true),
            ("(GPL-3.0-only OR MIT) AND ISC", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("MIT AND GPL-3.0-only", false),
            ("GPL-2.0-or-later", false),
            ("my own", false),
        ] {
            assert_eq!(unlicensed(Some(licence), &ok()).is_none(), is_allowed, "{licence}");
        }
        assert!(unlicensed(None, &ok()).unwrap().contains("names no licence"));
    }

    #[test]
    fn sources_other_than_the_public_registry_and_our_folders_are_refused() {
        let faults = |source: Value| {
            faults_of(&json!({"name": "a", "version": "1.0.0", "license": "MIT", "source": source}), &ok())
        };
        assert!(faults(Value::Null).is_empty() && faults(json!(REGISTRY)).is_empty());
        for other in ["git+https://example.com/a", "registry+https://example.com/index"] {
            assert_eq!(faults(json!(other)).len(), 1, "{other}");
        }
    }

    #[test]
    fn wildcards_are_refused_except_for_folders_of_what_is_not_published() {
        let found = |kind: Value, path: Value, publish: Value| {
            let dependency = json!({"name": "b", "req": "*", "kind": kind, "path": path});
            let package = json!({"source": null, "publish": publish, "dependencies": [dependency]});
            wildcards(&package).len()
        };
        assert_eq!(found(Value::Null, Value::Null, Value::Null), 1);
        assert_eq!(found(json!("dev"), Value::Null, Value::Null), 1);
        assert_eq!(found(Value::Null, json!("/b"), Value::Null), 1);
        assert_eq!(found(json!("dev"), json!("/b"), Value::Null), 0);
        assert_eq!(found(Value::Null, json!("/b"), json!([])), 0);
    }

    #[test]
    fn a_list_with_a_misspelt_licence_is_refused() {
        assert!(allowed("[licenses]\nallow = ['MTI']").is_err());
        assert!(allowed("[bans]\n").is_err());
    }
}
