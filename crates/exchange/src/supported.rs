//! The members of a table's description that a model holds.
//! All others are reported, so that nothing is lost silently.
//!
//! The members are those of `CreateTable` and `DescribeTable` (API reference of
//! 2026-09), of the CloudFormation resources `AWS::DynamoDB::Table` and
//! `AWS::DynamoDB::GlobalTable` and of SAM's `AWS::Serverless::SimpleTable`. The lists
//! name what *is* held, so that members added to the API later are reported as well.

use keywright_model::json::Json;

/// The part of a value that a model holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// All of it.
    Held,
    /// Nothing, and the loss does not matter: data about the description itself, such as its creation date.
    Passing,
    /// Only these members of an object.
    Members(&'static [(&'static str, Shape)]),
    /// The same part of each element of a list.
    Each(&'static Shape),
}

use Shape::{Each, Held, Members, Passing};

const KEY: Shape = Each(&Members(&[("AttributeName", Held), ("KeyType", Held)]));
const PROJECTION: Shape = Members(&[("ProjectionType", Held), ("NonKeyAttributes", Held)]);
const UNITS: Shape = Members(&[
    ("ReadCapacityUnits", Held),
    ("WriteCapacityUnits", Held),
    ("LastIncreaseDateTime", Passing),
    ("LastDecreaseDateTime", Passing),
    ("NumberOfDecreasesToday", Passing),
]);
const LOCAL: Shape = Each(&Members(&[
    ("IndexName", Held),
    ("KeySchema", KEY),
    ("Projection", PROJECTION),
    ("IndexSizeBytes", Passing),
    ("ItemCount", Passing),
    ("IndexArn", Passing),
]));
const GLOBAL: Shape = Each(&Members(&[
    ("IndexName", Held),
    ("KeySchema", KEY),
    ("Projection", PROJECTION),
    ("ProvisionedThroughput", UNITS),
    ("IndexStatus", Passing),
    ("Backfilling", Passing),
    ("IndexSizeBytes", Passing),
    ("ItemCount", Passing),
    ("IndexArn", Passing),
]));
const ATTRIBUTES: Shape = Each(&Members(&[("AttributeName", Held), ("AttributeType", Held)]));
const STREAM: Shape = Members(&[("StreamEnabled", Held), ("StreamViewType", Held)]);
const TTL: Shape = Members(&[("Enabled", Held), ("AttributeName", Held)]);
const RECOVERY: Shape = Members(&[("PointInTimeRecoveryEnabled", Held)]);
const SCALING: Shape = Members(&[
    ("MinCapacity", Held),
    ("MaxCapacity", Held),
    ("SeedCapacity", Held),
    ("TargetTrackingScalingPolicyConfiguration", Members(&[("TargetValue", Held)])),
]);
const WRITES: Shape = Members(&[("WriteCapacityAutoScalingSettings", SCALING)]);
const READS: Shape = Members(&[("ReadCapacityUnits", Held), ("ReadCapacityAutoScalingSettings", SCALING)]);

/// A `CreateTable` request or a `DescribeTable` answer.
pub const TABLE: Shape = Members(&[
    ("TableName", Held),
    ("AttributeDefinitions", ATTRIBUTES),
    ("KeySchema", KEY),
    ("LocalSecondaryIndexes", LOCAL),
    ("GlobalSecondaryIndexes", GLOBAL),
    ("BillingMode", Held),
    ("BillingModeSummary", Members(&[("BillingMode", Held), ("LastUpdateToPayPerRequestDateTime", Passing)])),
    ("ProvisionedThroughput", UNITS),
    ("StreamSpecification", STREAM),
    ("TableClass", Held),
    ("TableClassSummary", Members(&[("TableClass", Held), ("LastUpdateDateTime", Passing)])),
    ("DeletionProtectionEnabled", Held),
    (
        "Replicas",
        Each(&Members(&[
            ("RegionName", Held),
            ("ReplicaStatus", Passing),
            ("ReplicaStatusDescription", Passing),
            ("ReplicaStatusPercentProgress", Passing),
            ("ReplicaInaccessibleDateTime", Passing),
            ("ReplicaArn", Passing),
            ("ReplicaTableClassSummary", Passing),
            ("WarmThroughput", Passing),
        ])),
    ),
    ("ItemCount", Held),
    ("TableSizeBytes", Held),
    ("TableArn", Held),
    ("TableId", Passing),
    ("TableStatus", Passing),
    ("CreationDateTime", Passing),
    ("LatestStreamArn", Passing),
    ("LatestStreamLabel", Passing),
    ("GlobalTableVersion", Passing),
    // A newer form of the billing mode, which `BillingModeSummary` repeats.
    ("TableThroughputModeSummary", Passing),
    ("RestoreSummary", Passing),
    // The throughput that a table can take at once because of its past, not a setting.
    ("WarmThroughput", Members(&[("Status", Passing)])),
]);

/// `AWS::DynamoDB::Table`.
pub const RESOURCE: Shape = Members(&[
    ("TableName", Held),
    ("AttributeDefinitions", ATTRIBUTES),
    ("KeySchema", KEY),
    ("LocalSecondaryIndexes", LOCAL),
    ("GlobalSecondaryIndexes", GLOBAL),
    ("BillingMode", Held),
    ("ProvisionedThroughput", UNITS),
    ("StreamSpecification", STREAM),
    ("TableClass", Held),
    ("DeletionProtectionEnabled", Held),
    ("TimeToLiveSpecification", TTL),
    ("PointInTimeRecoverySpecification", RECOVERY),
]);

/// `AWS::DynamoDB::GlobalTable`.
pub const GLOBAL_RESOURCE: Shape = Members(&[
    ("TableName", Held),
    ("AttributeDefinitions", ATTRIBUTES),
    ("KeySchema", KEY),
    ("LocalSecondaryIndexes", LOCAL),
    (
        "GlobalSecondaryIndexes",
        Each(&Members(&[
            ("IndexName", Held),
            ("KeySchema", KEY),
            ("Projection", PROJECTION),
            ("WriteProvisionedThroughputSettings", WRITES),
            ("ReadProvisionedThroughputSettings", READS),
        ])),
    ),
    ("BillingMode", Held),
    ("StreamSpecification", STREAM),
    ("TimeToLiveSpecification", TTL),
    ("WriteProvisionedThroughputSettings", WRITES),
    ("ReadProvisionedThroughputSettings", READS),
    (
        "Replicas",
        Each(&Members(&[
            ("Region", Held),
            ("DeletionProtectionEnabled", Held),
            ("PointInTimeRecoverySpecification", RECOVERY),
            ("ReadProvisionedThroughputSettings", READS),
            ("TableClass", Held),
            (
                "GlobalSecondaryIndexes",
                Each(&Members(&[("IndexName", Held), ("ReadProvisionedThroughputSettings", READS)])),
            ),
        ])),
    ),
]);

/// `AWS::Serverless::SimpleTable`.
pub const SIMPLE_RESOURCE: Shape = Members(&[
    ("TableName", Held),
    ("PrimaryKey", Members(&[("Name", Held), ("Type", Held)])),
    ("ProvisionedThroughput", UNITS),
    ("PointInTimeRecoverySpecification", RECOVERY),
]);

/// `AWS::ApplicationAutoScaling::ScalableTarget`, as far as it gives a table's range.
pub const SCALABLE_TARGET: Shape =
    Members(&[("ScalableDimension", Held), ("MinCapacity", Held), ("MaxCapacity", Held)]);

/// A value, split by what a model holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parted {
    /// The document without the members that a model does not hold.
    pub held: Json,
    /// Paths below the value that are not held, such as `GlobalSecondaryIndexes[0].WarmThroughput`. Values
    /// without a meaning are left out.
    pub unheld: Vec<String>,
}

/// Splits a value into the part that a model holds and the paths of the rest.
pub fn part(json: &Json, shape: &Shape) -> Parted {
    let mut unheld = Vec::new();
    let held = keep(json, shape, "", &mut unheld);
    Parted { held, unheld }
}

fn keep(json: &Json, shape: &Shape, path: &str, unheld: &mut Vec<String>) -> Json {
    match (shape, json) {
        // A function stands for the whole value; the function resolver checks its result.
        (Members(known), Json::Object(members)) if !is_function(json) => {
            let mut kept = Vec::new();
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match known.iter().find(|(known, _)| known == name) {
                    Some((_, Passing)) => {}
                    Some((_, shape)) => kept.push((name.clone(), keep(value, shape, &path, unheld))),
                    None if says_nothing(value) => {}
                    None => unheld.push(path),
                }
            }
            Json::Object(kept)
        }
        (Each(shape), Json::List(elements)) => {
            let kept = elements
                .iter()
                .enumerate()
                .map(|(at, element)| keep(element, shape, &format!("{path}[{at}]"), unheld));
            Json::List(kept.collect())
        }
        _ => json.clone(),
    }
}

/// Whether a value is a function of a template and not an object.
pub fn is_function(json: &Json) -> bool {
    matches!(json.members(), [(name, _)] if name == "Ref" || name == "Condition" || name.starts_with("Fn::"))
}

/// Whether a value only says that something is off or has its default.
fn says_nothing(json: &Json) -> bool {
    match json {
        Json::Null | Json::Bool(false) => true,
        Json::Text(text) => matches!(text.as_str(), "" | "false" | "DISABLED"),
        // Zero is not a capacity, and minus one not a limit.
        Json::Number(digits) => matches!(digits.as_str(), "0" | "-1"),
        Json::List(elements) => elements.is_empty(),
        Json::Object(members) => members.iter().all(|(_, value)| says_nothing(value)),
        Json::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_members_are_listed_unless_they_have_no_meaning() {
        let text = r#"{"TableName":"T","Tags":[{"Key":"a","Value":"b"}],"SSESpecification":{"SSEEnabled":false},
            "OnDemandThroughput":{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":100},"NewIn2027":{"Mode":"x"},
            "GlobalSecondaryIndexes":[{"IndexName":"i","WarmThroughput":{"ReadUnitsPerSecond":20000},"ItemCount":3}],
            "ResourcePolicy":{}}"#;
        let parted = part(&Json::parse(text).expect("JSON"), &TABLE);
        assert_eq!(
            parted.unheld,
            ["Tags", "OnDemandThroughput", "NewIn2027", "GlobalSecondaryIndexes[0].WarmThroughput"]
        );
        assert_eq!(
            parted.held.compact(),
            r#"{"TableName":"T","GlobalSecondaryIndexes":[{"IndexName":"i"}]}"#
        );
    }
}
