//! The form of a simulation as JSON: of the file of `--simulate`, and of requests and responses.
//!
//! A time in it is a number of milliseconds from now on. What is read is checked here, so that a setting
//! that can have no effect is refused and not ignored.

use std::collections::BTreeSet;

use keywright_engine::{
    AccountId, Chance, Inaccessible, PairRule, RegionRule, Regions, ReplicaRule, Simulation, TableRule,
};
use keywright_semantics::place::{RegionName, is_account};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use crate::limits::SIMULATION_RULES_MAX;

const DAY_MS: u64 = 24 * 3_600_000;
/// A region's clock is wrong by at most six hours: deletions are kept for longer, so a change with a wrong
/// time never meets an item whose deletion was forgotten.
const CLOCK_MS_MAX: u64 = 6 * 3_600_000;
const MILLIONTHS_DIGITS: usize = 6;
/// The longest round trip between regions: a client that retries would never come through a longer one.
const ROUND_TRIP_MS_MAX: u64 = 60_000;
/// What AWS takes from region to region, as its guide says: usually less than a second.
const AWS_MS: (u64, u64) = (300, 700);
const ANY: &str = "*";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Form {
    seed: u64,
    links: Vec<LinkForm>,
    regions: Vec<RegionForm>,
    tables: Vec<TableForm>,
    replicas: Vec<ReplicaForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkForm {
    from: String,
    to: String,
    preset: Option<String>,
    latency_ms: Option<u64>,
    jitter_ms: Option<u64>,
    #[serde(default)]
    partition: bool,
    #[serde(default)]
    duplicate: Probability,
    #[serde(default)]
    reorder: Probability,
    #[serde(default)]
    split_transactions: Probability,
    for_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionForm {
    region: String,
    #[serde(default)]
    pause: bool,
    #[serde(default)]
    clock_ms: i64,
    #[serde(default)]
    isolate: bool,
    for_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableForm {
    table: String,
    account: Option<String>,
    #[serde(default)]
    step: bool,
    #[serde(default)]
    mrsc_round_trip_ms: u64,
    #[serde(default)]
    mrsc_conflict: Probability,
    for_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplicaForm {
    table: String,
    region: String,
    account: Option<String>,
    status: String,
    for_ms: Option<u64>,
}

/// A number between 0 and 1.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(try_from = "Number")]
struct Probability(Chance);

impl TryFrom<Number> for Probability {
    type Error = String;

    fn try_from(number: Number) -> Result<Self, String> {
        let text = number.to_string();
        let help = || format!("`{text}` is no probability: write a number from 0 to 1, such as 0.25");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
        if fraction.len() > MILLIONTHS_DIGITS {
            return Err(help());
        }
        let fraction = format!("{fraction:0<MILLIONTHS_DIGITS$}");
        let millionths: u32 = format!("{whole}{fraction}").parse().map_err(|_| help())?;
        Chance::of_millionths(millionths).map(Self).ok_or_else(help)
    }
}

/// Reads a simulation that begins now.
pub(crate) fn read(text: &[u8], now_ms: u64) -> Result<Simulation, String> {
    let no_simulation = |error: serde_json::Error| format!("this is no simulation: {error}");
    // By way of a map: serde takes an array for a structure too.
    let members: Map<String, Value> = serde_json::from_slice(text).map_err(no_simulation)?;
    let form: Form = serde_json::from_value(Value::Object(members)).map_err(no_simulation)?;
    let Form { seed, links, regions, tables, replicas } = form;
    let rules = links.len() + regions.len() + tables.len() + replicas.len();
    if rules > SIMULATION_RULES_MAX {
        return Err(format!("{rules} rules are too many: write at most {SIMULATION_RULES_MAX}"));
    }
    let pairs = links.into_iter().map(|link| pair(&link, now_ms)).collect::<Result<Vec<_>, _>>()?;
    let regions = regions.into_iter().map(|one| region(&one, now_ms)).collect::<Result<Vec<_>, _>>()?;
    let tables = tables.into_iter().map(|one| table(one, now_ms)).collect::<Result<Vec<_>, _>>()?;
    let replicas = replicas.into_iter().map(|one| replica(one, now_ms)).collect::<Result<Vec<_>, _>>()?;
    once(pairs.iter().map(|rule| format!("the link from {} to {}", name(&rule.from), name(&rule.to))))?;
    once(regions.iter().map(|rule| format!("the region {}", rule.region)))?;
    once(tables.iter().map(|rule| format!("the table {}", rule.table)))?;
    once(replicas.iter().map(|rule| format!("the replica of {} in {}", rule.table, rule.region)))?;
    Ok(Simulation { seed, pairs, regions, tables, replicas })
}

/// Refuses two rules for one thing: one of them would have no effect.
fn once(names: impl Iterator<Item = String>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for name in names {
        if known.contains(&name) {
            return Err(format!("{name} has two rules: write one"));
        }
        known.insert(name);
    }
    Ok(())
}

fn pair(link: &LinkForm, now_ms: u64) -> Result<PairRule, String> {
    let (latency_ms, jitter_ms) = match (link.preset.as_deref(), link.latency_ms, link.jitter_ms) {
        (None, latency_ms, jitter_ms) => (latency_ms.unwrap_or(0), jitter_ms.unwrap_or(0)),
        (Some("aws"), None, None) => AWS_MS,
        (Some("aws"), _, _) => return Err("preset sets latency_ms and jitter_ms: leave those out".to_owned()),
        (Some(other), _, _) => return Err(format!("the preset `{other}` is not known: write aws")),
    };
    for (name, ms) in [("latency_ms", latency_ms), ("jitter_ms", jitter_ms)] {
        if ms > DAY_MS {
            return Err(format!("{name} is {ms}: write at most {DAY_MS}, a day"));
        }
    }
    if link.from == link.to && link.from != ANY {
        return Err(format!("{} is at both ends of a link: write two regions", link.from));
    }
    Ok(PairRule {
        from: regions(&link.from)?,
        to: regions(&link.to)?,
        latency_ms,
        jitter_ms,
        partition: link.partition,
        duplicate: link.duplicate.0,
        reorder: link.reorder.0,
        split_transactions: link.split_transactions.0,
        until_ms: until(link.for_ms, now_ms)?,
    })
}

fn regions(text: &str) -> Result<Regions, String> {
    if text == ANY { Ok(Regions::Any) } else { named(text).map(Regions::One) }
}

fn named(region: &str) -> Result<String, String> {
    let name = RegionName::parse(region);
    name.map(|name| name.as_str().to_owned())
        .ok_or_else(|| format!("`{region}` is no region: write {}", RegionName::FORM))
}

fn region(form: &RegionForm, now_ms: u64) -> Result<RegionRule, String> {
    let clock_ms = form.clock_ms;
    if clock_ms.unsigned_abs() > CLOCK_MS_MAX {
        return Err(format!(
            "clock_ms is {clock_ms}: write at most {CLOCK_MS_MAX}, six hours, ahead or behind"
        ));
    }
    let until_ms = until(form.for_ms, now_ms)?;
    let isolated_ms = form.isolate.then_some(now_ms);
    Ok(RegionRule { region: named(&form.region)?, pause: form.pause, clock_ms, isolated_ms, until_ms })
}

fn table(form: TableForm, now_ms: u64) -> Result<TableRule, String> {
    let account = form.account.as_deref().map(account).transpose()?;
    let round_trip_ms = form.mrsc_round_trip_ms;
    if round_trip_ms > ROUND_TRIP_MS_MAX {
        return Err(format!(
            "mrsc_round_trip_ms is {round_trip_ms}: write at most {ROUND_TRIP_MS_MAX}, a minute"
        ));
    }
    Ok(TableRule {
        account,
        table: form.table,
        step: form.step,
        round_trip_ms,
        conflict: form.mrsc_conflict.0,
        until_ms: until(form.for_ms, now_ms)?,
    })
}

fn replica(form: ReplicaForm, now_ms: u64) -> Result<ReplicaRule, String> {
    let status = Inaccessible::ALL.into_iter().find(|status| status.name() == form.status);
    let status = status.ok_or_else(|| {
        let names = Inaccessible::ALL.map(Inaccessible::name).join(", ");
        format!("`{}` is no status of a replica: write one of {names}", form.status)
    })?;
    Ok(ReplicaRule {
        account: form.account.as_deref().map(account).transpose()?,
        table: form.table,
        region: named(&form.region)?,
        status,
        since_ms: now_ms,
        until_ms: until(form.for_ms, now_ms)?,
    })
}

fn account(text: &str) -> Result<AccountId, String> {
    if is_account(text) {
        Ok(AccountId::from(text))
    } else {
        Err(format!("`{text}` is no account: write twelve digits"))
    }
}

fn until(for_ms: Option<u64>, now_ms: u64) -> Result<Option<u64>, String> {
    match for_ms {
        None => Ok(None),
        Some(ms @ 1..=DAY_MS) => Ok(Some(now_ms.saturating_add(ms))),
        Some(ms) => Err(format!("for_ms is {ms}: write 1 to {DAY_MS}, a day")),
    }
}

/// A simulation in the form that is read, with the time that each rule has left.
pub(crate) fn shown(simulation: &Simulation, now_ms: u64) -> Value {
    let with_end = |mut shown: Value, until_ms: Option<u64>| {
        if let (Some(until_ms), Value::Object(members)) = (until_ms, &mut shown) {
            members.insert("for_ms".to_owned(), json!(until_ms.saturating_sub(now_ms)));
        }
        shown
    };
    let links = simulation.pairs.iter().map(|rule| {
        let shown = json!({
            "from": name(&rule.from),
            "to": name(&rule.to),
            "latency_ms": rule.latency_ms,
            "jitter_ms": rule.jitter_ms,
            "partition": rule.partition,
            "duplicate": probability(rule.duplicate),
            "reorder": probability(rule.reorder),
            "split_transactions": probability(rule.split_transactions),
        });
        with_end(shown, rule.until_ms)
    });
    let regions = simulation.regions.iter().map(|rule| {
        let shown = json!({
            "region": rule.region,
            "pause": rule.pause,
            "clock_ms": rule.clock_ms,
            "isolate": rule.isolated_ms.is_some(),
        });
        with_end(shown, rule.until_ms)
    });
    let tables = simulation.tables.iter().map(|rule| {
        let mut shown = json!({
            "table": rule.table,
            "step": rule.step,
            "mrsc_round_trip_ms": rule.round_trip_ms,
            "mrsc_conflict": probability(rule.conflict),
        });
        if let (Some(account), Value::Object(members)) = (&rule.account, &mut shown) {
            members.insert("account".to_owned(), json!(account.as_str()));
        }
        with_end(shown, rule.until_ms)
    });
    let replicas = simulation.replicas.iter().map(|rule| {
        let mut shown = json!({"table": rule.table, "region": rule.region, "status": rule.status.name()});
        if let (Some(account), Value::Object(members)) = (&rule.account, &mut shown) {
            members.insert("account".to_owned(), json!(account.as_str()));
        }
        with_end(shown, rule.until_ms)
    });
    json!({
        "seed": simulation.seed,
        "links": links.collect::<Vec<_>>(),
        "regions": regions.collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
        "replicas": replicas.collect::<Vec<_>>(),
    })
}

fn name(regions: &Regions) -> &str {
    match regions {
        Regions::Any => ANY,
        Regions::One(name) => name,
    }
}

fn probability(chance: Chance) -> Value {
    let (whole, fraction) = (chance.millionths() / 1_000_000, chance.millionths() % 1_000_000);
    let text = format!("{whole}.{fraction:06}");
    text.parse::<Number>().map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_000;

    #[test]
    fn what_is_shown_reads_as_the_same_simulation() {
        let text = r#"{"seed": 7,
            "links": [
                {"from": "us-east-1", "to": "*", "preset": "aws", "reorder": 0.25, "for_ms": 60000},
                {"from": "eu-west-1", "to": "us-east-1", "partition": true, "duplicate": 1}],
            "regions": [
                {"region": "eu-west-1", "clock_ms": -3600000, "pause": true},
                {"region": "us-west-2", "isolate": true}],
            "tables": [
                {"table": "Orders", "account": "123456789012", "step": true},
                {"table": "Carts", "mrsc_round_trip_ms": 100, "mrsc_conflict": 0.125}],
            "replicas": [{"table": "Orders", "region": "eu-west-1", "status": "REGION_DISABLED"}]}"#;
        let simulation = read(text.as_bytes(), NOW_MS).unwrap();
        let shown = shown(&simulation, NOW_MS);
        assert_eq!(shown["links"][0]["latency_ms"], 300);
        assert_eq!(shown["links"][0]["reorder"], 0.25);
        assert_eq!(shown["links"][0]["for_ms"], 60_000);
        assert_eq!(read(shown.to_string().as_bytes(), NOW_MS), Ok(simulation));
        assert_eq!(read(b"{}", NOW_MS), Ok(Simulation::default()));
    }

    #[test]
    fn a_setting_that_cannot_be_meant_is_refused_with_what_to_write() {
        let link = |members: &str| format!(r#"{{"links": [{{"from": "a", "to": "b", {members}}}]}}"#);
        let region = |members: &str| format!(r#"{{"regions": [{{"region": "a", {members}}}]}}"#);
        for (text, part) in [
            ("[]".to_owned(), "no simulation"),
            (r#"{"link": []}"#.to_owned(), "links"),
            (link(r#""latency": 1"#), "latency_ms"),
            (link(r#""reorder": 1.5"#), "from 0 to 1"),
            (link(r#""reorder": -0.5"#), "from 0 to 1"),
            (link(r#""reorder": 0.0000001"#), "from 0 to 1"),
            (link(r#""latency_ms": 86400001"#), "a day"),
            (link(r#""preset": "gcp""#), "write aws"),
            (link(r#""preset": "aws", "latency_ms": 1"#), "leave those out"),
            (link(r#""for_ms": 0"#), "for_ms is 0"),
            (r#"{"links": [{"from": "a", "to": "a"}]}"#.to_owned(), "two regions"),
            (r#"{"links": [{"from": "a b", "to": "a"}]}"#.to_owned(), "no region"),
            (r#"{"links": [{"from": "a", "to": "b"}, {"from": "a", "to": "b"}]}"#.to_owned(), "two rules"),
            (region(r#""clock_ms": -21600001"#), "six hours"),
            (r#"{"tables": [{"table": "T", "account": "1"}]}"#.to_owned(), "twelve digits"),
            (r#"{"tables": [{"table": "T", "mrsc_round_trip_ms": 60001}]}"#.to_owned(), "a minute"),
            (r#"{"tables": [{"table": "T", "mrsc_conflict": 2}]}"#.to_owned(), "from 0 to 1"),
            (
                r#"{"replicas": [{"table": "T", "region": "a", "status": "ARCHIVED"}]}"#.to_owned(),
                "REPLICATION_NOT_AUTHORIZED",
            ),
        ] {
            let fault = read(text.as_bytes(), NOW_MS).unwrap_err();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
