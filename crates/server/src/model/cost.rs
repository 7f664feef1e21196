//! `keywright model cost`: what a model costs each month, from measured capacity × rate × a dated price file.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_workbench::cost::{
    Bill, BreakEvens, Costing, Gigabyte, Habits, Month, Settings, Target, Written, bill,
};
use keywright_workbench::model::{HalfUnits, MicroPerSecond};
use keywright_workbench::price::{self, Prices, TODAY};
use keywright_workbench::run::{run as execute, units};

use super::files;
use crate::banner;

/// Prices a model: each pattern on each table and index, storage, features, and the billing modes from the cheapest.
#[derive(Debug, Args)]
pub(crate) struct CostArguments {
    /// The model file
    model: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: what the model names, else today's]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Hours of a month
    #[arg(long, value_name = "HOURS", default_value_t = 730, value_parser = clap::value_parser!(u32).range(1..=744))]
    month_hours: u32,
    /// Count a gigabyte as 10^9 bytes instead of 2^30
    #[arg(long)]
    decimal_gigabytes: bool,
    /// Take the free tier off
    #[arg(long)]
    free_tier: bool,
    /// Percent of provisioned units used on average, where the model does not say
    #[arg(long, value_name = "PERCENT", default_value_t = 70, value_parser = clap::value_parser!(u8).range(1..=100))]
    used: u8,
    /// GetRecords calls a second on each stream by readers other than function triggers, which are free
    #[arg(long, value_name = "CALLS", default_value_t = 0)]
    stream_reads: u32,
    /// Every change is also sent to a Kinesis stream
    #[arg(long)]
    change_capture: bool,
    /// Full backups kept of each table
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    backups: u32,
    /// Restores of each table a month
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    restores: u32,
    /// Full exports of each table a month
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    exports: u32,
}

/// Lists prices with their sources and dates, or makes a price file from AWS's published offer file of a region.
#[derive(Debug, Args)]
pub(crate) struct PricesArguments {
    /// A downloaded index.json to make a price file from
    offer: Option<PathBuf>,
    /// The price file to list: a built-in one by its name, or a path
    #[arg(long, value_name = "PRICES", conflicts_with = "offer")]
    prices: Option<String>,
}

const PPM_PER_PERCENT: u64 = 10_000;
const MICRO: u64 = 1_000_000;

pub(crate) fn run(arguments: &CostArguments) -> Result<(), String> {
    let model = files::read_model(&arguments.model)?;
    let prices = prices(arguments.prices.as_deref().or(model.prices.as_deref()))?;
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
    let folder = arguments.model.parent().unwrap_or(Path::new("")).to_owned();
    let read_file = |name: &str| files::read(&folder.join(name));
    let report =
        execute(&model, &read_file, &mut |_| {}).map_err(|faults| shown(&arguments.model, &faults))?;
    let costing = Costing { prices: &prices, settings };
    let bill = bill(&model, &report, &costing).map_err(|fault| fault.to_string())?;
    banner::say(text(&bill, &prices, arguments.used).trim_end());
    Ok(())
}

pub(crate) fn run_prices(arguments: &PricesArguments) -> Result<(), String> {
    let Some(offer) = &arguments.offer else {
        banner::say(&listed(&prices(arguments.prices.as_deref())?));
        return Ok(());
    };
    let text = files::read(offer)?;
    let prices = price::offer::parse(&text).map_err(|fault| fault.to_string())?;
    let date = prices.name.rsplit('@').next().unwrap_or_default().to_owned();
    let rendered =
        price::render(&prices, "the offer's free first tiers", &date).map_err(|fault| fault.to_string())?;
    banner::say(rendered.trim_end());
    Ok(())
}

/// Every price with where and when it was read.
fn listed(prices: &Prices) -> String {
    let mut lines =
        vec![format!("{}; built in are {}.", prices.name, Prices::names().join(", ")), String::new()];
    for (item, price) in &prices.items {
        let doubt = if price.verified { "" } else { " (not confirmed by a primary source)" };
        let name = item.name();
        lines.push(format!("{name:<34} {:>14}  {}, {}{doubt}", price.each, price.date, price.source));
    }
    lines.join("\n")
}

/// A built-in price file by name, or the file of that path.
pub(super) fn prices(name: Option<&str>) -> Result<Prices, String> {
    let name = name.unwrap_or(TODAY);
    if Path::new(name).is_file() {
        let text = files::read(Path::new(name))?;
        return price::parse(&text).map_err(|fault| fault.to_string());
    }
    Prices::built_in(name).map_err(|fault| fault.to_string())
}

/// Faults of a model, one a line.
pub(super) fn shown(path: &Path, faults: &[keywright_workbench::model::Fault]) -> String {
    let name = path.display().to_string();
    faults.iter().map(|fault| fault.in_file(&name)).collect::<Vec<_>>().join("\n")
}

fn path_of(target: &Target) -> String {
    target.index.as_ref().map_or_else(|| target.table.clone(), |index| format!("{}.{index}", target.table))
}

fn text(bill: &Bill, prices: &Prices, used: u8) -> String {
    let mut lines = vec![format!("Monthly cost in US dollars at {}.", prices.name), String::new()];
    let some = |HalfUnits(half): HalfUnits, letter: &str| {
        if half == 0 { String::new() } else { format!("{} {letter}", units(HalfUnits(half))) }
    };
    for line in &bill.lines {
        let (read, write) = (some(line.read, "R"), some(line.write, "W"));
        let both = [read, write].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
        let cost = line.monthly.total();
        lines.push(format!("{:<12} {:<28} {both:>10} {cost:>14}", line.pattern, path_of(&line.target)));
    }
    for (target, bytes, cost) in &bill.storage {
        lines.push(format!("{:<12} {:<28} {:>8}MB {cost:>14}", "storage", path_of(target), bytes >> 20));
    }
    for (table, feature, cost) in &bill.features {
        lines.push(format!("{feature:<18} {table:<33} {cost:>14}"));
    }
    lines.push(format!("{:<52} {:>14}", "total", bill.total()));
    lines.extend(bill.written.iter().filter_map(written));
    for (entity, writes) in &bill.amplification {
        if *writes > 1 {
            lines.push(format!(
                "A write of {entity} is {writes} writes: one to its table, {} to indexes.",
                writes - 1
            ));
        }
    }
    for (table, modes) in &bill.modes {
        lines.push(format!("\n{table}, from the cheapest (provisioned units {used} % used):"));
        lines.extend(
            modes
                .iter()
                .map(|(class, mode, cost)| format!("  {:<44} {cost:>14}", format!("{class}, {mode}"))),
        );
        lines.extend(bill.break_evens.iter().filter(|(name, _)| name == table).map(|(_, own)| even(own)));
    }
    for pattern in &bill.without_rate {
        lines.push(format!(
            "{pattern} has no rate and is not in the total: write `rate: 5` for five times a second."
        ));
    }
    lines.join("\n")
}

fn written(own: &Written) -> Option<String> {
    let percent = own.percent().filter(|_| own.indexes > 0)?;
    let (whole, part) = (percent / 100, percent % 100);
    Some(format!("Each write unit of {} becomes {whole}.{part:02} with its indexes, as metered.", own.table))
}

fn even(own: &BreakEvens) -> String {
    let percent = |ppm: u64| format!("{}.{} %", ppm / PPM_PER_PERCENT, ppm % PPM_PER_PERCENT / 1000);
    format!(
        "  On-demand costs as much as units of which {} are used (reserved for 1 year {}, 3 years {}); \
         Standard-IA pays from {} GB.",
        percent(own.provisioned_ppm),
        percent(own.one_year_ppm),
        percent(own.three_years_ppm),
        own.infrequent_gigabytes
    )
}
