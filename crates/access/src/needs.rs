//! What an operation needs: each action that a request touches something for, and the resource's ARN.
//!
//! Sources: service authorization reference for DynamoDB, CloudWatch, Application Auto Scaling and Lambda;
//! DynamoDB developer guide, resource-based policies across accounts. It does not know requests.

use std::borrow::Cow;

use keywright_semantics::operation::Operation;
use keywright_semantics::touches::{Action as Touched, Resource, Touch, Touches};

use crate::action::Verb;
use crate::arn::{Arn, PARTITION, Target};

/// The account and region that a request is for.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'s> {
    /// The caller's account.
    pub account: &'s str,
    /// The region.
    pub region: &'s str,
}

/// One right that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need<'r> {
    /// The action.
    pub verb: Verb,
    /// What it is done to.
    pub target: Target<'r>,
}

/// The rights that a request needs, in the request's order. A statement or action that does not say what it
/// is needs none: it is refused as it is validated.
pub fn needs<'r>(touches: &'r Touches<'r>, scope: Scope<'r>) -> impl Iterator<Item = Need<'r>> {
    touches.as_slice().iter().flat_map(move |touch| needs_of(touch, scope).into_iter().flatten())
}

/// The rights that one touch needs: the own action's, and another's where one resource is of two kinds.
fn needs_of<'r>(touch: &'r Touch<'r>, scope: Scope<'r>) -> [Option<Need<'r>>; 2] {
    let verb = Verb::Touched(touch.action);
    if touch.resource == Resource::Nothing {
        return [None, None];
    }
    let target = target(touch, scope);
    match touch.action {
        Touched::Operation(operation) if is_of_global_table(operation) => {
            let (name, _) = names(&touch.resource);
            let global = Arn {
                partition: PARTITION.into(),
                service: "dynamodb".into(),
                region: "".into(),
                account: scope.account.into(),
                resource: format!("global-table/{name}").into(),
            };
            let changes = matches!(
                operation,
                Operation::CreateGlobalTable
                    | Operation::UpdateGlobalTable
                    | Operation::UpdateGlobalTableSettings
            );
            let of_table = changes.then_some(Need { verb, target });
            [Some(Need { verb, target: Target::One(global) }), of_table]
        }
        _ => [Some(Need { verb, target }), None],
    }
}

const fn is_of_global_table(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CreateGlobalTable
            | Operation::DescribeGlobalTable
            | Operation::DescribeGlobalTableSettings
            | Operation::UpdateGlobalTable
            | Operation::UpdateGlobalTableSettings
    )
}

/// The table and index of a resource, as they were sent.
fn names<'t>(resource: &'t Resource<'_>) -> (&'t str, Option<&'t str>) {
    (resource.table_as_sent().unwrap_or_default(), resource.index())
}

/// What a touch's action is done to.
fn target<'r>(touch: &'r Touch<'r>, scope: Scope<'r>) -> Target<'r> {
    match &touch.resource {
        Resource::Account { only: Some(table) } if is_narrowed(touch.action) => of_table(table, None, scope),
        // The engine reads a shard iterator and says which stream it is of.
        Resource::Account { .. } | Resource::Unnamed | Resource::Nothing | Resource::ShardIterator(_) => {
            Target::Everything
        }
        Resource::Table(table) => of_table(table, None, scope),
        Resource::Replica { table, region } => match of_table(table, None, scope) {
            Target::One(own) => Target::One(Arn { region: Cow::Borrowed(region), ..own }),
            Target::Everything => Target::Everything,
        },
        Resource::Index { table, index } => of_table(table, Some(index), scope),
        Resource::Stream(arn) | Resource::Backup(arn) | Resource::Transfer(arn) => {
            Arn::parse(arn).map_or(Target::Everything, Target::One)
        }
        Resource::Foreign { service, name } => Target::One(Arn::parse(name).unwrap_or_else(|| Arn {
            partition: PARTITION.into(),
            service: (*service).into(),
            region: scope.region.into(),
            account: scope.account.into(),
            resource: (&**name).into(),
        })),
    }
}

/// Whether a list is judged on the table that it is narrowed to.
const fn is_narrowed(action: Touched) -> bool {
    matches!(action, Touched::Operation(Operation::ListExports | Operation::ListImports))
}

/// A table or index by the table's name or ARN.
fn of_table<'r>(table: &'r str, index: Option<&'r str>, scope: Scope<'r>) -> Target<'r> {
    let mut arn = Arn::parse(table).unwrap_or_else(|| Arn {
        partition: PARTITION.into(),
        service: "dynamodb".into(),
        region: scope.region.into(),
        account: scope.account.into(),
        resource: format!("table/{table}").into(),
    });
    if let Some(index) = index {
        arn.resource = Cow::Owned(format!("{}/index/{index}", arn.resource));
    }
    Target::One(arn)
}

/// Whether an operation may name a resource of another account (developer guide, rbac-iam-actions).
pub const fn crosses_accounts(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::BatchGetItem
            | Operation::BatchWriteItem
            | Operation::DeleteItem
            | Operation::DeleteTable
            | Operation::DescribeStream
            | Operation::DescribeTable
            | Operation::GetItem
            | Operation::GetRecords
            | Operation::GetShardIterator
            | Operation::ListTagsOfResource
            | Operation::PutItem
            | Operation::Query
            | Operation::Scan
            | Operation::TagResource
            | Operation::TransactGetItems
            | Operation::TransactWriteItems
            | Operation::UntagResource
            | Operation::UpdateItem
            | Operation::UpdateTable
    )
}

/// Whether an action may name a resource of another account.
pub const fn action_crosses_accounts(action: Touched) -> bool {
    match action {
        Touched::Operation(operation) => crosses_accounts(operation),
        Touched::ConditionCheckItem | Touched::AssociateTableReplica => true,
        Touched::PartiqlDelete
        | Touched::PartiqlInsert
        | Touched::PartiqlSelect
        | Touched::PartiqlUpdate
        | Touched::CreateTableReplica
        | Touched::DeleteTableReplica
        | Touched::DisassociateTableReplica
        | Touched::EventSources(_)
        | Touched::Monitoring(_)
        | Touched::Scaling(_) => false,
    }
}

/// The account in a resource's ARN, if it is another one than this.
pub fn foreign_owner<'t>(resource: &'t Resource<'_>, account: &str) -> Option<&'t str> {
    let text: &'t str = match resource {
        Resource::Table(text)
        | Resource::Index { table: text, .. }
        | Resource::Replica { table: text, .. }
        | Resource::Account { only: Some(text) }
        | Resource::Stream(text)
        | Resource::Backup(text)
        | Resource::Transfer(text) => text,
        Resource::Account { only: None }
        | Resource::Foreign { .. }
        | Resource::ShardIterator(_)
        | Resource::Unnamed
        | Resource::Nothing => return None,
    };
    let mut fields = text.strip_prefix("arn:")?.splitn(5, ':').skip(1);
    let (service, owner) = (fields.next()?, fields.nth(1)?);
    (service == "dynamodb" && !owner.is_empty() && owner != account).then_some(owner)
}

#[cfg(test)]
mod tests {
    use keywright_semantics::touches::ReplicaChange;

    use super::*;

    const SCOPE: Scope<'_> = Scope { account: "123456789012", region: "eu-west-1" };

    fn one(operation: Operation, resource: Resource<'static>) -> Vec<String> {
        let touches = Touches::One(Touch::own(operation, resource));
        needs(&touches, SCOPE).map(|need| format!("{} {}", need.verb, need.target)).collect()
    }

    #[test]
    fn a_table_an_index_and_the_account_have_their_arns() {
        assert_eq!(
            one(Operation::GetItem, Resource::Table("T".into())),
            ["dynamodb:GetItem arn:aws:dynamodb:eu-west-1:123456789012:table/T"]
        );
        assert_eq!(
            one(Operation::Query, Resource::of_table("T", Some("I"))),
            ["dynamodb:Query arn:aws:dynamodb:eu-west-1:123456789012:table/T/index/I"]
        );
        assert_eq!(one(Operation::ListTables, Resource::Account { only: None }), ["dynamodb:ListTables *"]);
        assert_eq!(one(Operation::GetItem, Resource::Unnamed), ["dynamodb:GetItem *"]);
        assert_eq!(one(Operation::TransactWriteItems, Resource::Nothing), [""; 0]);
    }

    #[test]
    fn a_resource_of_another_service_has_its_arn() {
        let alarm = |name: &'static str| {
            let action = Touched::Monitoring(keywright_semantics::monitoring::Operation::DeleteAlarms);
            let resource = Resource::Foreign { service: "cloudwatch", name: name.into() };
            let touches = Touches::each(action, [resource]);
            needs(&touches, SCOPE).map(|need| format!("{} {}", need.verb, need.target)).collect::<Vec<_>>()
        };
        let arn = "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:a";
        let expected = [format!("cloudwatch:DeleteAlarms {arn}")];
        assert_eq!((alarm("alarm:a"), alarm(arn)), (expected.to_vec(), expected.to_vec()));
    }

    #[test]
    fn a_change_of_replicas_is_judged_on_the_tables_of_both_regions() {
        let named = |changes| {
            let touches = Touches::update_table(Resource::Table("T".into()), changes);
            let needs = needs(&touches, SCOPE).map(|need| format!("{} {}", need.verb, need.target));
            needs.collect::<Vec<_>>()
        };
        let here = "arn:aws:dynamodb:eu-west-1:123456789012:table/T";
        let there = "arn:aws:dynamodb:us-west-2:123456789012:table/T";
        let removed = named(vec![ReplicaChange::Delete("us-west-2".into())]);
        let update = format!("dynamodb:UpdateTable {here}");
        let deletes = [here, there].map(|arn| format!("dynamodb:DeleteTableReplica {arn}"));
        assert_eq!(removed, [update.as_str(), &deletes[0], &deletes[1]]);
        let twice = vec![ReplicaChange::Create("us-west-2".into()); 2];
        let created = named(twice);
        for arn in [here, there] {
            for action in ["CreateTableReplica", "PutItem", "Scan"] {
                assert!(created.contains(&format!("dynamodb:{action} {arn}")), "{action} {arn}");
            }
        }
        assert_eq!(created.len(), 15);
    }

    #[test]
    fn what_leaves_a_group_is_judged_on_its_own_table_and_auto_scaling_on_that_of_each_region() {
        let shown = |touches: &Touches<'_>| -> Vec<String> {
            needs(touches, SCOPE).map(|need| format!("{} {}", need.verb, need.target)).collect()
        };
        let here = "arn:aws:dynamodb:eu-west-1:123456789012:table/T";
        let leaves = Touches::update_table(Resource::Table("T".into()), vec![ReplicaChange::Disassociate]);
        let rights =
            ["UpdateTable", "DisassociateTableReplica"].map(|name| format!("dynamodb:{name} {here}"));
        assert_eq!(shown(&leaves), rights);
        let operation = Operation::UpdateTableReplicaAutoScaling;
        let regions = ["us-west-2", "us-west-2", "us-east-1"].map(Cow::Borrowed);
        let scaled = Touches::replicas(operation, Resource::Table("T".into()), regions);
        let tables = ["eu-west-1", "us-west-2", "us-east-1"].map(|region| {
            format!("dynamodb:{} arn:aws:dynamodb:{region}:123456789012:table/T", operation.name())
        });
        assert_eq!(shown(&scaled), tables);
        assert_eq!(
            one(Operation::DescribeTableReplicaAutoScaling, Resource::Table("T".into())),
            [format!("dynamodb:DescribeTableReplicaAutoScaling {here}")]
        );
        assert_eq!(
            one(Operation::UpdateGlobalTableSettings, Resource::Table("T".into())),
            [
                "dynamodb:UpdateGlobalTableSettings arn:aws:dynamodb::123456789012:global-table/T".to_owned(),
                format!("dynamodb:UpdateGlobalTableSettings {here}"),
            ]
        );
    }

    #[test]
    fn an_arn_of_another_account_keeps_its_account() {
        let foreign = "arn:aws:dynamodb:eu-west-1:999999999999:table/T";
        assert_eq!(
            one(Operation::Query, Resource::of_table(foreign, Some("I"))),
            [format!("dynamodb:Query {foreign}/index/I")]
        );
    }

    #[test]
    fn a_resource_of_another_account_has_a_foreign_owner() {
        let own = SCOPE.account;
        let owner = |arn: &'static str| {
            let owner = foreign_owner(&Resource::of_arn(arn), own).map(str::to_owned);
            assert_eq!(foreign_owner(&Resource::Backup(arn.into()), own), owner.as_deref());
            owner
        };
        assert_eq!(owner("arn:aws:dynamodb:eu-west-1:999999999999:table/T").as_deref(), Some("999999999999"));
        let stream = "arn:aws:dynamodb:eu-west-1:999999999999:table/T/stream/2026-01-01T00:00:00.000";
        assert_eq!(owner(stream).as_deref(), Some("999999999999"));
        for arn in [
            "T",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/T",
            "arn:aws:s3:eu-west-1:999999999999:table/T",
            "arn:aws:dynamodb:eu-west-1::table/T",
            "arn:aws:dynamodb",
        ] {
            assert_eq!(owner(arn), None, "{arn}");
        }
    }

    #[test]
    fn a_change_of_a_global_table_is_judged_on_it_and_on_the_table() {
        assert_eq!(
            one(Operation::UpdateGlobalTable, Resource::Table("T".into())),
            [
                "dynamodb:UpdateGlobalTable arn:aws:dynamodb::123456789012:global-table/T",
                "dynamodb:UpdateGlobalTable arn:aws:dynamodb:eu-west-1:123456789012:table/T",
            ]
        );
    }
}
