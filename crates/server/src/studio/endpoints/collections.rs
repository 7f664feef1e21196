//! The item collections of a model, with what one pattern reads or changes.

use keywright_model::json::Json;
use keywright_workbench::views::{Looked, collections_json};

use super::{Context, Outcome};
use crate::studio::jobs::Reporter;
use crate::studio::members;
use crate::studio::refusal::Refusal;

pub(super) fn run(context: &Context, request: &Json, reporter: &mut Reporter) -> Outcome {
    let pattern = members::optional_text(request, "pattern")?;
    let shared = &context.shared;
    let run = shared.runs.of(members::text(request, "text")?, &shared.models, reporter)?;
    reporter.at("arranging items", None);
    collections_json(&Looked::of(&run.model, run.checked.clone()), pattern).map_err(Refusal::fault)
}
