//! The filter of an export: a Query if it has a key condition, a Scan if it has none, without what only pages
//! have. So the parser, the rules and the texts are those of these operations.
//!
//! It does not know the key: the engine binds the Query or Scan to the table.

use crate::error::Error;
use crate::messages::export;
use crate::request::parts::{FilterSpecificationParts, QueryParts, ScanParts};
use crate::request::table_ref::TableRef;
use crate::request::{Query, Scan};

/// What of a table is exported.
#[derive(Clone, Debug)]
pub enum ExportFilter {
    /// Items of one partition.
    Query(Box<Query>),
    /// Items of the whole table.
    Scan(Box<Scan>),
}

impl ExportFilter {
    /// The filter of these parts.
    pub fn parse(parts: FilterSpecificationParts, table: &TableRef) -> Result<Self, Error> {
        if parts == FilterSpecificationParts::default() {
            return Err(Error::validation(export::empty_filter()));
        }
        let table_name = table.as_given().to_owned();
        if parts.key_condition_expression.is_some() {
            let query = QueryParts {
                table_name,
                key_condition_expression: parts.key_condition_expression,
                filter_expression: parts.filter_expression,
                projection_expression: parts.projection_expression,
                expression_attribute_names: parts.expression_attribute_names,
                expression_attribute_values: parts.expression_attribute_values,
                ..QueryParts::default()
            };
            return Query::validate(query).map(Box::new).map(Self::Query);
        }
        let scan = ScanParts {
            table_name,
            filter_expression: parts.filter_expression,
            projection_expression: parts.projection_expression,
            expression_attribute_names: parts.expression_attribute_names,
            expression_attribute_values: parts.expression_attribute_values,
            ..ScanParts::default()
        };
        Scan::validate(scan).map(Box::new).map(Self::Scan)
    }
}
