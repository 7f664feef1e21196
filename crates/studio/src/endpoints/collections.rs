//! The item collections of a model, with what one pattern reads or changes.

use keywright_model::json::Json;
use keywright_workbench::views::{Looked, collections_json};

use super::{ModelContext, Outcome};
use crate::members;
use crate::refusal::Refusal;
use crate::worker::Reporter;

pub(super) fn run(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let pattern = members::optional_text(request, "pattern")?;
    let run = context.runs.of(members::text(request, "text")?, &context.models, reporter)?;
    reporter.at("arranging items", None);
    collections_json(&Looked::of(&run.model, run.checked.clone()), pattern).map_err(Refusal::fault)
}
