//! A bill as text for a terminal.

use super::workload::RESERVED_BLOCK_UNITS;
use super::{Bill, BreakEvens, Capacity, Costing, Line, Provision, Target, Written, class_and_mode};
use crate::price::{Item, Money};
use crate::run::units;
use keywright_model::HalfUnits;
use keywright_semantics::share::{ALL_PPM, PPM_PER_PERCENT};

/// A bill as text.
pub fn text(bill: &Bill, costing: &Costing<'_>) -> String {
    let mut lines = vec![format!("Monthly cost in US dollars at {}.", costing.prices.name), String::new()];
    lines.extend(bill.lines.iter().map(line));
    lines.extend(bill.capacity.iter().map(unused));
    for own in &bill.storage {
        let size = megabytes(own.bytes);
        lines.push(format!("{:<12} {:<28} {size:>10} {:>14}", "storage", own.target, own.monthly));
    }
    for own in &bill.features {
        lines.push(format!("{:<26} {:<25} {:>14}", own.name, own.table, own.monthly));
    }
    lines.push(format!("{:<52} {:>14}", "total", bill.total()));
    lines.extend(of_total(bill).into_iter().map(|(what, sum)| format!("  {what:<50} {sum:>14}")));
    lines.extend(open(bill));
    lines.extend(bill.capacity.iter().flat_map(short));
    lines.extend(amplified(bill));
    for (table, modes) in &bill.modes {
        lines.push(format!("\n{table}, from the cheapest ({}):", headroom(costing)));
        lines.extend(
            modes
                .iter()
                .map(|(class, mode, cost)| format!("  {:<44} {cost:>14}", class_and_mode(*class, *mode))),
        );
        lines.extend(bill.break_evens.iter().filter(|(name, _)| name == table).map(|(_, own)| even(own)));
    }
    lines.push(format!("\nPrices used, of {}:", costing.prices.name));
    lines.extend(bill.prices.iter().filter_map(|item| price(costing, *item)));
    lines.join("\n")
}

/// The parts of the total: each table and index, and each pattern with several lines.
pub(super) fn of_total(bill: &Bill) -> Vec<(String, Money)> {
    let targets = bill.targets().into_iter().map(|(target, sum)| (format!("of it {target}"), sum));
    let patterns =
        bill.patterns().into_iter().map(|(pattern, sum)| (format!("of it {pattern}, in all"), sum));
    targets.chain(patterns).collect()
}

/// The load that provisioned units are assumed to hold.
pub(super) fn headroom(costing: &Costing<'_>) -> String {
    let used = costing.settings.used_ppm / PPM_PER_PERCENT;
    format!(
        "fixed units hold the peak, scaled ones follow the average, {used} % of them used; reserved ones are bought in blocks of {RESERVED_BLOCK_UNITS}, which all tables of an account and region share"
    )
}

/// One sentence for each thing that is not in the total, or that the model leaves out.
pub fn open(bill: &Bill) -> Vec<String> {
    let rates = bill.without_rate.iter().map(|pattern| {
        format!("{pattern} has no rate and is not in the total: write `rate: 5` for five times a second.")
    });
    let transfer = bill.replicated.iter().map(|table| {
        format!("{table} is in several regions: transfer between regions is charged per gigabyte and is not included.")
    });
    rates.chain(bill.notes.iter().map(|note| format!("{note}."))).chain(transfer).collect()
}

/// The consumption of one execution.
pub fn taken(line: &Line) -> String {
    let some = |HalfUnits(half): HalfUnits, letter: &str| {
        (half > 0).then(|| format!("{} {letter}", units(HalfUnits(half))))
    };
    let both: Vec<String> = some(line.read, "R").into_iter().chain(some(line.write, "W")).collect();
    let text = both.join(" ");
    if line.share_ppm < ALL_PPM { format!("{text} × {}", percent(line.share_ppm)) } else { text }
}

fn line(line: &Line) -> String {
    let path = line.target.to_string();
    format!("{:<12} {path:<28} {:>10} {:>14}", line.pattern, taken(line), line.monthly.total())
}

/// The unused part of the provisioned units.
fn unused(own: &Capacity) -> String {
    let path = own.target.to_string();
    let text = format!("{} R {} W", micro_units(own.read.provided), micro_units(own.write.provided));
    format!("{:<12} {path:<22} {text:>16} {:>14}", "unused of", own.unused.total())
}

/// The units needed if too few are provisioned.
pub(super) fn short(own: &Capacity) -> Vec<String> {
    let say = |provision: &Provision, what: &str| {
        provision.is_short().then(|| {
            format!(
                "{} has {} {what} units a second, and its patterns take {} on average and {} at the peak: what is above is throttled.",
                own.target,
                provision.most_units(),
                provision.average_units(),
                provision.peak_units()
            )
        })
    };
    say(&own.read, "read").into_iter().chain(say(&own.write, "write")).collect()
}

/// Sentences on write amplification by indexes.
pub(super) fn amplified(bill: &Bill) -> Vec<String> {
    let entity = |(entity, writes): &(String, u64)| {
        let more = writes - 1;
        let indexes = if more == 1 { "an index" } else { "indexes" };
        format!("A write of {entity} is {writes} writes: one to its table, {more} to {indexes}.")
    };
    let entities = bill.amplification.iter().filter(|(_, writes)| *writes > 1).map(entity);
    bill.written.iter().filter_map(written).chain(entities).collect()
}

fn written(own: &Written) -> Option<String> {
    let percent = own.percent().filter(|_| own.indexes > 0)?;
    let (whole, part) = (percent / 100, percent % 100);
    Some(format!("Each write unit of {} becomes {whole}.{part:02} with its indexes, as metered.", own.table))
}

/// A sentence on the break-even points.
pub(super) fn even(own: &BreakEvens) -> String {
    format!(
        "  Provisioned capacity is cheaper once more than {} of it is used (reserved for 1 year {}, for 3 years {}); \
         Standard-IA is cheaper from {} GB on.",
        percent(own.provisioned_ppm),
        percent(own.one_year_ppm),
        percent(own.three_years_ppm),
        own.infrequent_gigabytes
    )
}

/// A price with its origin, marked if it is unverified.
fn price(costing: &Costing<'_>, item: Item) -> Option<String> {
    let own = costing.prices.items.get(&item)?;
    let doubt = if own.verified { "" } else { " (not confirmed by a primary source)" };
    Some(format!("  {:<30} {:>14}  {}, {}{doubt}", item.name(), own.each.exact(), own.date, own.source))
}

/// A share as a percentage with one decimal, rounded.
pub(super) fn percent(ppm: u64) -> String {
    let tenths = (ppm + 500) / 1000;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Bytes in megabytes, or in bytes if less than one.
fn megabytes(bytes: u128) -> String {
    if bytes < 1 << 20 { format!("{bytes} B") } else { format!("{} MB", bytes >> 20) }
}

/// Units with two decimals, rounded up.
pub(super) fn micro_units(micro_halves: u128) -> String {
    let hundredths = micro_halves.div_ceil(20_000);
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.index {
            Some(index) => f.pad(&format!("{}.{index}", self.table)),
            None => f.pad(&self.table),
        }
    }
}
