//! The report as text: the answer first, then each table and index by stretches of minutes, then the bill.

use std::fmt::Write as _;

use keywright_semantics::capacity::HalfUnits;

use super::report::{Minute, Simulation, What, why};

/// Minutes of one stretch that are shown one by one.
const ROWS_MAX: usize = 12;
const TENTHS_PER_HALF: u64 = 5;
const SECONDS: u64 = 60;

/// The report for a terminal.
pub fn text(simulation: &Simulation) -> String {
    let mut out = String::new();
    let line = |out: &mut String, text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    line(
        &mut out,
        &format!(
            "{}: {} minutes from {}, {} requests",
            simulation.model,
            simulation.throttled.len(),
            simulation.time(0),
            simulation.requests
        ),
    );
    line(&mut out, &answer(simulation));
    for broken in &simulation.broken {
        line(&mut out, &format!("NOT MET  {broken}"));
    }
    for (place, resource) in simulation.resources.iter().enumerate() {
        let minutes = simulation.minutes.get(place).map_or(&[][..], Vec::as_slice);
        if minutes.iter().all(|minute| minute.demanded == [HalfUnits(0); 2]) {
            continue;
        }
        line(&mut out, &format!("\n{}", resource.name()));
        rows(&mut out, simulation, minutes);
        for event in simulation.events.iter().filter(|event| event.resource == *resource) {
            line(&mut out, &format!("  {}  {}", simulation.time(event.minute), event_text(&event.what)));
        }
    }
    bill(&mut out, simulation);
    for (pattern, reason) in &simulation.left_out {
        line(&mut out, &format!("Not run: {pattern}: {reason}"));
    }
    line(
        &mut out,
        "\nAssumptions of ours, which the service does not publish or which this simulation makes:",
    );
    for assumption in &simulation.assumptions {
        line(&mut out, &format!("- {assumption}"));
    }
    out
}

/// The answer in a sentence or two.
pub(super) fn answer(simulation: &Simulation) -> String {
    let stretches = simulation.stretches();
    let Some(first) = stretches.first() else {
        return "It does not throttle.".to_owned();
    };
    let minutes: usize = stretches.iter().map(|own| own.minutes).sum();
    let longest = stretches.iter().map(|own| own.minutes).max().unwrap_or(0);
    let refused: u64 = stretches.iter().map(|own| own.refused).sum();
    let worst = worst(simulation);
    format!(
        "It throttles in {minutes} of {} minutes, first at {}, for up to {longest} minutes at a time: {refused} attempts refused, {} retries, {} requests lost.{worst}",
        simulation.throttled.len(),
        simulation.time(first.first),
        simulation.retries,
        simulation.lost
    )
}

/// The reason that refuses most, and where.
fn worst(simulation: &Simulation) -> String {
    let mut sums: Vec<(u64, String, String)> = Vec::new();
    for (resource, minutes) in simulation.resources.iter().zip(&simulation.minutes) {
        for (reason, refused) in minutes.iter().flat_map(|minute| &minute.refused) {
            match sums.iter_mut().find(|(_, name, own)| *name == resource.name() && own == reason) {
                Some((sum, ..)) => *sum += refused,
                None => sums.push((*refused, resource.name(), reason.clone())),
            }
        }
    }
    let worst = sums.into_iter().max();
    worst.map_or_else(String::new, |(count, name, reason)| format!(" Mostly {reason} on {name} ({count})."))
}

pub(super) fn event_text(what: &What) -> String {
    match what {
        What::Scaled { text } => format!("scaling: {text}"),
        What::Split { from, to } => format!("split: {from} partitions become {to}"),
        What::Whole { partition, why: reason } => {
            format!("partition {partition} is hot and stays whole: {}", why(*reason))
        }
    }
}

/// Units a second with one digit behind the point.
pub(super) fn per_second(units: HalfUnits) -> String {
    let tenths = units.0.saturating_mul(TENTHS_PER_HALF).div_ceil(SECONDS);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The minutes; those without refusals are put together.
fn rows(out: &mut String, simulation: &Simulation, minutes: &[Minute]) {
    let _infallible = writeln!(
        out,
        "  {:<17} {:>4}  {:>17} {:>17} {:>13} {:>10} {:>8}  heaviest partition",
        "from", "min", "asked R/W a s", "passed R/W a s", "limit R/W", "partitions", "refused"
    );
    let mut first = 0;
    let mut shown = 0;
    while first < minutes.len() {
        let is_calm = |minute: &Minute| minute.refusals() == 0;
        let rest = minutes.get(first..).unwrap_or_default();
        let calm = rest.iter().take_while(|minute| is_calm(minute)).count();
        let refusing = rest.iter().take_while(|minute| !is_calm(minute)).count();
        let count = match (calm, refusing) {
            (0, refusing) if shown < ROWS_MAX && refusing > 0 => 1,
            (0, refusing) => refusing.max(1),
            (calm, _) => calm,
        };
        shown = if calm > 0 { 0 } else { shown + 1 };
        row(out, simulation, first, rest.get(..count).unwrap_or_default());
        first += count;
    }
}

/// Minutes one after the other: averages, and the heaviest partition of the heaviest minute.
fn row(out: &mut String, simulation: &Simulation, first: usize, minutes: &[Minute]) {
    let count = u64::try_from(minutes.len()).unwrap_or(1).max(1);
    let average = |of: fn(&Minute) -> [HalfUnits; 2]| {
        let sum = |place: usize| {
            minutes.iter().filter_map(|own| of(own).get(place).copied()).map(|own| own.0).sum::<u64>()
        };
        let each = |place: usize| per_second(HalfUnits(sum(place).div_ceil(count)));
        format!("{}/{}", each(0), each(1))
    };
    let Some(last) = minutes.last() else { return };
    let [read, write] = last.units;
    let refused: u64 = minutes.iter().map(Minute::refusals).sum();
    let reasons: Vec<&str> = {
        let mut all: Vec<&str> =
            minutes.iter().flat_map(|own| own.refused.keys()).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let weight =
        |own: &&Minute| own.heaviest.as_ref().map(|own| own.asked.iter().map(|units| units.0).sum::<u64>());
    let heaviest = minutes.iter().max_by_key(weight).and_then(|own| own.heaviest.as_ref());
    let heaviest = heaviest.map_or_else(String::new, |own| {
        let key = own
            .key
            .as_ref()
            .map_or_else(String::new, |(key, units)| format!(", key {key} {}", per_second(*units)));
        let [read, write] = own.asked.map(per_second);
        format!("no. {} {read}/{write}{key}", own.partition)
    });
    let limit = format!("{read}/{write}");
    let _infallible = writeln!(
        out,
        "  {:<17} {:>4}  {:>17} {:>17} {limit:>13} {:>10} {:>8}  {heaviest}{}{}",
        simulation.time(first),
        minutes.len(),
        average(|own| own.demanded),
        average(|own| own.consumed),
        last.partitions,
        refused,
        if reasons.is_empty() { "" } else { "; " },
        reasons.join(", "),
    );
}

fn bill(out: &mut String, simulation: &Simulation) {
    let _infallible =
        writeln!(out, "\nA month of this traffic, requests and capacity only ({}):", simulation.bill.prices);
    for own in &simulation.bill.tables {
        let others: Vec<String> = own.others.iter().map(|(mode, cost)| format!("{mode} {cost}")).collect();
        let _infallible =
            writeln!(out, "  {}: {} {}; instead {}", own.table, own.mode, own.monthly, others.join(", "));
    }
    let _infallible = writeln!(out, "  Sum: {}", simulation.bill.total());
}
