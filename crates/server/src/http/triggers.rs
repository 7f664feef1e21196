//! The call `POST /_keywright/triggers`: the triggers of the caller's account and region, with their figures.
//!
//! It knows the form of responses, for the server and for `keywright triggers`.

use std::collections::BTreeMap;

use keywright_model::json::Json;
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::Mapping;
use keywright_wire::events::archive_warning;

use crate::deliveries::Figure;

pub(crate) const PATH: &str = "/_keywright/triggers";

/// The body of a response.
pub(super) fn shown(triggers: &[Mapping], figures: &BTreeMap<String, Figure>, now_ms: u64) -> Json {
    let trigger = |mapping: &Mapping| trigger(mapping, figures.get(&mapping.uuid), now_ms);
    Json::object([("triggers", Json::List(triggers.iter().map(trigger).collect()))])
}

/// A trigger, with what this process does for it. Times are milliseconds since 1970, and ages milliseconds.
fn trigger(mapping: &Mapping, figure: Option<&Figure>, now_ms: u64) -> Json {
    let counts = &mapping.counts;
    let is_archive = matches!(mapping.settings.target, Target::Bucket { .. });
    let mut shown = Json::object([
        ("id", Json::text(&mapping.uuid)),
        ("table", Json::text(&mapping.table)),
        ("stream", Json::text(&mapping.stream_arn)),
        ("target", Json::text(mapping.settings.target.text())),
        ("state", Json::text(mapping.state.name())),
        ("reason", Json::text(&mapping.reason)),
        ("delivered", Json::number(counts.delivered)),
        ("archived", Json::number(if is_archive { counts.delivered } else { 0 })),
        ("filtered", Json::number(counts.filtered)),
        ("discarded", Json::number(counts.discarded)),
        ("retries", Json::number(counts.retries)),
        ("modified", Json::number(mapping.modified_ms)),
    ]);
    if let Some(lag_ms) = mapping.lag_ms {
        shown.set("lag", Json::number(lag_ms));
    }
    if let Some((figure, call)) = figure.and_then(|figure| Some((figure, figure.call()?))) {
        let call = Json::object([
            ("target", Json::text(&call.target)),
            ("since", Json::number(call.since_ms)),
            ("age", Json::number(figure.call_ms(now_ms))),
            ("calls", Json::number(u64::try_from(figure.calls()).unwrap_or(u64::MAX))),
        ]);
        shown.set("call", call);
    }
    if let Some(end) = mapping.stream_end {
        shown.set("streamEnd", Json::text(end));
    }
    if let Some(warning) = archive_warning(mapping) {
        shown.set("warning", Json::text(&warning));
    }
    if let Some(section) = &mapping.section {
        shown.set("section", Json::text(section));
    }
    if let Some(failure) = &mapping.failure {
        let failure = Json::object([
            ("at", Json::number(failure.at_ms)),
            ("text", Json::text(&failure.text)),
            ("present", Json::Bool(failure.is_present)),
        ]);
        shown.set("failure", failure);
    }
    shown
}
