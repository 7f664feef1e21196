//! Writes a model in any known format.

use keywright_semantics::request::parts::StreamViewType;

use super::cloudformation::{self, Resource};
use super::draft::Draft;
use super::fault::Faults;
use super::workbench_json::{Document, Written};
use super::{cli_script, create_table, yaml};
use keywright_model::json::Json;
use keywright_model::tables::{Capacity, TableDefinition};

/// The target format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A `NoSQL` Workbench document.
    Workbench {
        /// The document that the model came from; members that the model does not cover stay in it.
        base: Option<Document>,
        /// The date shown in a new document, such as `Apr 25, 2023, 05:37 PM`.
        written: String,
    },
    /// The request as JSON; several tables make a list.
    CreateTable,
    /// A shell script of AWS CLI calls.
    AwsCli,
    /// A template in YAML.
    CloudFormationYaml(Resource),
    /// A template in JSON.
    CloudFormationJson(Resource),
}

/// The text, and notes on what the format cannot hold or holds in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The file's content, with a newline at its end.
    pub text: String,
    /// A sentence for each part that the format cannot hold or holds otherwise.
    pub notes: Vec<String>,
}

/// Writes a draft in a format.
pub fn export(draft: &Draft, target: &Target) -> Result<Exported, Faults> {
    let tables: Vec<_> = draft.tables.iter().map(|table| table.definition.clone()).collect();
    let template = |resource| cloudformation::write(&draft.description, &tables, resource);
    let (text, notes) = match target {
        Target::Workbench { base, written } => {
            let Written { document, lost } = match base {
                Some(base) => base.updated(draft),
                None => Document::fresh(draft, written),
            };
            let notes = lost.iter().map(|lost| format!("Not in this format: {lost}"));
            (with_newline(document.to_text()), notes.collect())
        }
        Target::CreateTable => {
            let requests: Vec<Json> = tables.iter().map(create_table::write_request).collect();
            let json = match requests.as_slice() {
                [one] => one.clone(),
                _ => Json::List(requests),
            };
            let lost = tables.iter().flat_map(after_creation);
            (with_newline(json.pretty()), lost.collect())
        }
        Target::AwsCli => (cli_script::write(&draft.name, &tables), replicated_streams(&tables)),
        Target::CloudFormationYaml(resource) => {
            (yaml::write(&template(resource)), about_replicas(&tables, resource))
        }
        Target::CloudFormationJson(resource) => {
            (with_newline(template(resource).pretty()), about_replicas(&tables, resource))
        }
    };
    Ok(Exported { text, notes })
}

/// The settings that `CreateTable` does not have, with the operation that sets each.
fn after_creation(table: &TableDefinition) -> Vec<String> {
    let name = &table.name;
    let mut lost = Vec::new();
    if table.ttl.is_some() {
        lost.push(format!("Not in this format: {name}: time to live is set by UpdateTimeToLive"));
    }
    if table.point_in_time_recovery {
        lost.push(format!(
            "Not in this format: {name}: point-in-time recovery is set by UpdateContinuousBackups"
        ));
    }
    if matches!(&table.billing, Capacity::Provisioned(capacity) if capacity.autoscaling.is_some()) {
        lost.push(format!("Not in this format: {name}: auto scaling is set by Application Auto Scaling"));
    }
    if !table.replicas.is_empty() {
        let regions = table.replicas.join(", ");
        lost.push(format!(
            "Not in this format: {name}: the replicas in {regions} are added by UpdateTable (ReplicaUpdates), one at a time, once the table has a stream of new and old images"
        ));
    }
    lost
}

/// The settings that are written differently from the model because replicas require it.
fn replicated_streams(tables: &[TableDefinition]) -> Vec<String> {
    let tables = tables.iter().filter(|table| !table.replicas.is_empty());
    let differing = tables.filter(|table| table.stream != Some(StreamViewType::NewAndOldImages));
    let notes = differing.map(|table| {
        format!("{}: replicas need a stream of new and old images; it is written with one", table.name)
    });
    notes.collect()
}

fn about_replicas(tables: &[TableDefinition], resource: &Resource) -> Vec<String> {
    let mut notes = Vec::new();
    match resource {
        Resource::GlobalTable(regions) => {
            for table in
                tables.iter().filter(|table| table.replicas.iter().any(|region| !regions.contains(region)))
            {
                let own = table.replicas.join(", ");
                notes.push(format!(
                    "{}: the model's replicas ({own}) give way to the regions given",
                    table.name
                ));
            }
        }
        Resource::AsModelled => {
            for table in tables.iter().filter(|table| !table.replicas.is_empty()) {
                let others = table.replicas.join(", ");
                notes.push(format!(
                    "{}: deploy the stack in the table's own region, not in {others}",
                    table.name
                ));
            }
            notes.extend(replicated_streams(tables));
        }
    }
    notes
}

fn with_newline(mut text: String) -> String {
    text.push('\n');
    text
}
