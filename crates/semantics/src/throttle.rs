//! Throttling: the limits that refuse a request, and the error that says which did.
//!
//! It does not know how a limit is measured.

use crate::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use crate::messages::throttle as messages;
use crate::schema::BillingMode;

/// Whether units are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Read capacity.
    Read,
    /// Write capacity.
    Write,
}

impl Direction {
    /// Both directions, in their order.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// The direction's place in `ALL`.
    pub const fn place(self) -> usize {
        match self {
            Self::Read => 0,
            Self::Write => 1,
        }
    }

    /// The word in the names of reasons and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
        }
    }
}

/// A limit that refuses requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The provisioned units of a table or index, with what burst capacity adds.
    ProvisionedThroughput,
    /// The client's own ceiling of an on-demand table or index.
    MaxOnDemandThroughput,
    /// A quota of the account, or of each of its tables and indexes.
    AccountLimit,
    /// A partition, or the level up to which an on-demand table has grown.
    KeyRangeThroughput,
}

impl Limit {
    /// All limits, in the order in which an error lists them.
    pub const ALL: [Self; 4] = [
        Self::ProvisionedThroughput,
        Self::MaxOnDemandThroughput,
        Self::AccountLimit,
        Self::KeyRangeThroughput,
    ];

    /// The limit's place in `ALL`.
    pub const fn place(self) -> usize {
        match self {
            Self::ProvisionedThroughput => 0,
            Self::MaxOnDemandThroughput => 1,
            Self::AccountLimit => 2,
            Self::KeyRangeThroughput => 3,
        }
    }

    /// The name in metrics: `WriteProvisionedThroughputThrottleEvents`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProvisionedThroughput => "ProvisionedThroughput",
            Self::MaxOnDemandThroughput => "MaxOnDemandThroughput",
            Self::AccountLimit => "AccountLimit",
            Self::KeyRangeThroughput => "KeyRangeThroughput",
        }
    }
}

/// What is short: one element of `ThrottlingReasons`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottlingReason {
    /// The limit that is used up.
    pub limit: Limit,
    /// Reads or writes.
    pub direction: Direction,
    /// Whether it is an index's limit; else the table's.
    pub of_index: bool,
    /// The ARN of the table or index.
    pub resource: String,
}

impl ThrottlingReason {
    /// The member `reason`, such as `TableWriteProvisionedThroughputExceeded`.
    pub fn name(&self) -> String {
        let resource = if self.of_index { "Index" } else { "Table" };
        format!("{resource}{}{}Exceeded", self.direction.name(), self.limit.name())
    }
}

/// A refused request or item: why, and in which billing mode. At least one reason; the first decides the
/// exception and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// The table's billing mode.
    pub billing: BillingMode,
    /// In the order in which an error lists them.
    pub reasons: Vec<ThrottlingReason>,
}

impl Throttled {
    /// The exception's kind (developer guide: diagnosing throttling).
    fn kind(&self) -> ErrorKind {
        match (self.reasons.first().map(|reason| reason.limit), self.billing) {
            (Some(Limit::AccountLimit), _) => ErrorKind::RequestLimitExceeded,
            (_, BillingMode::Provisioned) => ErrorKind::ProvisionedThroughputExceeded,
            (_, BillingMode::PayPerRequest) => ErrorKind::Throttling,
        }
    }

    fn message(&self) -> &'static str {
        let first = self.reasons.first();
        let of_index = first.is_some_and(|reason| reason.of_index);
        match (first.map(|reason| reason.limit), self.billing) {
            (Some(Limit::AccountLimit), _) => messages::ACCOUNT_LIMIT,
            (Some(Limit::MaxOnDemandThroughput), _) => messages::ON_DEMAND_MAXIMUM,
            (_, BillingMode::Provisioned) if of_index => messages::PROVISIONED_INDEX,
            (_, BillingMode::Provisioned) => messages::PROVISIONED_TABLE,
            (_, BillingMode::PayPerRequest) if of_index => messages::ON_DEMAND_INDEX,
            (_, BillingMode::PayPerRequest) => messages::ON_DEMAND_TABLE,
        }
    }

    /// The error of a request that is refused as a whole.
    pub fn into_error(self) -> Error {
        Error::new(self.kind(), self.message()).with_detail(ErrorDetail::Throttling(self.reasons))
    }

    /// The reason that a transaction gives for an action that is refused. Quotas of the account refuse the
    /// whole request: `None`.
    pub fn cancellation(&self) -> Option<CancellationReason> {
        let message = self.message().to_owned();
        match self.kind() {
            ErrorKind::RequestLimitExceeded => None,
            ErrorKind::ProvisionedThroughputExceeded => {
                Some(CancellationReason::ProvisionedThroughputExceeded { message })
            }
            _ => Some(CancellationReason::Throttling { message }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttled(billing: BillingMode, limit: Limit, of_index: bool) -> Throttled {
        let resource = "arn:aws:dynamodb:us-east-1:000000000000:table/T".to_owned();
        let reason = ThrottlingReason { limit, direction: Direction::Write, of_index, resource };
        Throttled { billing, reasons: vec![reason] }
    }

    #[test]
    fn reasons_are_named_by_resource_direction_and_limit() {
        let table = throttled(BillingMode::Provisioned, Limit::KeyRangeThroughput, false);
        assert_eq!(
            table.reasons.first().map(ThrottlingReason::name).as_deref(),
            Some("TableWriteKeyRangeThroughputExceeded")
        );
        let index = throttled(BillingMode::PayPerRequest, Limit::AccountLimit, true);
        assert_eq!(
            index.reasons.first().map(ThrottlingReason::name).as_deref(),
            Some("IndexWriteAccountLimitExceeded")
        );
    }

    #[test]
    fn the_billing_mode_and_the_first_reason_decide_the_exception() {
        use BillingMode::{PayPerRequest, Provisioned};
        for (billing, limit, kind) in [
            (Provisioned, Limit::ProvisionedThroughput, ErrorKind::ProvisionedThroughputExceeded),
            (Provisioned, Limit::KeyRangeThroughput, ErrorKind::ProvisionedThroughputExceeded),
            (PayPerRequest, Limit::KeyRangeThroughput, ErrorKind::Throttling),
            (PayPerRequest, Limit::MaxOnDemandThroughput, ErrorKind::Throttling),
            (Provisioned, Limit::AccountLimit, ErrorKind::RequestLimitExceeded),
            (PayPerRequest, Limit::AccountLimit, ErrorKind::RequestLimitExceeded),
        ] {
            let throttled = throttled(billing, limit, false);
            assert_eq!(throttled.cancellation().is_none(), kind == ErrorKind::RequestLimitExceeded);
            assert_eq!(throttled.into_error().kind, kind);
        }
    }

    #[test]
    fn every_limit_and_direction_knows_its_place() {
        assert!(Limit::ALL.into_iter().enumerate().all(|(place, limit)| limit.place() == place));
        assert!(Direction::ALL.into_iter().enumerate().all(|(place, one)| one.place() == place));
    }
}
