//! Tools on models: what the commands of `keywright model` print.

use std::path::Path;

use keywright_designer::design::{KeyStyle, Prefixes, Wanted};
use keywright_model::did_you_mean;
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::lint::{RULES, explain, rule};
use keywright_workbench::simulate;

use super::arguments::Arguments;
use super::tools::OnModels;
use crate::model::{Format, Source, check, cost, design, files, simulated};

/// The file that faults of a model's text name.
const TEXT_NAME: &str = "model.yaml";
const INDEXES: u64 = 5;
const INDEXES_MAX: u64 = 20;

/// What a tool returns: its text, or why there is none.
pub(super) type Outcome = Result<String, String>;

/// Runs a tool.
pub(super) fn run(what: OnModels, folder: &Path, arguments: Arguments) -> Outcome {
    match what {
        OnModels::Format => format(arguments),
        OnModels::Check => check(folder, arguments),
        OnModels::Cost => cost(folder, arguments),
        OnModels::Design => design(folder, arguments),
        OnModels::Simulate => simulate(folder, arguments),
        OnModels::ExplainRule => explain_rule(arguments),
    }
}

/// The model that a call names or holds.
fn source(folder: &Path, arguments: &mut Arguments) -> Result<Source, String> {
    match (arguments.text("model")?, arguments.text("text")?) {
        (Some(file), None) => Source::read_within(folder, &file),
        (None, Some(text)) => Source::of_text(folder, TEXT_NAME, &text),
        _ => Err("give either `model`, a file, or `text`, a model's text".to_owned()),
    }
}

fn check(folder: &Path, mut arguments: Arguments) -> Outcome {
    let source = source(folder, &mut arguments)?;
    arguments.end()?;
    let report = check::report(&source, Format::Text)?;
    let verdict = if report.passes { "The check passed." } else { "The check failed." };
    Ok(format!("{verdict}\n\n{}", report.text.trim_end()))
}

fn cost(folder: &Path, mut arguments: Arguments) -> Outcome {
    let source = source(folder, &mut arguments)?;
    let prices = cost::prices_of(&source, arguments.text("prices")?.as_deref())?;
    arguments.end()?;
    cost::priced(&source, &Costing { prices: &prices, settings: Settings::default() }, Format::Text)
        .map_err(String::from)
}

fn design(folder: &Path, mut arguments: Arguments) -> Outcome {
    let source = source(folder, &mut arguments)?;
    let table = arguments.text("table")?;
    let prices = arguments.text("prices")?;
    let prefixes = match arguments.text("keys")?.as_deref() {
        None | Some("short") => Prefixes::Short,
        Some("readable") => Prefixes::Readable,
        Some(other) => return Err(format!("`keys` is short or readable, not {other}")),
    };
    let indexes = arguments.number("indexes", INDEXES_MAX)?.unwrap_or(INDEXES);
    let wanted = Wanted {
        table: table.as_deref(),
        indexes: usize::try_from(indexes).unwrap_or(usize::MAX),
        keep: arguments.switch("keep")?,
        explain: arguments.switch("explain")?,
        style: KeyStyle { prefixes, multi_attribute: !arguments.switch("no_multi_attribute_keys")? },
    };
    arguments.end()?;
    let mut parts = Vec::new();
    let designed =
        design::designed(&source, &wanted, prices.as_deref(), &mut |part| parts.push(part.to_owned()))?;
    parts.extend(designed.billed.notices.iter().cloned());
    parts.extend(designed.fault);
    parts.push(format!("\nThe model with these keys:\n\n{}", designed.billed.text.trim_end()));
    Ok(parts.join("\n"))
}

fn simulate(folder: &Path, mut arguments: Arguments) -> Outcome {
    let source = source(folder, &mut arguments)?;
    let prices = arguments.text("prices")?;
    let (file, profile) = match (arguments.text("profile")?, arguments.text("profile_text")?) {
        (Some(file), None) => {
            let text = files::read_within(folder, folder, &file)?;
            (file, text)
        }
        (None, Some(text)) => ("profile.yaml".to_owned(), text),
        _ => return Err("give either `profile`, a file, or `profile_text`, a profile's text".to_owned()),
    };
    arguments.end()?;
    let found = simulated(&source, (&file, &profile), prices.as_deref())?;
    let verdict = if found.passes() {
        "Every expectation of the profile is met."
    } else {
        "An expectation of the profile is not met."
    };
    Ok(format!("{verdict}\n\n{}", simulate::text(&found).trim_end()))
}

fn explain_rule(mut arguments: Arguments) -> Outcome {
    let id = arguments.text("rule")?;
    arguments.end()?;
    let Some(id) = id else {
        let lines = RULES.iter().map(|rule| format!("{}  {:16}  {}", rule.id, rule.severity(), rule.title));
        return Ok(lines.collect::<Vec<_>>().join("\n"));
    };
    let hint = || did_you_mean(&id, RULES.iter().map(|rule| rule.id));
    rule(&id)
        .map(|rule| explain(rule).trim_end().to_owned())
        .ok_or_else(|| format!("there is no rule `{id}`{}", hint()))
}

fn format(arguments: Arguments) -> Outcome {
    arguments.end()?;
    Ok(format!(
        "A model that passes its check:\n\n{}\n\nThe JSON Schema of model files:\n\n{}",
        keywright_model::starter().trim_end(),
        keywright_model::schema().trim_end()
    ))
}
