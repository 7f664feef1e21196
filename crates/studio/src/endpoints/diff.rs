//! What changed between two models, and the migration.

use keywright_designer::diff::{Extent, Subject, Terms, diff};
use keywright_exchange::live;
use keywright_exchange::of_model::stored_items;
use keywright_model::json::Json;

use super::cost::prices;
use super::exchange::{load, of_faults};
use super::live::asked;
use super::{ModelContext, Outcome};
use crate::members::{number, optional, optional_text, text};
use crate::refusal::Refusal;
use crate::worker::Reporter;

/// Write units a second that the jobs of a plan may use, unless the request says otherwise.
const RATE_DEFAULT: u64 = 1_000;
const RATE_MAX: u64 = 1_000_000_000;

pub(super) fn run(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let none = Json::Object(Vec::new());
    let side = |name: &str| optional(request, name).unwrap_or(&none);
    reporter.at("running the old model", None);
    let (before, _) = subject(context, side("before"))?;
    reporter.at("running the new model", None);
    let (after, named) = subject(context, side("after"))?;
    reporter.at("comparing", None);
    let prices = prices(optional_text(request, "prices")?.or(named.as_deref()))?;
    let difference = diff(&before, &after);
    let terms = Terms { prices: &prices, rate: number(request, "rate", RATE_DEFAULT, 1..=RATE_MAX)? };
    let extent = match difference.plan.extent {
        Extent::Whole => "whole",
        Extent::Part => "part",
        Extent::None => "none",
    };
    Ok(Json::object([
        ("difference", difference.json(terms)),
        ("extent", Json::text(extent)),
        ("text", Json::text(difference.text(terms))),
        ("markdown", Json::text(difference.markdown(terms))),
    ]))
}

/// A model that is run before it is compared, and the prices that it names.
fn subject(context: &ModelContext, side: &Json) -> Result<(Subject, Option<String>), Refusal> {
    let files = &context.models;
    let (model, items) = if let Some(wanted) = optional(side, "live") {
        let made =
            live::import("live", &asked(&context.tables, wanted)?).map_err(|faults| of_faults(&faults))?;
        let items = stored_items(&made.model);
        (made.model, items)
    } else {
        load(text(side, "text")?, files)?
    };
    let named = model.prices.clone();
    Ok((Subject::of_run(model, &items, &|name: &str| files.data_file(name)), named))
}
