//! Files of users: applied at start and to a running server, exported, pruned, and what explains a request.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::support::raw::Connection;
use crate::support::signed::{REGION, Signed, element, schema};
use crate::support::{Server, without_aws_settings};

pub(crate) const ROOT: (&str, &str) = ("AKIAADMIN00000000001", "the-secret-of-the-admin");
pub(crate) const ANN: (&str, &str) = ("AKIAANN0000000000001", "the-secret-of-ann-here");

/// Two users, a group, a role and a policy of the items whose keys begin with a user's name.
pub(crate) fn users() -> serde_json::Value {
    let own = json!({"Version": "2012-10-17", "Statement": [{"Sid": "Own", "Effect": "Allow",
        "Action": ["dynamodb:GetItem", "dynamodb:PutItem"],
        "Resource": "arn:aws:dynamodb:*:123456789012:table/Tab",
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["${aws:username}#*"]},
            "Null": {"dynamodb:LeadingKeys": "false"}}}]});
    json!({
        "policies": {"own-items": {"description": "Items of one's own", "document": own}},
        "groups": {"readers": {"attached": ["own-items"]}},
        "users": {
            "admin": {"attached": ["arn:aws:iam::aws:policy/AdministratorAccess"],
                "keys": [{"id": ROOT.0, "secret_file": "admin.secret"}]},
            "ann": {"path": "/shop/", "id": "AIDAANN0000000000001", "groups": ["readers"], "tags": {"team": "a"},
                "keys": [{"id": ANN.0, "secret_in_plain_text": ANN.1}]},
        },
        "roles": {"nightly": {"id": "AROANIGHTLY00000001", "session_seconds_max": 7200,
            "trust": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow",
                "Principal": {"AWS": "arn:aws:iam::123456789012:user/admin"}, "Action": "sts:AssumeRole"}]},
            "inline": {"lists": {"Statement": {"Effect": "Allow", "Action": "dynamodb:ListTables", "Resource": "*"}}}}},
    })
}

pub(crate) fn written(folder: &Path, name: &str, users: &serde_json::Value) -> String {
    secret(&folder.join("admin.secret"), ROOT.1, 0o600);
    let path = folder.join(name);
    std::fs::write(&path, users.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A file with a secret, of this mode.
fn secret(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, format!("{text}\n")).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

pub(crate) fn access(server: Option<&Server>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    command.arg("access").args(arguments);
    command.env("AWS_ACCESS_KEY_ID", ROOT.0).env("AWS_SECRET_ACCESS_KEY", ROOT.1).env("AWS_REGION", REGION);
    if let Some(server) = server {
        command.args(["--endpoint", &server.endpoint]);
    }
    command.output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn item(key: &str) -> serde_json::Value {
    json!({"TableName": "Tab", "Item": {"pk": {"S": key}, "sk": {"S": "s"}}})
}

#[test]
fn a_file_of_users_alone_closes_the_server_and_gives_rights() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    assert!(server.banner.contains("signatures  verified"), "{}", server.banner);
    let mut admin = Signed::new(&server, ROOT.0, ROOT.1);
    admin.good("CreateTable", &schema("Tab"));
    let mut ann = Signed::new(&server, ANN.0, ANN.1);
    ann.good("PutItem", &item("ann#1"));
    for (operation, body) in [("PutItem", item("ben#1")), ("ListTables", json!({}))] {
        let answer = ann.call(operation, &body);
        assert!(answer.text().contains("AccessDeniedException"), "{operation}: {}", answer.text());
    }
    let answer = Signed::new(&server, "local", "local").call("ListTables", &json!({}));
    assert!(answer.text().contains("UnrecognizedClientException"), "{}", answer.text());
    assert_eq!(Connection::open(&server).send("POST", &[], b"{}").status / 100, 4);
}

#[test]
fn an_export_applies_without_change_and_differences_are_shown_and_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let apply = |arguments: &[&str]| access(Some(&server), &[&["apply"], arguments].concat());
    assert_eq!(said(&apply(&[&file])), "nothing to change: account 123456789012 is as the file says\n");
    let exported = said(&access(Some(&server), &["export"]));
    let export = folder.path().join("export.json");
    std::fs::write(&export, &exported).unwrap();
    let export = export.to_str().unwrap();
    assert!(!exported.contains(ANN.1) && exported.contains(ANN.0), "{exported}");
    for prune in [&[export][..], &[export, "--prune"]] {
        assert_eq!(said(&apply(prune)), "nothing to change: account 123456789012 is as the file says\n");
    }

    let mut changed = users();
    changed["users"]["ben"] = json!({"attached": ["own-items"],
        "keys": [{"id": "AKIABEN0000000000001", "secret_variable": "KW_NO_SUCH_VARIABLE"}]});
    let more = written(folder.path(), "more.json", &changed);
    let dry = said(&apply(&[&more, "--dry-run"]));
    assert!(dry.contains("would create user ben\n") && dry.ends_with("3 changes, none made\n"), "{dry}");
    let fault = complaint(&apply(&[&more]));
    assert!(fault.contains("KW_NO_SUCH_VARIABLE has no secret"), "{fault}");
    changed["users"]["ben"]["keys"][0] =
        json!({"id": "AKIABEN0000000000001", "secret_in_plain_text": "the-secret-of-ben-here"});
    changed["policies"]["own-items"]["document"]["Statement"][0]["Action"] = json!(["dynamodb:GetItem"]);
    let users = changed["users"].as_object_mut().unwrap();
    users["ann"].as_object_mut().unwrap().remove("groups");
    users.get_mut("ann").unwrap()["tags"] = json!({"team": "b"});
    let more = written(folder.path(), "more.json", &changed);
    let made = said(&apply(&[&more]));
    let expected = [
        "change policy own-items",
        "tag user ann",
        "create user ben",
        "attach arn:aws:iam::123456789012:policy/own-items to user ben",
        "create key AKIABEN0000000000001 of user ben",
        "5 changes made in account 123456789012",
        "only with --prune: remove from group readers the user ann",
    ];
    assert_eq!(made.lines().collect::<Vec<_>>(), expected);
    assert_eq!(
        Signed::new(&server, "AKIABEN0000000000001", "the-secret-of-ben-here")
            .sts("GetCallerIdentity", &[])
            .status,
        200
    );

    changed["users"]["ben"]["tags"] = json!({"team": "b"});
    let tagged = written(folder.path(), "tagged.json", &changed);
    assert_eq!(
        said(&apply(&[&tagged])),
        "tag user ben\n1 change made in account 123456789012\n\
         only with --prune: remove from group readers the user ann\n"
    );
    let fault = complaint(&apply(&[&file, "--prune"]));
    assert!(fault.contains("pass --yes"), "{fault}");
    let pruned = said(&apply(&[&file, "--prune", "--yes"]));
    assert!(pruned.contains("delete user ben\n") && pruned.contains("tag user ann\n"), "{pruned}");
    assert_eq!(
        said(&apply(&[&file, "--prune"])),
        "nothing to change: account 123456789012 is as the file says\n"
    );
}

#[test]
fn an_export_makes_another_server_alike_once_it_says_the_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let first = Server::start(&["--in-memory", "--access", &file]);
    let exported = said(&access(Some(&first), &["export"]));
    let other = folder.path().join("other.json");
    std::fs::write(&other, &exported).unwrap();
    let fault = Server::try_start(&["--in-memory", "--access", other.to_str().unwrap()]).err().unwrap();
    assert!(fault.contains("users.admin.keys: the account has no key AKIAADMIN00000000001"), "{fault}");
    let mut whole: serde_json::Value = serde_json::from_str(&exported).unwrap();
    whole["users"]["admin"]["keys"] = users()["users"]["admin"]["keys"].clone();
    whole["users"]["ann"]["keys"] = users()["users"]["ann"]["keys"].clone();
    let whole = written(folder.path(), "whole.json", &whole);
    let second = Server::start(&["--in-memory", "--access", &whole]);
    assert_eq!(said(&access(Some(&second), &["export"])), exported);
}

#[test]
fn what_differs_from_a_file_and_is_not_changed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let apply = |file: &str, more: &[&str]| access(Some(&server), &[&["apply", file], more].concat());
    let mut other = users();
    other["users"]["ann"]["keys"][0]["secret_in_plain_text"] = "another-secret-of-ann".into();
    other["users"]["admin"]["keys"][0]["secret_file"] = "no-such.secret".into();
    other["groups"]["readers"] = json!({});
    other["policies"] = json!({});
    let file = written(folder.path(), "other.json", &other);
    let lines = [
        "nothing to change in account 123456789012, though it is not as the file says".to_owned(),
        format!(
            "not changed: secret of key {} of user admin, not compared: cannot read the secret in {}: it does not exist",
            ROOT.0,
            folder.path().join("no-such.secret").display()
        ),
        format!(
            "not changed: secret of key {} of user ann, which differs: write a key with another id, or delete this \
             one first",
            ANN.0
        ),
    ];
    let kept = [
        "only with --prune: detach arn:aws:iam::123456789012:policy/own-items from group readers",
        "only with --prune: delete policy own-items",
    ];
    let expected: Vec<&str> = lines.iter().map(String::as_str).chain(kept).collect();
    // Whether the secrets are the file's is not known, and scripts learn it.
    let text = |output: &Output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let found = text(&apply(&file, &[]));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    let pruned = text(&apply(&file, &["--prune", "--yes"]));
    assert!(pruned.contains("2 changes made") && pruned.contains("of user ann, which differs"), "{pruned}");
    assert!(!pruned.contains("only with --prune"), "{pruned}");
    assert_eq!(Signed::new(&server, ANN.0, ANN.1).sts("GetCallerIdentity", &[]).status, 200);
}

#[test]
fn pruning_by_an_administrator_whom_the_file_lacks_is_refused_before_the_first_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let before = said(&access(Some(&server), &["export"]));
    let mut without = users();
    without["users"].as_object_mut().unwrap().remove("admin");
    without["users"]["new"] = json!({"attached": ["arn:aws:iam::aws:policy/AdministratorAccess"]});
    let file = written(folder.path(), "without.json", &without);
    let mut keyless = users();
    keyless["users"]["admin"]["keys"] = json!([]);
    let keyless = written(folder.path(), "keyless.json", &keyless);
    let key = format!("delete key {} of user admin", ROOT.0);
    for file in [&file, &keyless] {
        for more in [["--prune", "--yes"], ["--prune", "--dry-run"]] {
            let fault = complaint(&access(Some(&server), &[&["apply", file.as_str()][..], &more].concat()));
            let advice = "with which this command signs, and nothing is changed: let the file give";
            assert!(fault.contains(&format!("--prune would {key}")) && fault.contains(advice), "{fault}");
        }
    }
    assert_eq!(said(&access(Some(&server), &["export"])), before);
    // Without --prune the same file takes nothing away.
    assert!(said(&access(Some(&server), &["apply", &file])).contains("create user new\n"));
}

/// What makes a good file a bad one.
type Change<'c> = &'c dyn Fn(&mut serde_json::Value);

#[test]
fn a_bad_file_is_refused_with_its_place_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let start = |change: Change<'_>| {
        let mut users = users();
        change(&mut users);
        let file = written(folder.path(), "bad.json", &users);
        Server::try_start(&["--in-memory", "--access", &file]).err().unwrap()
    };
    let cases: [(Change<'_>, &str); 7] = [
        (
            &|users| users["user"] = json!({}),
            "user: there is no such member here: write one of account, policies",
        ),
        (
            &|users| users["users"]["ann"]["attached"] = json!(["gone"]),
            "users.ann.attached[0]: the file has no policy \"gone\"",
        ),
        (&|users| users["users"]["Ann"] = json!({}), "this name is there already"),
        (
            &|users| drop(users["roles"]["nightly"].as_object_mut().unwrap().remove("trust")),
            "roles.nightly: has no trust",
        ),
        (
            &|users| users["users"]["ann"]["keys"][0]["secret_file"] = "x".into(),
            "users.ann.keys[0]: has several secrets",
        ),
        (
            &|users| users["users"]["admin"]["keys"][0] = json!({"id": ROOT.0, "secret_file": "none"}),
            "cannot read the secret in",
        ),
        (
            &|users| users["policies"]["own-items"]["document"]["Statement"][0]["Effect"] = "allow".into(),
            "policies.own-items.document: Effect must be \"Allow\" or \"Deny\"",
        ),
    ];
    for (change, expected) in cases {
        let fault = start(change);
        assert!(fault.contains(expected), "{expected}: {fault}");
    }
}

#[test]
fn a_stored_key_keeps_its_secret_and_the_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--data", data, "--access", &file]);
    server.kill();
    let server = Server::start(&["--data", data, "--access", &file]);
    assert_eq!(Signed::new(&server, ANN.0, ANN.1).sts("GetCallerIdentity", &[]).status, 200);
    server.kill();
    let mut changed = users();
    changed["users"]["ann"]["keys"][0]["secret_in_plain_text"] = "another-secret-of-ann".into();
    let file = written(folder.path(), "users.json", &changed);
    let fault = Server::try_start(&["--data", data, "--access", &file]).err().unwrap();
    assert!(fault.contains("users.ann.keys: the store has another secret for the key"), "{fault}");
    assert!(
        fault.contains("write that secret, a key with another id, or delete the key with `aws iam"),
        "{fault}"
    );
}

#[test]
fn servers_with_one_token_key_know_each_others_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let key = folder.path().join("token.key");
    std::fs::write(&key, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let key = key.to_str().unwrap();
    let shared = || Server::start(&["--in-memory", "--access", &file, "--session-token-key", key]);
    let (first, second) = (shared(), shared());
    let own = Server::start(&["--in-memory", "--access", &file]);
    let mut admin = Signed::new(&first, ROOT.0, ROOT.1);
    // Nobody takes the id that a trust policy means.
    let chosen = [("UserName", "eve"), ("UserId", "AIDAANN0000000000001")];
    let refused = admin.iam("CreateUser", &chosen);
    assert!(refused.status == 400 && refused.text().contains("access file"), "{}", refused.text());
    let role = [("RoleArn", "arn:aws:iam::123456789012:role/nightly"), ("RoleSessionName", "shared")];
    let taken = admin.sts("AssumeRole", &role);
    assert_eq!(taken.status, 200, "{}", taken.text());
    let session = |server: &Server| {
        let (id, secret) = (element(&taken, "AccessKeyId"), element(&taken, "SecretAccessKey"));
        let mut signed = Signed::new(server, &id, &secret).with_token(element(&taken, "SessionToken"));
        signed.call("ListTables", &json!({}))
    };
    for server in [&first, &second] {
        assert_eq!(session(server).status, 200, "{}", session(server).text());
    }
    assert!(session(&own).text().contains("UnrecognizedClientException"), "{}", session(&own).text());
    let alone = Server::try_start(&["--in-memory", "--session-token-key", key]).err().unwrap();
    assert!(alone.contains("--session-token-key needs --credentials or --access"), "{alone}");
}

#[test]
fn a_decision_is_explained_by_files_and_by_a_server_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    Signed::new(&server, ROOT.0, ROOT.1).good("CreateTable", &schema("Tab"));
    let get = r#"{"TableName": "Tab", "Key": {"pk": {"S": "ben#1"}, "sk": {"S": "s"}}}"#;
    let ask = ["explain", "--principal", "user/ann", "GetItem", get];
    let of_server = access(Some(&server), &ask);
    let of_file = access(None, &[&ask[..], &["--access", &file, "--partition-key", "pk"]].concat());
    assert_eq!(
        (of_server.status.code(), of_file.status.code()),
        (Some(1), Some(1)),
        "{of_server:?} {of_file:?}"
    );
    let unnamed = access(None, &[&ask[..], &["--access", &file]].concat());
    assert_eq!(unnamed.status.code(), Some(1), "without the key it is not known: {unnamed:?}");
    let misspelled = access(None, &[&ask[..], &["--access", &file, "--partition-key", "PK"]].concat());
    assert_eq!(misspelled.status.code(), Some(2), "{misspelled:?}");
    let text = String::from_utf8_lossy(&of_server.stdout);
    assert_eq!(text, String::from_utf8_lossy(&of_file.stdout));
    assert_eq!(
        text,
        "dynamodb:GetItem on arn:aws:dynamodb:eu-west-1:123456789012:table/Tab\n  denied: no identity-based policy \
         allows it\n    statement 1 (Own) of policy arn:aws:iam::123456789012:policy/own-items, attached to group \
         readers, Allow: ForAllValues:StringLike of dynamodb:LeadingKeys wants ${aws:username}#* (here ann#*), \
         the request has ben#1\n"
    );
    let own = get.replace("ben#1", "ann#1");
    let allowed = access(Some(&server), &["explain", "--principal", "user/ann", "GetItem", &own]);
    assert!(said(&allowed).contains("\n  allowed\n"), "{allowed:?}");
    let put = access(
        Some(&server),
        &["explain", "--principal", "role/nightly", "PutItem", r#"{"TableName": "Tab"}"#],
    );
    let text = String::from_utf8_lossy(&put.stdout).into_owned();
    assert!(
        text.starts_with("the request is not valid (") && text.contains("is about other actions"),
        "{text}"
    );
    let nobody = access(Some(&server), &["explain", "--principal", "user/nobody", "GetItem", get]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(complaint(&nobody).contains("there is no user called nobody"), "{nobody:?}");
}

#[cfg(unix)]
#[test]
fn a_secret_that_others_can_read_is_refused_at_start_and_by_apply() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let path = folder.path().join("ben.secret");
    let mut changed = users();
    changed["users"]["ben"] = json!({"keys": [{"id": "AKIABEN0000000000001", "secret_file": "ben.secret"}]});
    let more = written(folder.path(), "more.json", &changed);
    let advice = format!(
        "its mode 0644 gives other users of this machine access to it: run `chmod 600 {}`",
        path.display()
    );
    secret(&path, "the-secret-of-ben-here", 0o644);
    let refused = [
        Server::try_start(&["--in-memory", "--access", &more]).err().unwrap(),
        complaint(&access(Some(&server), &["apply", &more])),
    ];
    for fault in refused {
        assert!(fault.contains(&advice), "{fault}");
    }
    secret(&path, "the-secret-of-ben-here", 0o600);
    assert!(
        said(&access(Some(&server), &["apply", &more])).ends_with("2 changes made in account 123456789012\n")
    );
}

#[test]
fn an_open_server_says_that_it_judges_nobody_and_warns_of_the_users_of_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let open = Server::start(&["--data", data]);
    assert!(!open.banner.contains("WARNING"), "{}", open.banner);
    for ask in [&["export"][..], &["apply", &file]] {
        let fault = complaint(&access(Some(&open), ask));
        assert!(fault.contains("This server judges nobody"), "{fault}");
        assert!(fault.contains("--credentials FILE or --access FILE"), "{fault}");
    }
    let answer = Signed::new(&open, "local", "local").iam("ListUsers", &[]);
    assert_eq!((answer.status, element(&answer, "Code").as_str()), (404, "NotServed"));
    open.kill();
    Server::start(&["--data", data, "--access", &file]).kill();
    let open = Server::start(&["--data", data]);
    let warning = "this server is open, though its store has 2 users: everyone who reaches it may do everything, and no \
                   policy is judged; close it with --credentials FILE or --access FILE";
    assert!(open.banner.contains(&format!("WARNING: {warning}")), "{}", open.banner);
    let log = open.stop_and_read_log();
    assert!(log.lines().any(|line| line.contains("WARN") && line.contains(warning)), "{log}");
}

#[test]
fn a_key_of_the_file_that_another_user_has_is_refused_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let file = written(folder.path(), "users.json", &users());
    let server = Server::start(&["--data", data, "--access", &file]);
    let mut admin = Signed::new(&server, ROOT.0, ROOT.1);
    let wanted = "AKIACAT0000000000001";
    assert_eq!(admin.iam("CreateUser", &[("UserName", "eve")]).status, 200);
    let key = [("UserName", "eve"), ("AccessKeyId", wanted), ("SecretAccessKey", "the-secret-of-eve-here")];
    assert_eq!(admin.iam("CreateAccessKey", &key).status, 200);
    server.kill();
    let mut changed = users();
    changed["users"]["cat"] =
        json!({"keys": [{"id": wanted, "secret_in_plain_text": "the-secret-of-cat-here"}]});
    let file = written(folder.path(), "users.json", &changed);
    let fault = Server::try_start(&["--data", data, "--access", &file]).err().unwrap();
    let holder = format!("users.cat.keys: the user eve of account 123456789012 has the key {wanted} already");
    assert!(fault.contains(&holder), "{fault}");
}

/// One user and one role who may read and change the items whose keys begin with `ann#`.
fn readers() -> serde_json::Value {
    let own = json!({"Statement": {"Effect": "Allow",
        "Action": ["dynamodb:PartiQLSelect", "dynamodb:PartiQLUpdate", "dynamodb:ListTables"],
        "Resource": ["*"],
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ann#*"]},
            "Null": {"dynamodb:LeadingKeys": "false"}}}});
    let mut users = users();
    users["users"]["ann"]["inline"] = json!({"own": own});
    users["roles"]["nightly"]["inline"] = json!({"all": {"Statement":
        {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}});
    users
}

#[test]
fn statements_are_explained_as_they_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &readers());
    let server = Server::start(&["--in-memory", "--access", &file]);
    Signed::new(&server, ROOT.0, ROOT.1).good("CreateTable", &schema("Tab"));
    let mut ann = Signed::new(&server, ANN.0, ANN.1);
    for (statement, key, is_denied) in [
        ("SELECT * FROM Tab WHERE pk = 'ann#1'", Some("pk"), false),
        ("SELECT * FROM Tab WHERE pk IN ['ann#1', 'ben#1']", Some("pk"), true),
        ("SELECT * FROM Tab WHERE pk = 'ann#1' OR sk = 'x'", Some("pk"), true),
        ("SELECT * FROM Tab", None, true),
        // Which key an index has, a file does not say.
        (r#"SELECT * FROM "Tab"."gsi" WHERE g = 'ann#1'"#, None, false),
        (r#"SELECT * FROM "Tab"."gsi" WHERE pk = 'ann#1'"#, None, true),
        ("UPDATE Tab SET a = 1 WHERE pk = 'ann#1' AND sk = 's'", Some("pk"), false),
        ("UPDATE Tab SET a = 1 WHERE pk = 'ben#1' AND sk = 's'", Some("pk"), true),
    ] {
        let body = json!({"Statement": statement});
        let answer = ann.call("ExecuteStatement", &body);
        assert_eq!(answer.text().contains("AccessDeniedException"), is_denied, "{statement}");
        let body = body.to_string();
        let ask = ["explain", "--principal", "user/ann", "ExecuteStatement", &body];
        let of_server = access(Some(&server), &ask);
        assert_eq!(of_server.status.code(), Some(i32::from(is_denied)), "{statement}: {of_server:?}");
        assert!(!String::from_utf8_lossy(&of_server.stdout).contains("depends"), "{of_server:?}");
        let Some(key) = key else { continue };
        let by_file = ["--access", &file, "--partition-key", key, "--sort-key", "sk:S"];
        let of_file = access(None, &[&ask[..], &by_file].concat());
        assert_eq!((of_file.status, of_file.stdout), (of_server.status, of_server.stdout), "{statement}");
    }
}

#[test]
fn policies_of_a_session_are_explained_as_they_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "users.json", &readers());
    let server = Server::start(&["--in-memory", "--access", &file]);
    let policy = r#"{"Statement": {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}}"#;
    let narrow = folder.path().join("narrow.json");
    std::fs::write(&narrow, policy).unwrap();
    let narrow = narrow.to_str().unwrap();
    let everything = "arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess";
    let role = [("RoleArn", "arn:aws:iam::123456789012:role/nightly"), ("RoleSessionName", "night")];
    for (given, parameter, is_denied) in [
        (vec![], vec![], false),
        (vec!["--session-policy", narrow], vec![("Policy", policy)], true),
        (vec!["--session-policy", everything], vec![("PolicyArns.member.1.arn", everything)], false),
        (
            vec!["--session-policy", narrow, "--session-policy", everything],
            vec![("Policy", policy), ("PolicyArns.member.1.arn", everything)],
            false,
        ),
    ] {
        let taken = Signed::new(&server, ROOT.0, ROOT.1).sts("AssumeRole", &[&role[..], &parameter].concat());
        assert_eq!(taken.status, 200, "{}", taken.text());
        let (id, secret) = (element(&taken, "AccessKeyId"), element(&taken, "SecretAccessKey"));
        let mut session = Signed::new(&server, &id, &secret).with_token(element(&taken, "SessionToken"));
        let answer = session.call("ListTables", &json!({}));
        assert_eq!(
            answer.text().contains("because no session policy allows"),
            is_denied,
            "{}",
            answer.text()
        );
        let ask = ["explain", "--principal", "role/nightly", "ListTables"];
        for server in [Some(&server), None] {
            let by_file: &[&str] = if server.is_none() { &["--access", &file] } else { &[] };
            let explained = access(server, &[&ask[..], &given, by_file].concat());
            let text = String::from_utf8_lossy(&explained.stdout);
            assert_eq!(explained.status.code(), Some(i32::from(is_denied)), "{explained:?}");
            assert_eq!(text.contains("denied: no session policy allows it"), is_denied, "{text}");
        }
    }
    let ask = |principal: &str, policy: &str| {
        let ask = ["explain", "--principal", principal, "--session-policy", policy, "ListTables"];
        complaint(&access(None, &[&ask[..], &["--access", &file]].concat()))
    };
    assert!(ask("user/ann", narrow).contains("--session-policy is for sessions of roles"));
    assert!(ask("role/nightly", &file).contains("users.json is not valid"), "{}", ask("role/nightly", &file));
    assert!(ask("role/nightly", "arn:aws:iam::aws:policy/None").contains("there is no policy arn:aws:iam"));
}
