//! The calls of the studio's API: their names, whether they change something, and how long they may take.
//!
//! One file for each group. A call reads the members of its JSON, calls the crates that `keywright model` and
//! `keywright data` call, and returns JSON. It decides nothing of its own.

mod catalogue;
mod collections;
mod cost;
mod create;
mod design;
mod diff;
mod entities;
mod exchange;
mod files;
mod items;
mod live;
mod metrics;
mod simulate;
mod views;

use std::sync::Arc;

use keywright_engine::Caller;
use keywright_model::json::Json;
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_wire::Operation;
use keywright_workbench::price::Prices;

use super::Access;
use super::jobs::Reporter;
use super::refusal::Refusal;
use super::service::Shared;
use super::tables::Tables;
use crate::config::Storage;
use crate::limits::{MODEL_BYTES_MAX, PLACES_MAX, SAMPLE_BYTES_MAX, SAMPLES_MAX, STUDIO_BODY_BYTES_MAX};

/// What a call works with.
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    /// The place of the call.
    pub(super) caller: Caller,
}

impl Context {
    /// The database in the place of the call.
    fn tables(&self) -> Tables {
        Tables { api: Arc::clone(&self.shared.api), caller: self.caller.clone(), access: self.shared.access }
    }
}

pub(super) type Outcome = Result<Json, Refusal>;

/// How a call runs. Both are on threads that may block.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Answered in one piece.
    Light(fn(&Context, &Json) -> Outcome),
    /// Answered line by line, with progress; it can be cancelled.
    Heavy(fn(&Context, &Json, &mut Reporter) -> Outcome),
}

/// One call.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) name: &'static str,
    pub(super) access: Access,
    pub(super) way: Way,
}

const fn light(name: &'static str, run: fn(&Context, &Json) -> Outcome) -> Endpoint {
    Endpoint { name, access: Access::Read, way: Way::Light(run) }
}

const fn heavy(name: &'static str, run: fn(&Context, &Json, &mut Reporter) -> Outcome) -> Endpoint {
    Endpoint { name, access: Access::Read, way: Way::Heavy(run) }
}

const fn writing(endpoint: Endpoint) -> Endpoint {
    Endpoint { access: Access::Write, ..endpoint }
}

/// All calls but those of the database and of signing in.
pub(super) const ALL: &[Endpoint] = &[
    light("examples/list", files::list_examples),
    light("examples/read", files::read_example),
    light("item/plain", items::plain),
    light("items/entities", entities::name),
    light("items/read", items::read),
    light("items/write", items::write),
    heavy("model/check", views::check),
    heavy("model/collections", collections::run),
    heavy("model/cost", cost::cost),
    writing(heavy("model/create", create::run)),
    heavy("model/design", design::run),
    heavy("model/diff", diff::run),
    light("model/explain", catalogue::explain),
    heavy("model/heat", cost::heat),
    light("model/parse", catalogue::parse),
    light("model/schema", catalogue::schema),
    heavy("model/simulate", simulate::run),
    light("model/simulate/starter", simulate::starting),
    heavy("model/view", views::view),
    light("metrics/backlog", metrics::backlog),
    light("metrics/keys", metrics::keys),
    writing(light("models/delete", files::delete)),
    light("models/export", exchange::export_model),
    light("models/import", exchange::import_model),
    light("models/list", files::list),
    light("models/read", files::read),
    writing(light("models/write", files::write)),
];

/// What the server is, for a visitor who may know. `only` is the one account that he sees.
pub(super) fn state(shared: &Shared, caller: &Caller, only: Option<&str>) -> Vec<(&'static str, Json)> {
    let surroundings = &shared.surroundings;
    let storage = match &surroundings.storage {
        Storage::Memory => [("kind", Json::text("memory")), ("place", Json::text("memory"))],
        Storage::Folder { path, .. } => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            [("kind", Json::text("folder")), ("place", Json::text(path.display().to_string()))]
        }
        Storage::Postgres { url, .. } => [("kind", Json::text("postgres")), ("place", Json::text(url))],
        Storage::Tikv { url } => [("kind", Json::text("tikv")), ("place", Json::text(url))],
    };
    let place = |caller: &Caller| {
        [("account", Json::text(caller.account.as_str())), ("region", Json::text(caller.region.as_str()))]
    };
    // One more than are listed, to see whether there are more.
    let places = shared.api.places(PLACES_MAX + 1);
    let own = places.iter().filter(|(caller, _)| only.is_none_or(|only| caller.account.as_str() == only));
    let listed = own.take(PLACES_MAX).map(|(caller, tables)| {
        Json::object(place(caller).into_iter().chain([("tables", Json::number(tables))]))
    });
    let folder = shared.models.folder();
    let models = Json::object([
        ("kept", Json::text(if folder.is_some() { "folder" } else { "memory" })),
        ("folder", folder.map_or(Json::Null, |folder| Json::text(folder.display().to_string()))),
        ("writable", Json::Bool(shared.access == Access::Write)),
    ]);
    let operations = Operation::ALL.iter().filter(|operation| operation.is_served());
    let limits = Json::object([
        ("bodyBytes", Json::number(STUDIO_BODY_BYTES_MAX)),
        ("modelBytes", Json::number(MODEL_BYTES_MAX)),
        ("samples", Json::number(SAMPLES_MAX)),
        ("sampleBytes", Json::number(SAMPLE_BYTES_MAX)),
        ("itemBytes", Json::number(ITEM_BYTES_MAX)),
    ]);
    vec![
        ("storage", Json::object(storage)),
        ("readOnly", Json::Bool(shared.access == Access::Read)),
        ("endpoint", Json::text(&surroundings.endpoint)),
        ("place", Json::object(place(caller))),
        ("places", Json::List(listed.collect())),
        ("placesCut", Json::Bool(places.len() > PLACES_MAX)),
        ("models", models),
        ("operations", Json::List(operations.map(|operation| Json::text(operation.name())).collect())),
        ("prices", Json::List(Prices::names().into_iter().map(Json::text).collect())),
        ("limits", limits),
        ("nowMs", Json::number(shared.api.now_ms())),
    ]
}

/// Texts as a list.
fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> Json {
    Json::List(texts.into_iter().map(Json::text).collect())
}

fn optional(text: Option<&String>) -> Json {
    text.map_or(Json::Null, Json::text)
}

/// The JSON that a command prints.
fn printed(text: &str) -> Outcome {
    Json::parse(text).map_err(|_| super::jobs::internal())
}
