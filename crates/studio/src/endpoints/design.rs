//! The cheapest keys for a model, with proof.

use keywright_designer::design::{
    Explanation, KeyStyle, NoChoice, OtherBill, Prefixes, Stage, TableDesign, Wanted, check_design, choose,
    try_out,
};
use keywright_model::json::Json;
use keywright_workbench::cost::{self, Costing, Settings};
use keywright_workbench::price::Money;

use super::cost::prices;
use super::{ModelContext, Outcome, printed, texts};
use crate::members::{number, optional_text, switch, text};
use crate::refusal::Refusal;
use crate::runs;
use crate::worker::Reporter;

/// Global indexes of a table, unless the request says otherwise; the command's default.
const INDEXES_DEFAULT: usize = 5;
const INDEXES_MAX: usize = 20;

pub(super) fn run(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let files = &context.models;
    let original = runs::parse(text(request, "text")?)?;
    runs::samples(&original, files)?;
    let prices = prices(optional_text(request, "prices")?.or(original.prices.as_deref()))?;
    let read_file = |name: &str| files.data_file(name);
    let prefixes = match optional_text(request, "keys")? {
        None | Some("short") => Prefixes::Short,
        Some("readable") => Prefixes::Readable,
        Some(other) => return Err(Refusal::fault(format!("`keys` is `{other}`: write short or readable"))),
    };
    let wanted = Wanted {
        table: optional_text(request, "table")?,
        indexes: number(request, "indexes", INDEXES_DEFAULT, 0..=INDEXES_MAX)?,
        keep: switch(request, "keep")?,
        explain: switch(request, "explain")?,
        style: KeyStyle { prefixes, multi_attribute: !switch(request, "noMultiAttributeKeys")? },
    };
    let choice =
        choose(&original, &wanted, &prices, &read_file, &mut |stage| reporter.at(&named(stage), None));
    let choice = choice.map_err(|reason| match reason {
        NoChoice::Faults(faults) => Refusal::faults(faults),
        other => Refusal::fault(other.to_string()),
    })?;
    let model = &choice.billed.model;
    reporter.at("running the design", None);
    let trial = try_out(model).map_err(Refusal::faults)?;
    reporter.at("checking the design", None);
    let checked = check_design(model, &read_file).map_err(Refusal::faults)?;
    let costing = Costing { prices: &prices, settings: Settings::default() };
    Ok(Json::object([
        ("model", Json::text(&choice.billed.text)),
        ("text", Json::text(choice.text(&original, &prices))),
        ("trial", Json::text(trial.text())),
        ("agrees", Json::Bool(trial.agrees())),
        ("notices", texts(&choice.billed.notices)),
        ("checked", texts(&checked.lines())),
        ("fault", checked.fault().map_or(Json::Null, Json::text)),
        ("bill", printed(&cost::json(&model.name, &choice.billed.bill, &costing))?),
        ("tables", Json::List(choice.tables.iter().map(table).collect())),
    ]))
}

fn named(stage: Stage<'_>) -> String {
    match stage {
        Stage::Solving(table) => format!("designing the keys of {table}"),
        Stage::Metering => "metering the design".to_owned(),
        Stage::MeteringAlternatives => "metering the alternatives".to_owned(),
        Stage::Explaining => "designing without each pattern".to_owned(),
    }
}

fn money(money: Money) -> Json {
    Json::object([
        ("nanoDollars", Json::number(money.as_nanos())),
        ("dollars", Json::text(money.exact().replace('$', ""))),
    ])
}

fn table(own: &TableDesign) -> Json {
    let other = |bill: &Option<OtherBill>, indexes: Option<usize>| match bill {
        None => Json::Null,
        Some(OtherBill::More(more)) => {
            Json::object([("indexes", indexes.map_or(Json::Null, Json::number)), ("more", money(*more))])
        }
        Some(OtherBill::Unbilled(reason)) => Json::object([
            ("indexes", indexes.map_or(Json::Null, Json::number)),
            ("reason", Json::text(reason)),
        ]),
    };
    let fewer = own.design.fewer.as_ref().map(|design| design.gsis);
    let fewer_same = own.design.fewer_same.as_ref().map(|design| design.gsis);
    Json::object([
        ("table", Json::text(&own.table)),
        ("tables", texts(&own.tables)),
        ("indexes", Json::number(own.design.gsis)),
        ("monthly", money(own.design.monthly.total())),
        ("fewer", other(&own.fewer, fewer)),
        ("fewerSame", other(&own.fewer_same, fewer_same)),
        ("explanation", own.explanation.as_ref().map_or(Json::Null, explained)),
    ])
}

fn explained(own: &Explanation) -> Json {
    let patterns = own.patterns.iter().map(|forced| {
        Json::object([
            ("pattern", Json::text(&forced.pattern)),
            ("saves", money(forced.saves)),
            ("indexesWithout", Json::number(forced.gsis_without)),
            ("forces", Json::Bool(forced.forces)),
        ])
    });
    let runners_up = own.runners_up.iter().map(|other| Json::object([("more", money(other.more))]));
    let break_evens = own.break_evens.iter().map(|even| {
        Json::object([("pattern", Json::text(&even.pattern)), ("percent", Json::number(even.percent))])
    });
    Json::object([
        ("patterns", Json::List(patterns.collect())),
        ("runnersUp", Json::List(runners_up.collect())),
        ("breakEvens", Json::List(break_evens.collect())),
    ])
}
