//! `keywright model show`: views of a model, step by step.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use keywright_exchange::item_file;
use keywright_model::{Model, did_you_mean};
use keywright_workbench::views::{Looked, STEPS, VIEWS, View};

use super::files;
use super::format::{Format, one_of};
use crate::process::failure::Failure;
use crate::process::output;

/// Show a model as tables, step by step
///
/// Shows patterns, entities, keys, indexes, denormalisation and validation (the six steps of modelling), item
/// collections, advice from the model's numbers, and a checklist. A model that fails its check is shown as
/// well.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The model file
    model: PathBuf,
    /// What to show [default: the six steps, in order]
    #[arg(value_name = "VIEW", value_parser = view_parser())]
    views: Vec<View>,
    /// In the item collections, mark what this pattern reads and returns
    #[arg(long, value_name = "ID")]
    pattern: Option<String>,
    /// Output format; Markdown draws entities as a Mermaid diagram
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Markdown]))]
    format: Format,
}

/// Parses the name of a view.
fn view_parser() -> impl TypedValueParser<Value = View> {
    let names = VIEWS.map(|view| PossibleValue::new(view.name()).help(view.about()));
    PossibleValuesParser::new(names).try_map(|name| {
        VIEWS.into_iter().find(|view| view.name() == name).ok_or("there is no view of this name")
    })
}

pub(crate) fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let model = files::read_model(&arguments.model)?;
    check_pattern(arguments, &model)?;
    let folder = arguments.model.parent().unwrap_or(Path::new("")).to_path_buf();
    let read_file = |name: &str| files::read(&folder.join(name)).map(item_file).map_err(String::from);
    let looked = Looked::at(&model, &read_file, &mut |_| {}).map_err(|faults| {
        let file = arguments.model.display().to_string();
        faults.iter().map(|fault| fault.in_file(&file)).collect::<Vec<_>>().join("\n")
    })?;
    let chosen: Vec<View> = match (arguments.views.as_slice(), &arguments.pattern) {
        ([], None) => VIEWS.into_iter().take(STEPS).collect(),
        ([], Some(_)) => vec![View::Collections],
        (some, _) => some.to_vec(),
    };
    let pages = chosen.into_iter().map(|view| {
        let page = looked.show(view, arguments.pattern.as_deref());
        match arguments.format {
            Format::Text | Format::Json | Format::Junit => page.text(),
            Format::Markdown => page.markdown(),
        }
    });
    output::say(pages.collect::<Vec<_>>().join("\n").trim_end());
    Ok(())
}

/// Checks that the model has the pattern to mark and that a chosen view marks it.
fn check_pattern(arguments: &ShowArguments, model: &Model) -> Result<(), Failure> {
    let Some(id) = &arguments.pattern else { return Ok(()) };
    let known: Vec<&str> = model.patterns.iter().map(|pattern| pattern.id.as_str()).collect();
    if !known.contains(&id.as_str()) {
        let hint = did_you_mean(id, known.iter().copied());
        let hint = if known.is_empty() { "; it has none".to_owned() } else { hint };
        return Err(Failure::new(format!("{}: there is no pattern `{id}`{hint}", arguments.model.display())));
    }
    if !arguments.views.is_empty() && !arguments.views.contains(&View::Collections) {
        return Err(Failure::new("--pattern needs the view `collections`; add it to the views"));
    }
    Ok(())
}
