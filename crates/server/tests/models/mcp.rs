//! `keywright mcp`, message by message: what its tools may take, and what they tell.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Server, without_aws_settings};

/// A tool, and its arguments that name a path.
type Call = (&'static str, fn(&str) -> Value);

/// A session with the program.
struct Session {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn start(folder: &Path) -> Self {
        Self::with(&["--folder", folder.to_str().unwrap()])
    }

    fn with(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
        without_aws_settings(&mut command);
        let mut process = command
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut session = Self { process, output };
        let itself = json!({"name": "test", "version": "1"});
        let request = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": itself});
        session.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": request}));
        session.answer(0);
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&mut self, message: &Value) {
        let input = self.process.stdin.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// The answer to a request; others and notifications before it are passed over.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }

    fn begin(&mut self, id: u64, tool: &str, arguments: &Value) {
        let call = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}));
    }

    /// The names of the tools that are listed.
    fn tools(&mut self, id: u64) -> Vec<String> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
        let tools = self.answer(id)["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What a tool says, and whether that is a failure.
    fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> (bool, String) {
        self.begin(id, tool, arguments);
        let result = self.answer(id);
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (result["isError"] == json!(true), text)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _it_may_have_ended = self.process.kill();
        let _waited = self.process.wait();
    }
}

fn model(data: &str) -> String {
    format!(
        "format: 1\nmodel: m\ntables: {{Things: {{key: {{pk: S}}}}}}\nentities: {{E: {{count: 1, key: {{pk: 'E#{{e}}'}}, attrs: \
         {{e: S}}}}}}\npatterns: [{{id: P, get: E, given: {{e: eq}}, rate: 1}}]\n{data}\n"
    )
}

#[test]
fn a_path_outside_of_the_folder_gets_one_answer_whether_it_exists_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    // What is there has the name of what is not, but for its first letter.
    std::fs::write(folder.path().join("t-here"), "{}").unwrap();
    std::fs::create_dir(folder.path().join("t-folder")).unwrap();
    #[cfg(unix)]
    for (link, to) in [("t-link.yaml", "../t-here"), ("f-link.yaml", "../f-here")] {
        std::os::unix::fs::symlink(to, own.join(link)).unwrap();
    }
    let mut session = Session::start(&own);
    let mut next = 0;
    let mut said = |tool: &str, arguments: Value| {
        next += 1;
        session.call(next, tool, &arguments)
    };
    let absolute = folder.path().display().to_string();
    for place in ["../{}-here", "../{}-here/x", "../{}-folder/x", "ABSOLUTE/{}-here", "{}-link.yaml"] {
        let [there, missing] =
            ["t", "f"].map(|first| place.replace("ABSOLUTE", &absolute).replace("{}", first));
        let calls: [Call; 5] = [
            ("model_check", |path| json!({"model": path})),
            ("model_check", |path| json!({"text": model(&format!("data: {{file: '{path}'}}"))})),
            ("model_simulate", |path| json!({"text": model(""), "profile": path})),
            ("model_cost", |path| json!({"text": model(""), "prices": path})),
            ("model_cost", |path| json!({"text": model(&format!("prices: '{path}'"))})),
        ];
        for (tool, of) in calls {
            let (fails, about_there) = said(tool, of(&there));
            assert!(fails, "{tool} {there}: {about_there}");
            let (_, about_missing) = said(tool, of(&missing));
            let same = about_missing.replace(&missing, "PATH");
            assert_eq!(about_there.replace(&there, "PATH"), same, "{tool} {there}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_that_takes_too_much_memory_ends_its_own_call_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(folder.path());
    let entities: Vec<String> = (0..400)
        .map(|number| {
            let key = format!("key: {{pk: 'E{number}#{{id}}', sk: x}}");
            format!("  E{number}: {{count: 20000, {key}, attrs: {{id: S}}, size: 390000}}\n")
        })
        .collect();
    let text = format!(
        "format: 1\nmodel: m\ntables: {{Things: {{key: {{pk: S, sk: S}}}}}}\nentities:\n{}patterns:\n  \
         - {{id: P, get: E0, given: {{id: eq}}, rate: 1}}\ndata:\n  generate: {{sample: 20000, seed: 1}}\n",
        entities.concat()
    );
    let (fails, said) = session.call(1, "model_check", &json!({"text": text}));
    assert!(fails && said.contains("768 MiB"), "{said}");
    let (fails, said) = session.call(2, "model_check", &json!({"text": model("")}));
    assert!(!fails && said.starts_with("The check "), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_cancelled_call_ends_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(folder.path());
    let parent = format!("PPid:\t{}\n", session.process.id());
    let children = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let texts = processes.filter_map(|own| std::fs::read_to_string(own.path().join("status")).ok());
        texts.filter(|text| text.contains(&parent) && !text.contains("State:\tZ")).count()
    };
    #[expect(clippy::disallowed_methods, reason = "a test waits")]
    let within_a_while = |holds: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_secs(20) && !holds() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        holds()
    };
    let text = model("data: {generate: {sample: 1, seed: 1}}").replace("rate: 1", "rate: 1000000");
    let profile = "start: 2026-11-27T17:00:00Z\nlength: 10h\n";
    session.begin(1, "model_simulate", &json!({"text": text, "profile_text": profile}));
    assert!(within_a_while(&|| children() == 1), "it has begun");
    let cancel = json!({"requestId": 1, "reason": "no longer needed"});
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}));
    assert!(within_a_while(&|| children() == 0), "nobody waits for it");
    let (fails, said) = session.call(2, "model_explain_rule", &json!({"rule": "L002"}));
    assert!(!fails && said.contains("L002"), "{said}");
}

#[test]
fn tables_are_restored_only_with_the_flag_for_it_and_only_into_new_tables() {
    let server = Server::in_memory();
    let endpoint = ["--endpoint", server.endpoint.as_str()];
    let mut reads = Session::with(&endpoint);
    assert!(!reads.tools(1).contains(&"database_restore".to_owned()));
    let (refused, text) = reads.call(2, "database_restore", &json!({"table": "Things", "target": "Then"}));
    assert!(refused && text.contains("--allow-restores"), "{text}");
    let (refused, text) = reads.call(3, "database_write", &json!({"operation": "ListTables"}));
    assert!(refused && text.contains("--allow-writes"), "{text}");

    let mut all = Session::with(&[&endpoint[..], &["--allow-writes", "--allow-restores"]].concat());
    assert!(all.tools(1).contains(&"database_restore".to_owned()));
    let mut id = 1;
    let mut call = |tool: &str, arguments: &Value| {
        id += 1;
        all.call(id, tool, arguments)
    };
    let mut write = |operation: &str, request: &Value| {
        let (failed, text) = call("database_write", &json!({"operation": operation, "request": request}));
        assert!(!failed, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let key = json!({
        "TableName": "Things",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    write("CreateTable", &key);
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let recovery = json!({"TableName": "Things", "PointInTimeRecoverySpecification": recovery});
    write("UpdateContinuousBackups", &recovery);
    write("PutItem", &json!({"TableName": "Things", "Item": {"pk": {"S": "kept"}}}));
    let backup = write("CreateBackup", &json!({"TableName": "Things", "BackupName": "before"}));
    let arn = backup["BackupDetails"]["BackupArn"].as_str().unwrap().to_owned();
    write("DeleteItem", &json!({"TableName": "Things", "Key": {"pk": {"S": "kept"}}}));
    drop(all);

    let mut restores = Session::with(&[&endpoint[..], &["--allow-restores"]].concat());
    assert!(!restores.tools(1).contains(&"database_write".to_owned()));
    for (id, arguments, part) in [
        (2, json!({"target": "Then"}), "`table` or `backup`"),
        (3, json!({"target": "Then", "table": "Things", "backup": arn}), "`table` or `backup`"),
        (4, json!({"target": "Then", "backup": arn, "at": "-1s"}), "`at`"),
        (5, json!({"target": "Then", "table": "Things", "at": "soon"}), "`at`"),
        (6, json!({"target": "Things", "table": "Things"}), "Table already exists"),
    ] {
        let (failed, text) = restores.call(id, "database_restore", &arguments);
        assert!(failed && text.contains(part), "{text}");
    }
    let made =
        [(7, json!({"target": "Backed", "backup": arn})), (8, json!({"target": "Now", "table": "Things"}))];
    for (id, arguments) in made {
        let (failed, text) = restores.call(id, "database_restore", &arguments);
        assert!(!failed && text.contains("CREATING"), "{text}");
    }
    let mut id = 9;
    for (table, count) in [("Backed", 1), ("Now", 0)] {
        loop {
            id += 1;
            let request = json!({"operation": "Scan", "request": {"TableName": table}});
            let (failed, text) = restores.call(id, "database_read", &request);
            if !failed {
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["Count"], count, "{table}");
                break;
            }
            assert!(text.contains("not found") && id < 500, "{text}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
