//! The calls of the studio's API: their names, whether they change something, and how long they may take.
//!
//! One file for each group. A call reads the members of its JSON, calls the crates that `keywright model`
//! and `keywright data` call, and returns JSON. It decides nothing of its own. Calls that read the text of a
//! model are executed by another process (`worker`).

mod catalogue;
mod collections;
mod cost;
mod create;
mod design;
mod diff;
mod entities;
mod exchange;
mod files;
mod item_cost;
mod items;
mod live;
mod metrics;
mod simulate;
mod views;

use std::sync::Arc;

use keywright_engine::{Caller, Namespace};
use keywright_model::json::Json;
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_wire::{Operation, is_served};
use keywright_workbench::price::Prices;

use super::Access;
use super::model_files::ModelFiles;
use super::refusal::Refusal;
use super::runs::Runs;
use super::service::Shared;
use super::tables::Tables;
use super::worker::Reporter;
use crate::limits::{MODEL_BYTES_MAX, PLACES_MAX, SAMPLE_BYTES_MAX, SAMPLES_MAX, STUDIO_BODY_BYTES_MAX};

/// What a call of this process works with.
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    /// The place of the call.
    pub(super) caller: Caller,
    /// The account that signed in, if that is needed here.
    pub(super) account: Option<String>,
}

/// What a call on models works with.
pub(super) struct ModelContext {
    pub(super) models: ModelFiles,
    pub(super) runs: Runs,
    /// The database in the place of the call.
    pub(super) tables: Tables,
}

pub(super) type Outcome = Result<Json, Refusal>;

pub(super) type OwnCall = fn(&Context, &Json) -> Outcome;
type ModelCall = fn(&ModelContext, &Json) -> Outcome;

/// Where and how a call runs.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// In this process, which has the database and the models in memory.
    Own(OwnCall),
    /// In a process for calls on models; answered in one piece.
    Light(ModelCall),
    /// In a process for calls on models; answered line by line, with progress. It can be cancelled.
    Heavy(fn(&ModelContext, &Json, &mut Reporter) -> Outcome),
}

/// One call.
#[derive(Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) name: &'static str,
    pub(super) access: Access,
    pub(super) way: Way,
}

const fn own(name: &'static str, run: OwnCall) -> Endpoint {
    Endpoint { name, access: Access::Read, way: Way::Own(run) }
}

const fn light(name: &'static str, run: ModelCall) -> Endpoint {
    Endpoint { name, access: Access::Read, way: Way::Light(run) }
}

const fn heavy(name: &'static str, run: fn(&ModelContext, &Json, &mut Reporter) -> Outcome) -> Endpoint {
    Endpoint { name, access: Access::Read, way: Way::Heavy(run) }
}

const fn writing(endpoint: Endpoint) -> Endpoint {
    Endpoint { access: Access::Write, ..endpoint }
}

/// All calls but those of the database and of signing in.
const ALL: &[Endpoint] = &[
    own("examples/list", files::list_examples),
    own("examples/read", files::read_example),
    own("history/span", metrics::history),
    light("item/cost", item_cost::cost),
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
    own("metrics/backlog", metrics::backlog),
    own("metrics/keys", metrics::keys),
    writing(own("models/delete", files::delete)),
    light("models/export", exchange::export_model),
    light("models/import", exchange::import_model),
    own("models/list", files::list),
    own("models/read", files::read),
    writing(own("models/write", files::write)),
];

/// The call of this name.
pub(super) fn find(name: &str) -> Option<Endpoint> {
    ALL.iter().find(|own| own.name == name).copied()
}

/// One of the calls that run in such a way.
#[cfg(feature = "fuzz")]
pub(super) fn some(choice: usize, is_wanted: impl Fn(Way) -> bool) -> Option<Endpoint> {
    let wanted: Vec<Endpoint> = ALL.iter().copied().filter(|own| is_wanted(own.way)).collect();
    wanted.get(choice.checked_rem(wanted.len())?).copied()
}

/// What the server is, for a visitor who may know. `only` is the one account that he sees.
pub(super) fn state(shared: &Shared, namespace: &Namespace, only: Option<&str>) -> Vec<(&'static str, Json)> {
    let surroundings = &shared.surroundings;
    let stored = &surroundings.storage;
    let storage = [("kind", Json::text(stored.kind)), ("place", Json::text(&stored.place))];
    let place = |namespace: &Namespace| {
        [
            ("account", Json::text(namespace.account.as_str())),
            ("region", Json::text(namespace.region.as_str())),
        ]
    };
    // One more than are listed, to see whether there are more.
    let places = shared.api.places(PLACES_MAX + 1);
    let own =
        places.iter().filter(|(namespace, _)| only.is_none_or(|only| namespace.account.as_str() == only));
    let listed = own.take(PLACES_MAX).map(|(namespace, tables)| {
        Json::object(place(namespace).into_iter().chain([("tables", Json::number(tables))]))
    });
    let folder = shared.models.folder();
    let models = Json::object([
        ("kept", Json::text(if folder.is_some() { "folder" } else { "memory" })),
        ("folder", folder.map_or(Json::Null, |folder| Json::text(folder.display().to_string()))),
        ("writable", Json::Bool(shared.access == Access::Write)),
    ]);
    let operations = Operation::ALL.iter().filter(|operation| is_served(**operation));
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
        ("place", Json::object(place(namespace))),
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
    Json::parse(text).map_err(|_| super::refusal::internal())
}
