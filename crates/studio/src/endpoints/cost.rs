//! What a model costs, and which keys are too busy.

use keywright_model::MicroPerSecond;
use keywright_model::json::Json;
use keywright_semantics::share::{MICRO, PPM_PER_PERCENT};
use keywright_workbench::cost::{Costing, Gigabyte, Habits, Month, Settings, bill, json};
use keywright_workbench::heat;
use keywright_workbench::price::{Prices, TODAY};

use super::{ModelContext, Outcome, printed};
use crate::members::{number, optional, optional_text, switch, text};
use crate::refusal::Refusal;
use crate::worker::Reporter;

/// The built-in prices of this name, or the newest.
pub(super) fn prices(name: Option<&str>) -> Result<Prices, Refusal> {
    Prices::built_in(name.unwrap_or(TODAY)).map_err(|fault| Refusal::fault(fault.to_string()))
}

/// What `keywright model cost --format json` prints.
pub(super) fn cost(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    let none = Json::Object(Vec::new());
    let own = optional(request, "settings").unwrap_or(&none);
    let settings = settings(own)?;
    let run = context.runs.of(text(request, "text")?, &context.models, reporter)?;
    let prices = prices(optional_text(own, "prices")?.or(run.model.prices.as_deref()))?;
    let measured = run.measured(reporter)?;
    let costing = Costing { prices: &prices, settings };
    let bill = bill(&run.model, &measured, &costing).map_err(|fault| Refusal::fault(fault.to_string()))?;
    printed(&json(&run.model.name, &bill, &costing))
}

/// The settings of the command, with its defaults and bounds.
fn settings(own: &Json) -> Result<Settings, Refusal> {
    let gigabyte = if switch(own, "decimalGigabytes")? { Gigabyte::Decimal } else { Gigabyte::Binary };
    let stream_reads: u32 = number(own, "streamReads", 0, 0..=u32::MAX)?;
    let used: u8 = number(own, "usedPercent", 70, 1..=100)?;
    let habits = Habits {
        stream_reads: MicroPerSecond(u64::from(stream_reads) * MICRO),
        change_capture: switch(own, "changeCapture")?,
        backups: number(own, "backups", 0, 0..=u32::MAX)?,
        restores: number(own, "restores", 0, 0..=u32::MAX)?,
        exports: number(own, "exports", 0, 0..=u32::MAX)?,
    };
    Ok(Settings {
        month: Month { hours: number(own, "monthHours", 730, 1..=744)? },
        gigabyte,
        free_tier: switch(own, "freeTier")?,
        used_ppm: u64::from(used) * PPM_PER_PERCENT,
        habits,
    })
}

/// What `keywright model heat --format json` prints.
pub(super) fn heat(context: &ModelContext, request: &Json, reporter: &mut Reporter) -> Outcome {
    if optional(request, "writes").is_some() {
        return printed(&heat::of_writes_json(number(request, "writes", 0, 0..=u64::MAX)?));
    }
    let run = context.runs.of(text(request, "text")?, &context.models, reporter)?;
    let measured = run.measured(reporter)?;
    let keys = heat::of_model(&run.model, &measured.report);
    let silent: Vec<&str> =
        run.model.patterns.iter().filter(|own| own.rate.is_none()).map(|own| own.id.as_str()).collect();
    printed(&heat::json(&run.model.name, &keys, &silent))
}
