//! `keywright model import`, `export` and `diff`, with a server that must accept their output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use keywright_model::json::Json;

use crate::support::snapshot::assert_names;
use crate::support::{Server, model_command as keywright};

const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 Credential=local/20261121/us-east-1/dynamodb/aws4_request, \
                             SignedHeaders=host, Signature=00";

/// A model with every setting that exports support.
const RICH: &str = r#"
format: 1
model: rich
tables:
  Orders:
    key: {pk: S, sk: N}
    billing: {provisioned: {rcu: 5, wcu: 6, autoscale: {min: 5, max: 50, target: 70}}}
    ttl: expiresAt
    stream: new-and-old
    deletionProtection: true
    indexes:
      byStatus: {pk: [tenant, status], sk: [at], project: [total]}
      byTotal: {local: true, sk: total, project: keys}
  Log:
    key: {id: B}
    billing: on-demand
entities:
  Order:
    table: Orders
    key: {pk: "o#{id}", sk: "{number}"}
    attrs: {id: S, number: N, tenant: S, status: S, at: N, total: N, expiresAt: N}
  Entry: {table: Log, key: {id: "{id}"}, attrs: {id: B}}
"#;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/data/workbench").join(name)
}

/// The standard output of a command that must succeed.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = keywright(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Sends a request that must succeed.
pub(crate) fn ask(server: &Server, operation: &str, body: &str) -> Json {
    let (status, answer) = send(server, operation, body);
    assert_eq!(status, 200, "{operation}: {}", answer.compact());
    answer
}

pub(crate) fn send(server: &Server, operation: &str, body: &str) -> (u16, Json) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20261121T000000Z\r\n\
         Authorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, content) = answer.split_once("\r\n\r\n").unwrap();
    let from = content.find('{').unwrap_or(0);
    let to = content.rfind('}').map_or(content.len(), |end| end + 1);
    (status, Json::parse(&content[from..to]).unwrap())
}

fn requests(exported: &str) -> Vec<Json> {
    match Json::parse(exported).unwrap() {
        Json::List(requests) => requests,
        one => vec![one],
    }
}

#[test]
fn r86_exported_create_table_json_is_accepted_for_every_example() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rich.yaml"), RICH).unwrap();
    let examples = [
        "simple-aws-ecommerce/ECommerce-9-10.json",
        "an-online-shop/AnOnlineShop_facets.json",
        "schema-examples/ChatSystemSchema.json",
        "schema-examples/ComplaintManagementSchema.json",
        "schema-examples/ConnectedVehiclesSchema.json",
        "schema-examples/GamePlayerProfilesSchema.json",
        "schema-examples/RecurringPaymentsSchema.json",
        "schema-examples/SessionManagementSchema.json",
        "schema-examples/SocialNetworkSchema.json",
    ];
    let mut models = vec!["rich.yaml".to_owned()];
    for (at, name) in examples.iter().enumerate() {
        let model = format!("{at}.yaml");
        printed(folder.path(), &["import", example(name).to_str().unwrap(), "-o", &model]);
        models.push(model);
    }
    for model in &models {
        let server = Server::in_memory();
        for request in requests(&printed(folder.path(), &["export", model, "--to", "create-table"])) {
            let described = ask(&server, "CreateTable", &request.compact());
            let table = described.get("TableDescription").unwrap();
            for list in ["KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
                let length = |json: &Json| json.get(list).map_or(0, |list| list.elements().len());
                assert_eq!(length(table), length(&request), "{model}: {list}");
            }
        }
    }
}

#[test]
fn r86_templates_and_scripts_create_the_same_tables_as_the_requests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    let direct = printed(path, &["export", "rich.yaml", "--to", "create-table"]);

    for (flags, file) in
        [(&["--to", "cloudformation"][..], "t.yaml"), (&["--to", "cloudformation", "--json"], "t.json")]
    {
        let arguments: Vec<&str> = ["export", "rich.yaml", "-o", file].iter().chain(flags).copied().collect();
        printed(path, &arguments);
        let back = format!("back-{file}.yaml");
        printed(path, &["import", file, "-o", &back]);
        assert_eq!(printed(path, &["export", &back, "--to", "create-table"]), direct, "{file}");
    }

    // A fake `aws` records the calls of the script.
    let tool = path.join("aws");
    std::fs::write(
        &tool,
        "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\036' \"$a\" >> calls; done; printf '\\035' >> calls\n",
    )
    .unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&tool).status().unwrap().success());
    printed(path, &["export", "rich.yaml", "--to", "cli", "-o", "create.sh"]);
    let search = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
    let run = Command::new("sh").arg("create.sh").current_dir(path).env("PATH", search).status().unwrap();
    assert!(run.success());
    let calls = std::fs::read_to_string(path.join("calls")).unwrap();
    let calls: Vec<Vec<&str>> = calls
        .split('\u{1d}')
        .filter(|call| !call.is_empty())
        .map(|call| call.split('\u{1e}').filter(|word| !word.is_empty()).collect())
        .collect();
    let server = Server::in_memory();
    let sent: Vec<Json> = calls
        .iter()
        .filter(|call| call[1] == "create-table")
        .map(|call| Json::parse(call.last().unwrap()).unwrap())
        .collect();
    assert_eq!(sent, requests(&direct));
    for request in &sent {
        ask(&server, "CreateTable", &request.compact());
    }
    let ttl = calls.iter().find(|call| call[1] == "update-time-to-live").unwrap();
    assert_eq!(ttl.last(), Some(&"Enabled=true,AttributeName=expiresAt"));
}

/// Index, key condition, values, and how many items come back.
type Pattern = (Option<&'static str>, &'static str, &'static [(&'static str, &'static str)], u64);

/// The ten access patterns of the e-commerce example.
const TEN: [Pattern; 10] = [
    (None, "PK = :p AND SK = :s", &[(":p", "c#12345"), (":s", "c#12345")], 1),
    (None, "PK = :p AND SK = :s", &[(":p", "p#12345"), (":s", "p#12345")], 1),
    (None, "PK = :p", &[(":p", "o#12345")], 4),
    (None, "PK = :p AND begins_with(SK, :s)", &[(":p", "o#12345"), (":s", "p#")], 2),
    (None, "PK = :p AND begins_with(SK, :s)", &[(":p", "o#12345"), (":s", "i#")], 1),
    (
        Some("GSI1"),
        "#p = :p AND #s BETWEEN :a AND :b",
        &[(":p", "p#99887"), (":a", "2023-04-25T00:00:00"), (":b", "2023-04-25T23:59:00")],
        1,
    ),
    (Some("GSI1"), "#p = :p AND #s = :s", &[(":p", "i#55443"), (":s", "i#55443")], 1),
    (Some("GSI1"), "#p = :p AND #s = :s", &[(":p", "i#55443"), (":s", "i#55443")], 1),
    (
        Some("GSI2"),
        "#p = :p AND #s BETWEEN :a AND :b",
        &[(":p", "c#12345"), (":a", "i#2023-04-15"), (":b", "i#2023-04-30")],
        1,
    ),
    (
        Some("GSI2"),
        "#p = :p AND #s BETWEEN :a AND :b",
        &[(":p", "c#12345"), (":a", "p#2023-04-15"), (":b", "p#2023-04-30")],
        2,
    ),
];

fn query(index: Option<&str>, condition: &str, values: &[(&str, &str)]) -> Json {
    let texts =
        values.iter().map(|(name, text)| ((*name).to_owned(), Json::object([("S", Json::text(*text))])));
    let mut request = Json::object([
        ("TableName", Json::text("SimpleAWSEcommerce")),
        ("KeyConditionExpression", Json::text(condition)),
        ("ExpressionAttributeValues", Json::Object(texts.collect())),
        ("ReturnConsumedCapacity", Json::text("TOTAL")),
    ]);
    if let Some(index) = index {
        request.set("IndexName", Json::text(index));
        let names = [("#p", format!("{index}-PK")), ("#s", format!("{index}-SK"))];
        let names = names.into_iter().filter(|(name, _)| condition.contains(name));
        let names = names.map(|(name, text)| (name.to_owned(), Json::Text(text)));
        request.set("ExpressionAttributeNames", Json::Object(names.collect()));
    }
    request
}

/// A server with the example's table, made from our export, and its items.
fn shop(folder: &Path) -> Server {
    let file = example("simple-aws-ecommerce/ECommerce-9-10.json");
    printed(folder, &["import", file.to_str().unwrap(), "-o", "shop.yaml"]);
    let server = Server::in_memory();
    ask(&server, "CreateTable", &printed(folder, &["export", "shop.yaml", "--to", "create-table"]));
    let document = Json::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    for item in document.get("DataModel").unwrap().elements()[0].get("TableData").unwrap().elements() {
        let put = Json::object([("TableName", Json::text("SimpleAWSEcommerce")), ("Item", item.clone())]);
        ask(&server, "PutItem", &put.compact());
    }
    server
}

#[test]
fn the_ten_queries_of_the_e_commerce_example_have_their_published_results() {
    let folder = tempfile::tempdir().unwrap();
    let server = shop(folder.path());
    for (number, (index, condition, values, count)) in TEN.into_iter().enumerate() {
        let answer = ask(&server, "Query", &query(index, condition, values).compact());
        assert_eq!(answer.get("Count").and_then(Json::as_u64), Some(count), "query {}", number + 1);
        let units = answer.at(&["ConsumedCapacity", "CapacityUnits"]);
        assert_eq!(units, Some(&Json::Number("0.5".to_owned())), "query {}", number + 1);
    }
}

#[test]
fn a_live_table_becomes_a_model_with_entities_from_its_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = shop(path);
    ask(
        &server,
        "UpdateTimeToLive",
        r#"{"TableName":"SimpleAWSEcommerce","TimeToLiveSpecification":{"AttributeName":"gone","Enabled":true}}"#,
    );
    printed(path, &["import", "--endpoint", &server.endpoint, "--name", "live", "-o", "live.yaml"]);
    let model = std::fs::read_to_string(path.join("live.yaml")).unwrap();
    assert!(model.contains("ttl: gone"), "{model}");
    // Only this setting differs from the model that was imported from the document.
    let difference = printed(path, &["diff", "shop.yaml", "live.yaml", "--format", "json"]);
    let difference = Json::parse(&difference).unwrap();
    let changes = difference.get("changes").unwrap().elements();
    let names: Vec<_> = changes.iter().map(|change| change.str_at("name").unwrap()).collect();
    assert_eq!(names, ["SimpleAWSEcommerce.ttl"]);

    let unknown = keywright(path, &["import", "--endpoint", &server.endpoint, "--table", "Nothing"]);
    assert!(!unknown.status.success());
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(said.contains("has no table Nothing in region us-east-1 of account"), "{said}");
}

/// An endpoint with two tables that lets its caller describe only one of them and scan none; it serves one
/// connection.
fn endpoint_that_refuses_most() -> String {
    const REFUSAL: &str =
        r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not allowed"}"#;
    const TABLE: &str = r#"{"Table":{"TableName":"Open","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"}}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || -> Option<()> {
        let (stream, _) = listener.accept().ok()?;
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                (reader.read_line(&mut head).ok()? > 0).then_some(())?;
            }
            let head = head.to_lowercase();
            let length = head.split_once("content-length: ")?.1.lines().next()?.parse().ok()?;
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let of_open = String::from_utf8_lossy(&body).contains("Open");
            let (status, answer) =
                match head.split_once("x-amz-target: dynamodb_20120810.")?.1.lines().next()? {
                    "listtables" => ("200 OK", r#"{"TableNames":["Hidden","Open"]}"#),
                    "describetable" if of_open => ("200 OK", TABLE),
                    _ => ("400 Bad Request", REFUSAL),
                };
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).ok()?;
        }
    };
    std::thread::Builder::new().spawn(serve).unwrap();
    endpoint
}

#[test]
fn tables_that_may_not_be_described_or_scanned_do_not_refuse_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let notes = noted(path, &["import", "--endpoint", &endpoint_that_refuses_most(), "-o", "live.yaml"]);
    assert_names(&notes, &["Hidden", "DescribeTable", "Open", "Scan", "AccessDeniedException"]);
    let text = std::fs::read_to_string(path.join("live.yaml")).unwrap();
    let made = keywright_model::parse(&text).unwrap();
    let tables: Vec<&str> = made.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables, ["Open"]);
    assert_eq!(made.entities[0].template("pk").unwrap().to_string(), "{pk}");
}

#[test]
fn r73_import_and_diff_name_what_each_step_added() {
    let folder = tempfile::tempdir().unwrap();
    let step = |name: &str| example(&format!("simple-aws-ecommerce/ECommerce-{name}.json"));
    let (before, after) = (step("5"), step("6"));
    let json = printed(
        folder.path(),
        &["diff", before.to_str().unwrap(), after.to_str().unwrap(), "--format", "json"],
    );
    let difference = Json::parse(&json).unwrap();
    let text = |json: &Json, name: &str| json.str_at(name).unwrap().to_owned();
    let changes = difference.get("changes").unwrap().elements();
    let changes: Vec<_> = changes
        .iter()
        .map(|own| [text(own, "change"), text(own, "thing"), text(own, "name")].join(" "))
        .collect();
    let expected = ["added index SimpleAWSEcommerce.GSI1", "changed entity SimpleAWSEcommerce.orderItem"]
        .map(str::to_owned);
    assert_eq!(changes, expected);
    let steps = difference.get("steps").unwrap().elements();
    let steps: Vec<_> = steps.iter().map(|own| text(own, "who")).collect();
    assert_eq!(steps, ["table", "application", "job", "job"]);
    let units = ["readUnits", "writeUnits"].map(|name| difference.get(name).and_then(Json::as_u64));
    assert_eq!(units, [Some(3), Some(4)]);
}

#[test]
fn a_workbench_document_round_trips_unchanged_and_patterns_survive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let file = example("an-online-shop/AnOnlineShop_facets.json");
    printed(path, &["import", file.to_str().unwrap(), "-o", "shop.yaml"]);
    printed(path, &["export", "shop.yaml", "--to", "workbench", "-o", "out.json"]);
    let original = Json::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let text = std::fs::read_to_string(path.join("out.json")).unwrap();
    assert_eq!(Json::parse(&text).unwrap(), original);

    // A document cannot hold the local index, capacity and time to live; they come back from the side file.
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    printed(path, &["export", "rich.yaml", "--to", "workbench", "-o", "rich.json"]);
    printed(path, &["import", "rich.json", "-o", "again.yaml"]);
    let difference = printed(path, &["diff", "rich.yaml", "again.yaml", "--format", "json"]);
    assert!(Json::parse(&difference).unwrap().get("changes").unwrap().elements().is_empty(), "{difference}");
}

/// The error message of a refused command.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = keywright(folder, arguments);
    assert_eq!(output.status.code().map(|status| status > 0), Some(true), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn neither_of_two_files_is_written_if_one_of_them_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let file = example("an-online-shop/AnOnlineShop_facets.json");
    let file = file.to_str().unwrap();
    std::fs::write(path.join("shop.workbench.json"), "mine").unwrap();
    assert_names(&refused(path, &["import", file, "-o", "shop.yaml"]), &["shop.workbench.json"]);
    assert!(!path.join("shop.yaml").exists());
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    std::fs::write(path.join("q.keywright.yaml"), "mine").unwrap();
    let message = refused(path, &["export", "rich.yaml", "--to", "workbench", "-o", "q.json"]);
    assert_names(&message, &["q.keywright.yaml"]);
    assert!(!path.join("q.json").exists());
}

#[test]
fn a_document_or_a_side_file_of_another_design_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let file = example("an-online-shop/AnOnlineShop_facets.json");
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    std::fs::copy(&file, path.join("rich.workbench.json")).unwrap();
    let message = refused(path, &["export", "rich.yaml", "--to", "workbench"]);
    assert_names(&message, &["rich.workbench.json", "`rich`", "--base"]);
    printed(path, &["export", "rich.yaml", "--to", "workbench", "--no-base"]);
    printed(path, &["export", "rich.yaml", "--to", "workbench", "--base", "rich.workbench.json"]);

    std::fs::copy(&file, path.join("shop.json")).unwrap();
    std::fs::copy(path.join("rich.yaml"), path.join("shop.keywright.yaml")).unwrap();
    let message = refused(path, &["import", "shop.json", "-o", "shop.yaml"]);
    assert_names(&message, &["shop.keywright.yaml", "shop.json", "--side"]);
    assert!(!path.join("shop.yaml").exists());
    printed(path, &["import", "shop.json", "--no-side"]);
}

#[test]
fn inapplicable_options_and_unknown_names_are_refused_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["export", "rich.yaml", "--to", "cli", "--json"], "--json"),
        (&["export", "rich.yaml", "--to", "workbench", "--regions", "eu-west-1"], "--regions"),
        (&["export", "rich.yaml", "--to", "cli", "--base", "x.json"], "--base"),
        (&["export", "rich.yaml", "--to", "cloudformation", "--regions", "mars"], "mars"),
        (&["show", "rich.yaml", "--pattern", "ZZ"], "`ZZ`"),
        (&["import"], "--endpoint"),
        (&["import", "rich.yaml", "--endpoint", "http://localhost:1"], "--endpoint"),
        (&["import", "--endpoint", "http://localhost:1", "--no-side"], "--endpoint"),
    ];
    for (arguments, name) in cases {
        assert_names(&refused(path, arguments), &[name]);
    }
    assert!(keywright(path, &["init"]).status.success());
    let said = refused(path, &["show", "model.yaml", "--pattern", "ZZ"]);
    assert_names(&said, &["`ZZ`", "Q1", "W1"]);
}

/// A folder is in the place of the second file: the first must not be written alone, nor any part of them.
#[test]
fn two_files_are_written_together_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    let file = example("simple-aws-ecommerce/ECommerce-1.json");
    for (arguments, second) in [
        (&["import", file.to_str().unwrap(), "-o", "m.yaml", "--force"][..], "m.workbench.json"),
        (&["export", "rich.yaml", "--to", "workbench", "-o", "m.json", "--force"][..], "m.keywright.yaml"),
    ] {
        std::fs::create_dir(path.join(second)).unwrap();
        let said = refused(path, arguments);
        assert_names(&said, &[second]);
        let left: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        std::fs::remove_dir(path.join(second)).unwrap();
        assert!(keywright(path, arguments).status.success());
        let left = std::fs::read_dir(path).unwrap().count();
        assert_eq!(left, 3);
        for name in ["m.yaml", "m.json", second] {
            let _ = std::fs::remove_file(path.join(name));
        }
    }
}

#[test]
fn existing_files_are_kept_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.yaml"), "mine").unwrap();
    let file = example("simple-aws-ecommerce/ECommerce-1.json");
    let refused = keywright(folder.path(), &["import", file.to_str().unwrap(), "-o", "m.yaml"]);
    assert!(!refused.status.success());
    assert_names(&String::from_utf8_lossy(&refused.stderr), &["m.yaml", "--force"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("m.yaml")).unwrap(), "mine");
    printed(folder.path(), &["import", file.to_str().unwrap(), "-o", "m.yaml", "--force"]);
}

#[test]
fn r69_the_steps_are_shown_and_a_pattern_marks_what_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models/ecommerce.yaml");
    let model = model.to_str().unwrap();
    let steps = printed(folder.path(), &["show", model]);
    let titles = ["Patterns", "Entities", "Keys", "Indexes", "Denormalisation", "Validation"];
    let mut rest = steps.as_str();
    for title in titles {
        let at = rest.find(&format!("{title} ")).unwrap_or_else(|| panic!("{title} is not there: {steps}"));
        rest = &rest[at..];
    }
    let marked = printed(folder.path(), &["show", model, "--pattern", "P5"]);
    assert!(marked.contains("  > i#55443  Invoice\n"), "{marked}");
    let keys = printed(folder.path(), &["show", model, "keys", "checklist", "--format", "markdown"]);
    assert!(keys.contains("| Product | p#{productId} | p#{productId} | - |"), "{keys}");
    let unknown = keywright(folder.path(), &["show", model, "everything"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("[possible values: patterns, entities, keys,"));
}

/// Puts the items of a model's Workbench document.
fn put_items(folder: &Path, model: &str, server: &Server) -> usize {
    let document = Json::parse(&printed(folder, &["export", model, "--to", "workbench"])).unwrap();
    let mut put = 0;
    for table in document.get("DataModel").unwrap().elements() {
        let name = table.str_at("TableName").unwrap();
        let facets = table.get("TableFacets").map_or(&[][..], Json::elements);
        let lists = std::iter::once(table).chain(facets).filter_map(|holder| holder.get("TableData"));
        for item in lists.flat_map(Json::elements) {
            let request = Json::object([("TableName", Json::text(name)), ("Item", item.clone())]);
            ask(server, "PutItem", &request.compact());
            put += 1;
        }
    }
    put
}

#[test]
fn every_example_round_trips_through_a_running_server_with_the_same_tables_and_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let model = entry.path();
        if model.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let model = model.to_str().unwrap();
        let server = Server::in_memory();
        for request in requests(&printed(path, &["export", model, "--to", "create-table"])) {
            ask(&server, "CreateTable", &request.compact());
        }
        let put = put_items(path, model, &server);
        assert!(put > 0, "{model}");
        let live = printed(path, &["import", "--endpoint", &server.endpoint]);
        std::fs::write(path.join("live.yaml"), live).unwrap();
        // The tables are the same, except for settings that CreateTable does not have; the entities are
        // guesses. The command fails if it cannot plan the migration, which does not matter here.
        let difference = String::from_utf8(keywright(path, &["diff", model, "live.yaml"]).stdout).unwrap();
        let lines = difference.lines().take_while(|line| !line.is_empty());
        for line in lines.filter(|line| !line.contains(" entity ") && !line.contains(" pattern ")) {
            let unset = [
                ".ttl changed",
                ".point-in-time recovery changed",
                ".billing changed",
                ".auto scaling changed",
            ];
            assert!(unset.iter().any(|setting| line.contains(setting)), "{model}: {line}");
        }
        let again = Json::parse(&printed(path, &["export", "live.yaml", "--to", "workbench"])).unwrap();
        let items = |table: &Json| {
            let facets = table.get("TableFacets").map_or(&[][..], Json::elements);
            let lists = std::iter::once(table).chain(facets).filter_map(|holder| holder.get("TableData"));
            lists.flat_map(Json::elements).count()
        };
        let back: usize = again.get("DataModel").unwrap().elements().iter().map(items).sum();
        assert_eq!(back, put, "{model}");
        seen += 1;
    }
    assert_eq!(seen, 17);
}

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn r86_the_aws_cli_runs_the_exported_script_against_the_server() {
    let clients =
        std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets the folder of the clients");
    let tools = Path::new(&clients).join("python/bin");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let server = Server::in_memory();
    // With and without time to live, backups and auto scaling; the last two exist only in the service.
    for (model, table) in [("building-blocks", "Blocks"), ("chat", "Chat"), ("online-shop", "OnlineShop")] {
        let file = examples.join(model).with_extension("yaml");
        printed(path, &["export", file.to_str().unwrap(), "--to", "cli", "-o", "create.sh", "--force"]);
        let search = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .arg("create.sh")
            .current_dir(path)
            .env("PATH", search)
            .env("AWS_ENDPOINT_URL", &server.endpoint)
            .env("AWS_ACCESS_KEY_ID", "script")
            .env("AWS_SECRET_ACCESS_KEY", "script")
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{model}: {}", String::from_utf8_lossy(&output.stderr));
        let described = ask(&server, "DescribeTable", &format!(r#"{{"TableName":"{table}"}}"#));
        assert_eq!(described.at(&["Table", "TableStatus"]).and_then(Json::as_str), Some("ACTIVE"), "{model}");
    }
    let ttl = ask(&server, "DescribeTimeToLive", r#"{"TableName":"Blocks"}"#);
    let attribute = ttl.at(&["TimeToLiveDescription", "AttributeName"]).and_then(Json::as_str);
    assert_eq!(attribute, Some("expiresAt"));
}

/// Tables with replicas.
const REPLICATED: &str = r#"
format: 1
model: rep
tables:
  Tab: {key: {pk: S}, stream: new-and-old, deletionProtection: true, class: infrequent-access, replicas: [eu-west-1, ap-south-1]}
  Scaled: {key: {pk: S}, stream: new-and-old, billing: {provisioned: {rcu: 5, wcu: 6, autoscale: {min: 6, max: 60}}}, replicas: [eu-west-1]}
entities:
  Order: {table: Tab, count: 1000, key: {pk: "o#{id}"}, attrs: {id: S}}
  Line: {table: Scaled, key: {pk: "o#{id}"}, attrs: {id: S}}
"#;

#[test]
fn a_table_with_replicas_and_without_auto_scaling_becomes_a_valid_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let described = r#"{"Table": {"TableName": "Tab", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "Replicas": [{"RegionName": "eu-west-1"}]}}"#;
    std::fs::write(path.join("table.json"), described).unwrap();
    let message = noted(path, &["import", "table.json", "-o", "model.yaml"]);
    assert_names(&message, &["Tab", "replicas"]);
    let text = std::fs::read_to_string(path.join("model.yaml")).unwrap();
    let made = keywright_model::parse(&text).unwrap();
    assert_eq!(made.tables[0].replicas, ["eu-west-1"]);
}

/// The notes of a command on standard error; it must succeed.
fn noted(folder: &Path, arguments: &[&str]) -> String {
    let output = keywright(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn replicas_survive_every_format_that_holds_them_and_are_noted_for_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("rep.yaml"), REPLICATED).unwrap();
    let tables = |model: &str| {
        let text = std::fs::read_to_string(path.join(model)).unwrap();
        let made = keywright_model::parse(&text).unwrap();
        made.tables.iter().map(keywright_exchange::of_model::definition).collect::<Vec<_>>()
    };
    for (flags, file) in [
        (&["--to", "cloudformation"][..], "t.yaml"),
        (&["--to", "cloudformation", "--json"], "t.json"),
        (&["--to", "workbench"], "w.json"),
    ] {
        let arguments: Vec<&str> = ["export", "rep.yaml", "-o", file].iter().chain(flags).copied().collect();
        printed(path, &arguments);
        let back = format!("{file}.back.yaml");
        printed(path, &["import", file, "-o", &back]);
        assert_eq!(tables(&back), tables("rep.yaml"), "{file}");
    }
    let message = noted(path, &["export", "rep.yaml", "--to", "create-table"]);
    assert_names(&message, &["Tab", "eu-west-1", "ap-south-1", "UpdateTable"]);
    let script = printed(path, &["export", "rep.yaml", "--to", "cli"]);
    assert_eq!(script.matches("--replica-updates").count(), 3, "{script}");
    assert!(
        script.contains(r#"--table-name 'Tab' --replica-updates '[{"Create":{"RegionName":"eu-west-1"}}]'"#)
    );
}

#[test]
fn a_template_is_imported_with_the_values_of_its_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let template = "Parameters:\n  KeyName: {Type: String}\n  Stage: {Type: String, Default: dev}\nResources:\n  Log:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: !Sub \"${Stage}-log\"\n      BillingMode: PAY_PER_REQUEST\n      AttributeDefinitions: [{AttributeName: !Ref KeyName, AttributeType: S}]\n      KeySchema: [{AttributeName: !Ref KeyName, KeyType: HASH}]\n";
    std::fs::write(path.join("t.yaml"), template).unwrap();
    let made = |file: &str| {
        let text = std::fs::read_to_string(path.join(file)).unwrap();
        let table = keywright_model::parse(&text).unwrap().tables.remove(0);
        (table.name, table.partition.name)
    };
    let given = ["--parameter", "KeyName=pk", "--parameter", "Stage=prod", "-o", "given.yaml"];
    noted(path, &[&["import", "t.yaml"][..], &given].concat());
    assert_eq!(made("given.yaml"), ("prod-log".to_owned(), "pk".to_owned()));
    let notes = noted(path, &["import", "t.yaml", "-o", "assumed.yaml"]);
    assert_names(&notes, &["line 11", "`KeyName` is assumed", "--parameter KeyName=VALUE", "Stage = dev"]);
    assert_eq!(made("assumed.yaml"), ("dev-log".to_owned(), "KeyName".to_owned()));
    for (arguments, parts) in [
        (&["--parameter", "Keyname=pk"][..], &["no parameter Keyname", "KeyName"][..]),
        (&["--parameter", "KeyName"], &["NAME=VALUE"]),
        (&["--parameter", "Stage=a", "--parameter", "Stage=b"], &["Stage", "twice"]),
    ] {
        assert_names(&refused(path, &[&["import", "t.yaml"][..], arguments].concat()), parts);
    }
    std::fs::write(path.join("run.sh"), "#!/bin/sh\naws dynamodb list-tables\n").unwrap();
    std::fs::write(path.join("program"), b"\x7fELF\x02\x01\x01\x00\xff\xfe").unwrap();
    for file in ["run.sh", "program"] {
        let message = refused(path, &["import", file]);
        assert_names(&message, &[file, "NoSQL Workbench", "CreateTable", "DescribeTable", "CloudFormation"]);
    }
}

#[test]
fn an_unreadable_model_next_to_a_document_does_not_refuse_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("rich.yaml"), RICH).unwrap();
    // All three files have the same stem, and so the same side file.
    printed(path, &["export", "rich.yaml", "--to", "workbench", "-o", "rich.workbench"]);
    for (format, file) in [("cloudformation", "rich.cloudformation"), ("create-table", "rich.create-table")] {
        printed(path, &["export", "rich.yaml", "--to", format, "-o", file]);
        let message = noted(path, &["import", file, "-o", &format!("{format}.yaml")]);
        assert!(!message.contains("rich.keywright.yaml"), "{message}");
    }
    let with = noted(path, &["import", "rich.workbench", "-o", "with.yaml"]);
    assert_names(&with, &["rich.keywright.yaml", "--no-side"]);
    let without = noted(path, &["import", "rich.workbench", "--no-side", "-o", "without.yaml"]);
    assert!(!without.contains("rich.keywright.yaml"), "{without}");
    // A side file that is not a model is noted and ignored.
    std::fs::write(path.join("rich.keywright.yaml"), "format: 9").unwrap();
    let broken = noted(path, &["import", "rich.workbench", "-o", "broken.yaml"]);
    assert_names(&broken, &["rich.keywright.yaml"]);
    let refused = keywright(path, &["import", "rich.create-table", "--side", "rich.yaml"]);
    assert_names(&String::from_utf8_lossy(&refused.stderr), &["--side", "rich.create-table"]);
}

#[test]
fn a_document_on_standard_output_notes_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rich.yaml"), RICH).unwrap();
    let message = noted(folder.path(), &["export", "rich.yaml", "--to", "workbench"]);
    assert_names(&message, &["0 patterns", "-o FILE"]);
}

#[test]
fn the_counts_of_a_description_become_count_and_size_and_unsupported_members_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let description = r#"{"Table": {"TableName": "Log", "TableStatus": "ACTIVE",
  "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/Log",
  "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
  "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
  "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
  "ItemCount": 5000, "TableSizeBytes": 1000000,
  "WarmThroughput": {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"},
  "SSEDescription": {"Status": "ENABLED"},
  "Replicas": [{"RegionName": "us-east-1", "ReplicaStatus": "ACTIVE"}, {"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}]}}"#;
    std::fs::write(folder.path().join("log.json"), description).unwrap();
    let message = noted(folder.path(), &["import", "log.json", "-o", "log.yaml"]);
    assert_names(&message, &["line 8: Log.SSEDescription:"]);
    assert!(!message.contains("WarmThroughput") && !message.contains("TableStatus"), "{message}");
    let model = std::fs::read_to_string(folder.path().join("log.yaml")).unwrap();
    for part in ["count: 5000", "size: 200", "eu-west-1"] {
        assert!(model.contains(part), "{part} in {model}");
    }
    assert!(!model.contains("us-east-1"), "{model}");
}

/// Items of a table with several entities, numbers as sort keys and indexes that not every item is in.
fn measurements(number: usize) -> String {
    let device = number % 500;
    let text = |value: String| format!(r#"{{"S":"{value}"}}"#);
    let count = |value: usize| format!(r#"{{"N":"{value}"}}"#);
    let (pk, sk, rest) = match number % 20 {
        0 => (
            format!("DEVICE#d{number}"),
            0,
            format!(
                r#","deviceId":{},"owner":{}"#,
                text(format!("d{number}")),
                text(format!("u{}", device % 7))
            ),
        ),
        // Every other alarm is open.
        1 | 2 => (
            format!("ALARM#a{device:03}"),
            1_700_000_000 + number,
            format!(
                r#","alarmId":{},"level":{}{}"#,
                text(format!("a{device:03}")),
                count(number % 5),
                if number.is_multiple_of(2) {
                    format!(r#","openSince":{}"#, count(1_700_000_000 + number))
                } else {
                    String::new()
                }
            ),
        ),
        _ => (
            format!("READING#d{device:03}"),
            1_700_000_000 + number,
            format!(r#","deviceId":{},"value":{}"#, text(format!("d{device:03}")), count(number)),
        ),
    };
    format!(r#"{{"pk":{},"sk":{}{rest}}}"#, text(pk), count(sk))
}

#[test]
fn a_live_table_of_ten_thousand_items_gives_entities_sparse_indexes_and_counts() {
    const ITEMS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::in_memory();
    ask(
        &server,
        "CreateTable",
        r#"{"TableName":"Measurements","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
              {"AttributeName":"owner","AttributeType":"S"},{"AttributeName":"openSince","AttributeType":"N"},{"AttributeName":"alarmId","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
            "GlobalSecondaryIndexes":[
              {"IndexName":"byOwner","KeySchema":[{"AttributeName":"owner","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}},
              {"IndexName":"open","KeySchema":[{"AttributeName":"alarmId","KeyType":"HASH"},{"AttributeName":"openSince","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
            "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},"Tags":[{"Key":"team","Value":"lab"}]}"#,
    );
    for from in (0..ITEMS).step_by(25) {
        let puts: Vec<String> = (from..from + 25)
            .map(|number| format!(r#"{{"PutRequest":{{"Item":{}}}}}"#, measurements(number)))
            .collect();
        let body = format!(r#"{{"RequestItems":{{"Measurements":[{}]}}}}"#, puts.join(","));
        ask(&server, "BatchWriteItem", &body);
    }
    let endpoint = server.endpoint.as_str();
    let message = noted(path, &["import", "--endpoint", endpoint, "--sample", "2000", "-o", "live.yaml"]);
    assert_names(&message, &["Measurements", "tags", "2000"]);
    let text = std::fs::read_to_string(path.join("live.yaml")).unwrap();
    let model = keywright_model::parse(&text).unwrap();
    let template = |entity: &str, key: &str| {
        model.entity(entity).and_then(|entity| entity.template(key)).map(|template| template.to_string())
    };
    for (entity, pk) in
        [("DEVICE", "DEVICE#{deviceId}"), ("ALARM", "ALARM#{alarmId}"), ("READING", "READING#{deviceId}")]
    {
        assert_eq!(template(entity, "pk").as_deref(), Some(pk), "{text:.3000}");
        assert_eq!(template(entity, "sk").as_deref(), Some("{sk}"));
    }
    let count = |entity: &str| model.entity(entity).and_then(|entity| entity.count).unwrap();
    let counts = [count("DEVICE"), count("ALARM"), count("READING")];
    assert!(counts.iter().sum::<u64>().abs_diff(10_000) <= 2, "{counts:?}");
    for (count, share) in counts.into_iter().zip([500, 1000, 8500]) {
        assert!(count.abs_diff(share) < 400, "{counts:?}");
    }
    let open = model.entity("ALARM").and_then(|alarm| alarm.attribute("openSince")).unwrap();
    assert!(open.present_ppm.unwrap().abs_diff(500_000) < 100_000, "{:?}", open.present_ppm);
    assert!(model.entity("READING").unwrap().attribute("openSince").is_none());
    // The imported model passes its check with every item of the sample.
    printed(path, &["check", "live.yaml"]);
}
