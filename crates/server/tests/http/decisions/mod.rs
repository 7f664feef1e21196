//! The rows of published examples as real, signed requests: each is decided as its page says, with the text
//! that names the kind of policy; and a server that an exported access file makes decides each of them alike.
//!
//! - `rows`: rows, and which of them no request can be. `requests`: the request of a row. `world`: accounts,
//!   principals and tables.

mod requests;
mod rows;
mod world;

use std::path::Path;
use std::process::Command;

use rows::{Row, Unreal};
use serde_json::{Value, json};
use world::{Asked, Group, root};

use crate::support::{Server, without_aws_settings};

/// Rows that are no real requests, by their reason. A new row that is none changes a number here.
const UNREAL: [(Unreal, usize); 5] = [
    (Unreal::OtherService, 5),
    (Unreal::NotServed, 2),
    (Unreal::NoSuchRequest, 3),
    (Unreal::NoSuchName, 2),
    (Unreal::Ipv6, 2),
];

fn groups() -> Vec<Group> {
    rows::groups()
        .into_iter()
        .enumerate()
        .map(|(place, rows)| Group::new(place, rows))
        .filter(|group| group.rows[0].unreal() != Some(Unreal::NoSuchName))
        .collect()
}

fn start(groups: &[Group], folder: &Path) -> Server {
    Server::start(&["--in-memory", "--credentials", &world::keys(groups, folder)])
}

/// Makes the principals of all groups.
fn make(groups: &mut [Group], server: &Server) {
    for group in groups {
        group.make_principals(server);
        group.make_named(server);
    }
}

fn wrong(asked: &[Asked]) -> Vec<String> {
    let wrong = asked.iter().filter(|asked| asked.said != asked.expected);
    wrong
        .map(|asked| format!("row {}: {}\n    and not {}", asked.number, asked.said, asked.expected))
        .collect()
}

#[test]
fn rows_are_decided_alike_as_real_requests() {
    let folder = tempfile::tempdir().unwrap();
    let mut groups = groups();
    let server = start(&groups, folder.path());
    make(&mut groups, &server);
    let asked: Vec<Asked> = groups.iter().flat_map(|group| group.ask(&server)).collect();
    assert!(wrong(&asked).is_empty(), "{}", wrong(&asked).join("\n"));
    let rows: Vec<Row> = rows::groups().into_iter().flatten().collect();
    let unreal =
        UNREAL.map(|(reason, _)| (reason, rows.iter().filter(|row| row.unreal() == Some(reason)).count()));
    assert_eq!(unreal, UNREAL);
    assert_eq!(asked.len() + UNREAL.iter().map(|(_, count)| count).sum::<usize>(), rows.len());
}

/// What a command of `keywright access` says in the name of an account.
fn access(server: &Server, account: &str, arguments: &[&str]) -> String {
    let (id, secret) = root(account);
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.arg("access").args(arguments).args(["--endpoint", &server.endpoint]);
    command.env("AWS_ACCESS_KEY_ID", id).env("AWS_SECRET_ACCESS_KEY", secret).env("AWS_REGION", "us-west-2");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{account}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Exports the group's account, applies that without any change, and starts an empty server with the file.
fn copy(group: &Group, from: &Server, (folder, keys): (&Path, &str)) -> Server {
    let base = ["--in-memory", "--credentials", keys];
    let Some((id, secret)) = &group.key else { return Server::start(&base) };
    let exported = access(from, &group.account, &["export"]);
    let file = folder.join(format!("{}.json", group.account));
    let path = file.to_str().unwrap();
    std::fs::write(&file, &exported).unwrap();
    let unchanged = format!("nothing to change: account {} is as the file says\n", group.account);
    assert_eq!(access(from, &group.account, &["apply", path, "--prune"]), unchanged);
    // Secrets are what an export does not have.
    let mut whole: Value = serde_json::from_str(&exported).unwrap();
    let users = whole["users"].as_object_mut().unwrap();
    let keyed = users.values_mut().find(|user| user["keys"][0]["id"] == *id);
    keyed.unwrap()["keys"] = json!([{"id": id, "secret_in_plain_text": secret}]);
    std::fs::write(&file, whole.to_string()).unwrap();
    Server::start(&[&base[..], &["--access", path]].concat())
}

#[test]
fn an_exported_file_decides_every_row_alike_on_an_empty_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut groups = groups();
    let keys = world::keys(&groups, folder.path());
    let first = start(&groups, folder.path());
    make(&mut groups, &first);
    let mut compared = 0;
    for group in &groups {
        let second = copy(group, &first, (folder.path(), &keys));
        group.make_named(&second);
        let simulated = group.simulate(&second);
        assert!(wrong(&simulated).is_empty(), "{}", wrong(&simulated).join("\n"));
        assert_eq!(simulated, group.simulate(&first));
        let asked = group.ask(&second);
        assert!(wrong(&asked).is_empty(), "{}", wrong(&asked).join("\n"));
        assert_eq!(asked, group.ask(&first));
        compared += simulated.len() + asked.len();
    }
    // All but those whose user IAM does not take.
    let nameless = UNREAL.iter().find(|(reason, _)| *reason == Unreal::NoSuchName).unwrap().1;
    assert_eq!(compared, rows::groups().iter().map(Vec::len).sum::<usize>() - nameless);
}
