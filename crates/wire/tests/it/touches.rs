//! What a request touches, before it is judged and after.

use std::collections::BTreeSet;

use keywright_semantics::operation::Operation;
use keywright_semantics::touches::{Action, Resource, Touch};
use keywright_wire::{is_served, shape};

use crate::case_file::{cases, snake_case};

fn touches(operation: Operation, body: &str) -> Vec<(&'static str, String)> {
    let shaped = shape(operation, body.as_bytes()).unwrap();
    shaped.touches().as_slice().iter().map(shown).collect()
}

fn shown(touch: &Touch<'_>) -> (&'static str, String) {
    let resource = match &touch.resource {
        Resource::Index { table, index } => format!("{table}/index/{index}"),
        Resource::Replica { table, region } => format!("{table}@{region}"),
        Resource::Table(name)
        | Resource::Backup(name)
        | Resource::Stream(name)
        | Resource::Transfer(name)
        | Resource::ShardIterator(name) => name.to_string(),
        Resource::Foreign { service, name } => format!("{service} {name}"),
        Resource::Account { .. } => "*".to_owned(),
        Resource::Unnamed => "unnamed".to_owned(),
        Resource::Nothing => "nothing".to_owned(),
    };
    (touch.action.name(), resource)
}

#[test]
fn a_request_touches_the_same_before_it_is_judged_and_after() {
    let mut compared = BTreeSet::new();
    for case in cases() {
        let operation = Operation::ALL.iter().find(|operation| snake_case(operation.name()) == case.file);
        let operation = *operation.expect("a case file is named after an operation");
        let Ok(shaped) = shape(operation, case.body.as_bytes()) else { continue };
        let before = shaped.touches();
        let Ok(request) = shaped.judge() else { continue };
        let after = request.resources();
        assert_eq!(before.as_slice(), after.as_slice(), "{}/{}", case.file, case.name);
        assert_eq!(request.operation(), operation);
        compared.insert(operation);
    }
    let served: BTreeSet<_> =
        Operation::ALL.iter().copied().filter(|operation| is_served(*operation)).collect();
    assert_eq!(compared, served, "each served operation has a request that is accepted");
}

#[test]
fn names_that_are_not_valid_are_seen_before_their_fault_is_reported() {
    let faulty = [
        (Operation::GetItem, r#"{"TableName":"a b","Key":{}}"#, ("GetItem", "a b")),
        (Operation::Query, r#"{"TableName":"Shop","IndexName":"!"}"#, ("Query", "Shop/index/!")),
        (Operation::PutItem, r#"{"Item":{}}"#, ("PutItem", "unnamed")),
        (Operation::BatchGetItem, r#"{"RequestItems":{"a b":{}}}"#, ("BatchGetItem", "a b")),
        (Operation::BatchWriteItem, "{}", ("BatchWriteItem", "unnamed")),
        (Operation::TransactGetItems, r#"{"TransactItems":[{}]}"#, ("GetItem", "unnamed")),
        (Operation::TransactWriteItems, r#"{"TransactItems":[{}]}"#, ("TransactWriteItems", "nothing")),
        (Operation::ExecuteStatement, r#"{"Statement":"DELETE FROM \"a b\".i"}"#, ("PartiQLDelete", "a b")),
        (Operation::ExecuteStatement, r#"{"Statement":"DELETE"}"#, ("ExecuteStatement", "nothing")),
        (Operation::TagResource, r#"{"ResourceArn":"x"}"#, ("TagResource", "x")),
        (Operation::DescribeStream, "{}", ("DescribeStream", "unnamed")),
    ];
    for (operation, body, (action, resource)) in faulty {
        assert_eq!(touches(operation, body), [(action, resource.to_owned())], "{body}");
        let shaped = shape(operation, body.as_bytes()).unwrap();
        assert!(shaped.judge().is_err(), "{body}");
    }
}

#[test]
fn each_member_of_a_transaction_or_batch_is_an_action_of_its_own() {
    let writes = r#"{"TransactItems":[{"Put":{"TableName":"a"}},{"ConditionCheck":{"TableName":"b"}},
        {"Update":{"TableName":"a"}},{"Delete":{"TableName":"arn:aws:dynamodb:r:1:table/c"}}]}"#;
    let expected = ["PutItem a", "ConditionCheckItem b", "UpdateItem a"];
    let expected = expected.into_iter().chain(["DeleteItem arn:aws:dynamodb:r:1:table/c"]);
    let found = touches(Operation::TransactWriteItems, writes);
    let found: Vec<String> = found.iter().map(|(action, resource)| format!("{action} {resource}")).collect();
    assert_eq!(found, expected.collect::<Vec<_>>());

    let statements = r#"{"Statements":[{"Statement":"SELECT * FROM a.i"},{"Statement":"no"},
        {"Statement":"INSERT INTO b VALUE {'pk': 1}"}]}"#;
    let found = touches(Operation::BatchExecuteStatement, statements);
    let expected = [
        ("PartiQLSelect", "a/index/i".to_owned()),
        ("BatchExecuteStatement", "nothing".to_owned()),
        ("PartiQLInsert", "b".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_request_of_too_many_tables_is_read_in_part() {
    let entries: Vec<String> = (0..1_000).map(|number| format!(r#""t{number}":{{}}"#)).collect();
    let body = format!(r#"{{"RequestItems":{{{}}}}}"#, entries.join(","));
    assert_eq!(touches(Operation::BatchGetItem, &body).len(), 100);
    assert!(shape(Operation::BatchGetItem, body.as_bytes()).unwrap().judge().is_err());
}

#[test]
fn a_statement_that_is_too_long_is_not_parsed() {
    for (length, expected) in [(8_192, ("PartiQLSelect", "Shop")), (8_193, ("ExecuteStatement", "nothing"))] {
        let statement = format!("{:<length$}", "SELECT * FROM Shop");
        let found = touches(Operation::ExecuteStatement, &format!(r#"{{"Statement":"{statement}"}}"#));
        assert_eq!(found, [(expected.0, expected.1.to_owned())], "{length}");
    }
}

#[test]
fn a_table_with_tags_is_created_and_tagged() {
    let body = r#"{"TableName":"Shop","Tags":[{"Key":"k","Value":"v"}]}"#;
    let shaped = shape(Operation::CreateTable, body.as_bytes()).unwrap();
    let found = shaped.touches();
    let actions: Vec<Action> = found.as_slice().iter().map(|touch| touch.action).collect();
    let expected = [Operation::CreateTable, Operation::TagResource].map(Action::Operation);
    assert_eq!(actions, expected);
    assert!(found.as_slice().iter().all(|touch| touch.resource.table_name() == Some("Shop")));
}

#[test]
fn a_restore_touches_its_source_and_all_that_it_does_to_its_target() {
    let backup = "arn:aws:dynamodb:us-east-1:1:table/Shop/backup/01791504762511-2779fadd";
    let table = "arn:aws:dynamodb:us-east-1:1:table/Shop";
    let restores = [
        (
            Operation::RestoreTableFromBackup,
            format!(r#"{{"TargetTableName":"Copy","BackupArn":"{backup}"}}"#),
            backup,
        ),
        (
            Operation::RestoreTableToPointInTime,
            format!(r#"{{"TargetTableName":"Copy","SourceTableArn":"{table}"}}"#),
            table,
        ),
        (
            Operation::RestoreTableToPointInTime,
            r#"{"TargetTableName":"Copy","SourceTableName":"Shop"}"#.to_owned(),
            "Shop",
        ),
    ];
    for (operation, body, source) in restores {
        let written = ["BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"];
        let own = [(operation.name(), "Copy"), (operation.name(), source)];
        let expected = own.into_iter().chain(written.map(|action| (action, "Copy")));
        let expected: Vec<_> = expected.map(|(action, name)| (action, name.to_owned())).collect();
        assert_eq!(touches(operation, &body), expected);
    }
    let found = touches(Operation::RestoreTableFromBackup, "{}");
    assert_eq!(
        found,
        [("RestoreTableFromBackup", "unnamed".to_owned()), ("RestoreTableFromBackup", "unnamed".to_owned())]
    );
}

#[test]
fn a_backup_is_touched_by_its_arn_and_a_list_of_backups_is_of_the_account() {
    let found = touches(Operation::DescribeBackup, r#"{"BackupArn":"b"}"#);
    assert_eq!(found, [("DescribeBackup", "b".to_owned())]);
    let found = touches(Operation::DeleteBackup, "{}");
    assert_eq!(found, [("DeleteBackup", "unnamed".to_owned())]);
    let found = touches(Operation::ListBackups, r#"{"TableName":"Shop"}"#);
    assert_eq!(found, [("ListBackups", "*".to_owned())]);
}
