//! The managed policies that every account has, in wording of ours under the service's names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) use keywright_semantics::iam::names::SERVICE_ACCOUNT as ACCOUNT;

use crate::directory::{ManagedPolicy, Version};

/// Name, id, what it is for, and the policy.
const POLICIES: [(&str, &str, &str, &str); 3] = [
    (
        "AdministratorAccess",
        "ANPAKEYWRIGHTADMIN001",
        "Everything.",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#,
    ),
    (
        "AmazonDynamoDBFullAccess",
        "ANPAKEYWRIGHTDYNFULL1",
        "Everything on tables, their metrics and their scaling.",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["dynamodb:*","cloudwatch:*","application-autoscaling:*","lambda:*EventSourceMapping*"],"Resource":"*"}]}"#,
    ),
    (
        "AmazonDynamoDBReadOnlyAccess",
        "ANPAKEYWRIGHTDYNREAD1",
        "Reading tables, their metrics and their scaling.",
        r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["dynamodb:BatchGetItem","dynamodb:Describe*","dynamodb:Get*","dynamodb:List*","dynamodb:PartiQLSelect","dynamodb:Query","dynamodb:Scan","dynamodb:SearchVectors","cloudwatch:Describe*","cloudwatch:Get*","cloudwatch:List*","application-autoscaling:Describe*","lambda:GetEventSourceMapping","lambda:ListEventSourceMappings"],"Resource":"*"}]}"#,
    ),
];

static ALL: LazyLock<Vec<ManagedPolicy>> = LazyLock::new(|| {
    let made = |(name, id, description, document): &(&str, &str, &str, &str)| ManagedPolicy {
        name: (*name).to_owned(),
        path: "/".to_owned(),
        id: (*id).to_owned(),
        created_ms: 0,
        updated_ms: 0,
        description: (*description).to_owned(),
        tags: BTreeMap::new(),
        versions: BTreeMap::from([(1, Version { document: (*document).to_owned(), created_ms: 0 })]),
        default: 1,
        next: 2,
    };
    POLICIES.iter().map(made).collect()
});

pub(super) fn all() -> &'static [ManagedPolicy] {
    &ALL
}

pub(super) fn find(arn: &str) -> Option<&'static ManagedPolicy> {
    ALL.iter().find(|policy| policy.arn(ACCOUNT) == arn)
}
