//! Statements that let everyone in: what block public access refuses.
//!
//! Source: DynamoDB developer guide, rbac-bpa-rbp. It does not know documents.

use super::statement::{Effect, Statement};
use crate::condition::{Condition, Quantifier, Test};
use crate::context::{Key, Known};

/// Whether a statement allows something to everyone and no condition narrows it by a fixed value.
pub(super) fn is_public(statement: &Statement) -> bool {
    statement.effect() == Effect::Allow
        && statement.principals().has_everyone()
        && !statement.conditions().iter().any(narrows)
}

fn narrows(condition: &Condition) -> bool {
    let Key::Known(key) = condition.key else { return false };
    let operator = condition.operator;
    let is_positive = !operator.is_negated && !operator.if_exists;
    // An absent key meets it.
    let is_certain = operator.quantifier != Quantifier::ForAllValues;
    let is_fixed = |value: &String| !value.contains(['*', '?']) && !value.contains("${");
    let compares = match operator.test {
        Test::StringEquals | Test::StringEqualsIgnoreCase | Test::StringLike | Test::Arn => is_narrow(key),
        Test::Bool => {
            key == Known::PrincipalIsAwsService
                && condition.values.iter().all(|value| value.eq_ignore_ascii_case("true"))
        }
        Test::Numeric(_) | Test::Date(_) | Test::Binary | Test::IpAddress | Test::Null => false,
    };
    is_positive && is_certain && compares && condition.values.iter().all(is_fixed)
}

const fn is_narrow(key: Known) -> bool {
    matches!(
        key,
        Known::PrincipalAccount
            | Known::PrincipalArn
            | Known::PrincipalOrgId
            | Known::PrincipalOrgPaths
            | Known::PrincipalServiceName
            | Known::PrincipalServiceNamesList
            | Known::SourceAccount
            | Known::SourceArn
            | Known::SourceOrgId
            | Known::SourceOrgPaths
            | Known::SourceVpc
            | Known::SourceVpce
            | Known::Ec2InstanceSourceVpc
            | Known::UserId
    )
}
