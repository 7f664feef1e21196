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

use keywright_engine::{Namespace, Principal};
use keywright_model::json::Json;
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_wire::{Operation, is_served};
use keywright_workbench::price::Prices;
use tokio::runtime::Handle;

use super::model_files::ModelFiles;
use super::refusal::Refusal;
use super::runs::Runs;
use super::service::Shared;
use super::tables::Tables;
use super::worker::Reporter;
use super::{Access, Right, Simulating, Visit};
use crate::limits::{MODEL_BYTES_MAX, PLACES_MAX, SAMPLE_BYTES_MAX, SAMPLES_MAX, STUDIO_BODY_BYTES_MAX};

/// What a call of this process works with.
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    /// Who calls, and for which place.
    pub(super) visit: Visit,
    /// The account that signed in, if that is needed here.
    pub(super) account: Option<String>,
}

impl Context {
    /// Refuses a visitor without this right. Calls of this process may wait.
    fn permit(&self, right: Right<'_>) -> Result<(), Refusal> {
        let permitted = Handle::current().block_on(self.shared.api.permit(&self.visit, right));
        permitted.map_err(Refusal::from)
    }
}

/// What a call on models works with.
pub(super) struct ModelContext {
    pub(super) models: ModelFiles,
    pub(super) runs: Runs,
    /// The database in the place of the call, for calls that ask it.
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
    /// Whether it asks the database, with the visitor's own rights. Without, it has no way to any table.
    pub(super) asks_database: bool,
}

impl Endpoint {
    /// Whether it is about models, which a right of its own allows.
    pub(super) fn is_about_models(&self) -> bool {
        self.name.starts_with("model/") || self.name.starts_with("models/")
    }
}

const fn endpoint(name: &'static str, way: Way) -> Endpoint {
    Endpoint { name, access: Access::Read, way, asks_database: false }
}

const fn own(name: &'static str, run: OwnCall) -> Endpoint {
    endpoint(name, Way::Own(run))
}

const fn light(name: &'static str, run: ModelCall) -> Endpoint {
    endpoint(name, Way::Light(run))
}

const fn heavy(name: &'static str, run: fn(&ModelContext, &Json, &mut Reporter) -> Outcome) -> Endpoint {
    endpoint(name, Way::Heavy(run))
}

const fn asking(endpoint: Endpoint) -> Endpoint {
    Endpoint { asks_database: true, ..endpoint }
}

const fn writing(endpoint: Endpoint) -> Endpoint {
    Endpoint { access: Access::Write, ..endpoint }
}

/// All calls but those of the database and of signing in.
const ALL: &[Endpoint] = &[
    own("examples/list", files::list_examples),
    own("examples/read", files::read_example),
    own("history/span", metrics::history),
    asking(light("item/cost", item_cost::cost)),
    light("item/plain", items::plain),
    asking(light("items/entities", entities::name)),
    light("items/read", items::read),
    own("items/scan", items::may_scan),
    light("items/write", items::write),
    heavy("model/check", views::check),
    heavy("model/collections", collections::run),
    heavy("model/cost", cost::cost),
    asking(writing(heavy("model/create", create::run))),
    heavy("model/design", design::run),
    asking(heavy("model/diff", diff::run)),
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
    asking(light("models/import", exchange::import_model)),
    own("models/list", files::list),
    own("models/read", files::read),
    writing(own("models/write", files::write)),
    own("replicas/may", items::may_change_replicas),
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

/// What the server is, for a visitor who may know: users and sessions learn no paths of its machine.
pub(super) async fn state(
    shared: &Shared,
    visit: &Visit,
    account: Option<&str>,
) -> Vec<(&'static str, Json)> {
    let surroundings = &shared.surroundings;
    let stored = &surroundings.storage;
    let is_limited = matches!(visit.caller.principal, Principal::Limited(_));
    let stored_at = if is_limited { Json::Null } else { Json::text(&stored.place) };
    let storage = [("kind", Json::text(stored.kind)), ("place", stored_at)];
    let place = |namespace: &Namespace| {
        [
            ("account", Json::text(namespace.account.as_str())),
            ("region", Json::text(namespace.region.as_str())),
        ]
    };
    // One more than are listed, to see whether there are more.
    let places = shared.api.places(visit, PLACES_MAX + 1).await;
    let listed = places.iter().take(PLACES_MAX).map(|(namespace, tables)| {
        Json::object(place(namespace).into_iter().chain([("tables", Json::number(tables))]))
    });
    let folder = shared.models.folder(account);
    let shown = folder.as_ref().filter(|_| !is_limited);
    let models = Json::object([
        ("kept", Json::text(if folder.is_some() { "folder" } else { "memory" })),
        ("folder", shown.map_or(Json::Null, |folder| Json::text(folder.display().to_string()))),
        ("writable", Json::Bool(shared.access == Access::Write)),
    ]);
    let may_models = shared.api.permit(visit, Right::UseModels).await.is_ok();
    let may_list = shared.api.permit(visit, Right::ListTables).await.is_ok();
    let may_see = shared.api.permit(visit, Right::SeeSimulation).await.is_ok();
    let may_simulate = shared.api.permit(visit, Right::ChangeSimulation).await.is_ok();
    let may = Json::object([
        ("models", Json::Bool(may_models)),
        ("listTables", Json::Bool(may_list)),
        ("seeSimulation", Json::Bool(may_see)),
        ("changeSimulation", Json::Bool(may_simulate)),
    ]);
    let simulation = match shared.api.simulating(visit) {
        Simulating::Off => "off",
        Simulating::FromItsMachine => "from-its-machine",
        Simulating::On => "on",
    };
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
        ("place", Json::object(place(&visit.caller.namespace))),
        ("places", Json::List(listed.collect())),
        ("placesCut", Json::Bool(places.len() > PLACES_MAX)),
        ("may", may),
        ("simulation", Json::text(simulation)),
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
