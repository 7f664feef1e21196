//! `CloudFormation` templates: reads their DynamoDB tables, and writes templates.
//!
//! `AWS::DynamoDB::Table` has the members of `CreateTable` and a few more. `AWS::DynamoDB::GlobalTable`
//! moves reads, table class and recovery to its replicas. SAM's `AWS::Serverless::SimpleTable` is a table
//! with one key attribute. Functions are evaluated if the template and the given parameters hold the
//! answer. Values that only a deployment knows are replaced, and a note gives the line and the assumption.
//! A table that cannot be read is left out with a note if another one can.

mod functions;
mod read;
mod write;

pub use read::read;
pub use write::write;

use std::collections::BTreeMap;

use super::fault::Faults;
use super::lines::Lines;
use super::yaml;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;

const TABLE: &str = "AWS::DynamoDB::Table";
const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";
const TARGET: &str = "AWS::ApplicationAutoScaling::ScalableTarget";
const POLICY: &str = "AWS::ApplicationAutoScaling::ScalingPolicy";

/// The pseudo parameter for the region of a stack.
const STACK_REGION: &str = "AWS::Region";

/// Values of a template's parameters, by name: what a deployment passes.
pub type Parameters = BTreeMap<String, String>;

/// Tables of a template, and notes on what was assumed or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// In the order of the resources.
    pub tables: Vec<TableDefinition>,
    /// A sentence for each part that was assumed or left out, with its path.
    pub notes: Vec<String>,
}

/// The resource type that a table is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A global table if it has replicas, with one in the region of the stack; otherwise a table.
    AsModelled,
    /// A global table with replicas in exactly these regions.
    GlobalTable(Vec<String>),
}

/// Reads a template from JSON or YAML text.
pub fn parse(text: &str) -> Result<Read, Faults> {
    parse_with(text, &Parameters::new())
}

/// [`parse`] with values of parameters.
pub fn parse_with(text: &str, parameters: &Parameters) -> Result<Read, Faults> {
    let json = match Json::parse(text) {
        Ok(json) => json,
        Err(_) => yaml::parse(text).map_err(|fault| vec![fault])?,
    };
    read(&json, &Lines::of(text), parameters)
}

/// Whether a document is a template with resources.
pub fn looks_like(json: &Json) -> bool {
    json.get("Resources").is_some_and(|resources| {
        let mut members = resources.members().iter();
        members.any(|(id, resource)| resource.str_at("Type").is_some() || is_made(id))
    })
}

/// Whether a member of the resources is a loop or a transform, which makes resources on deployment.
fn is_made(id: &str) -> bool {
    id.starts_with("Fn::")
}

#[cfg(test)]
mod tests;
