//! What the attacks print: the list, the table of figures, the same as JSON.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::conduct::{Attack, Outcome};
use super::quiet::Latency;

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

pub(crate) fn list(attacks: &[&Attack]) -> String {
    let lines: Vec<String> = attacks
        .iter()
        .map(|attack| format!("{:<32}{}\n{:32}{}", attack.name, attack.what, "", attack.why))
        .collect();
    lines.join("\n")
}

pub(crate) fn heading(binary: &Path, time: Duration, seed: u64) -> String {
    format!(
        "{}, {} s each, seed {seed}\n{:<34}{:<42}{:<8}{:>8}{:>9}{:>11}{:>10}  after",
        binary.display(),
        time.as_secs(),
        "attack",
        "what it does",
        "verdict",
        "p99 ms",
        "longest",
        "new client",
        "peak MiB"
    )
}

/// One line of figures; below it the faults and what was answered.
pub(crate) fn row(outcome: &Outcome) -> String {
    let attack = outcome.attack;
    let verdict = if outcome.faults.is_empty() { "passed" } else { "FAILED" };
    let after = match (outcome.recovered, outcome.rss_after_mib) {
        (Some(took), Some(rss)) => format!("{} s, {rss} MiB", seconds(took)),
        (None, Some(rss)) => format!("not as before, {rss} MiB"),
        (_, None) => "dead".to_owned(),
    };
    let mut text = format!(
        "{:<34}{:<42}{verdict:<8}{:>8}{:>9}{:>11}{:>10}  {after}",
        attack.name,
        attack.what,
        milliseconds(outcome.during.p99),
        milliseconds(outcome.during.longest),
        milliseconds(outcome.new_client),
        outcome.most.memory.peak_mib
    );
    if !outcome.answers.is_empty() {
        text.push_str("\n    answers: ");
        text.push_str(&outcome.answers);
    }
    for fault in &outcome.faults {
        text.push_str("\n    - ");
        text.push_str(fault);
    }
    text
}

pub(crate) fn summary(outcomes: &[Outcome]) -> Result<String, String> {
    let failed = outcomes.iter().filter(|outcome| !outcome.faults.is_empty()).count();
    let text = format!("attack: {} attacks, {failed} failed", outcomes.len());
    if failed == 0 { Ok(text) } else { Err(text) }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}

fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}

pub(crate) fn json(outcomes: &[Outcome], seed: u64) -> Value {
    let rows: Vec<Value> = outcomes.iter().map(figures).collect();
    json!({ "seed": seed, "attacks": rows })
}

fn figures(outcome: &Outcome) -> Value {
    let microseconds = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let latency = |latency: Latency| {
        json!({
            "p50_us": microseconds(latency.p50),
            "p99_us": microseconds(latency.p99),
            "longest_us": microseconds(latency.longest),
            "requests": latency.requests,
            "errors": latency.errors,
        })
    };
    json!({
        "name": outcome.attack.name,
        "what": outcome.attack.what,
        "passed": outcome.faults.is_empty(),
        "faults": outcome.faults,
        "answers": outcome.answers,
        "refusals": outcome.refusals,
        "before": latency(outcome.before),
        "during": latency(outcome.during),
        "after": latency(outcome.after),
        "new_client_us": microseconds(outcome.new_client),
        "new_clients_not_served": outcome.not_served,
        "peak_mib": outcome.most.memory.peak_mib,
        "rss_mib": outcome.most.memory.rss_mib,
        "rss_after_mib": outcome.rss_after_mib,
        "threads": outcome.most.memory.threads,
        "descriptors": outcome.most.descriptors,
        "recovered_us": outcome.recovered.map(microseconds),
        "stopped_us": outcome.stopped.map(microseconds),
    })
}
