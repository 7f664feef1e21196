//! A model to any known format.

use super::cloudformation::{self, Resource};
use super::draft::Draft;
use super::fault::Faults;
use super::json::Json;
use super::workbench_json::{Document, Written};
use super::{cli_script, create_table, yaml};

/// What a model is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Workbench {
        /// The document the model came from: what it says besides the model stays in it.
        base: Option<Document>,
        /// The date a new document shows, such as `Apr 25, 2023, 05:37 PM`.
        written: String,
    },
    CreateTable,
    AwsCli,
    CloudFormationYaml(Resource),
    CloudFormationJson(Resource),
}

/// The text, and what the format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    pub text: String,
    pub lost: Vec<String>,
}

/// Writes a draft in a format.
pub fn export(draft: &Draft, target: &Target) -> Result<Exported, Faults> {
    let tables: Vec<_> = draft.tables.iter().map(|table| table.definition.clone()).collect();
    let template = |resource| cloudformation::write(&draft.description, &tables, resource);
    let (text, lost) = match target {
        Target::Workbench { base, written } => {
            let Written { document, lost } = match base {
                Some(base) => base.updated(draft)?,
                None => Document::fresh(draft, written),
            };
            (with_newline(document.to_text()), lost)
        }
        Target::CreateTable => {
            let requests: Vec<Json> = tables.iter().map(create_table::write_request).collect();
            let json = match requests.as_slice() {
                [one] => one.clone(),
                _ => Json::List(requests),
            };
            let lost = tables.iter().flat_map(|table| {
                let settings = [
                    (table.ttl.is_some(), "time to live is set by UpdateTimeToLive"),
                    (
                        table.point_in_time_recovery,
                        "point-in-time recovery is set by UpdateContinuousBackups",
                    ),
                ];
                settings
                    .into_iter()
                    .filter(|(set, _)| *set)
                    .map(|(_, text)| format!("{}: {text}", table.name))
            });
            (with_newline(json.pretty()), lost.collect())
        }
        Target::AwsCli => (cli_script::write(&draft.name, &tables), Vec::new()),
        Target::CloudFormationYaml(resource) => (yaml::write(&template(resource)), Vec::new()),
        Target::CloudFormationJson(resource) => (with_newline(template(resource).pretty()), Vec::new()),
    };
    Ok(Exported { text, lost })
}

fn with_newline(mut text: String) -> String {
    text.push('\n');
    text
}
