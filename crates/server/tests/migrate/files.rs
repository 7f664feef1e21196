//! Files of DynamoDB Local and dynoxide.
//!
//! The first cannot be run here, and its files are made as those of its versions from 2018 to 2025 are;
//! `foreign::dynoxide` runs the second.

use std::collections::BTreeMap;
use std::path::Path;

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use rusqlite::Connection;

use crate::command::{command, fails, said, succeeds};
use crate::endpoint::{ask, described, items};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

/// One item with every type of value.
const EVERY_TYPE: &str = r#"{"pk":{"S":"a"},"sk":{"N":"-12.5"},"b":{"B":"AP8="},"yes":{"BOOL":true},"null":{"NULL":true},
    "ss":{"SS":["x","ä"]},"ns":{"NS":["1","2.50"]},"bs":{"BS":["AQ==","AP8="]},
    "deep":{"M":{"list":{"L":[{"S":"é\u0000\"quoted\""},{"M":{}},{"L":[]}]}}},"empty":{"S":""},"long":{"N":"0.1234567890123456789012345678901234567"}}"#;

/// What DynamoDB Local makes in a new file.
const LOCAL: &str = "CREATE TABLE cf (version TEXT);
    CREATE TABLE dm (TableName TEXT, CreationDateTime INTEGER, LastDecreaseDate INTEGER, LastIncreaseDate INTEGER,
      NumberOfDecreasesToday INTEGER, ReadCapacityUnits INTEGER, WriteCapacityUnits INTEGER, TableInfo BLOB,
      BillingMode INTEGER DEFAULT 0, PayPerRequestDateTime INTEGER DEFAULT 0, DeletionProtectionEnabled INTEGER DEFAULT 0,
      PRIMARY KEY(TableName));
    CREATE TABLE us (StreamID TEXT, ShardID TEXT, SequenceNumber INTEGER, StreamRecord BLOB, PRIMARY KEY(SequenceNumber));
    INSERT INTO cf VALUES ('v2.4.0');";

/// The part of `TableInfo` that says the key.
const LOCAL_KEY: &str = r#""SQLiteIndex":{"":[
    {"DynamoDBAttribute":{"AttributeName":"pk","AttributeType":"S"},"KeyType":"HASH","SQLiteColumnName":"hashKey"},
    {"DynamoDBAttribute":{"AttributeName":"sk","AttributeType":"N"},"KeyType":"RANGE","SQLiteColumnName":"rangeKey"}]}"#;

fn local_table(file: &Connection, name: &str, info: &str, units: [u32; 2], on_demand: bool) {
    let create = format!(
        "CREATE TABLE \"{name}\" (hashKey TEXT DEFAULT NULL, rangeKey BLOB DEFAULT NULL, hashValue BLOB NOT NULL, \
         rangeValue BLOB NOT NULL, itemSize INTEGER DEFAULT 0, ObjectJSON BLOB NOT NULL, PRIMARY KEY(hashKey, rangeKey))"
    );
    file.execute_batch(&create).unwrap();
    let row = "INSERT INTO dm (TableName, ReadCapacityUnits, WriteCapacityUnits, TableInfo, BillingMode, DeletionProtectionEnabled)
      VALUES (?1, ?2, ?3, ?4, ?5, 'null')";
    file.execute(row, (name, units[0], units[1], info.as_bytes(), u8::from(on_demand))).unwrap();
}

fn local_item(file: &Connection, table: &str, key: (&str, &str), json: &str) {
    let insert = format!("INSERT INTO \"{table}\" VALUES (?1, ?2, x'00', x'00', 1, ?3)");
    file.execute(&insert, (key.0, key.1, json.as_bytes())).unwrap();
}

/// A file with a provisioned table of two indexes and an on-demand table of many items.
fn local_file(path: &Path, many: u64) {
    let file = Connection::open(path).unwrap();
    file.execute_batch(LOCAL).unwrap();
    let attributes = r#""Attributes":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
        {"AttributeName":"g","AttributeType":"S"},{"AttributeName":"unused","AttributeType":"S"}]"#;
    let global = r#""GSIList":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["yes"]},
        "ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}}]"#;
    let local = r#""LSIList":[{"IndexName":"by-pk-g","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
        {"AttributeName":"g","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}]"#;
    local_table(
        &file,
        "every.type-1",
        &format!("{{{attributes},{global},{local},{LOCAL_KEY}}}"),
        [7, 8],
        false,
    );
    local_item(&file, "every.type-1", ("a", "-12.5"), EVERY_TYPE);
    local_table(&file, "Many", &format!("{{{attributes},{LOCAL_KEY}}}"), [0, 0], true);
    file.execute_batch("BEGIN").unwrap();
    for number in 0..many {
        let json = format!(
            r#"{{"pk":{{"S":"p{number}"}},"sk":{{"N":"{number}"}},"filler":{{"S":"{number:0100}"}}}}"#
        );
        local_item(&file, "Many", (&format!("p{number}"), &number.to_string()), &json);
    }
    file.execute_batch("COMMIT").unwrap();
}

/// The bytes of every file in a folder.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

#[test]
fn tables_of_dynamodb_local_come_with_keys_indexes_capacity_and_every_type() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    local_file(&own.join("shared-local-instance.db"), 1234);
    let before = bytes(&own);
    let file = own.join("shared-local-instance.db");
    let said = succeeds(folder.path(), &["--from", file.to_str().unwrap(), "--endpoint", &server.endpoint]);
    assert!(said.contains("by-g") && said.contains("1234 items"), "{said}");
    assert!(before == bytes(&own), "the file and its folder are as they were");
    assert_eq!(items(&server.endpoint, "Many").len(), 1234);
    let every: Vec<_> = items(&server.endpoint, "every.type-1").into_values().collect();
    assert_eq!(every, [read_item(&Json::parse(EVERY_TYPE).unwrap()).unwrap().item]);
    let part = |table: &str, part: &str| described(&server.endpoint, table, part);
    let units = |json: &Json| {
        ["ReadCapacityUnits", "WriteCapacityUnits"]
            .map(|name| json.at(&["ProvisionedThroughput", name]).and_then(Json::as_u64))
    };
    let whole = Json::object([("ProvisionedThroughput", part("every.type-1", "ProvisionedThroughput"))]);
    assert_eq!(units(&whole), [Some(7), Some(8)]);
    let global = part("every.type-1", "GlobalSecondaryIndexes");
    assert_eq!(units(&global.elements()[0]), [Some(3), Some(4)]);
    let projected = global.elements()[0].at(&["Projection", "NonKeyAttributes"]).unwrap();
    assert_eq!(projected.elements()[0].as_str(), Some("yes"));
    assert_eq!(
        part("every.type-1", "LocalSecondaryIndexes").elements()[0].str_at("IndexName"),
        Some("by-pk-g")
    );
    let mode = part("Many", "BillingModeSummary");
    assert_eq!(mode.str_at("BillingMode"), Some("PAY_PER_REQUEST"));
    // Its own tables are not written again, and one can be taken under another name.
    let file = file.to_str().unwrap();
    fails(folder.path(), &["--from", file, "--endpoint", &server.endpoint], &["already", "--as"]);
    let one = ["--from", file, "--table", "Many", "--as", "Other", "--endpoint", &server.endpoint];
    succeeds(folder.path(), &one);
    assert_eq!(items(&server.endpoint, "Other").len(), 1234);
}

#[test]
fn a_load_of_a_file_that_is_killed_goes_on_and_loads_every_item() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let file = folder.path().join("x.db");
    local_file(&file, 6000);
    let arguments = ["--from", file.to_str().unwrap(), "--endpoint", &server.endpoint];
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let mut ended = None;
    for _ in 0..3 {
        let mut child = command(folder.path(), &arguments).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100 + dice.roll(300)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            ended = Some(output);
            break;
        }
    }
    let said = ended.as_ref().map_or_else(|| succeeds(folder.path(), &arguments), said);
    assert!(said.contains("loaded"), "{said}");
    assert_eq!(items(&server.endpoint, "Many").len(), 6000);
    assert_eq!(items(&server.endpoint, "every.type-1").len(), 1);
}

#[test]
fn tables_of_dynoxide_come_with_their_settings_and_files_of_older_versions_too() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let make = |name: &str, version: u32, more: &str, values: &str| {
        let path = folder.path().join(name);
        let file = Connection::open(&path).unwrap();
        file.execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
            CREATE TABLE _config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
            INSERT INTO _config VALUES ('schema_version', '{version}');
            CREATE TABLE _tables (table_name TEXT PRIMARY KEY, key_schema TEXT NOT NULL, attribute_definitions TEXT NOT NULL,
              gsi_definitions TEXT, stream_enabled INTEGER DEFAULT 0, stream_view_type TEXT, ttl_attribute TEXT,
              ttl_enabled INTEGER DEFAULT 0{more});
            CREATE TABLE \"Orders{version}\" (pk TEXT NOT NULL, sk TEXT NOT NULL DEFAULT '', item_json TEXT NOT NULL,
              item_size INTEGER NOT NULL, PRIMARY KEY (pk, sk));"
        ))
        .unwrap();
        let insert = format!(
            "INSERT INTO _tables VALUES ('Orders{version}', ?1, ?2, NULL, 1, 'NEW_IMAGE', 'until', 1{values})"
        );
        let key = r#"[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#;
        let attributes =
            r#"[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}]"#;
        file.execute(&insert, (key, attributes)).unwrap();
        let item = format!("INSERT INTO \"Orders{version}\" VALUES ('S:a', 'N:1', ?1, 1)");
        file.execute(&item, [EVERY_TYPE]).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let columns = ", billing_mode TEXT, provisioned_throughput TEXT, deletion_protection_enabled INTEGER";
    let values = r#", 'PROVISIONED', '{"ReadCapacityUnits":7,"WriteCapacityUnits":8}', 1"#;
    let (new, old) = (make("new.db", 11, columns, values), make("old.db", 1, "", ""));
    for file in [&new, &old] {
        succeeds(folder.path(), &["--from", file, "--endpoint", &server.endpoint]);
    }
    assert!(!folder.path().join("new.db-shm").exists(), "nothing is written next to a file that was closed");
    for table in ["Orders11", "Orders1"] {
        let found: Vec<_> = items(&server.endpoint, table).into_values().collect();
        assert_eq!(found, [read_item(&Json::parse(EVERY_TYPE).unwrap()).unwrap().item], "{table}");
        let stream = described(&server.endpoint, table, "StreamSpecification");
        assert_eq!(stream.str_at("StreamViewType"), Some("NEW_IMAGE"), "{table}");
        let ttl = ask(&server.endpoint, "DescribeTimeToLive", &format!(r#"{{"TableName":"{table}"}}"#));
        assert_eq!(ttl.at(&["TimeToLiveDescription", "AttributeName"]).and_then(Json::as_str), Some("until"));
    }
    assert_eq!(described(&server.endpoint, "Orders11", "DeletionProtectionEnabled"), Json::Bool(true));
    let units = described(&server.endpoint, "Orders11", "ProvisionedThroughput");
    assert_eq!(units.get("WriteCapacityUnits").and_then(Json::as_u64), Some(8));
    let newer = make("newer.db", 12, columns, values);
    let names = ["a newer dynoxide", "version 12", "--live"];
    fails(folder.path(), &["--from", &newer, "--endpoint", &server.endpoint], &names);
}

#[test]
fn a_file_that_is_no_database_of_either_or_is_damaged_is_refused_by_what_is_wrong() {
    let (server, folder) = (Server::in_memory(), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name);
    let refused = |name: &str, names: &[&str]| {
        let file = path(name);
        fails(folder.path(), &["--from", file.to_str().unwrap(), "--endpoint", &server.endpoint], names);
    };
    refused("missing.db", &["cannot read", "missing.db"]);
    std::fs::write(path("text.db"), "no database at all, but long enough").unwrap();
    refused("text.db", &["is no SQLite database"]);
    std::fs::write(path("empty.db"), "").unwrap();
    refused("empty.db", &["is no SQLite database"]);
    Connection::open(path("other.db")).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    refused("other.db", &["neither of DynamoDB Local nor of dynoxide"]);
    local_file(&path("cut.db"), 300);
    let whole = std::fs::read(path("cut.db")).unwrap();
    std::fs::write(path("cut.db"), &whole[..whole.len() / 2]).unwrap();
    refused("cut.db", &["cannot read the database"]);
    let changed = |name: &str, sql: &str, names: &[&str]| {
        local_file(&path(name), 3);
        Connection::open(path(name)).unwrap().execute_batch(sql).unwrap();
        refused(name, names);
    };
    changed("newer.db", "UPDATE cf SET version = 'v3.0.0'", &["the version v3.0.0", "--live"]);
    changed("lacks.db", "DROP TABLE Many", &["lists the table Many and does not hold it"]);
    changed("info.db", "UPDATE dm SET TableInfo = '{'", &["the table Many in dm: TableInfo"]);
    changed("key.db", "UPDATE dm SET TableInfo = '{}'", &["does not say its key"]);
    let index = "UPDATE dm SET TableInfo = replace(CAST(TableInfo AS TEXT), 'LSIList', 'LSIs')";
    let columns = "UPDATE dm SET TableInfo = replace(TableInfo, '\"RANGE\",\"SQLiteColumnName\":\"rangeKey\"}]}', \
                   '\"RANGE\"}],\"by-pk-g\":[]}')";
    changed("index.db", &format!("{index}; {columns}"), &["does not say what the index by-pk-g is"]);
    assert_eq!(ask(&server.endpoint, "ListTables", "{}").get("TableNames").unwrap().elements().len(), 0);
    let row = "UPDATE \"every.type-1\" SET ObjectJSON = '{\"pk\":{\"S\":1}}'";
    changed("row.db", row, &["row 1 of the table every.type-1 is no item"]);
    local_file(&path("ok.db"), 3);
    let file = path("ok.db");
    let file = file.to_str().unwrap();
    let to = ["--endpoint", server.endpoint.as_str()];
    fails(
        folder.path(),
        &[&["--from", file, "--table", "No"][..], &to].concat(),
        &["has no table No", "Many"],
    );
    fails(folder.path(), &[&["--from", file, "--as", "X"][..], &to].concat(), &["--as names one table"]);
    fails(
        folder.path(),
        &[&["--from", file, "--live"][..], &to].concat(),
        &["--live is about a table at an endpoint"],
    );
}
