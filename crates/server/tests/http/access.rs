//! `keywright access check` as a program: what it prints and its exit status.

use std::process::{Command, Output};

fn check(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    command.args(["access", "check"]).args(arguments).output().unwrap()
}

#[test]
fn policies_in_files_are_checked_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good =
        file("good.json", r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}"#);
    let output = check(&[&good]);
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
        (Some(0), "nothing found\n")
    );

    let bad = file(
        "bad.json",
        r#"{"ann": {"Statement": {"Effect": "Allow", "Action": "dynamodb:TransactWriteItems", "Resource": "*"}},
            "ben": {"Statement": {"Effect": "allow", "Action": "*", "Resource": "*"}}}"#,
    );
    let output = check(&[&good, &bad]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!(
            "{bad}: ann: statement 1: unknown-action: no action is called dynamodb:TransactWriteItems: a \
             transaction needs dynamodb:PutItem, UpdateItem, DeleteItem and ConditionCheckItem for its members\n\
             {bad}: ben: malformed: Effect must be \"Allow\" or \"Deny\"\n"
        )
    );
    let output = check(&["--allow", "unknown-action", "--format", "json", &bad]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report.as_array().unwrap().len(), &report[0]["rule"]), (1, &"malformed".into()));

    let text = file("text.json", "no policy");
    let output = check(&[&text]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not JSON"), "{output:?}");
}
