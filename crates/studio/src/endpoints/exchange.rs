//! Models from other formats and live tables, and models in other formats.

use keywright_exchange::cloudformation::{Parameters, Resource};
use keywright_exchange::export::{Target, export};
use keywright_exchange::fault::ExchangeFault;
use keywright_exchange::import::{Source, import, import_with};
use keywright_exchange::live;
use keywright_exchange::of_model::{Items, of_model, stored_items};
use keywright_exchange::workbench_json::Document;
use keywright_model::json::Json;
use keywright_model::{Model, write};
use keywright_process::timestamp;
use keywright_semantics::place::RegionName;

use super::live::asked;
use super::{ModelContext, Outcome, texts};
use crate::members;
use crate::model_files::ModelFiles;
use crate::refusal::Refusal;
use crate::runs;

/// The name of a model whose source has none.
const NAME: &str = "imported";

pub(super) fn import_model(context: &ModelContext, request: &Json) -> Outcome {
    let name = members::optional_text(request, "name")?.unwrap_or(NAME);
    if let Some(wanted) = members::optional(request, "live") {
        let tables = asked(&context.tables, wanted)?;
        let made = live::import(name, &tables).map_err(|faults| of_faults(&faults))?;
        return Ok(made_json(&write(&made.model), &made.notes, "live"));
    }
    let text = members::source(request, "text")?;
    match import_with(name, text, None, &parameters(request)?) {
        Ok(imported) => {
            let source = match imported.source {
                Source::Workbench(_) => "workbench",
                Source::CreateTable => "create-table",
                Source::CloudFormation => "cloudformation",
            };
            Ok(made_json(&write(&imported.model), &imported.notes, source))
        }
        // A model file is taken as it is, comments included.
        Err(_) if keywright_model::parse(text).is_ok() => Ok(made_json(text, &[], "model")),
        Err(faults) => Err(of_faults(&faults)),
    }
}

/// Values of a template's parameters: `{"Stage": "prod"}`.
fn parameters(request: &Json) -> Result<Parameters, Refusal> {
    let given = match members::optional(request, "parameters") {
        None => &[][..],
        Some(Json::Object(given)) => given.as_slice(),
        Some(_) => return Err(Refusal::fault("the request's `parameters` is an object of texts by name")),
    };
    let values = given.iter().map(|(name, value)| {
        let text = value.as_str().map(|text| (name.clone(), text.to_owned()));
        text.ok_or_else(|| Refusal::fault(format!("the parameter `{name}` must be a text")))
    });
    values.collect()
}

fn made_json(text: &str, notes: &[String], source: &str) -> Json {
    Json::object([("text", Json::text(text)), ("notes", texts(notes)), ("source", Json::text(source))])
}

pub(super) fn of_faults(faults: &[ExchangeFault]) -> Refusal {
    Refusal::fault(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// A model and its items, from a model file or a text that `import` reads.
pub(super) fn load(text: &str, files: &ModelFiles) -> Result<(Model, Items), Refusal> {
    if let Ok(imported) = import(NAME, text, None) {
        let items = stored_items(&imported.model);
        return Ok((imported.model, items));
    }
    let model = runs::parse(text)?;
    let (samples, _) = runs::samples(&model, files)?;
    let mut items = Items::new();
    for sample in samples {
        items.entry(sample.table).or_default().push(sample.item);
    }
    Ok((model, items))
}

pub(super) fn export_model(context: &ModelContext, request: &Json) -> Outcome {
    let (model, items) = load(members::source(request, "text")?, &context.models)?;
    let regions = members::texts(request, "regions")?;
    if let Some(wrong) = regions.iter().find(|name| !RegionName::is_of_aws(name)) {
        return Err(Refusal::fault(format!("{wrong}: a region has the form eu-west-1")));
    }
    let resource =
        || if regions.is_empty() { Resource::AsModelled } else { Resource::GlobalTable(regions.clone()) };
    let (target, ending) = match members::text(request, "target")? {
        "workbench" => {
            let base = members::optional_source(request, "base")?;
            let base = base.map(Document::parse).transpose().map_err(|faults| of_faults(&faults))?;
            (Target::Workbench { base, written: timestamp::of_workbench() }, "workbench.json")
        }
        "create-table" => (Target::CreateTable, "create-table.json"),
        "cli" => (Target::AwsCli, "sh"),
        "cloudformation" => (Target::CloudFormationYaml(resource()), "template.yaml"),
        "cloudformation-json" => (Target::CloudFormationJson(resource()), "template.json"),
        other => return Err(Refusal::fault(format!("there is no target `{other}`"))),
    };
    let exported = export(&of_model(&model, &items), &target).map_err(|faults| of_faults(&faults))?;
    let mut out = made_json(&exported.text, &exported.notes, "model");
    out.set("file", Json::text(format!("{}.{ending}", model.name)));
    Ok(out)
}
