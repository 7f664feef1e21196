//! Actions, as policies name them, and sets of them.
//!
//! The actions that are served have numbers, so that a policy's list of actions is a set of bits. It does not
//! know what an operation needs.

mod names;
mod set;

use std::fmt;
use std::sync::LazyLock;

use keywright_semantics::touches::Action as Touched;
use keywright_semantics::{event_sources, monitoring, operation::Operation, scaling};

pub use keywright_semantics::iam::Operation as Iam;
pub use names::{Own, Replica, Sts};
pub use set::ActionSet;

/// A service whose actions are served: the prefix before the colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// DynamoDB and its streams.
    DynamoDb,
    /// Metrics and alarms.
    CloudWatch,
    /// Scaling of capacity.
    ApplicationAutoScaling,
    /// Event source mappings.
    Lambda,
    /// Users, groups, roles and policies.
    Iam,
    /// Sessions of roles.
    Sts,
    /// Our own calls.
    Keywright,
}

impl Service {
    /// The prefix of its actions.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::DynamoDb => "dynamodb",
            Self::CloudWatch => "cloudwatch",
            Self::ApplicationAutoScaling => "application-autoscaling",
            Self::Lambda => "lambda",
            Self::Iam => "iam",
            Self::Sts => "sts",
            Self::Keywright => "keywright",
        }
    }
}

/// An action that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// What a request touches something for.
    Touched(Touched),
    /// A part of a change of replicas.
    Replica(Replica),
    /// An action of IAM.
    Iam(Iam),
    /// An action of STS.
    Sts(Sts),
    /// One of our own calls.
    Own(Own),
}

/// Actions of DynamoDB that are no operations.
const PARTS: [Touched; 9] = [
    Touched::ConditionCheckItem,
    Touched::PartiqlDelete,
    Touched::PartiqlInsert,
    Touched::PartiqlSelect,
    Touched::PartiqlUpdate,
    Touched::CreateTableReplica,
    Touched::DeleteTableReplica,
    Touched::DisassociateTableReplica,
    Touched::AssociateTableReplica,
];

const PARTS_START: usize = Operation::ALL.len();
const EVENT_SOURCES_START: usize = PARTS_START + PARTS.len();
const MONITORING_START: usize = EVENT_SOURCES_START + event_sources::Operation::ALL.len();
const SCALING_START: usize = MONITORING_START + monitoring::Operation::ALL.len();
const REPLICA_START: usize = SCALING_START + scaling::Operation::ALL.len();
const IAM_START: usize = REPLICA_START + Replica::ALL.len();
const STS_START: usize = IAM_START + Iam::ALL.len();
const OWN_START: usize = STS_START + Sts::ALL.len();
const END: usize = OWN_START + Own::ALL.len();
const _: () = assert!(END <= set::ACTIONS_MAX, "every action has a bit");

/// The actions that policies can name, each with its full name in lower case.
static NAMES: LazyLock<Vec<(Verb, String)>> = LazyLock::new(|| {
    let named = Verb::all().filter(|verb| verb.is_in_policies());
    named.map(|verb| (verb, verb.to_string().to_ascii_lowercase())).collect()
});

impl Verb {
    /// The actions that policies can name, each with its full name in lower case.
    pub(crate) fn names() -> impl Iterator<Item = (Self, &'static str)> {
        NAMES.iter().map(|(verb, name)| (*verb, name.as_str()))
    }

    /// All actions, in the order of their places.
    pub fn all() -> impl Iterator<Item = Self> {
        let operations = Operation::ALL.iter().map(|operation| Touched::Operation(*operation));
        let event_sources = event_sources::Operation::ALL.iter().map(|one| Touched::EventSources(*one));
        let monitoring = monitoring::Operation::ALL.iter().map(|one| Touched::Monitoring(*one));
        let scaling = scaling::Operation::ALL.iter().map(|one| Touched::Scaling(*one));
        let touched = operations.chain(PARTS).chain(event_sources).chain(monitoring).chain(scaling);
        let replica = Replica::ALL.iter().map(|one| Self::Replica(*one));
        let iam = Iam::ALL.iter().map(|one| Self::Iam(*one));
        let sts = Sts::ALL.iter().map(|one| Self::Sts(*one));
        let own = Own::ALL.iter().map(|one| Self::Own(*one));
        touched.map(Self::Touched).chain(replica).chain(iam).chain(sts).chain(own)
    }

    /// The action of an operation of DynamoDB.
    pub const fn of_operation(operation: Operation) -> Self {
        Self::Touched(Touched::Operation(operation))
    }

    /// Its number, below [`set::ACTIONS_MAX`].
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Touched(Touched::Operation(operation)) => operation.place(),
            Self::Touched(Touched::ConditionCheckItem) => PARTS_START,
            Self::Touched(Touched::PartiqlDelete) => PARTS_START + 1,
            Self::Touched(Touched::PartiqlInsert) => PARTS_START + 2,
            Self::Touched(Touched::PartiqlSelect) => PARTS_START + 3,
            Self::Touched(Touched::PartiqlUpdate) => PARTS_START + 4,
            Self::Touched(Touched::CreateTableReplica) => PARTS_START + 5,
            Self::Touched(Touched::DeleteTableReplica) => PARTS_START + 6,
            Self::Touched(Touched::DisassociateTableReplica) => PARTS_START + 7,
            Self::Touched(Touched::AssociateTableReplica) => PARTS_START + 8,
            Self::Touched(Touched::EventSources(operation)) => EVENT_SOURCES_START + operation.place(),
            Self::Touched(Touched::Monitoring(operation)) => MONITORING_START + operation.place(),
            Self::Touched(Touched::Scaling(operation)) => SCALING_START + operation.place(),
            Self::Replica(action) => REPLICA_START + action.place(),
            Self::Iam(action) => IAM_START + action.place(),
            Self::Sts(action) => STS_START + action.place(),
            Self::Own(action) => OWN_START + action.place(),
        }
    }

    /// The service that it belongs to.
    pub const fn service(self) -> Service {
        match self {
            Self::Touched(Touched::EventSources(_)) => Service::Lambda,
            Self::Touched(Touched::Monitoring(_)) => Service::CloudWatch,
            Self::Touched(Touched::Scaling(_)) => Service::ApplicationAutoScaling,
            Self::Touched(_) | Self::Replica(_) => Service::DynamoDb,
            Self::Iam(_) => Service::Iam,
            Self::Sts(_) => Service::Sts,
            Self::Own(_) => Service::Keywright,
        }
    }

    /// Its name, without the prefix of its service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Touched(action) => action.name(),
            Self::Replica(action) => action.name(),
            Self::Iam(action) => action.name(),
            Self::Sts(action) => action.name(),
            Self::Own(action) => action.name(),
        }
    }

    /// Whether policies can name it. Some operations are judged by the actions of their parts alone (service
    /// authorization reference).
    pub const fn is_in_policies(self) -> bool {
        !matches!(
            self,
            Self::Touched(Touched::Operation(
                Operation::BatchExecuteStatement
                    | Operation::ExecuteStatement
                    | Operation::ExecuteTransaction
                    | Operation::TransactGetItems
                    | Operation::TransactWriteItems
            ))
        )
    }

    /// The action of a text such as `dynamodb:GetItem`. Case makes no difference.
    pub fn parse(text: &str) -> Option<Self> {
        Self::names().find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(verb, _)| verb)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.service().prefix(), self.name())
    }
}

/// The action of a request: one that is served, or one of another service in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// One that is served.
    Served(Verb),
    /// Any other, as `service:Name`.
    Other(&'a str),
}

impl<'a> Action<'a> {
    /// The action of a text.
    pub fn parse(text: &'a str) -> Self {
        Verb::parse(text).map_or(Self::Other(text), Self::Served)
    }
}

impl fmt::Display for Action<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served(verb) => verb.fmt(formatter),
            Self::Other(name) => formatter.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_has_its_own_place_and_is_found_by_its_name() {
        let mut count = 0;
        for (place, verb) in Verb::all().enumerate() {
            assert_eq!(verb.place(), place, "{verb}");
            if verb.is_in_policies() {
                assert_eq!(Verb::parse(&verb.to_string().to_uppercase()), Some(verb));
            }
            count += 1;
        }
        assert_eq!(count, END);
        assert_eq!(Verb::parse("dynamodb:TransactWriteItems"), None);
        assert_eq!(Verb::parse("dynamodb:BatchReadItem"), None);
    }
}
