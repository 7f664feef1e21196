//! Checks a model and draws its views.

use keywright_model::json::Json;
use keywright_workbench::report;
use keywright_workbench::views::{Looked, Relation, VIEWS, View, relations};

use super::{ModelContext, Outcome, optional, printed};
use crate::members;
use crate::refusal::Refusal;
use crate::worker::Reporter;

/// What `keywright model check --format json` prints.
pub(super) fn check(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let run = context.runs.of(members::text(request, "text")?, &context.models, reporter)?;
    printed(&report::json(&run.checked))
}

/// The pages of `keywright model show`, as data.
pub(super) fn view(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let named = members::texts(request, "views")?;
    let wanted: Vec<View> = if named.is_empty() {
        VIEWS.to_vec()
    } else {
        let found = named.iter().map(|name| {
            let view = VIEWS.into_iter().find(|view| view.name() == name);
            view.ok_or_else(|| Refusal::fault(format!("there is no view `{name}`")))
        });
        found.collect::<Result<_, _>>()?
    };
    let pattern = members::optional_text(request, "pattern")?;
    let run = context.runs.of(members::text(request, "text")?, &context.models, reporter)?;
    let looked = Looked::of(&run.model, run.checked.clone());
    let mut views = Vec::new();
    for view in wanted {
        reporter.at(&format!("view {}", view.name()), None);
        let mut page = Json::object([("name", Json::text(view.name())), ("about", Json::text(view.about()))]);
        for (name, value) in looked.show(view, pattern).json().members() {
            page.set(name, value.clone());
        }
        views.push(page);
    }
    let relation = |own: &Relation| {
        Json::object([
            ("parent", Json::text(&own.from)),
            ("child", Json::text(&own.to)),
            ("cardinality", Json::text(own.cardinality.name())),
            ("through", optional(own.through.as_ref())),
            ("declared", Json::Bool(own.declared)),
        ])
    };
    Ok(Json::object([
        ("views", Json::List(views)),
        ("relations", Json::List(relations(&run.model).iter().map(relation).collect())),
    ]))
}
