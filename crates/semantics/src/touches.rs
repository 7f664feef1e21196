//! What a request touches: pairs of an action, as policies name it, and the table, index or stream it is
//! done to.
//!
//! Resources are named as the client sent them, valid or not. It does not know which of them exist, or what
//! a caller may do.

use std::borrow::Cow;

use crate::operation::Operation;
use crate::{event_sources, monitoring, scaling};

/// An action, as policies name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The action of the operation's name.
    Operation(Operation),
    /// A check of a condition in a transaction.
    ConditionCheckItem,
    /// A DELETE statement.
    PartiqlDelete,
    /// An INSERT statement.
    PartiqlInsert,
    /// A SELECT statement, also the one inside of EXISTS.
    PartiqlSelect,
    /// An UPDATE statement.
    PartiqlUpdate,
    /// A new replica of a table.
    CreateTableReplica,
    /// The removal of a replica.
    DeleteTableReplica,
    /// The removal of a replica from its group, with its data.
    DisassociateTableReplica,
    /// A new replica of a table in another account.
    AssociateTableReplica,
    /// The action of an operation on triggers.
    EventSources(event_sources::Operation),
    /// The action of an operation on metrics or alarms.
    Monitoring(monitoring::Operation),
    /// The action of an operation on scalable targets.
    Scaling(scaling::Operation),
}

impl Action {
    /// The action's name, without the prefix of its service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::ConditionCheckItem => "ConditionCheckItem",
            Self::PartiqlDelete => "PartiQLDelete",
            Self::PartiqlInsert => "PartiQLInsert",
            Self::PartiqlSelect => "PartiQLSelect",
            Self::PartiqlUpdate => "PartiQLUpdate",
            Self::CreateTableReplica => "CreateTableReplica",
            Self::DeleteTableReplica => "DeleteTableReplica",
            Self::DisassociateTableReplica => "DisassociateTableReplica",
            Self::AssociateTableReplica => "AssociateTableReplica",
            Self::EventSources(operation) => operation.name(),
            Self::Monitoring(operation) => operation.name(),
            Self::Scaling(operation) => operation.name(),
        }
    }
}

/// What an action is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource<'r> {
    /// The account: `*` in policies. A list may be narrowed to one table.
    Account {
        /// The table, by name or ARN.
        only: Option<Cow<'r, str>>,
    },
    /// A table, by name or ARN.
    Table(Cow<'r, str>),
    /// A table of the same name in another region.
    Replica {
        /// The table, by the name or ARN of the one in the request's region.
        table: Cow<'r, str>,
        /// The region.
        region: Cow<'r, str>,
    },
    /// An index alone.
    Index {
        /// The table, by name or ARN.
        table: Cow<'r, str>,
        /// The index's name.
        index: Cow<'r, str>,
    },
    /// A stream, by ARN.
    Stream(Cow<'r, str>),
    /// A backup, by ARN.
    Backup(Cow<'r, str>),
    /// An export, an import or a bulk operation, by ARN.
    Transfer(Cow<'r, str>),
    /// A resource of another service in the caller's account and region.
    Foreign {
        /// The service, as ARNs name it.
        service: &'static str,
        /// The last field of its ARN, such as `alarm:a`, or the whole ARN if the client sent one.
        name: Cow<'r, str>,
    },
    /// The stream of a shard iterator, an opaque text that only the engine reads.
    ShardIterator(Cow<'r, str>),
    /// A required name is missing.
    Unnamed,
    /// Nothing: a statement or action that does not say what it is.
    Nothing,
}

impl<'r> Resource<'r> {
    /// A table, or an index of it.
    pub fn of_table(table: impl Into<Cow<'r, str>>, index: Option<impl Into<Cow<'r, str>>>) -> Self {
        let table = table.into();
        match index {
            Some(index) => Self::Index { table, index: index.into() },
            None => Self::Table(table),
        }
    }

    /// The table or stream of an ARN.
    pub fn of_arn(arn: impl Into<Cow<'r, str>>) -> Self {
        let arn = arn.into();
        if arn.contains("/stream/") { Self::Stream(arn) } else { Self::Table(arn) }
    }

    /// The table as the client sent it, by name or ARN.
    pub fn table_as_sent(&self) -> Option<&str> {
        match self {
            Self::Table(table) | Self::Index { table, .. } | Self::Replica { table, .. } => Some(table),
            Self::Account { only } => only.as_deref(),
            Self::Backup(_)
            | Self::Stream(_)
            | Self::Transfer(_)
            | Self::Foreign { .. }
            | Self::ShardIterator(_)
            | Self::Unnamed
            | Self::Nothing => None,
        }
    }

    /// The table's name, also where the client sent an ARN.
    pub fn table_name(&self) -> Option<&str> {
        self.table_as_sent().map(name_in)
    }

    /// The name of the index.
    pub fn index(&self) -> Option<&str> {
        match self {
            Self::Index { index, .. } => Some(index),
            _ => None,
        }
    }
}

/// The name in a table's ARN; any other text is the name itself.
fn name_in(as_sent: &str) -> &str {
    let Some(rest) = as_sent.strip_prefix("arn:") else { return as_sent };
    let resource = rest.splitn(5, ':').nth(4).and_then(|resource| resource.strip_prefix("table/"));
    resource.and_then(|path| path.split('/').next()).unwrap_or(as_sent)
}

/// One action on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch<'r> {
    /// What is done.
    pub action: Action,
    /// To what it is done.
    pub resource: Resource<'r>,
}

impl<'r> Touch<'r> {
    /// The operation's own action on a resource.
    pub const fn own(operation: Operation, resource: Resource<'r>) -> Self {
        Self { action: Action::Operation(operation), resource }
    }
}

/// What a caller must be allowed to do with a table whose items the server reads and writes in the caller's
/// name: both tables of a new replica (developer guide: global tables, permissions), and the target of a
/// restore, where it also needs `BatchWriteItem` (service authorization reference: dependent actions).
const ITEM_ACTIONS: [Operation; 6] = [
    Operation::DeleteItem,
    Operation::GetItem,
    Operation::PutItem,
    Operation::Query,
    Operation::Scan,
    Operation::UpdateItem,
];

/// A change of a table's replicas, as far as rights depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaChange<'r> {
    /// A new replica in a region.
    Create(Cow<'r, str>),
    /// The replica in a region is removed.
    Delete(Cow<'r, str>),
    /// The table is taken out of its group.
    Disassociate,
}

impl<'r> ReplicaChange<'r> {
    /// What it touches: the table, and the one in the other region.
    fn touches(self, own: &Resource<'r>) -> Vec<Touch<'r>> {
        let (action, item_actions, region) = match self {
            Self::Disassociate => {
                let action = Action::DisassociateTableReplica;
                return vec![Touch { action, resource: own.clone() }];
            }
            Self::Create(region) => (Action::CreateTableReplica, ITEM_ACTIONS.as_slice(), region),
            Self::Delete(region) => (Action::DeleteTableReplica, [].as_slice(), region),
        };
        let mut resources = vec![own.clone()];
        if let Resource::Table(table) = own {
            resources.push(Resource::Replica { table: table.clone(), region });
        }
        let each = resources.into_iter().flat_map(|resource| {
            let of_items = item_actions.iter().map(|operation| Action::Operation(*operation));
            std::iter::once(action).chain(of_items).map(move |action| (action, resource.clone()))
        });
        each.map(|(action, resource)| Touch { action, resource }).collect()
    }
}

/// All that a request touches, in the request's order. Batches and transactions have one entry for each
/// table, action or statement.
#[derive(Clone, Debug)]
pub enum Touches<'r> {
    /// Of a request for one resource, which takes no memory of its own.
    One(Touch<'r>),
    /// Of a request for several.
    Several(Vec<Touch<'r>>),
}

impl<'r> Touches<'r> {
    /// An action on the account.
    pub const fn account(action: Action) -> Self {
        Self::One(Touch { action, resource: Resource::Account { only: None } })
    }

    /// An action on several resources; on the account if there is none.
    pub fn each(action: Action, resources: impl IntoIterator<Item = Resource<'r>>) -> Self {
        let mut touches: Vec<_> = resources.into_iter().map(|resource| Touch { action, resource }).collect();
        match touches.len() {
            0 => Self::account(action),
            1 => touches.pop().map_or(Self::account(action), Self::One),
            _ => Self::Several(touches),
        }
    }

    /// A restore from a backup or table into a new table, whose items are written in the caller's name.
    pub fn restore(operation: Operation, source: Resource<'r>, target: Cow<'r, str>) -> Self {
        let target = Resource::Table(target);
        let mut touches = vec![Touch::own(operation, target.clone()), Touch::own(operation, source)];
        let writes = std::iter::once(Operation::BatchWriteItem).chain(ITEM_ACTIONS);
        touches.extend(writes.map(|action| Touch::own(action, target.clone())));
        Self::Several(touches)
    }

    /// A new table. One with tags is tagged too, and one with a policy gets it in the caller's name.
    pub fn create_table(table: Resource<'r>, has_tags: bool, has_policy: bool) -> Self {
        let create = Touch::own(Operation::CreateTable, table);
        if !has_tags && !has_policy {
            return Self::One(create);
        }
        let more = [(has_tags, Operation::TagResource), (has_policy, Operation::PutResourcePolicy)];
        let more = more.into_iter().filter(|(is_asked, _)| *is_asked);
        let more: Vec<_> =
            more.map(|(_, operation)| Touch::own(operation, create.resource.clone())).collect();
        Self::Several([create].into_iter().chain(more).collect())
    }

    /// The same for a new table that is filled from this one in another account.
    #[must_use]
    pub fn joining(self, source: Resource<'r>) -> Self {
        let associate = Touch { action: Action::AssociateTableReplica, resource: source };
        let mut touches = match self {
            Self::One(touch) => vec![touch],
            Self::Several(touches) => touches,
        };
        touches.push(associate);
        Self::Several(touches)
    }

    /// A change of a table, which may be one of its replicas. Equal changes count once.
    pub fn update_table(table: Resource<'r>, mut replicas: Vec<ReplicaChange<'r>>) -> Self {
        let update = Touch::own(Operation::UpdateTable, table);
        if replicas.is_empty() {
            return Self::One(update);
        }
        replicas.dedup();
        assert!(
            update.action == Action::Operation(Operation::UpdateTable),
            "the operation's right comes first"
        );
        let own = update.resource.clone();
        let of_replicas = replicas.into_iter().flat_map(|change| change.touches(&own));
        Self::Several([update].into_iter().chain(of_replicas).collect())
    }

    /// An operation on a table and on its replicas in these regions. A region counts once.
    pub fn replicas(
        operation: Operation,
        table: Resource<'r>,
        regions: impl IntoIterator<Item = Cow<'r, str>>,
    ) -> Self {
        let named = if let Resource::Table(name) = &table { Some(name.clone()) } else { None };
        let mut resources = vec![table];
        if let Some(table) = named {
            for region in regions {
                let replica = Resource::Replica { table: table.clone(), region };
                if !resources.contains(&replica) {
                    resources.push(replica);
                }
            }
        }
        Self::each(Action::Operation(operation), resources)
    }

    /// The entries.
    pub fn as_slice(&self) -> &[Touch<'r>] {
        match self {
            Self::One(touch) => std::slice::from_ref(touch),
            Self::Several(touches) => touches,
        }
    }

    /// The name of the table, if all of them are about one.
    pub fn only_table(&self) -> Option<&str> {
        let mut tables = self.as_slice().iter().map(|touch| touch.resource.table_name());
        let first = tables.next().flatten()?;
        tables.all(|table| table == Some(first)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::TableRef;

    #[test]
    fn the_name_in_an_arn_is_the_one_that_the_request_is_bound_to() {
        for sent in ["Shop.v1", "arn", "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop"] {
            let table = TableRef::parse(sent).unwrap();
            assert_eq!(Resource::Table(sent.into()).table_name(), Some(table.name.as_str()));
        }
    }

    #[test]
    fn a_table_is_the_only_one_if_all_touches_are_about_it() {
        let touch = |table: &'static str| Touch::own(Operation::GetItem, Resource::Table(table.into()));
        assert_eq!(Touches::One(touch("a")).only_table(), Some("a"));
        assert_eq!(Touches::Several(vec![touch("a"), touch("a")]).only_table(), Some("a"));
        assert_eq!(Touches::Several(vec![touch("a"), touch("b")]).only_table(), None);
        assert_eq!(Touches::account(Action::Operation(Operation::ListTables)).only_table(), None);
    }

    #[test]
    fn a_name_that_is_not_valid_stays_as_it_was_sent() {
        for sent in ["", "a b", "arn:", "arn:aws:s3:::bucket", "arn:aws:dynamodb:eu-west-1:1:backup/x"] {
            assert_eq!(Resource::Table(sent.into()).table_name(), Some(sent));
        }
    }
}
