//! Requests of forms: defaults, bounds and faults.

use super::Operation;
use super::request::Request;
use crate::iam::fault::FaultKind;
use crate::monitoring::document::Document;

const ROLE: &str = "arn:aws:iam::123456789012:role/reader";

fn form(members: &[(&str, &str)]) -> Document {
    let member = |(name, value): &(&str, &str)| ((*name).to_owned(), Document::Form((*value).to_owned()));
    Document::Object(members.iter().map(member).collect())
}

#[test]
fn a_session_lasts_as_long_as_asked_within_bounds() {
    let of_role = |seconds: &str| {
        let members = [("RoleArn", ROLE), ("RoleSessionName", "me"), ("DurationSeconds", seconds)];
        Request::validate(Operation::AssumeRole, &form(&members))
    };
    for (seconds, constraint) in
        [("899", "greater than or equal to 900"), ("43201", "less than or equal to 43200")]
    {
        let fault = of_role(seconds).expect_err("the time is out of bounds");
        assert_eq!(
            fault.message,
            format!(
                "1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy constraint: \
                 Member must have value {constraint}"
            )
        );
    }
    let Ok(Request::AssumeRole(assume)) = of_role("900") else { panic!("900 seconds are allowed") };
    assert_eq!(assume.seconds, 900);
    assert_eq!(
        Request::validate(Operation::GetSessionToken, &form(&[])),
        Ok(Request::GetSessionToken { seconds: 43_200 })
    );
}

#[test]
fn a_role_is_named_by_its_arn_and_a_session_by_two_characters() {
    let fault = |members: &[(&str, &str)]| {
        Request::validate(Operation::AssumeRole, &form(members)).expect_err("the form is wrong")
    };
    let arn = "arn:aws:iam::123456789012:user/reader";
    assert_eq!(fault(&[("RoleArn", arn), ("RoleSessionName", "me")]).message, format!("{arn} is invalid"));
    let short = fault(&[("RoleArn", ROLE), ("RoleSessionName", "m")]);
    assert_eq!(short.kind, FaultKind::ValidationError);
    assert!(
        short.message.contains("Member must have length greater than or equal to 2"),
        "{}",
        short.message
    );
    let mfa = [("RoleArn", ROLE), ("RoleSessionName", "me"), ("SerialNumber", "arn:aws:iam::1:mfa/x")];
    assert_eq!(fault(&mfa).kind, FaultKind::AccessDenied);
}
