//! `keywright access check` and `keywright credentials add` as programs: what they print.

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

#[test]
fn names_that_a_file_of_users_does_not_have_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.json");
    let file = path.to_str().unwrap();
    let checked = |text: &str, more: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let output = check(&[more, &[file]].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(checked(r#"{"users": {"ann": {}}}"#, &[]), (Some(0), "nothing found\n".to_owned()));
    let unknown = r#"{"users": {"ann": {"groups": ["readers"],
        "attached": ["arn:aws:iam::aws:policy/AdministratorAccess", "arn:aws:iam::aws:policy/Admin"]}}}"#;
    let expected = format!(
        "{file}: users.ann.groups: unknown-group: the file has no group readers: add it to groups, unless the account \
         has it\n\
         {file}: users.ann.attached: unknown-policy: no account has the policy arn:aws:iam::aws:policy/Admin: correct \
         its name\n"
    );
    assert_eq!(checked(unknown, &[]), (Some(1), expected));
    let allowed = ["--allow", "unknown-group", "--allow", "unknown-policy"];
    assert_eq!(checked(unknown, &allowed), (Some(0), "nothing found\n".to_owned()));
    let (status, text) = checked(r#"{"users": {"ann": {"group": ["readers"]}}}"#, &[]);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("users.ann.group: malformed: there is no such member here: write one of path, id"),
        "{text}"
    );
    let document = r#"{"users": {"ann": {"inline": {"p": {"Statement": {"Effect": "allow"}}}}}}"#;
    let (_, text) = checked(document, &[]);
    assert_eq!(text.lines().count(), 1, "a malformed document is said once: {text}");
}

#[cfg(unix)]
#[test]
fn a_new_key_is_printed_as_lines_for_a_shell_and_all_else_on_the_other_output() {
    let folder = tempfile::tempdir().unwrap();
    let script = "eval \"$(\"$0\" credentials --file keys.toml add --account 210987654321)\"\n\
                  printf '%s %s' \"$AWS_ACCESS_KEY_ID\" \"$AWS_SECRET_ACCESS_KEY\"";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-euc", script, env!("CARGO_BIN_EXE_keywright")]).current_dir(folder.path());
    let output = shell.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("added a key of account 210987654321 to keys.toml; serve with: "), "{said}");
    let file = std::fs::read_to_string(folder.path().join("keys.toml")).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (id, secret) = text.split_once(' ').unwrap();
    assert!(file.contains(&format!("access_key_id = \"{id}\"")), "{id}");
    assert!(file.contains(&format!("secret_access_key = \"{secret}\"")) && !said.contains(secret), "{file}");
}
