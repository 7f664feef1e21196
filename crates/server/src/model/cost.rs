//! `keywright model cost`: the monthly cost of a model, from metered capacity, rates and a dated price file.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_model::MicroPerSecond;
use keywright_model::data;
use keywright_semantics::share::{MICRO, PPM_PER_PERCENT};
use keywright_workbench::cost::{Costing, Gigabyte, Habits, Month, Settings, bill, json, markdown, text};
use keywright_workbench::price::{self, Prices, TODAY};
use keywright_workbench::run::{Measured, measure};

use super::files::{self, Source};
use super::format::{Format, one_of};
use crate::client::progress::during;
use crate::process::failure::Failure;
use crate::process::output;

/// Price a model
///
/// Prices each pattern on each table and index, storage, features, and the billing modes from the cheapest.
#[derive(Debug, Args)]
pub(crate) struct CostArguments {
    /// The model file
    model: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: the model's, else the
    /// newest]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Hours per month
    #[arg(long, value_name = "HOURS", default_value_t = 730, value_parser = clap::value_parser!(u32).range(1..=744))]
    month_hours: u32,
    /// Count a gigabyte as 10^9 bytes instead of 2^30
    #[arg(long)]
    decimal_gigabytes: bool,
    /// Subtract the free tier
    #[arg(long)]
    free_tier: bool,
    /// Average utilisation of provisioned capacity in percent, if the model does not give it
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u8).range(1..=100))]
    used: u8,
    /// GetRecords calls per second on each stream, without those of Lambda triggers, which are free
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    stream_reads: u32,
    /// Also send every change to a Kinesis stream
    #[arg(long)]
    change_capture: bool,
    /// Full backups kept of each table
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    backups: u32,
    /// Restores of each table per month
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    restores: u32,
    /// Full exports of each table per month
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    exports: u32,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json, Format::Markdown]))]
    format: Format,
}

/// List prices with their sources, or make a price file
///
/// A price file is made from AWS's published offer file of a region.
#[derive(Debug, Args)]
pub(crate) struct PricesArguments {
    /// Create a price file from this downloaded index.json
    offer: Option<PathBuf>,
    /// The price file to list: the name of a built-in one, or a path
    #[arg(long, value_name = "PRICES", conflicts_with = "offer")]
    prices: Option<String>,
}

pub(crate) fn run(arguments: &CostArguments) -> Result<(), Failure> {
    let source = Source::read(&arguments.model)?;
    let gigabyte = if arguments.decimal_gigabytes { Gigabyte::Decimal } else { Gigabyte::Binary };
    let month = Month { hours: arguments.month_hours };
    let habits = Habits {
        stream_reads: MicroPerSecond(u64::from(arguments.stream_reads) * MICRO),
        change_capture: arguments.change_capture,
        backups: arguments.backups,
        restores: arguments.restores,
        exports: arguments.exports,
    };
    let used_ppm = u64::from(arguments.used) * PPM_PER_PERCENT;
    let settings = Settings { month, gigabyte, free_tier: arguments.free_tier, used_ppm, habits };
    let prices = prices_of(&source, arguments.prices.as_deref())?;
    let printed = priced(&source, &Costing { prices: &prices, settings }, arguments.format)?;
    output::say(printed.trim_end());
    Ok(())
}

/// The prices of this name; without one, the model's. A model of which no other file is read has built-in
/// prices only.
pub(crate) fn prices_of(source: &Source, name: Option<&str>) -> Result<Prices, Failure> {
    let name = name.or(source.model.prices.as_deref());
    if source.is_confined() {
        return Prices::built_in(name.unwrap_or(TODAY)).map_err(|fault| Failure::new(fault.to_string()));
    }
    prices(name)
}

/// A model's bill.
pub(crate) fn priced(source: &Source, costing: &Costing<'_>, format: Format) -> Result<String, Failure> {
    let bill = bill(&source.model, &measured(source)?, costing).map_err(|fault| fault.to_string())?;
    Ok(match format {
        Format::Json => json(&source.model.name, &bill, costing),
        Format::Markdown => markdown(&source.model.name, &bill, costing),
        Format::Text | Format::Junit => text(&bill, costing),
    })
}

/// A model's workload, metered on its data.
pub(super) fn measured(source: &Source) -> Result<Measured, Failure> {
    let read_file = |name: &str| source.read_file(name);
    let run = || data::load(&source.model, &read_file).and_then(|samples| measure(&source.model, &samples));
    during("metering the workload", run).map_err(|faults| Failure::new(source.faults(&faults)))
}

pub(crate) fn run_prices(arguments: &PricesArguments) -> Result<(), Failure> {
    let Some(offer) = &arguments.offer else {
        output::say(&listed(&prices(arguments.prices.as_deref())?));
        return Ok(());
    };
    let text = files::read(offer)?;
    let prices = price::offer::parse(&text).map_err(|fault| fault.to_string())?;
    let date = prices.name.rsplit('@').next().unwrap_or_default().to_owned();
    let rendered =
        price::render(&prices, "the offer's free first tiers", &date).map_err(|fault| fault.to_string())?;
    output::say(rendered.trim_end());
    Ok(())
}

/// Every price with its source and date.
fn listed(prices: &Prices) -> String {
    let mut lines = vec![
        format!("{}; built-in price files: {}.", prices.name, Prices::names().join(", ")),
        String::new(),
    ];
    for (item, price) in &prices.items {
        let doubt = if price.verified { "" } else { " (not confirmed by a primary source)" };
        let name = item.name();
        let each = price.each.exact();
        lines.push(format!("{name:<34} {each:>14}  {}, {}{doubt}", price.date, price.source));
    }
    lines.join("\n")
}

/// The built-in price file of this name, or the file at this path.
pub(super) fn prices(name: Option<&str>) -> Result<Prices, Failure> {
    let name = name.unwrap_or(TODAY);
    if Path::new(name).is_file() {
        let text = files::read(Path::new(name))?;
        return price::parse(&text).map_err(|fault| Failure::new(fault.to_string()));
    }
    Prices::built_in(name).map_err(|fault| Failure::new(fault.to_string()))
}
