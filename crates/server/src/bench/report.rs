//! The report: a table for people, JSON for programs. Ratios are medians over the rounds, each against the first endpoint's
//! rate in the same round.

use serde_json::{Map, Value, json};

use super::cli::{Format, Plan};
use super::pace::Pace;
use super::prepare::Load;
use super::tally::Tally;
use super::workload::Kind;
use crate::banner;

/// Everything a run found.
pub(super) struct Report {
    settings: Value,
    headline: String,
    pub(super) loads: Vec<(String, Load)>,
    pub(super) parts: Vec<Part>,
}

/// One kind of work on every target; the endpoints first, in the order of the command line.
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) targets: Vec<Measured>,
}

/// What one target did in each round.
pub(super) struct Measured {
    name: String,
    pub(super) rounds: Vec<Tally>,
}

impl Measured {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), rounds: Vec::new() }
    }

    fn total(&self) -> Tally {
        let mut total = Tally::new();
        for round in &self.rounds {
            total.add(round);
        }
        total
    }

    /// The first target's rate in thousandths of this one's: least, median, greatest of the rounds.
    fn ratio_of(&self, first: &Self) -> Option<[u64; 3]> {
        let mut ratios: Vec<u64> = first
            .rounds
            .iter()
            .zip(&self.rounds)
            .filter_map(|(first, own)| first.rate().saturating_mul(1000).checked_div(own.rate()))
            .collect();
        ratios.sort_unstable();
        Some([*ratios.first()?, *ratios.get(ratios.len() / 2)?, *ratios.last()?])
    }
}

/// The shares of requests whose latency is told: names and percentages.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

impl Report {
    pub(super) fn new(plan: &Plan) -> Self {
        let pace = match plan.pace {
            Pace::Closed => "closed loop".to_owned(),
            Pace::Open { per_second } => format!("open loop, {per_second} requests a second"),
        };
        let spread = format!("{:?}", plan.spread).to_lowercase();
        let headline = format!(
            "{} items of {} bytes, {spread} keys, {} connections, {} sending threads, {pace}, {} rounds of {} ms",
            plan.data.items,
            plan.data.item_bytes,
            plan.connections,
            plan.threads,
            plan.rounds,
            plan.measured.as_millis()
        );
        let settings = json!({
            "items": plan.data.items,
            "item_bytes": plan.data.item_bytes,
            "keys": spread,
            "connections": plan.connections,
            "threads": plan.threads,
            "pace": pace,
            "rounds": plan.rounds,
            "round_ms": u64::try_from(plan.measured.as_millis()).unwrap_or(u64::MAX),
            "consistent": plan.data.consistent,
            "seed": plan.seed,
        });
        Self { settings, headline, loads: Vec::new(), parts: Vec::new() }
    }

    pub(super) fn print(&self, format: Format) -> Result<(), String> {
        match format {
            Format::Table => banner::say(&self.table()),
            Format::Json => {
                let text = serde_json::to_string_pretty(&self.json()).map_err(|error| error.to_string())?;
                banner::say(&text);
            }
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut lines = vec![self.headline.clone()];
        for (name, load) in &self.loads {
            let rate = load.items * 1000 / load.millis.max(1);
            lines.push(format!("{name}: loaded {} items in {} ms, {rate}/s", load.items, load.millis));
        }
        for part in &self.parts {
            lines.push(String::new());
            lines.push(heading(part.kind));
            let Some(first) = part.targets.first() else { continue };
            for target in &part.targets {
                lines.extend(target_lines(target, first));
            }
        }
        lines.push(String::new());
        lines.push(format!(
            "server: processor time of the server for one request.\nratio: the rate of {} as a share of this target's, median of the rounds (least to greatest).",
            self.parts
                .first()
                .and_then(|part| part.targets.first())
                .map_or("the first", |target| target.name.as_str())
        ));
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let loads: Vec<Value> = self
            .loads
            .iter()
            .map(|(name, load)| {
                json!({"target": name, "items": load.items, "ms": load.millis, "items_per_10_s": load.slices})
            })
            .collect();
        let mut results = Vec::new();
        for part in &self.parts {
            let Some(first) = part.targets.first() else { continue };
            results.extend(part.targets.iter().map(|target| target_json(part.kind, target, first)));
        }
        json!({"settings": self.settings, "loads": loads, "results": results})
    }
}

fn heading(kind: Kind) -> String {
    format!(
        "{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}  {}",
        kind.name(),
        "per s",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "server",
        "ratio"
    )
}

fn target_lines(target: &Measured, first: &Measured) -> Vec<String> {
    let total = target.total();
    let quantiles =
        QUANTILES.map(|(_, share)| format!("{:>9}", shown(total.latency.value_at_quantile(share)))).concat();
    let ratio = target.ratio_of(first).map_or_else(String::new, |[least, median, most]| {
        format!("{} ({} to {})", decimal(median), decimal(least), decimal(most))
    });
    let mut lines = vec![format!(
        "  {:<22}{:>10}{quantiles}{:>9}{:>9}  {ratio}",
        target.name,
        total.rate(),
        shown(total.latency.max()),
        total.server_ns().map_or_else(|| "-".to_owned(), shown)
    )];
    for (fault, count) in &total.faults {
        lines.push(format!("    {count} × {fault}"));
    }
    if total.unsent > 0 {
        lines.push(format!(
            "    {} requests were due while all connections were busy and were never sent",
            total.unsent
        ));
    }
    lines
}

fn target_json(kind: Kind, target: &Measured, first: &Measured) -> Value {
    let total = target.total();
    let latency: Map<String, Value> = QUANTILES
        .iter()
        .map(|(name, share)| ((*name).to_owned(), json!(total.latency.value_at_quantile(*share))))
        .chain([("max".to_owned(), json!(total.latency.max()))])
        .collect();
    let ratio = target.ratio_of(first).map(|[least, median, most]| {
        json!({"least": decimal(least), "median": decimal(median), "greatest": decimal(most)})
    });
    json!({
        "operation": kind.name(),
        "target": target.name,
        "per_second": total.rate(),
        "per_second_by_round": target.rounds.iter().map(Tally::rate).collect::<Vec<u64>>(),
        "latency_ns": latency,
        "server_ns_per_request": total.server_ns(),
        "answered": total.answered,
        "answer_bytes": total.mean_body_bytes(),
        "faults": total.faults,
        "fault_count": total.fault_count(),
        "unsent": total.unsent,
        "first_as_share_of_this": ratio,
    })
}

/// Thousandths as a decimal number.
fn decimal(thousandths: u64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

/// Nanoseconds in a unit that keeps about three digits.
fn shown(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{} µs", nanoseconds / 1000),
        _ => format!("{} ms", nanoseconds / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(name: &str, answered: [u64; 3]) -> Measured {
        let rounds = answered.map(|answered| {
            let mut tally = Tally::new();
            tally.answered = answered;
            tally.measured = Duration::from_secs(1);
            tally
        });
        Measured { name: name.to_owned(), rounds: rounds.to_vec() }
    }

    #[test]
    fn ratios_compare_within_a_round_and_take_the_median() {
        let ours = measured("ours", [70, 700, 90]);
        let theirs = measured("theirs", [100, 1000, 100]);
        assert_eq!(theirs.ratio_of(&ours), Some([700, 700, 900]));
        assert_eq!(ours.ratio_of(&ours), Some([1000, 1000, 1000]));
    }

    #[test]
    fn a_target_that_answered_nothing_has_no_ratio() {
        assert_eq!(measured("dead", [0, 0, 0]).ratio_of(&measured("ours", [1, 1, 1])), None);
    }

    #[test]
    fn times_are_shown_with_about_three_digits() {
        for (nanoseconds, text) in [(950, "950 ns"), (12_345, "12 µs"), (12_345_678, "12 ms")] {
            assert_eq!(shown(nanoseconds), text);
        }
    }
}
