//! The seconds that each test program may take: `xtask/test-budgets.toml`.
//!
//! Seconds depend on what else the machine does: a program over its budget is named, and only one that takes
//! twice as long is a fault. Tidy checks the table itself, without running anything.

use std::collections::BTreeMap;
use std::path::Path;

const FILE: &str = "xtask/test-budgets.toml";
/// No program may have more: the longest one decides how long the gate takes.
const SECONDS_MAX: u64 = 150;
/// A program that takes this many times its budget fails the run.
const FAULT_FACTOR: u64 = 2;
/// Between a program's name and how it runs once more.
const AGAIN: [&str; 2] = [" over PostgreSQL, servers: ", " on encrypted folders"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budgets {
    default: u64,
    programs: BTreeMap<String, u64>,
}

/// What a run says about its programs' seconds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Programs over their budget.
    pub(crate) over: Vec<String>,
    /// Those far over it, for which the run fails.
    pub(crate) faults: Vec<String>,
}

impl Budgets {
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: toml::Table = text.parse().map_err(|error| format!("{FILE}: {error}"))?;
        let seconds = |name: &str, value: &toml::Value| {
            let seconds = value.as_integer().and_then(|seconds| u64::try_from(seconds).ok());
            seconds
                .filter(|seconds| *seconds > 0)
                .ok_or_else(|| format!("{FILE}: {name} is no number of seconds"))
        };
        let default = file.get("default").ok_or_else(|| format!("{FILE}: there is no `default`"))?;
        let programs = file.get("programs").and_then(toml::Value::as_table).into_iter().flatten();
        let programs = programs.map(|(name, value)| Ok((name.clone(), seconds(name, value)?)));
        Ok(Self { default: seconds("default", default)?, programs: programs.collect::<Result<_, String>>()? })
    }

    /// The seconds of a program.
    pub(crate) fn of(&self, program: &str) -> u64 {
        self.programs.get(program).copied().unwrap_or(self.default)
    }

    /// Compares the milliseconds of programs with their budgets.
    pub(crate) fn judge<'a>(&self, programs: impl IntoIterator<Item = (&'a str, u64)>) -> Verdict {
        let mut verdict = Verdict::default();
        for (name, ms) in programs {
            let budget = self.of(name);
            let line = format!("{name} took {} s, its budget in {FILE} is {budget} s", ms / 1000);
            if ms > budget * FAULT_FACTOR * 1000 {
                verdict.faults.push(format!("{line}: make it shorter, or run a part of it with --long only"));
            } else if ms > budget * 1000 {
                verdict.over.push(line);
            }
        }
        verdict
    }

    /// What is wrong with the table.
    pub(crate) fn check(&self, root: &Path, faults: &mut Vec<String>) {
        let default = ("default", &self.default);
        let all = self.programs.iter().map(|(name, seconds)| (name.as_str(), seconds));
        for (name, seconds) in all.chain([default]).filter(|(_, seconds)| **seconds > SECONDS_MAX) {
            faults.push(format!("{FILE}: {name} = {seconds}: no test program may take over {SECONDS_MAX} s"));
        }
        for name in self.programs.keys().filter(|name| !exists(root, name)) {
            faults.push(format!(
                "{FILE}: there is no test program `{name}`: name it as `cargo xtask test` does"
            ));
        }
    }
}

/// Whether the sources have a test program of this name: `crate`, `crate::program`, and of this a module or a
/// test of a module that runs as a program of its own.
fn exists(root: &Path, name: &str) -> bool {
    let name = AGAIN.iter().fold(name, |name, again| name.split(again).next().unwrap_or_default());
    let parts: Vec<&str> = name.split("::").collect();
    let [package, rest @ ..] = parts.as_slice() else { return false };
    let folder = if *package == "xtask" { root.join("xtask") } else { root.join("crates").join(package) };
    let [program, within @ ..] = rest else { return folder.join("src/lib.rs").exists() };
    let tests = folder.join("tests");
    let is_binary = folder.join("src/main.rs").exists()
        && std::fs::read_to_string(folder.join("Cargo.toml"))
            .is_ok_and(|manifest| manifest.contains(&format!("name = \"{program}\"")));
    match within {
        [] => {
            tests.join(format!("{program}.rs")).exists()
                || tests.join(program).join("main.rs").exists()
                || is_binary
        }
        [module] => file_of(&tests.join(program), module).is_some(),
        [module, test] => file_of(&tests.join(program), module).is_some_and(|text| names(&text, test)),
        _ => false,
    }
}

/// The text of a module of a test program.
fn file_of(folder: &Path, module: &str) -> Option<String> {
    let paths = [folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs")];
    paths.iter().find_map(|path| std::fs::read_to_string(path).ok())
}

/// Whether a text has a test of this name: as a function, or as an entry of a macro's list.
fn names(text: &str, wanted: &str) -> bool {
    text.contains(&format!("fn {wanted}(")) || text.contains(&format!(" {wanted}: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budgets(text: &str) -> Budgets {
        Budgets::parse(text).unwrap()
    }

    #[test]
    fn a_program_over_its_budget_is_named_and_one_of_twice_as_long_fails() {
        let budgets = budgets("default = 10\n[programs]\n\"server::clients\" = 50\n");
        let verdict =
            budgets.judge([("a", 9_000), ("b", 11_000), ("c", 20_001), ("server::clients", 45_000)]);
        assert_eq!(verdict.over, ["b took 11 s, its budget in xtask/test-budgets.toml is 10 s"]);
        assert_eq!(verdict.faults.len(), 1);
        assert!(verdict.faults[0].starts_with("c took 20 s"), "{}", verdict.faults[0]);
    }

    #[test]
    fn a_table_with_too_much_or_for_no_program_is_refused() {
        let root = crate::tidy::workspace_root().unwrap();
        let faults = |text: &str| {
            let mut faults = Vec::new();
            budgets(text).check(&root, &mut faults);
            faults.len()
        };
        let program = |name: &str| faults(&format!("default = 60\n[programs]\n\"{name}\" = 10\n"));
        for name in [
            "engine",
            "server::clients",
            "server::clients over PostgreSQL, servers: 3",
            "server::http::hostile_clients",
            "server::studio::pages::frame_in_chromium",
            "xtask::xtask",
            "hot::keywright-hot",
        ] {
            assert_eq!(program(name), 0, "{name}");
        }
        for name in [
            "",
            "motor",
            "server::client",
            "server::http::hostile",
            "server::studio::pages::frame",
            "hot::hot",
        ] {
            assert_eq!(program(name), 1, "{name}");
        }
        assert_eq!(faults("default = 151\n[programs]\n\"engine\" = 151\n"), 2);
        assert_eq!(faults("default = 150\n"), 0);
    }

    #[test]
    fn a_table_without_a_default_or_with_other_values_is_refused() {
        assert!(Budgets::parse("[programs]\n").is_err());
        assert!(Budgets::parse("default = 0\n").is_err());
        assert!(Budgets::parse("default = 60\n[programs]\n\"engine\" = \"long\"\n").is_err());
    }
}
