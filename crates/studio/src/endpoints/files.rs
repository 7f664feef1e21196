//! Model files and examples: list, read, write, delete.

use keywright_model::json::Json;

use super::{Context, Outcome};
use crate::examples::{EXAMPLES, fails, find};
use crate::members;
use crate::model_files::{Listed, ModelFile, NotSaved, Save};
use crate::refusal::{Kind, Refusal};

/// What a list says about a text: its title and how much it has. A text with faults has a count of them.
fn summary(text: &str) -> Vec<(&'static str, Json)> {
    match keywright_model::parse(text) {
        Ok(model) => vec![
            ("title", Json::text(model.text.as_deref().unwrap_or(&model.name))),
            ("tables", Json::number(model.tables.len())),
            ("entities", Json::number(model.entities.len())),
            ("patterns", Json::number(model.patterns.len())),
            ("faults", Json::number(0)),
        ],
        Err(faults) => vec![("title", Json::Null), ("faults", Json::number(faults.len()))],
    }
}

pub(super) fn list(context: &Context, _: &Json) -> Outcome {
    let files = context.shared.models.list(context.account.as_deref())?;
    let file = |file: &Listed| {
        Json::object([
            ("name", Json::text(&file.name)),
            ("bytes", Json::number(file.bytes)),
            ("hash", Json::text(&file.hash)),
            ("changedMs", Json::number(file.changed_ms)),
        ])
    };
    Ok(Json::object([("models", Json::List(files.iter().map(file).collect()))]))
}

fn described(file: &ModelFile) -> Json {
    Json::object([
        ("name", Json::text(&file.name)),
        ("text", Json::text(&file.text)),
        ("hash", Json::text(file.hash())),
        ("changedMs", Json::number(file.changed_ms)),
    ])
}

pub(super) fn read(context: &Context, request: &Json) -> Outcome {
    let name = members::text(request, "name")?;
    let file = context.shared.models.read(name, context.account.as_deref())?;
    file.as_ref()
        .map(described)
        .ok_or_else(|| Refusal::new(Kind::NotFound, format!("there is no model {name}")))
}

pub(super) fn write(context: &Context, request: &Json) -> Outcome {
    let (name, text) = (members::text(request, "name")?, members::text(request, "text")?);
    let over = members::optional_text(request, "hash")?;
    let save = Save { name, text, over, by: context.account.as_deref() };
    let file = context.shared.models.write(save).map_err(|reason| not_saved(name, reason))?;
    Ok(Json::object([("name", Json::text(&file.name)), ("hash", Json::text(file.hash()))]))
}

pub(super) fn delete(context: &Context, request: &Json) -> Outcome {
    let (name, hash) = (members::text(request, "name")?, members::text(request, "hash")?);
    let by = context.account.as_deref();
    context.shared.models.delete(name, hash, by).map_err(|reason| not_saved(name, reason))?;
    Ok(Json::Object(Vec::new()))
}

fn not_saved(name: &str, reason: NotSaved) -> Refusal {
    match reason {
        NotSaved::Refused(refusal) => refusal,
        NotSaved::Changed(theirs) => {
            let text = if theirs.is_some() {
                format!("{name} was changed by somebody else: nothing was saved")
            } else {
                format!("{name} is gone: nothing was saved")
            };
            let theirs = theirs.as_ref().map_or(Json::Null, described);
            Refusal::new(Kind::Changed, text).with("theirs", theirs)
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "all calls have this form")]
pub(super) fn list_examples(_: &Context, _: &Json) -> Outcome {
    let examples = EXAMPLES.iter().map(|example| {
        let own = [
            ("name", Json::text(example.name)),
            ("source", Json::text(example.source)),
            ("teaches", Json::text(example.teaches)),
            ("fails", Json::Bool(fails(example.name))),
        ];
        let mut described = Json::object(own.into_iter().chain(summary(example.text)));
        described.set("text", described.get("title").cloned().unwrap_or(Json::Null));
        described.set("title", Json::text(example.title));
        described
    });
    Ok(Json::object([
        ("starter", Json::text(keywright_model::starter())),
        ("examples", Json::List(examples.collect())),
    ]))
}

pub(super) fn read_example(_: &Context, request: &Json) -> Outcome {
    let name = members::text(request, "name")?;
    let example =
        find(name).ok_or_else(|| Refusal::new(Kind::NotFound, format!("there is no example {name}")))?;
    Ok(Json::object([("name", Json::text(name)), ("text", Json::text(example.text))]))
}
