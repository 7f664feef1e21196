//! The bill of materials: the crates in the binary, in the JSON of `CycloneDX`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Dist, output_of};
use crate::cargo::cargo;

const PACKAGE: &str = "keywright-server";

pub(super) fn make(dist: &Dist) -> Result<Vec<PathBuf>, String> {
    let mut cargo = cargo();
    cargo.current_dir(&dist.root).args(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(["--features", super::binary::FEATURES]);
    cargo.args(["--filter-platform", &dist.binary.target]);
    let metadata: Value =
        serde_json::from_slice(&output_of(&mut cargo)?).map_err(|error| error.to_string())?;
    let (components, dependencies) = listed(&metadata)?;
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "keywright",
                "name": "keywright",
                "version": dist.version,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    let name = format!("keywright-{}-{}.cdx.json", dist.version, dist.binary.target);
    Ok(vec![dist.write(&name, format!("{bom:#}\n").as_bytes())?])
}

/// The crates that the binary is linked from, and what each uses.
fn listed(metadata: &Value) -> Result<(Vec<Value>, Vec<Value>), String> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> = array(member(metadata, "packages"))
        .into_iter()
        .map(|package| (text(member(&package, "id")), package))
        .collect();
    let uses: BTreeMap<String, Vec<String>> = array(member(member(metadata, "resolve"), "nodes"))
        .iter()
        .map(|node| {
            let linked = array(member(node, "deps")).into_iter().filter(|dependency| {
                // Neither of tests nor of build scripts.
                array(member(dependency, "dep_kinds")).iter().any(|kind| member(kind, "kind").is_null())
            });
            (text(member(node, "id")), linked.map(|dependency| text(member(&dependency, "pkg"))).collect())
        })
        .collect();
    let root = packages.iter().find(|(_, package)| member(package, "name") == PACKAGE);
    let root = root.map(|(id, _)| id.clone()).ok_or_else(|| format!("cargo metadata has no {PACKAGE}"))?;
    let mut found = BTreeSet::new();
    let mut next = vec![root.clone()];
    while let Some(id) = next.pop() {
        if found.insert(id.clone()) {
            next.extend(uses.get(&id).into_iter().flatten().cloned());
        }
    }
    let reference = |id: &String| {
        if *id == root { "keywright".to_owned() } else { packages.get(id).map_or_else(String::new, purl) }
    };
    let components = found.iter().filter(|id| **id != root).filter_map(|id| packages.get(id)).map(component);
    let dependencies = found.iter().map(|id| {
        let on: Vec<String> = uses.get(id).into_iter().flatten().map(reference).collect();
        json!({"ref": reference(id), "dependsOn": on})
    });
    Ok((components.collect(), dependencies.collect()))
}

fn component(package: &Value) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": member(package, "name"),
        "version": member(package, "version"),
        "purl": purl(package),
    });
    if let (Some(members), Some(licence)) = (component.as_object_mut(), member(package, "license").as_str()) {
        // An old form of `OR` in cargo's manifests.
        members.insert("licenses".to_owned(), json!([{"expression": licence.replace('/', " OR ")}]));
    }
    component
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(member(package, "name")), text(member(package, "version")))
}

/// A member of an object; null if there is none.
fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
