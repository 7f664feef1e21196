//! Requests of forms: what is read, and which fault which form gets.

use super::Operation;
use super::fault::{Fault, FaultKind};
use super::names::{IamArn, Kind};
use super::request::{Owner, Request};
use crate::monitoring::document::Document;

fn form(members: &[(&str, &str)]) -> Document {
    let member = |(name, value): &(&str, &str)| ((*name).to_owned(), Document::Form((*value).to_owned()));
    Document::Object(members.iter().map(member).collect())
}

fn read(operation: Operation, members: &[(&str, &str)]) -> Result<Request, Fault> {
    Request::validate(operation, &form(members))
}

#[test]
fn each_operation_refuses_an_empty_form_or_reads_it() {
    for operation in Operation::ALL {
        match read(*operation, &[]) {
            Ok(request) => assert_eq!(request.changes_something(), !operation.only_reads(), "{operation:?}"),
            Err(fault) => assert_eq!(fault.kind, FaultKind::ValidationError, "{operation:?}"),
        }
    }
}

#[test]
fn faults_have_the_texts_of_the_service() {
    let long = "x".repeat(65);
    for (operation, members, message) in [
        (
            Operation::CreateUser,
            vec![],
            "1 validation error detected: Value null at 'userName' failed to satisfy constraint: Member must not be \
             null"
                .to_owned(),
        ),
        (
            Operation::CreateUser,
            vec![("UserName", long.as_str())],
            format!(
                "1 validation error detected: Value '{long}' at 'userName' failed to satisfy constraint: Member must \
                 have length less than or equal to 64"
            ),
        ),
        (
            Operation::CreateUser,
            vec![("UserName", "a b")],
            "The specified value for userName is invalid. It must contain only alphanumeric characters and/or the \
             following: +=,.@_-"
                .to_owned(),
        ),
        (
            Operation::CreateGroup,
            vec![("GroupName", "g"), ("Path", "x")],
            "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric \
             characters and/or / characters."
                .to_owned(),
        ),
        (
            Operation::CreateRole,
            vec![("RoleName", "r"), ("AssumeRolePolicyDocument", "{}"), ("MaxSessionDuration", "60")],
            "1 validation error detected: Value '60' at 'maxSessionDuration' failed to satisfy constraint: Member \
             must have value greater than or equal to 3600"
                .to_owned(),
        ),
    ] {
        let fault = read(operation, &members).expect_err("the form is wrong");
        assert_eq!((fault.kind, fault.message), (FaultKind::ValidationError, message));
    }
}

#[test]
fn owners_of_three_kinds_share_a_request() {
    for (operation, member, kind) in [
        (Operation::AttachUserPolicy, "UserName", Kind::User),
        (Operation::AttachGroupPolicy, "GroupName", Kind::Group),
        (Operation::AttachRolePolicy, "RoleName", Kind::Role),
    ] {
        let arn = "arn:aws:iam::123456789012:policy/p";
        let request = read(operation, &[(member, "Who"), ("PolicyArn", arn)]).expect("the form is right");
        let owner = Owner { kind, name: "Who".to_owned() };
        assert_eq!(request, Request::Attach { owner, arn: arn.to_owned() });
        assert_eq!(request.resource("123456789012"), kind.arn("123456789012", "/", "Who"));
    }
}

#[test]
fn arns_are_taken_apart() {
    let parse = |arn| IamArn::parse(arn).map(|arn| (arn.account, arn.kind, arn.path, arn.name));
    assert_eq!(
        parse("arn:aws:iam::123456789012:policy/a/b/p"),
        Some(("123456789012", "policy", "/a/b/", "p"))
    );
    assert_eq!(parse("arn:aws:iam::aws:policy/p"), Some(("aws", "policy", "/", "p")));
    for arn in [
        "",
        "arn:aws:iam::12:policy/p",
        "arn:aws:iam::aws:policy/",
        "arn:aws:s3:::b",
        "arn:aws:iam::aws:root",
    ] {
        assert_eq!(parse(arn), None, "{arn}");
    }
}
