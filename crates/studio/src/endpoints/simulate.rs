//! A model under the traffic of a profile.

use keywright_model::json::Json;
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::simulate::{csv, json, parse, simulate, starter, svg, text};

use super::cost::prices;
use super::{ModelContext, Outcome, printed};
use crate::limits::{MODEL_BYTES_MAX, SIMULATED_MINUTES_MAX};
use crate::members::{self, optional_text};
use crate::model_files::too_large;
use crate::refusal::{Kind, Refusal};
use crate::runs;
use crate::worker::Reporter;

/// What `keywright simulate` prints, in each of its formats.
pub(super) fn run(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let traffic = members::text(request, "profile")?;
    if traffic.len() > MODEL_BYTES_MAX {
        return Err(too_large());
    }
    let run = context.runs.of(members::text(request, "text")?, &context.models, reporter)?;
    let of_profile = |faults| Refusal::faults(faults).with("of", Json::text("profile"));
    let profile = parse(traffic, &run.model).map_err(of_profile)?;
    let places = run.model.tables.iter().map(|table| 1 + table.indexes.len()).sum::<usize>();
    let minutes = profile.length_s.div_ceil(60).saturating_mul(u64::try_from(places).unwrap_or(u64::MAX));
    if minutes > SIMULATED_MINUTES_MAX {
        let text = format!(
            "the studio simulates at most {SIMULATED_MINUTES_MAX} minutes of all tables and indexes together, and \
             this is {minutes}: shorten `length`, or run keywright simulate"
        );
        return Err(Refusal::new(Kind::TooLarge, text));
    }
    let prices = prices(optional_text(request, "prices")?.or(run.model.prices.as_deref()))?;
    let measured = run.measured(reporter)?;
    let costing = Costing { prices: &prices, settings: Settings::default() };
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut progress = |done: u64, of: u64| reporter.at("simulating minutes", Some((whole(done), whole(of))));
    let found = simulate(&run.model, &measured, &profile, &costing, &mut progress).map_err(Refusal::fault)?;
    Ok(Json::object([
        ("report", printed(&json(&found))?),
        ("text", Json::text(text(&found))),
        ("svg", Json::text(svg(&found))),
        ("csv", Json::text(csv(&found))),
        ("total", Json::text(found.bill.total().exact())),
    ]))
}

/// A profile to begin with.
pub(super) fn starting(_: &ModelContext, request: &Json) -> Outcome {
    let model = runs::parse(members::text(request, "text")?)?;
    Ok(Json::object([("profile", Json::text(starter(&model)))]))
}
