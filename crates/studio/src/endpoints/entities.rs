//! Names items by their entities: those of a model, or guessed from the items themselves.

use std::collections::HashMap;

use keywright_exchange::live;
use keywright_model::data::entity_of;
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::items::typed;
use super::{ModelContext, Outcome};
use crate::members;
use crate::refusal::Refusal;
use crate::runs;

pub(super) fn name(context: &ModelContext, request: &Json) -> Outcome {
    let table = members::text(request, "table")?;
    let jsons = members::list(request, "items")?;
    let items = jsons.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
    let model = members::optional_text(request, "model")?.map(runs::parse).transpose()?;
    // A model of other tables says nothing about this one.
    let names = match model.filter(|model| model.table(table).is_some()) {
        Some(model) => items.iter().map(|item| entity_of(&model, table, item)).collect(),
        None => return Ok(named(guessed(context, table, jsons, &items)?, true)),
    };
    Ok(named(names, false))
}

fn named(names: Vec<Option<String>>, guessed: bool) -> Json {
    let names = names.into_iter().map(|name| name.map_or(Json::Null, Json::text)).collect();
    Json::object([("names", Json::List(names)), ("guessed", Json::Bool(guessed))])
}

/// The entities that an import of the table would find.
fn guessed(
    context: &ModelContext,
    table: &str,
    jsons: &[Json],
    items: &[Item],
) -> Result<Vec<Option<String>>, Refusal> {
    let mut described = super::live::table(&context.tables, table)?;
    described.items = jsons.to_vec();
    let (draft, _) = live::draft(table, &[described]);
    let Some(found) = draft.tables.first() else { return Ok(vec![None; items.len()]) };
    // Items have no order and no hash; their texts have.
    let text = |item: &Item| write_item(item, &[]).compact();
    let mut entities: HashMap<String, &str> = HashMap::new();
    for entity in &found.entities {
        for member in entity.members.iter().filter_map(|at| found.items.get(*at)) {
            entities.entry(text(member)).or_insert(&entity.name);
        }
    }
    Ok(items.iter().map(|item| entities.get(&text(item)).map(|name| (*name).to_owned())).collect())
}
