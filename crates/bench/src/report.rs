//! The report: a table for people, JSON for programs. Ratios compare the first endpoint's rate with another's
//! in the same round; the report shows their median over the rounds.

use keywright_process::failure::Failure;
use keywright_process::output;
use serde_json::{Map, Value, json};

use super::cli::{Format, Plan};
use super::latency::shown;
use super::pace::Pace;
use super::prepare::Load;
use super::tally::Tally;
use super::trend::{self, Trend};
use super::workload::Kind;

/// The results of a run.
pub(super) struct Report {
    settings: Value,
    headline: String,
    pub(super) loads: Vec<(String, Load)>,
    pub(super) parts: Vec<Part>,
}

/// One kind of work on every target; the endpoints come first, in the order of the command line.
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) targets: Vec<Measured>,
}

/// The results of one target, one tally per round.
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

    /// The mean size of a response's body over the rounds so far.
    pub(super) fn answer_bytes(&self) -> u64 {
        let bytes: u64 = self.rounds.iter().map(|round| round.body_bytes).sum();
        bytes.checked_div(self.answered()).unwrap_or(0)
    }

    /// The latencies of all rounds by second, one round after the other.
    fn trend(&self) -> Trend {
        let mut trend = Trend::default();
        for round in &self.rounds {
            trend.append(&round.trend);
        }
        trend
    }

    fn answered(&self) -> u64 {
        self.rounds.iter().map(|round| round.answered).sum()
    }

    /// The first target's rate as a share of this one's.
    fn rate_ratio(&self, first: &Self) -> Option<Ratio> {
        Ratio::of(first, self, Tally::rate)
    }

    /// The first target's p99 as a share of this one's.
    fn p99_ratio(&self, first: &Self) -> Option<Ratio> {
        Ratio::of(first, self, |tally| tally.latency.value_at_quantile(P99))
    }
}

/// A figure of the first target as a share of another's, in thousandths, over the rounds in which the other
/// had one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio {
    least: u64,
    median: u64,
    greatest: u64,
    rounds: usize,
    rounds_all: usize,
}

impl Ratio {
    fn of(first: &Measured, other: &Measured, figure: impl Fn(&Tally) -> u64) -> Option<Self> {
        let rounds = first.rounds.iter().zip(&other.rounds);
        let mut ratios: Vec<u64> = rounds
            .clone()
            .filter_map(|(first, own)| figure(first).saturating_mul(1000).checked_div(figure(own)))
            .collect();
        ratios.sort_unstable();
        let upper = *ratios.get(ratios.len() / 2)?;
        let lower = *ratios.get(ratios.len().saturating_sub(1) / 2)?;
        Some(Self {
            least: *ratios.first()?,
            median: lower.midpoint(upper),
            greatest: *ratios.last()?,
            rounds: ratios.len(),
            rounds_all: rounds.len(),
        })
    }

    fn json(self) -> Value {
        json!({
            "least": decimal(self.least),
            "median": decimal(self.median),
            "greatest": decimal(self.greatest),
            "rounds": self.rounds,
        })
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { least, median, greatest, rounds, rounds_all } = *self;
        write!(f, "{} ({} to {})", decimal(median), decimal(least), decimal(greatest))?;
        if rounds < rounds_all {
            write!(f, ", in {rounds} of {rounds_all} rounds; it answered nothing in the others")?;
        }
        Ok(())
    }
}

/// A sending thread that is busy for at least this percentage of the time limits the rate itself.
const BUSY_PERCENT: u64 = 90;
const P99: f64 = 0.99;
const P999: f64 = 0.999;
/// A generator that sends later than this, and by more than one in so many parts of the latency, is reported.
const LATE_NS_MIN: u64 = 1_000_000;
const LATE_SHARE: u64 = 4;

/// The reported quantiles: names and fractions.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", P99), ("p99.9", P999)];

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

    /// An error for a target that gave no successful response to a kind of work.
    pub(super) fn silent(&self) -> Option<String> {
        let silent = |part: &Part| {
            let target = part.targets.iter().find(|target| target.answered() == 0)?;
            Some(format!("{} gave no successful response to {}", target.name, part.kind.name()))
        };
        self.parts.iter().find_map(silent)
    }

    pub(super) fn print(&self, format: Format) -> Result<(), Failure> {
        match format {
            Format::Table => output::say(&self.table()),
            Format::Json => {
                let text = serde_json::to_string_pretty(&self.json()).map_err(|error| error.to_string())?;
                output::say(&text);
            }
        }
        Ok(())
    }

    /// A plot for each kind of work on each target.
    pub(super) fn trend_svg(&self) -> String {
        let panel = |part: &Part, target: &Measured| {
            (format!("{}, {}: latency by second", part.kind.name(), target.name), target.trend())
        };
        let panels: Vec<(String, Trend)> = self
            .parts
            .iter()
            .flat_map(|part| part.targets.iter().map(move |target| panel(part, target)))
            .filter(|(_, trend)| !trend.is_empty())
            .collect();
        trend::svg(&panels)
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
            "server: CPU time of the server per request. busy: CPU use of the sending threads; near 100% they limit the rate \
             instead of the target, so raise --threads.\nratio: the rate of {} divided by this target's, median of the \
             rounds (least to greatest).",
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
        "{:<24}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>6}  {}",
        kind.name(),
        "per s",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "server",
        "busy",
        "ratio"
    )
}

fn target_lines(target: &Measured, first: &Measured) -> Vec<String> {
    let total = target.total();
    let quantiles =
        QUANTILES.map(|(_, share)| format!("{:>9}", shown(total.latency.value_at_quantile(share)))).concat();
    let ratio = target.rate_ratio(first).map_or_else(String::new, |ratio| ratio.to_string());
    let busy = total.sending.percent();
    let mut lines = vec![format!(
        "  {:<22}{:>10}{quantiles}{:>9}{:>9}{:>6}  {ratio}",
        target.name,
        total.rate(),
        shown(total.latency.max()),
        total.server_ns().map_or_else(|| "-".to_owned(), shown),
        busy.map_or_else(|| "-".to_owned(), |percent| format!("{percent}%")),
    )];
    lines.extend(generator_fault(&total).map(|fault| format!("    {fault}")));
    for (fault, count) in &total.faults {
        lines.push(format!("    {count} × {fault}"));
    }
    if total.unsent > 0 {
        lines.push(format!(
            "    {} requests were due while all connections were busy and were never sent",
            total.unsent
        ));
    }
    if total.unanswered > 0 {
        lines.push(format!("    {} requests had no response when the drain time ended", total.unanswered));
    }
    let trend = target.trend();
    if !trend.is_empty() {
        lines.extend(trend.table());
    }
    if total.unended() > 0 {
        lines.push(
            "    the real latencies are higher: these requests count with the time that they had waited"
                .to_owned(),
        );
    }
    lines
}

/// Says that the figures are the generator's and not the target's.
fn generator_fault(total: &Tally) -> Option<String> {
    if total.sending.percent().is_some_and(|percent| percent >= BUSY_PERCENT) {
        return Some("the sending threads were busy: the target may be faster than this".to_owned());
    }
    let (late, latency) = (total.lateness.value_at_quantile(P999), total.latency.value_at_quantile(P999));
    let matters = late >= LATE_NS_MIN && late.saturating_mul(LATE_SHARE) >= latency;
    matters.then(|| {
        let late = shown(late);
        format!("the generator sent late (p99.9 {late}): the target's latencies may be shorter than these")
    })
}

fn target_json(kind: Kind, target: &Measured, first: &Measured) -> Value {
    let total = target.total();
    let latency: Map<String, Value> = QUANTILES
        .iter()
        .map(|(name, share)| ((*name).to_owned(), json!(total.latency.value_at_quantile(*share))))
        .chain([("max".to_owned(), json!(total.latency.max()))])
        .collect();
    let p99 = |round: &Tally| round.latency.value_at_quantile(P99);
    json!({
        "operation": kind.name(),
        "target": target.name,
        "per_second": total.rate(),
        "per_second_by_round": target.rounds.iter().map(Tally::rate).collect::<Vec<u64>>(),
        "latency_ns": latency,
        "latency_is_at_least": total.unended() > 0,
        "p99_ns_by_round": target.rounds.iter().map(p99).collect::<Vec<u64>>(),
        "first_p99_as_share_of_this": target.p99_ratio(first).map(Ratio::json),
        "server_ns_per_request": total.server_ns(),
        "latencies": total.latency.len(),
        "generator_late_p999_ns": total.lateness.value_at_quantile(P999),
        "generator_fault": generator_fault(&total),
        "trend": target.trend().json(),
        "answered": total.answered,
        "answer_bytes": target.answer_bytes(),
        "faults": total.faults,
        "fault_count": total.fault_count(),
        "unsent": total.unsent,
        "unanswered": total.unanswered,
        "sending_threads_busy_percent": total.sending.percent(),
        "first_as_share_of_this": target.rate_ratio(first).map(Ratio::json),
    })
}

/// Thousandths as a decimal number.
fn decimal(thousandths: u64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(name: &str, answered: &[u64]) -> Measured {
        let rounds = answered.iter().map(|answered| {
            let mut tally = Tally::new();
            tally.answered = *answered;
            tally.measured = Duration::from_secs(1);
            tally
        });
        Measured { name: name.to_owned(), rounds: rounds.collect() }
    }

    fn ratio(first: &[u64], other: &[u64]) -> Option<String> {
        measured("other", other).rate_ratio(&measured("first", first)).map(|ratio| ratio.to_string())
    }

    #[test]
    fn ratios_compare_within_a_round_and_take_the_median() {
        assert_eq!(ratio(&[70, 700, 90], &[100, 1000, 100]).as_deref(), Some("0.700 (0.700 to 0.900)"));
        assert_eq!(ratio(&[70, 90], &[100, 100]).as_deref(), Some("0.800 (0.700 to 0.900)"));
        assert_eq!(ratio(&[5, 6, 7], &[5, 6, 7]).as_deref(), Some("1.000 (1.000 to 1.000)"));
    }

    #[test]
    fn rounds_in_which_a_target_answered_nothing_are_told() {
        assert_eq!(ratio(&[1, 1, 1], &[0, 0, 0]), None);
        let some = ratio(&[1, 1, 1], &[1, 0, 0]).expect("a round is left");
        assert_eq!(some, "1.000 (1.000 to 1.000), in 1 of 3 rounds; it answered nothing in the others");
    }

    #[test]
    fn a_target_without_any_successful_response_is_named() {
        let targets = vec![measured("ours", &[1, 1]), measured("theirs", &[0, 0])];
        let part = Part { kind: Kind::GetItem, targets };
        let report =
            Report { settings: Value::Null, headline: String::new(), loads: Vec::new(), parts: vec![part] };
        assert_eq!(report.silent().as_deref(), Some("theirs gave no successful response to get-item"));
    }

    #[test]
    fn times_are_shown_with_about_three_digits() {
        for (nanoseconds, text) in [(950, "950 ns"), (12_345, "12 µs"), (12_345_678, "12 ms")] {
            assert_eq!(shown(nanoseconds), text);
        }
    }
}
