//! What a model's text has, what the rules are, and the schema of model files.

use keywright_model::json::Json;
use keywright_model::{At, Model, Pattern, did_you_mean};
use keywright_workbench::lint::{RULES, Rule, explain as explained, rule};
use keywright_workbench::views;

use super::{ModelContext, Outcome, optional, printed, texts};
use crate::limits::MODEL_BYTES_MAX;
use crate::members;
use crate::model_files::too_large;
use crate::refusal::{Refusal, fault_json};

/// The faults of a text, or its outline.
pub(super) fn parse(_: &ModelContext, request: &Json) -> Outcome {
    let text = members::text(request, "text")?;
    if text.len() > MODEL_BYTES_MAX {
        return Err(too_large());
    }
    Ok(match keywright_model::parse(text) {
        Ok(model) => Json::object([("faults", Json::List(Vec::new())), ("outline", outline(&model))]),
        Err(faults) => Json::object([
            ("faults", Json::List(faults.iter().map(fault_json).collect())),
            ("outline", Json::Null),
        ]),
    })
}

fn place(name: (&'static str, &str), at: At) -> [(&'static str, Json); 3] {
    [(name.0, Json::text(name.1)), ("line", Json::number(at.line)), ("column", Json::number(at.column))]
}

fn outline(model: &Model) -> Json {
    let table = |table: &keywright_model::Table| {
        let indexes = table.indexes.iter().map(|index| Json::object(place(("name", &index.name), index.at)));
        let keys = table.key_parts().map(|part| Json::text(&part.name));
        let more = [("keys", Json::List(keys.collect())), ("indexes", Json::List(indexes.collect()))];
        Json::object(place(("name", &table.name), table.at).into_iter().chain(more))
    };
    let entity = |entity: &keywright_model::Entity| {
        let attributes = entity.attributes.iter().map(|own| Json::text(&own.name));
        let more = [
            ("table", Json::text(&entity.table)),
            ("text", optional(entity.text.as_ref())),
            ("parents", texts(&entity.parents)),
            ("attributes", Json::List(attributes.collect())),
        ];
        Json::object(place(("name", &entity.name), entity.at).into_iter().chain(more))
    };
    Json::object([
        ("name", Json::text(&model.name)),
        ("text", optional(model.text.as_ref())),
        ("prices", optional(model.prices.as_ref())),
        ("tables", Json::List(model.tables.iter().map(table).collect())),
        ("entities", Json::List(model.entities.iter().map(entity).collect())),
        ("patterns", Json::List(model.patterns.iter().map(pattern).collect())),
    ])
}

/// A pattern by its id, text, kind and place.
pub(super) fn pattern(pattern: &Pattern) -> Json {
    let more = [
        ("text", optional(pattern.text.as_ref())),
        ("kind", Json::text(views::kind(pattern))),
        ("hasRate", Json::Bool(pattern.rate.is_some())),
    ];
    Json::object(place(("id", &pattern.id), pattern.at).into_iter().chain(more))
}

pub(super) fn explain(_: &ModelContext, request: &Json) -> Outcome {
    let described = |rule: &Rule| {
        Json::object([
            ("id", Json::text(rule.id)),
            ("severity", Json::text(rule.severity())),
            ("title", Json::text(rule.title)),
            ("text", Json::text(explained(rule))),
        ])
    };
    let rules = match members::optional_text(request, "rule")? {
        None => RULES.iter().map(described).collect(),
        Some(id) => {
            let known = rule(id).ok_or_else(|| {
                let hint = did_you_mean(id, RULES.iter().map(|rule| rule.id));
                Refusal::fault(format!("there is no rule `{id}`{hint}"))
            })?;
            vec![described(known)]
        }
    };
    Ok(Json::object([("rules", Json::List(rules))]))
}

pub(super) fn schema(_: &ModelContext, _: &Json) -> Outcome {
    printed(keywright_model::schema())
}
