//! A scalable target as a client names it: a table or global index, and whether reads or writes are scaled.
//!
//! It does not know which tables exist.

use super::NAMESPACE;
use super::fault::Fault;
use super::messages;
use crate::throttle::Direction;

/// The table or index whose capacity is scaled, and which of its two capacities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId {
    /// The table.
    pub table: String,
    /// The global index, if not the table itself.
    pub index: Option<String>,
    /// Read or write capacity.
    pub direction: Direction,
}

const DIMENSIONS: [(&str, bool, Direction); 4] = [
    ("dynamodb:table:ReadCapacityUnits", false, Direction::Read),
    ("dynamodb:table:WriteCapacityUnits", false, Direction::Write),
    ("dynamodb:index:ReadCapacityUnits", true, Direction::Read),
    ("dynamodb:index:WriteCapacityUnits", true, Direction::Write),
];

impl TargetId {
    /// The target of these parameters.
    pub fn parse(namespace: &str, resource: &str, dimension: &str) -> Result<Self, Fault> {
        let unsupported = || Fault::validation(messages::UNSUPPORTED);
        let known = DIMENSIONS.iter().find(|(name, ..)| *name == dimension).ok_or_else(unsupported)?;
        let parts: Vec<&str> = resource.split('/').collect();
        let (table, index) = match *parts.as_slice() {
            ["table", table] => (table, None),
            ["table", table, "index", index] => (table, Some(index)),
            _ => return Err(unsupported()),
        };
        let is_named = !table.is_empty() && index.is_none_or(|index| !index.is_empty());
        if namespace != NAMESPACE || !is_named || known.1 != index.is_some() {
            return Err(unsupported());
        }
        Ok(Self { table: table.to_owned(), index: index.map(str::to_owned), direction: known.2 })
    }

    /// The resource's id: `table/T` or `table/T/index/I`.
    pub fn resource_id(&self) -> String {
        match &self.index {
            None => format!("table/{}", self.table),
            Some(index) => format!("table/{}/index/{index}", self.table),
        }
    }

    /// The scalable dimension.
    pub fn dimension(&self) -> &'static str {
        let wanted = (self.index.is_some(), self.direction);
        let found = DIMENSIONS.iter().find(|(_, is_index, direction)| (*is_index, *direction) == wanted);
        found.expect("the table has every combination").0
    }

    /// The predefined metric that fits.
    pub const fn metric(&self) -> &'static str {
        match self.direction {
            Direction::Read => "DynamoDBReadCapacityUtilization",
            Direction::Write => "DynamoDBWriteCapacityUtilization",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_dimensions_fit_together_or_are_unsupported() {
        for (resource, dimension) in [
            ("table/T", "dynamodb:table:ReadCapacityUnits"),
            ("table/T/index/I", "dynamodb:index:WriteCapacityUnits"),
        ] {
            let target = TargetId::parse("dynamodb", resource, dimension).expect("a right target");
            assert_eq!((target.resource_id().as_str(), target.dimension()), (resource, dimension));
        }
        for (namespace, resource, dimension) in [
            ("ecs", "table/T", "dynamodb:table:ReadCapacityUnits"),
            ("dynamodb", "T", "dynamodb:table:ReadCapacityUnits"),
            ("dynamodb", "table/", "dynamodb:table:ReadCapacityUnits"),
            ("dynamodb", "table/T/index/I", "dynamodb:table:ReadCapacityUnits"),
            ("dynamodb", "table/T", "dynamodb:index:ReadCapacityUnits"),
            ("dynamodb", "table/T", "dynamodb:table:Capacity"),
        ] {
            let fault = TargetId::parse(namespace, resource, dimension).unwrap_err();
            assert_eq!(fault, Fault::validation(messages::UNSUPPORTED), "{namespace} {resource} {dimension}");
        }
    }
}
