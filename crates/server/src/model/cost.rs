//! `keywright model cost`: what a model costs each month, from measured capacity × rate × a dated price file.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_workbench::cost::{Bill, Costing, Gigabyte, Month, Settings, Target, bill};
use keywright_workbench::model::HalfUnits;
use keywright_workbench::price::{self, Prices, TODAY, offer};
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
}

/// Makes a price file from AWS's published offer file of a region.
#[derive(Debug, Args)]
pub(crate) struct PricesArguments {
    /// The downloaded index.json
    offer: PathBuf,
}

pub(crate) fn run(arguments: &CostArguments) -> Result<(), String> {
    let model = files::read_model(&arguments.model)?;
    let prices = prices(arguments.prices.as_deref().or(model.prices.as_deref()))?;
    let gigabyte = if arguments.decimal_gigabytes { Gigabyte::Decimal } else { Gigabyte::Binary };
    let month = Month { hours: arguments.month_hours };
    let settings = Settings { month, gigabyte, free_tier: arguments.free_tier };
    let folder = arguments.model.parent().unwrap_or(Path::new("")).to_owned();
    let read_file = |name: &str| files::read(&folder.join(name));
    let report =
        execute(&model, &read_file, &mut |_| {}).map_err(|faults| shown(&arguments.model, &faults))?;
    let costing = Costing { prices: &prices, settings };
    let bill = bill(&model, &report, &costing).map_err(|fault| fault.to_string())?;
    banner::say(text(&bill, &prices).trim_end());
    Ok(())
}

pub(crate) fn run_prices(arguments: &PricesArguments) -> Result<(), String> {
    let text = files::read(&arguments.offer)?;
    let prices = offer::parse(&text).map_err(|fault| fault.to_string())?;
    let date = prices.name.rsplit('@').next().unwrap_or_default().to_owned();
    let rendered =
        price::render(&prices, "the offer's free first tiers", &date).map_err(|fault| fault.to_string())?;
    banner::say(rendered.trim_end());
    Ok(())
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

fn text(bill: &Bill, prices: &Prices) -> String {
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
        lines.push(format!("{feature:<12} {table:<28} {:>10} {cost:>14}", ""));
    }
    lines.push(format!("{:<52} {:>14}", "total", bill.total()));
    for (entity, writes) in &bill.amplification {
        if *writes > 1 {
            lines.push(format!(
                "A write of {entity} is {writes} writes: one to its table, {} to indexes.",
                writes - 1
            ));
        }
    }
    for (table, modes) in &bill.modes {
        lines.push(format!("\n{table}, from the cheapest (provisioned units 70 % used):"));
        lines.extend(
            modes
                .iter()
                .map(|(class, mode, cost)| format!("  {:<44} {cost:>14}", format!("{class}, {mode}"))),
        );
    }
    for pattern in &bill.without_rate {
        lines.push(format!(
            "{pattern} has no rate and is not in the total: write `rate: 5` for five times a second."
        ));
    }
    lines.join("\n")
}
