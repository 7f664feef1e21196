//! The archive, the Debian package and the bill of materials.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::built::{dist, folder, has, make, package, printed, text};

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn the_archive_unpacks_to_a_binary_with_pages_completions_and_licences() {
    let place = tempfile::tempdir().unwrap();
    let archive = package("keywright-", ".tar.gz");
    printed(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(place.path()));
    let name = archive.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    let unpacked = place.path().join(name);
    assert_eq!(
        printed(Command::new(unpacked.join("keywright")).arg("-V")).trim(),
        format!("keywright {VERSION}")
    );
    for file in ["LICENSE-MIT", "man/man1/keywright-model-check.1", "completions/bash/keywright"] {
        assert!(unpacked.join(file).metadata().unwrap().len() > 0, "{file}");
    }
}

#[test]
fn the_checksums_are_those_of_the_packages() {
    package("keywright-", ".whl");
    if has("sha256sum", "the checksums are not compared") {
        let checked =
            printed(Command::new("sha256sum").arg("--check").arg("SHA256SUMS").current_dir(folder()));
        assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 6, "{checked}");
    }
}

#[test]
fn the_debian_package_installs_binary_pages_and_completions() {
    let package = package("keywright_", ".deb");
    if !has("dpkg-deb", "the Debian package is not unpacked") {
        return;
    }
    let fields = printed(Command::new("dpkg-deb").arg("--field").arg(&package));
    for field in ["Package: keywright", &format!("Version: {VERSION}"), "Section: database"] {
        assert!(fields.contains(field), "{fields}");
    }
    let place = tempfile::tempdir().unwrap();
    printed(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(place.path()));
    let root = place.path().join("usr");
    assert!(printed(Command::new(root.join("bin/keywright")).arg("-V")).contains(VERSION));
    for file in ["share/man/man1/keywright.1.gz", "share/bash-completion/completions/keywright"] {
        assert!(root.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    let unit = std::fs::read_to_string(root.join("lib/systemd/system/keywright.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/keywright serve "), "{unit}");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operations.md");
    assert!(std::fs::read_to_string(guide).unwrap().contains(&unit), "the guide shows the unit as it is");
}

#[test]
fn the_bill_of_materials_names_the_crates_of_the_binary_and_no_others() {
    let path = package("keywright-", ".cdx.json");
    let bill: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.is_superset(&BTreeSet::from(["hyper", "keywright-engine", "tokio"])), "{names:?}");
    // Only tests use them.
    assert!(names.is_disjoint(&BTreeSet::from(["aws-sdk-dynamodb", "proptest", "xtask"])), "{names:?}");
    let without_licence: Vec<&Value> =
        components.iter().filter(|one| one["licenses"][0]["expression"].as_str().is_none()).collect();
    assert!(without_licence.is_empty(), "{without_licence:?}");
    let references: BTreeSet<&str> = components
        .iter()
        .chain([&bill["metadata"]["component"]])
        .map(|one| one["bom-ref"].as_str().unwrap())
        .collect();
    for dependency in bill["dependencies"].as_array().unwrap() {
        assert!(references.contains(dependency["ref"].as_str().unwrap()), "{dependency}");
        for used in dependency["dependsOn"].as_array().unwrap() {
            assert!(references.contains(used.as_str().unwrap()), "{dependency}");
        }
    }
}

#[test]
fn packages_of_one_binary_have_equal_bytes() {
    let place = tempfile::tempdir().unwrap();
    make(place.path(), &["archive", "wheel"]);
    for (start, end) in [("keywright-", ".tar.gz"), ("keywright-", ".whl")] {
        let first = package(start, end);
        let second = place.path().join(first.file_name().unwrap());
        assert!(std::fs::read(first).unwrap() == std::fs::read(second).unwrap(), "{end}");
    }
}

#[test]
#[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
fn an_image_from_scratch_is_refused_for_a_binary_that_needs_libraries() {
    let place = tempfile::tempdir().unwrap();
    let refused = dist(place.path(), &["docker"]);
    assert!(!refused.status.success() && text(&refused).contains("FROM scratch"), "{}", text(&refused));
    assert!(!place.path().join("docker").exists());
    assert!(text(&dist(place.path(), &["rpm"])).contains("`rpm` is not known"));
}
