//! The call `POST /_keywright/destinations`: the Kinesis destinations of the caller's account and region,
//! with figures.
//!
//! It knows the form of responses, for the server and for `keywright destinations`.

use keywright_engine::DestinationView;
use keywright_model::json::Json;
use keywright_semantics::request::parts::ApproximateCreationDateTimePrecision as Precision;
use keywright_semantics::response::DestinationStatus;

pub(crate) const PATH: &str = "/_keywright/destinations";

/// The body of a response.
pub(super) fn shown(views: &[DestinationView]) -> Json {
    Json::object([("destinations", Json::List(views.iter().map(destination).collect()))])
}

fn destination(view: &DestinationView) -> Json {
    let description = &view.description;
    let mut shown = Json::object([
        ("table", Json::text(&view.table)),
        ("stream", Json::text(&description.stream_arn)),
        ("status", Json::text(status_name(description.status))),
        ("delivered", Json::number(view.delivered)),
        ("dropped", Json::number(view.dropped)),
        ("skipped", Json::number(view.skipped)),
        ("lag-ms", Json::number(view.lag_ms)),
    ]);
    if let Some(precision) = description.precision {
        shown.set("precision", Json::text(Precision::name(precision)));
    }
    for (name, text) in [("description", &description.description), ("waits-for", &view.waits_for)] {
        if let Some(text) = text {
            shown.set(name, Json::text(text));
        }
    }
    shown
}

const fn status_name(status: DestinationStatus) -> &'static str {
    match status {
        DestinationStatus::Enabling => "enabling",
        DestinationStatus::Active => "active",
        DestinationStatus::Disabling => "disabling",
        DestinationStatus::Disabled => "disabled",
        DestinationStatus::EnableFailed => "enable-failed",
        DestinationStatus::Updating => "updating",
    }
}
