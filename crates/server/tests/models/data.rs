//! `keywright model apply`, `data load` and `data dump`, against a server over HTTP.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use keywright_model::json::Json;

use crate::exchange::{ask, send};
use crate::support::snapshot::assert_names;
use crate::support::{Server, add_key, model_command, without_aws_settings};

const MODEL: &str = r#"
format: 1
model: shop
tables:
  Shop:
    key: {pk: S, sk: S}
    ttl: expiresAt
    stream: new-and-old
    deletionProtection: true
    pitr: true
    indexes:
      byStatus: {pk: status, sk: at, project: [total]}
      byTotal: {local: true, sk: total, project: keys}
  Log: {key: {id: N}}
entities:
  Order:
    table: Shop
    count: 40
    key: {pk: "c#{customer}", sk: "o#{order}"}
    attrs: {customer: S, order: S, status: S, at: S, total: N, expiresAt: N}
  Entry: {table: Log, count: 10, key: {id: "{id}"}, attrs: {id: N, text: S}}
data:
  generate: {seed: 1, sample: 40}
"#;

fn keywright(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn data(folder: &Path, arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = ["data"].iter().chain(arguments).copied().collect();
    keywright(folder, &arguments).output().unwrap()
}

fn succeeds(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn fails(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

fn table(server: &Server, name: &str) -> Json {
    ask(server, "DescribeTable", &format!(r#"{{"TableName":"{name}"}}"#)).get("Table").unwrap().clone()
}

/// All items of a table, each as its typed JSON.
fn items(server: &Server, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut request = Json::object([("TableName", Json::text(name))]);
    loop {
        let answer = ask(server, "Scan", &request.compact());
        found.extend(answer.get("Items").unwrap().elements().iter().map(Json::compact));
        match answer.get("LastEvaluatedKey") {
            Some(key) => request.set("ExclusiveStartKey", key.clone()),
            None => return found,
        }
    }
}

fn create(server: &Server, name: &str) {
    let request = format!(
        r#"{{"TableName":"{name}","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}},{{"AttributeName":"n","AttributeType":"N"}}],"KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"n","KeyType":"RANGE"}}],"BillingMode":"PAY_PER_REQUEST"}}"#
    );
    ask(server, "CreateTable", &request);
}

#[test]
fn apply_makes_tables_with_their_settings_and_loads_the_models_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    std::fs::write(path.join("shop.yaml"), MODEL).unwrap();
    let arguments = ["apply", "shop.yaml", "--endpoint", &server.endpoint, "--data"];
    let said = succeeds(&model_command(path, &arguments));
    // This server has no point-in-time recovery; everything else is made.
    assert_names(&said, &["Shop", "Log", "point-in-time recovery", "40 items", "10 items"]);
    let shop = table(&server, "Shop");
    assert_eq!(shop.get("DeletionProtectionEnabled"), Some(&Json::Bool(true)));
    assert_eq!(shop.get("GlobalSecondaryIndexes").unwrap().elements().len(), 1);
    assert_eq!(shop.get("LocalSecondaryIndexes").unwrap().elements().len(), 1);
    let view = shop.at(&["StreamSpecification", "StreamViewType"]).and_then(Json::as_str);
    assert_eq!(view, Some("NEW_AND_OLD_IMAGES"));
    let ttl = ask(&server, "DescribeTimeToLive", r#"{"TableName":"Shop"}"#);
    let attribute = ttl.at(&["TimeToLiveDescription", "AttributeName"]).and_then(Json::as_str);
    assert_eq!(attribute, Some("expiresAt"));
    assert_eq!((items(&server, "Shop").len(), items(&server, "Log").len()), (40, 10));
    // What the server has now is what the model says.
    let again =
        succeeds(&model_command(path, &["apply", "shop.yaml", "--endpoint", &server.endpoint, "--dev"]));
    assert_names(&again, &["has everything"]);
}

#[test]
fn apply_keeps_what_is_there_and_fails_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    let endpoint = server.endpoint.as_str();
    std::fs::write(path.join("shop.yaml"), MODEL).unwrap();
    succeeds(&model_command(path, &["apply", "shop.yaml", "--endpoint", endpoint, "--data", "--dev"]));
    assert_eq!(table(&server, "Shop").get("DeletionProtectionEnabled"), Some(&Json::Bool(false)));
    let before = items(&server, "Log");
    let first = Json::parse(before.first().unwrap()).unwrap();
    let mut changed = first.clone();
    changed.set("text", Json::object([("S", Json::text("mine"))]));
    let put = Json::object([("TableName", Json::text("Log")), ("Item", changed.clone())]);
    ask(&server, "PutItem", &put.compact());

    let other = MODEL
        .replace("ttl: expiresAt", "ttl: total")
        .replace("project: [total]", "project: keys")
        .replace("byTotal: {local: true, sk: total, project: keys}", "byOrder: {pk: order}")
        .replace(
            "Log: {key: {id: N}}",
            "Log: {key: {id: N}, billing: {provisioned: {rcu: 1, wcu: 1}}, stream: keys-only}",
        );
    std::fs::write(path.join("other.yaml"), other).unwrap();
    let output = model_command(path, &["apply", "other.yaml", "--endpoint", endpoint, "--data", "--dev"]);
    let said = fails(&output);
    assert_names(&said, &["made index byOrder", "made the stream", "4 things differ"]);
    let differences = String::from_utf8(output.stdout).unwrap();
    let expected = [
        "Shop: index byStatus is global by status (S), at (S) with total in the table and global by status (S), at (S) \
         with keys only in the model",
        "Shop: the table has index byTotal (pk, total, keys only); the model does not",
        "Shop: the time to live is expiresAt in the table and total in the model",
        "Log: billing is on-demand in the table and provisioned with 1 read and 1 write units in the model",
    ];
    assert_eq!(differences.lines().collect::<Vec<_>>(), expected);
    let shop = table(&server, "Shop");
    assert_eq!(shop.get("GlobalSecondaryIndexes").unwrap().elements().len(), 2);
    assert_eq!(shop.get("LocalSecondaryIndexes").unwrap().elements().len(), 1);
    let after = items(&server, "Log");
    assert!(after.contains(&changed.compact()), "the changed item stays");
    assert_eq!(after.len(), before.len());
}

#[test]
fn apply_leaves_a_table_with_another_key_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::in_memory();
    create(&server, "Log");
    std::fs::write(folder.path().join("shop.yaml"), MODEL).unwrap();
    let output =
        model_command(folder.path(), &["apply", "shop.yaml", "--endpoint", &server.endpoint, "--data"]);
    assert_names(&fails(&output), &["Log", "not loaded"]);
    assert_names(&String::from_utf8_lossy(&output.stdout), &["Log: the key", "pk (S), n (N)", "id (N)"]);
    assert!(items(&server, "Log").is_empty());
    assert_eq!(items(&server, "Shop").len(), 40);
}

#[test]
fn an_unknown_table_is_reported_with_its_place_and_the_regions_of_the_own_account_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.toml");
    let (owner, other) = (add_key(&keys, &[]), add_key(&keys, &["--account", "000000000007"]));
    let server = Server::start(&["--in-memory", "--credentials", keys.to_str().unwrap()]);
    std::fs::write(folder.path().join("shop.yaml"), MODEL).unwrap();
    let run = |(id, secret): &(String, String), arguments: &[&str]| {
        let mut command = keywright(folder.path(), arguments);
        command.args(["--endpoint", &server.endpoint, "--access-key-id", id, "--secret-access-key", secret]);
        command.output().unwrap()
    };
    succeeds(&run(&owner, &["model", "apply", "shop.yaml", "--dev", "--region", "eu-west-1"]));
    let said = fails(&run(&owner, &["data", "dump", "--table", "Log"]));
    let place = format!("{} has no table Log in region us-east-1 of account 123456789012", server.endpoint);
    assert_names(&said, &[&place, "one of this name in eu-west-1", "pass --region eu-west-1"]);
    let said = fails(&run(&owner, &["model", "import", "--table", "Lag"]));
    assert_names(&said, &["no table Lag in region us-east-1", "correct the name"]);
    let said = fails(&run(&other, &["data", "dump", "--table", "Log"]));
    assert_names(&said, &["no table Log in region us-east-1 of account 000000000007: correct the name"]);
}

#[test]
fn region_and_endpoint_come_from_variables_and_the_profile_as_for_the_aws_cli() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    std::fs::write(path.join("shop.yaml"), MODEL).unwrap();
    let config = format!(
        "[profile dev]\nregion = eu-north-1\nservices = own\n[services own]\ndynamodb =\n  endpoint_url = {}\n",
        server.endpoint
    );
    std::fs::write(path.join("aws"), config).unwrap();
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        keywright(path, arguments).envs(variables.iter().copied()).output().unwrap()
    };
    let dev = [("AWS_PROFILE", "dev"), ("AWS_CONFIG_FILE", "aws")];
    succeeds(&run(&["model", "apply", "shop.yaml", "--data", "--dev"], &dev));
    let named = [("AWS_ENDPOINT_URL", server.endpoint.as_str()), ("AWS_DEFAULT_REGION", "eu-north-1")];
    succeeds(&run(&["data", "dump", "--table", "Log", "-o", "log.jsonl"], &named));
    assert_eq!(std::fs::read_to_string(path.join("log.jsonl")).unwrap().lines().count(), 10);
    let elsewhere = [named[0], named[1], ("AWS_REGION", "sa-east-1")];
    let said = fails(&run(&["data", "dump", "--table", "Log"], &elsewhere));
    assert_names(&said, &["no table Log in region sa-east-1", "pass --region eu-north-1"]);
    let said = fails(&run(&["data", "dump", "--table", "Log"], &[]));
    assert_names(&said, &["--endpoint URL", "AWS_ENDPOINT_URL_DYNAMODB"]);
    // Items of another machine are not replaced because a variable was set for something else.
    let far = [("AWS_ENDPOINT_URL_DYNAMODB", "http://192.0.2.1:8000")];
    let said = fails(&run(&["data", "load", "log.jsonl", "--table", "Log"], &far));
    assert_names(&said, &["AWS_ENDPOINT_URL_DYNAMODB", "pass --endpoint http://192.0.2.1:8000"]);
}

const ITEMS: &str = r#"{"Item":{"pk":{"S":"a"},"n":{"N":"1"},"text":{"S":"one, \"two\"\nthree"},"tags":{"SS":["x","y"]},"raw":{"B":"AAE="}}}
{"Item":{"pk":{"S":"a"},"n":{"N":"2"},"text":{"N":"3"},"deep":{"M":{"l":{"L":[{"BOOL":true},{"NULL":true}]}}}}}
{"pk":{"S":"b"},"n":{"N":"-1.5"},"text":{"S":""}}
"#;

#[test]
fn dumps_in_both_lossless_forms_load_as_the_same_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    let endpoint = server.endpoint.as_str();
    std::fs::write(path.join("items.jsonl"), ITEMS).unwrap();
    create(&server, "First");
    let load = ["load", "items.jsonl", "--table", "First", "--endpoint", endpoint];
    assert_names(&succeeds(&data(path, &load)), &["loaded 3 items"]);
    let all = items(&server, "First");
    assert_eq!(all.len(), 3);
    for (form, file, other) in [("dynamodb", "a.jsonl", "Second"), ("csv", "a.csv", "Third")] {
        let dump = ["dump", "--table", "First", "--endpoint", endpoint, "--format", form, "-o", file];
        succeeds(&data(path, &dump));
        assert_names(&fails(&data(path, &dump)), &[file, "--force"]);
        create(&server, other);
        succeeds(&data(path, &["load", file, "--table", other, "--endpoint", endpoint]));
        assert_eq!(items(&server, other), all, "{form}");
    }
    let plain = data(path, &["dump", "--table", "First", "--endpoint", endpoint, "--format", "plain"]);
    succeeds(&plain);
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.lines().any(|line| line == r#"{"pk":"b","n":-1.5,"text":""}"#), "{plain}");
    let left: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "no other file is left: {left:?}");
}

#[test]
fn a_dump_for_spreadsheets_holds_no_formulas() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    let endpoint = server.endpoint.as_str();
    create(&server, "First");
    let lines = r#"{"pk":"a","n":-1,"text":"=cmd|' /C calc'!A0"}"#;
    std::fs::write(path.join("items.jsonl"), lines).unwrap();
    succeeds(&data(path, &["load", "items.jsonl", "--table", "First", "--endpoint", endpoint]));
    let dump = ["dump", "--table", "First", "--endpoint", endpoint, "--for-spreadsheets"];
    assert_names(&fails(&data(path, &dump)), &["--for-spreadsheets", "--format csv"]);
    for (flags, record) in [
        (&["-o", "exact.csv"][..], "a,-1,=cmd|' /C calc'!A0"),
        (&["-o", "shown.csv", "--for-spreadsheets"], "a,-1,'=cmd|' /C calc'!A0"),
    ] {
        succeeds(&data(path, &[&dump[..5], &["--format", "csv"], flags].concat()));
        let text = std::fs::read_to_string(path.join(flags[1])).unwrap();
        assert_eq!(text, format!("pk:S,n:N,text:S\n{record}\n"));
    }
}

#[test]
fn nothing_is_loaded_from_a_file_with_a_fault_and_the_fault_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    create(&server, "First");
    for (text, parts) in [
        (format!("{ITEMS}{{\"pk\":{{\"S\":\"c\"}}}}\n"), ["items:4", "n is missing"]),
        (format!("{ITEMS}nonsense\n"), ["items:4", "JSON"]),
        ("pk,n:N\na,1\nb,x\n".to_owned(), ["items:3", "type N"]),
        ("pk,n:N\na,1\n\"b,2\n".to_owned(), ["items:3", "not closed"]),
    ] {
        std::fs::write(path.join("items"), &text).unwrap();
        let load = ["load", "items", "--table", "First", "--endpoint", &server.endpoint];
        assert_names(&fails(&data(path, &load)), &parts);
        assert!(items(&server, "First").is_empty(), "{text}");
    }
    let unknown = data(path, &["load", "items", "--table", "Nothing", "--endpoint", &server.endpoint]);
    assert_names(&fails(&unknown), &["Nothing", "keywright model apply"]);
    let csv = data(path, &["dump", "--table", "First", "--endpoint", &server.endpoint, "--format", "csv"]);
    assert_names(&fails(&csv), &["CSV", "-o FILE"]);
}

/// Kills the command as soon as the file exists.
fn killed_at(folder: &Path, arguments: &[&str], file: &str) {
    let arguments: Vec<&str> = ["data"].iter().chain(arguments).copied().collect();
    let mut child = keywright(folder, &arguments).spawn().unwrap();
    let mut looks = 0;
    while !folder.join(file).exists() {
        looks += 1;
        assert!(looks < 30_000, "no progress");
        assert!(child.try_wait().unwrap().is_none(), "it ended before it recorded its progress");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_interrupted_load_and_an_interrupted_dump_go_on_where_they_stopped() {
    const COUNT: usize = 30_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    let endpoint = server.endpoint.as_str();
    create(&server, "First");
    let filler = "x".repeat(400);
    let lines: Vec<String> =
        (0..COUNT).map(|n| format!(r#"{{"pk":"p{}","n":{n},"text":"{filler}"}}"#, n % 7)).collect();
    std::fs::write(path.join("items.jsonl"), lines.join("\n")).unwrap();
    let load = ["load", "items.jsonl", "--table", "First", "--endpoint", endpoint];
    killed_at(path, &load, "items.jsonl.progress");
    assert!(items(&server, "First").len() < COUNT);
    // The first line is before the recorded one: it is not loaded again.
    let key = r#"{"TableName":"First","Key":{"pk":{"S":"p0"},"n":{"N":"0"}}}"#;
    ask(&server, "DeleteItem", key);
    let resume: Vec<&str> = load.iter().copied().chain(["--resume"]).collect();
    succeeds(&data(path, &resume));
    assert_eq!(items(&server, "First").len(), COUNT - 1);
    assert!(!path.join("items.jsonl.progress").exists());
    assert_eq!(send(&server, "GetItem", key).1.get("Item"), None);

    let dump = ["dump", "--table", "First", "--endpoint", endpoint, "--format", "plain", "-o", "out.jsonl"];
    killed_at(path, &dump, ".out.jsonl.dump.progress");
    assert!(!path.join("out.jsonl").exists());
    let resume: Vec<&str> = dump.iter().copied().chain(["--resume"]).collect();
    succeeds(&data(path, &resume));
    let text = std::fs::read_to_string(path.join("out.jsonl")).unwrap();
    let found: BTreeSet<&str> = text.lines().collect();
    assert_eq!((text.lines().count(), found.len()), (COUNT - 1, COUNT - 1));
    let left: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
