//! The names of metrics: which series the figures of a table become, with their dimensions.
//!
//! Source: the developer guide's page on metrics and dimensions. It does not know how points are stored.

use keywright_semantics::monitoring::request::MetricRef;
use keywright_semantics::monitoring::{NAMESPACE, RESERVED_NAMESPACES};
use keywright_semantics::throttle::{Direction, Limit};

use super::figures::{Arm, Cell, Facet, Histogram, OperationFigures, TableFigures};

/// The account and region that a series belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub account: String,
    pub region: String,
}

/// A metric and its dimensions.
///
/// Invariant: `dimensions` is sorted by name; `namespace` is none of a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Series {
    pub place: Place,
    /// The namespace of a metric that clients report; `None` for those of tables.
    namespace: Option<Box<str>>,
    pub metric: String,
    pub dimensions: Vec<(String, String)>,
}

impl Series {
    /// A metric of tables.
    pub(crate) fn new(place: &Place, metric: &str, dimensions: Vec<(String, String)>) -> Self {
        Self::named(place, None, metric, dimensions)
    }

    /// A metric of a client's namespace, or of tables.
    pub(crate) fn named(
        place: &Place,
        namespace: Option<&str>,
        metric: &str,
        mut dimensions: Vec<(String, String)>,
    ) -> Self {
        dimensions.sort();
        Self {
            place: place.clone(),
            namespace: namespace.map(Box::from),
            metric: metric.to_owned(),
            dimensions,
        }
    }

    /// The series that a request names; `None` in the namespaces of other services, which have none here.
    pub(crate) fn of(place: &Place, metric: &MetricRef) -> Option<Self> {
        let namespace = match metric.namespace.as_str() {
            NAMESPACE => None,
            service if service.starts_with(RESERVED_NAMESPACES) => return None,
            clients => Some(clients),
        };
        Some(Self::named(place, namespace, &metric.name, metric.dimensions.clone()))
    }

    /// The namespace, if it is a client's.
    pub(crate) fn client_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The namespace.
    pub(crate) fn namespace(&self) -> &str {
        self.client_namespace().unwrap_or(NAMESPACE)
    }

    /// The name of the table that it belongs to, if it does.
    pub(crate) fn table(&self) -> Option<&str> {
        self.dimensions.iter().find(|(name, _)| name == TABLE_NAME).map(|(_, table)| table.as_str())
    }
}

/// The values of one series in one minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub series: Series,
    /// Minutes since 1970.
    pub minute: u64,
    pub cell: Cell,
    pub histogram: Option<Box<Histogram>>,
}

pub(crate) const TABLE_NAME: &str = "TableName";
pub(crate) const INDEX_NAME: &str = "GlobalSecondaryIndexName";
const OPERATION: &str = "Operation";

/// Errors with status 400, of an account and, as ours, of a table.
pub(crate) const USER_ERRORS: &str = "UserErrors";
/// Requests that were answered by an exception of throttling.
pub(crate) const THROTTLED_REQUESTS: &str = "ThrottledRequests";

const CONSUMED: [&str; 2] = ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"];
const THROTTLE_EVENTS: [&str; 2] = ["ReadThrottleEvents", "WriteThrottleEvents"];

/// The metric of the throttles by one limit.
fn throttles_by(limit: Limit, direction: Direction) -> String {
    let limit = match limit {
        Limit::ProvisionedThroughput => "ProvisionedThroughput",
        Limit::KeyRangeThroughput => "KeyRangeThroughput",
        Limit::MaxOnDemandThroughput => "MaxOnDemandThroughput",
        Limit::AccountLimit => "AccountLimit",
    };
    let direction = match direction {
        Direction::Read => "Read",
        Direction::Write => "Write",
    };
    format!("{direction}{limit}ThrottleEvents")
}

/// The unit of a metric of the namespace.
pub(crate) fn unit(metric: &str) -> &'static str {
    match metric {
        "ReplicationLatency" | "SuccessfulRequestLatency" => "Milliseconds",
        "ReturnedBytes" => "Bytes",
        _ if metric.ends_with("Utilization") => "Percent",
        _ => "Count",
    }
}

/// Which series exist next to those of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Those of the service.
    Strict,
    /// Also `UserErrors` and `ThrottledRequests` of a table.
    WithTables,
}

struct Points<'p> {
    place: Place,
    minute: u64,
    take: &'p mut dyn FnMut(Point),
}

impl Points<'_> {
    fn put(&mut self, metric: &str, dimensions: &[(&str, &str)], cell: Cell, histogram: Option<&Histogram>) {
        if cell.is_empty() {
            return;
        }
        let owned = dimensions.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let series = Series::new(&self.place, metric, owned.collect());
        let histogram = histogram.map(|histogram| Box::new(histogram.clone()));
        (self.take)(Point { series, minute: self.minute, cell, histogram });
    }

    fn events(&mut self, metric: &str, dimensions: &[(&str, &str)], events: u64) {
        let mut cell = Cell::default();
        cell.add_events(events);
        self.put(metric, dimensions, cell, None);
    }

    fn arm(&mut self, dimensions: &[(&str, &str)], arm: &Arm) {
        for (metric, cell) in CONSUMED.iter().zip(arm.consumed) {
            self.put(metric, dimensions, cell, None);
        }
        for (direction, by_limit) in Direction::ALL.into_iter().zip(arm.throttled) {
            let all = THROTTLE_EVENTS.get(direction.place()).expect("every direction has a metric");
            self.events(all, dimensions, by_limit.iter().sum());
            for limit in Limit::ALL {
                let events = by_limit.get(limit.place()).copied().unwrap_or_default();
                if events > 0 {
                    self.events(&throttles_by(limit, direction), dimensions, events);
                }
            }
        }
    }

    fn operation(&mut self, dimensions: &[(&str, &str)], figures: &OperationFigures) {
        self.put("SuccessfulRequestLatency", dimensions, figures.latency, Some(&figures.latencies));
        self.put("ReturnedItemCount", dimensions, figures.returned_items, None);
        self.put("ReturnedBytes", dimensions, figures.returned_bytes, None);
        self.put("ReturnedRecordsCount", dimensions, figures.returned_records, None);
        self.events(THROTTLED_REQUESTS, dimensions, figures.throttled);
        self.events("SystemErrors", dimensions, figures.system_errors);
    }
}

/// Passes every series that has values in these figures to `take`.
pub(crate) fn points(figures: &TableFigures, naming: Naming, take: &mut dyn FnMut(Point)) {
    let place = Place { account: figures.account.clone(), region: figures.region.clone() };
    let mut points = Points { place, minute: figures.minute, take };
    let table = (TABLE_NAME, figures.name.as_str());
    points.arm(&[table], &figures.base);
    for (_, name, arm) in &figures.indexes {
        points.arm(&[table, (INDEX_NAME, name)], arm);
    }
    for (operation, facet, of_operation) in &figures.operations {
        let operation = (OPERATION, *operation);
        match facet {
            Facet::Plain => points.operation(&[table, operation], of_operation),
            Facet::Stream(label) => {
                points.operation(&[table, operation, ("StreamLabel", label)], of_operation);
            }
            Facet::Type(kind) => {
                points.operation(&[table, operation, ("OperationType", kind)], of_operation);
            }
            Facet::Verb(verb) => points.operation(&[table, operation, ("Verb", verb)], of_operation),
        }
    }
    for (region, latency) in &figures.replication {
        points.put("ReplicationLatency", &[table, ("ReceivingRegion", region)], *latency, None);
    }
    let events = figures.events;
    points.events("ConditionalCheckFailedRequests", &[table], events.failed_conditions);
    points.events("TransactionConflict", &[table], events.conflicts);
    points.events("TimeToLiveDeletedItemCount", &[table], events.expired_items);
    if naming == Naming::WithTables {
        points.events(USER_ERRORS, &[table], events.user_errors);
        let throttled = figures.operations.iter().map(|(_, _, operation)| operation.throttled).sum();
        points.events(THROTTLED_REQUESTS, &[table], throttled);
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::TableEvents;
    use super::*;

    #[test]
    fn latencies_of_replicas_have_a_series_for_each_region() {
        let mut figures = TableFigures {
            minute: 7,
            account: "1".to_owned(),
            region: "us-east-1".to_owned(),
            name: "T".to_owned(),
            base: Arm::default(),
            indexes: Vec::new(),
            operations: Vec::new(),
            events: TableEvents::default(),
            replication: Vec::new(),
        };
        figures.replicated("eu-west-1", 2);
        figures.replicated("eu-west-1", 4);
        figures.replicated("eu-west-2", 1);
        let mut found = Vec::new();
        points(&figures, Naming::Strict, &mut |point| found.push(point));
        let dimensions = |region: &str| {
            vec![("ReceivingRegion".to_owned(), region.to_owned()), (TABLE_NAME.to_owned(), "T".to_owned())]
        };
        let shown = |point: &Point| {
            assert_eq!((point.series.metric.as_str(), point.minute), ("ReplicationLatency", 7));
            (point.series.dimensions.clone(), point.cell.sum, point.cell.count)
        };
        let shown: Vec<_> = found.iter().map(shown).collect();
        assert_eq!(shown, [(dimensions("eu-west-1"), 6_000, 2), (dimensions("eu-west-2"), 1_000, 1)]);
        assert_eq!(unit("ReplicationLatency"), "Milliseconds");
    }
}
