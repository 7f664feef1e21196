//! Members of CloudWatch's requests that ask for what this server does not have.
//!
//! They are refused: without them the request would get the answer to another one. COMPAT.md lists them.

use super::Operation;
use super::document::Document;
use super::fault::Fault;

/// Operation, member, and what this server would need.
const UNSERVED: &[(Operation, &str, &str)] = &[
    (Operation::DescribeAlarmHistory, "AlarmContributorId", "contributors of alarms"),
    (Operation::DescribeAlarms, "ChildrenOfAlarmName", "composite alarms"),
    (Operation::DescribeAlarms, "ParentsOfAlarmName", "composite alarms"),
    (Operation::ListMetrics, "OwningAccount", "linked accounts"),
    (Operation::PutMetricAlarm, "ActionConfiguration", "actions of alarms"),
    (Operation::PutMetricAlarm, "EvaluationCriteria", "alarms on queries"),
    (Operation::PutMetricAlarm, "EvaluationInterval", "alarms on queries"),
    (Operation::PutMetricAlarm, "EvaluationWindow", "windows of alarms"),
    (Operation::PutMetricAlarm, "Metrics", "alarms on expressions"),
    (Operation::PutMetricAlarm, "ThresholdMetricId", "alarms on anomalies"),
    (Operation::PutMetricAlarm, "WarmUpConfiguration", "warm-up of alarms"),
];

/// Refuses the first of an operation's members that the request has.
pub(super) fn check(operation: Operation, body: &Document) -> Result<(), Fault> {
    let of_operation = UNSERVED.iter().filter(|(owner, ..)| *owner == operation);
    of_operation
        .map(|(_, member, feature)| (*member, *feature))
        .try_for_each(|(member, feature)| refuse(body, member, feature))
}

/// Refuses a request that has the member.
pub(super) fn refuse(body: &Document, member: &str, feature: &str) -> Result<(), Fault> {
    match body.member(member) {
        Document::Null => Ok(()),
        _ => Err(Fault::validation(format!(
            "{member} is not supported by this server, which has no {feature}."
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitoring::request::Request;

    #[test]
    fn members_that_are_not_served_are_refused_by_name() {
        for (operation, member, feature) in UNSERVED {
            let body = Document::object([("AlarmName", Document::text("a")), (member, Document::text("x"))]);
            let fault = Request::validate(*operation, &body).unwrap_err();
            let expected = format!("{member} is not supported by this server, which has no {feature}.");
            assert_eq!(fault.message, expected);
        }
    }
}
