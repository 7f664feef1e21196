//! The recipes of `docs/guide/testing.md`, with the packages installed: files whose first line names them are
//! written, and the commands of `console` blocks are run. `models/guide.rs` runs the `sh` blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::built::{printed, text};
use super::npm;
use super::python::Environment;

const GUIDE: &str = include_str!("../../../../docs/guide/testing.md");

/// What one section of the guide has: files by name, and commands.
#[derive(Default)]
struct Recipe {
    files: BTreeMap<String, String>,
    commands: Vec<String>,
}

fn recipe(title: &str) -> Recipe {
    let section = GUIDE.split("\n## ").find(|section| section.starts_with(title));
    let mut recipe = Recipe::default();
    // Blocks are every second part; the first line of each is its language.
    for block in section.expect("a section of this title").split("```").skip(1).step_by(2) {
        let (language, content) = block.split_once('\n').unwrap();
        let first = content.lines().next().unwrap();
        let name = first.strip_prefix("# ").or_else(|| first.strip_prefix("// "));
        if language == "console" {
            recipe.commands.extend(content.lines().map(|line| line.strip_prefix("$ ").unwrap().to_owned()));
        } else if let Some(name) = name {
            recipe.files.insert(name.to_owned(), content.to_owned());
        }
    }
    recipe
}

impl Recipe {
    fn write(&self, folder: &Path) {
        for (name, content) in &self.files {
            std::fs::write(folder.join(name), content).unwrap();
        }
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_seeded_suite_of_the_guide_passes() {
    run_in_python(&recipe("A seeded suite"), (2, 2));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_python_recipes_of_the_guide_run() {
    run_in_python(&recipe("Python"), (4, 3));
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_recipe_for_conflicts_between_regions_runs() {
    run_in_python(&recipe("Conflicts between regions"), (1, 1));
}

/// Writes the files of a recipe, so many, and runs its commands, so many, with the wheel installed.
fn run_in_python(recipe: &Recipe, expected: (usize, usize)) {
    let (environment, folder) = (Environment::new(), tempfile::tempdir().unwrap());
    assert_eq!((recipe.files.len(), recipe.commands.len()), expected);
    recipe.write(folder.path());
    // pytest itself is in the clients' environment, where it would be a script of another Python.
    std::fs::write(environment.bin().join("pytest"), "#!/bin/sh\nexec python -m pytest \"$@\"\n").unwrap();
    printed(Command::new("chmod").arg("+x").arg(environment.bin().join("pytest")));
    for command in &recipe.commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(folder.path());
        environment.prepare(&mut shell);
        let output = with_path(&mut shell, &environment.bin()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", text(&output));
        let expected = match command.split_whitespace().next() {
            Some("pytest") => "3 passed",
            Some("python") => "[]",
            _ => "",
        };
        assert!(text(&output).contains(expected), "{command}: {}", text(&output));
    }
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_recipes_of_the_guide_for_the_javascript_sdk_run() {
    let folder = tempfile::tempdir().unwrap();
    npm::install(folder.path());
    std::os::unix::fs::symlink(npm::sdk(), folder.path().join("node_modules/@aws-sdk")).unwrap();
    let recipe = recipe("JavaScript");
    assert_eq!((recipe.files.len(), recipe.commands.len()), (4, 1));
    recipe.write(folder.path());
    let output =
        Command::new("sh").args(["-c", &recipe.commands[0]]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success() && text(&output).contains("pass 1"), "{}", text(&output));
    // The setup that Vitest and Jest call, and a client of a worker.
    let both = "import setup from './global-setup.mjs'
        process.env.JEST_WORKER_ID = '3'
        const stop = await setup()
        const { client } = await import('./client.mjs')
        const { ListTablesCommand } = await import('@aws-sdk/client-dynamodb')
        console.log((await client.send(new ListTablesCommand({}))).TableNames.length)
        console.log((await client.config.credentials()).accessKeyId)
        await stop()";
    std::fs::write(folder.path().join("both.mjs"), both).unwrap();
    let copies = "import { server, withCopy } from './branches.mjs'
        import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
        await new DynamoDBClient(server.clientConfig()).send(new CreateTableCommand({ TableName: 'Orders',
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }], BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }] }))
        await withCopy(async (copy) => console.log((await copy.send(new ListTablesCommand({}))).TableNames))";
    std::fs::write(folder.path().join("copies.mjs"), copies).unwrap();
    let said = printed(Command::new("node").arg("copies.mjs").current_dir(folder.path()));
    assert_eq!(said.trim(), "[ 'Orders' ]");
    let said = printed(Command::new("node").arg("both.mjs").current_dir(folder.path()));
    assert_eq!(said.lines().collect::<Vec<_>>(), ["0", "100000000003"]);
}

/// The blocks of a text in a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(its, _)| *its == language).map(|(_, content)| content).collect()
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_readme_of_the_wheel_runs() {
    let (environment, folder) = (Environment::new(), tempfile::tempdir().unwrap());
    let readme = blocks(include_str!("../../../../packaging/python/README.md"), "python");
    let [script, test] = readme.as_slice() else { panic!("{readme:?}") };
    let said = printed(environment.program("python").args(["-c", script]));
    assert_eq!(said.trim(), "[]");
    std::fs::write(folder.path().join("test_readme.py"), test).unwrap();
    let mut pytest = environment.program("python");
    let said = printed(pytest.args(["-m", "pytest", "-q"]).current_dir(folder.path()));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn the_readme_of_the_packages_for_the_javascript_sdk_runs() {
    let folder = tempfile::tempdir().unwrap();
    npm::install(folder.path());
    std::os::unix::fs::symlink(npm::sdk(), folder.path().join("node_modules/@aws-sdk")).unwrap();
    let readme = blocks(include_str!("../../../../packaging/npm/README.md"), "js");
    std::fs::write(folder.path().join("readme.mjs"), readme.concat()).unwrap();
    let said = printed(Command::new("node").arg("readme.mjs").current_dir(folder.path()));
    assert_eq!(said.trim(), "[]");
}

#[test]
fn the_action_starts_a_server_for_the_steps_that_follow() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let action = std::fs::read_to_string(root.join("action.yml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let run = action.lines().find_map(|line| line.trim().strip_prefix("run: '")?.strip_suffix('\'')).unwrap();
    let start = |arguments: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", run])
            .env("GITHUB_ACTION_PATH", &root)
            .env("GITHUB_OUTPUT", file("output"))
            .env("GITHUB_ENV", file("env"))
            .env("GITHUB_PATH", file("path"))
            .env("RUNNER_TEMP", folder.path())
            .env("INPUT_BINARY", env!("CARGO_BIN_EXE_keywright"))
            .env("INPUT_ARGUMENTS", arguments);
        bash.output().unwrap()
    };
    let refused = start("--in-memory --durability sometimes");
    assert!(!refused.status.success() && text(&refused).contains("--durability"), "{}", text(&refused));
    let started = start("--in-memory --ttl-delay-ms 0");
    assert!(started.status.success(), "{}", text(&started));
    let output = std::fs::read_to_string(file("output")).unwrap();
    let endpoint = output.trim().strip_prefix("endpoint=").unwrap();
    let variables = std::fs::read_to_string(file("env")).unwrap();
    assert!(variables.contains(&format!("AWS_ENDPOINT_URL_DYNAMODB={endpoint}\n")), "{variables}");
    assert!(std::net::TcpStream::connect(endpoint.trim_start_matches("http://")).is_ok());
    let ready = std::fs::read_dir(folder.path()).unwrap().find_map(|entry| {
        let text = std::fs::read_to_string(entry.unwrap().path().join("ready.json")).ok()?;
        serde_json::from_str::<serde_json::Value>(&text).ok()
    });
    printed(Command::new("kill").arg(ready.unwrap()["pid"].to_string()));
    // The inputs that the guide names are the action's.
    let steps = &recipe("GitHub Actions").files[".github/workflows/test.yml"];
    let with = steps.lines().skip_while(|line| !line.contains("with:")).skip(1);
    let named: Vec<&str> = with.map_while(|line| line.strip_prefix("      ")?.split(':').next()).collect();
    assert_eq!(named, ["version", "arguments"]);
    for input in named {
        assert!(action.contains(&format!("\n  {input}:\n")), "{input}");
    }
}

/// Puts a folder first on the path of a program.
fn with_path<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&others));
    command.env("PATH", std::env::join_paths(folders).unwrap())
}
