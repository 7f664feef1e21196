//! A comparison as text, JSON or Markdown, with the plan's costs at dated prices and its times at a given
//! rate.

use std::fmt::Write as _;

use super::plan::{Extent, Operation, Step, Units, Who};
use super::remarks::Remark;
use super::{Difference, Plan};
use keywright_model::json::Json;
use keywright_workbench::price::{Item, Money, Prices};

/// Rates and prices that the figures use.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The prices of one region on one day.
    pub prices: &'a Prices,
    /// Write units per second that the jobs may use; they use three times as many read units.
    pub rate: u64,
}

impl Difference {
    /// The differences, then the plan.
    pub fn text(&self, terms: Terms<'_>) -> String {
        if self.changes.is_empty() {
            return "The two models have the same design.\n".to_owned();
        }
        let mut out = String::new();
        for change in &self.changes {
            let _ = writeln!(out, "{change}");
        }
        out.push('\n');
        out.push_str(&plan_text(&self.plan, terms));
        out
    }

    /// Markdown for a pull request.
    pub fn markdown(&self, terms: Terms<'_>) -> String {
        if self.changes.is_empty() {
            return "The two models have the same design.\n".to_owned();
        }
        let mut out = String::from("## Differences\n\n");
        for change in &self.changes {
            let detail =
                if change.detail.is_empty() { String::new() } else { format!(": {}", change.detail) };
            let _ = writeln!(
                out,
                "- **{} {}** `{}`{}",
                change.thing.name(),
                change.kind.name(),
                change.name,
                escaped(&detail)
            );
        }
        for remark in &self.plan.summary {
            let _ = writeln!(out, "- {}", escaped(&remark.text()));
        }
        out.push_str("\n## Migration plan\n\n");
        match self.plan.extent {
            Extent::Whole if self.plan.steps.is_empty() => {
                out.push_str("Nothing to do.\n");
                return out;
            }
            Extent::None => {
                out.push_str(
                    "None, for the reasons above. Until they are resolved, nothing is moved or deleted.\n",
                );
                return out;
            }
            Extent::Part => out.push_str("Without what is not planned above.\n\n"),
            Extent::Whole => {}
        }
        out.push_str("| # | Who | Step | Reads | Writes | Cost | Time |\n|--:|---|---|--:|--:|--:|--:|\n");
        for (at, step) in self.plan.steps.iter().enumerate() {
            let mut text = format!("**{}**: {}", step.kind.name(), escaped(&step.texts().join("; ")));
            if let Some(line) = alternative(step, terms) {
                let _ = write!(text, "<br>{}", escaped(&line));
            }
            let figures = match step.units {
                None => ["unknown".to_owned(), "unknown".to_owned(), "unknown".to_owned(), String::new()],
                Some(units) if units == Units::default() => Default::default(),
                Some(units) => [
                    units.reads.to_string(),
                    units.writes().to_string(),
                    money(step.cost(terms.prices)),
                    time(step, terms).unwrap_or_default(),
                ],
            };
            let _ = writeln!(
                out,
                "| {} | {} | {text} | {} |",
                at + 1,
                step.kind.who().name(),
                figures.join(" | ")
            );
        }
        let _ = write!(out, "\n{}", total(&self.plan, terms));
        out
    }

    /// JSON for programs.
    pub fn json(&self, terms: Terms<'_>) -> Json {
        let changes = self.changes.iter().map(|change| {
            Json::object([
                ("change", Json::text(change.kind.name())),
                ("thing", Json::text(change.thing.name())),
                ("name", Json::text(&change.name)),
                ("detail", Json::text(&change.detail)),
            ])
        });
        let steps = self.plan.steps.iter().map(|step| step_json(step, terms));
        let units = self.plan.units();
        Json::object([
            ("changes", Json::List(changes.collect())),
            ("summary", Json::List(self.plan.summary.iter().map(Remark::json).collect())),
            ("plan", Json::text(self.plan.extent.name())),
            ("steps", Json::List(steps.collect())),
            ("readUnits", count(units.map(|units| units.reads))),
            ("writeUnits", count(units.map(Units::writes))),
            ("cost", self.plan.cost(terms.prices).map_or(Json::Null, |cost| Json::text(cost.exact()))),
            ("prices", Json::text(&terms.prices.name)),
            ("pricesRead", Json::text(dated(terms.prices))),
            ("writeUnitsPerSecond", Json::number(terms.rate)),
        ])
    }
}

impl Step {
    /// A sentence for each operation.
    pub fn texts(&self) -> Vec<String> {
        self.operations.iter().map(|operation| operation.action.text()).collect()
    }
}

/// An operation with its text, and its units if it consumes any.
fn operation_json(operation: &Operation) -> Json {
    let mut json = operation.action.json();
    if operation.units != Some(Units::default()) {
        json.set("readUnits", count(operation.units.map(|units| units.reads)));
        json.set("writeUnits", count(operation.units.map(Units::writes)));
    }
    json.set("text", Json::text(operation.action.text()));
    json
}

fn step_json(step: &Step, terms: Terms<'_>) -> Json {
    let price = |cost: Option<Money>| cost.map_or(Json::Null, |cost| Json::text(cost.exact()));
    let mut json = Json::object([
        ("who", Json::text(step.kind.who().name())),
        ("step", Json::text(step.kind.name())),
        ("operations", Json::List(step.operations.iter().map(operation_json).collect())),
        ("readUnits", count(step.units.map(|units| units.reads))),
        ("writeUnits", count(step.units.map(Units::writes))),
        ("cost", price(step.cost(terms.prices))),
    ]);
    if step.kind.who() == Who::Job {
        json.set("seconds", count(step.units.map(|units| units.seconds(terms.rate))));
    }
    if let Some(other) = &step.alternative {
        let mut alternative = other.action.json();
        alternative.set("bytes", count(other.bytes));
        alternative.set("cost", price(other.cost(terms.prices)));
        alternative.set("text", Json::text(other.action.text()));
        json.set("alternative", alternative);
    }
    json
}

fn count(number: Option<u64>) -> Json {
    number.map_or(Json::Null, Json::number)
}

fn plan_text(plan: &Plan, terms: Terms<'_>) -> String {
    let mut out = String::new();
    for remark in &plan.summary {
        let _ = writeln!(out, "{}", remark.text());
    }
    if !plan.summary.is_empty() {
        out.push('\n');
    }
    match plan.extent {
        Extent::Whole if plan.steps.is_empty() => {
            out.push_str("Migration plan: nothing to do.\n");
            return out;
        }
        Extent::None => {
            out.push_str("Migration plan: none, for the reasons above. Until they are resolved, nothing is moved or deleted.\n");
            return out;
        }
        Extent::Whole => {
            out.push_str("Migration plan; the application keeps running:\n");
        }
        Extent::Part => {
            out.push_str(
                "Migration plan without what is not planned above; the application keeps running:\n",
            );
        }
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let who = step.kind.who().name();
        let _ = writeln!(out, "{:>3}. {who}: {}", at + 1, step.kind.name());
        for text in step.texts() {
            let _ = writeln!(out, "     - {text}");
        }
        if let Some(line) = alternative(step, terms) {
            let _ = writeln!(out, "     - {line}");
        }
        if let Some(line) = figures(step, terms) {
            let _ = writeln!(out, "     = {line}");
        }
    }
    out.push_str(&total(plan, terms));
    out
}

/// What a step consumes, in words.
fn figures(step: &Step, terms: Terms<'_>) -> Option<String> {
    let Some(units) = step.units else {
        return Some("units unknown: no example, no `count` or no `size` says how many items there are and how large they are".to_owned());
    };
    if units == Units::default() {
        return None;
    }
    let time = time(step, terms).map(|time| format!(", {time}")).unwrap_or_default();
    Some(format!("{}, {}{time}", consumed(units), money(step.cost(terms.prices))))
}

fn consumed(units: Units) -> String {
    match (units.reads, units.writes()) {
        (0, writes) => format!("{writes} write units"),
        (reads, 0) => format!("{reads} read units"),
        (reads, writes) => format!("{reads} read and {writes} write units"),
    }
}

/// How long a job takes. The service sets the pace at which an index fills.
fn time(step: &Step, terms: Terms<'_>) -> Option<String> {
    let units = step.units.filter(|_| step.kind.who() == Who::Job)?;
    Some(format!("{} at {} write units a second", duration(units.seconds(terms.rate)), terms.rate))
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..=1 => "a second".to_owned(),
        2..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds.div_ceil(60)),
        7200..=172_799 => format!("{} hours", seconds.div_ceil(3600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

fn alternative(step: &Step, terms: Terms<'_>) -> Option<String> {
    let other = step.alternative.as_ref()?;
    let cost = other.cost(terms.prices).map_or("a price by the gigabyte".to_owned(), |cost| cost.to_string());
    Some(format!("{} ({cost})", other.action.text()))
}

fn money(cost: Option<Money>) -> String {
    cost.map_or("price unknown".to_owned(), |cost| cost.to_string())
}

fn total(plan: &Plan, terms: Terms<'_>) -> String {
    let Some(units) = plan.units() else {
        return "Together: unknown, because no example, no `count` or no `size` says how many items of an entity there are and how large they are.\n".to_owned();
    };
    if units == Units::default() {
        return "Together: nothing is read or written.\n".to_owned();
    }
    format!(
        "Together: {}, {}, once, on demand at the prices {} (read {}).\n",
        consumed(units),
        money(plan.cost(terms.prices)),
        terms.prices.name,
        dated(terms.prices)
    )
}

/// The date of the write price.
fn dated(prices: &Prices) -> String {
    prices.items.get(&Item::WriteRequest).map_or("at no known day".to_owned(), |price| price.date.clone())
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
