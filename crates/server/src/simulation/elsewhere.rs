//! What a server with `[[peer]]` does not simulate, since another server would have to.

use keywright_engine::{Chance, PairRule, Regions, Simulation};

/// Refuses rules that only the servers of these regions could follow.
pub(super) fn check(simulation: &Simulation, elsewhere: &[String]) -> Result<(), String> {
    if elsewhere.is_empty() {
        return Ok(());
    }
    let is_elsewhere = |region: &str| elsewhere.iter().any(|other| other == region);
    for rule in &simulation.pairs {
        check_pair(rule, is_elsewhere)?;
    }
    for rule in simulation.regions.iter().filter(|rule| is_elsewhere(&rule.region)) {
        if rule.clock_ms != 0 || rule.isolated_ms.is_some() {
            return Err(format!(
                "region {} is owned by another server: set clock_ms and isolate there, here only pause",
                rule.region
            ));
        }
    }
    if let Some(rule) = simulation.tables.iter().find(|rule| rule.step) {
        return Err(format!(
            "leave out step of {}: a server with [[peer]] cannot deliver changes by hand at another server",
            rule.table
        ));
    }
    if let Some(rule) = simulation.replicas.first() {
        return Err(format!(
            "a status of the replica of {} cannot be simulated: other servers have members of groups",
            rule.table
        ));
    }
    Ok(())
}

fn check_pair(rule: &PairRule, is_elsewhere: impl Fn(&str) -> bool) -> Result<(), String> {
    let named = |regions: &Regions| match regions {
        Regions::One(name) if is_elsewhere(name) => Some(name.clone()),
        Regions::One(_) | Regions::Any => None,
    };
    let (from, to) = (named(&rule.from), named(&rule.to));
    let none = Chance::default();
    let is_late = rule.latency_ms > 0 || rule.jitter_ms > 0;
    let is_mixed = rule.reorder != none || rule.split_transactions != none || rule.duplicate != none;
    match (from, to) {
        (Some(from), _) if is_late || is_mixed => Err(format!(
            "changes of region {from} are sent by its own server: set how late they are there, here only partition"
        )),
        (None, Some(to)) if rule.duplicate != none => Err(format!(
            "region {to} is owned by another server: changes arrive there once, so leave out duplicate"
        )),
        (None, None) if rule.duplicate != none && (rule.from == Regions::Any || rule.to == Regions::Any) => {
            Err("changes arrive at other servers once: leave out duplicate, or name two regions of this server"
                .to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::form;
    use super::*;

    fn said(text: &str) -> Result<(), String> {
        let simulation = form::read(text.as_bytes(), 0).expect("it is a simulation");
        check(&simulation, &["eu-west-1".to_owned()])
    }

    #[test]
    fn what_another_server_would_have_to_do_is_refused_with_where_to_set_it() {
        let link = |from: &str, to: &str, more: &str| {
            format!(r#"{{"links": [{{"from": "{from}", "to": "{to}", {more}}}]}}"#)
        };
        for allowed in [
            link("*", "*", r#""preset": "aws", "reorder": 0.5"#),
            link("us-east-1", "us-west-2", r#""duplicate": 0.5"#),
            link("us-east-1", "eu-west-1", r#""latency_ms": 5, "reorder": 0.5"#),
            link("eu-west-1", "us-east-1", r#""partition": true"#),
            r#"{"regions": [{"region": "eu-west-1", "pause": true}, {"region": "us-east-1", "clock_ms": 5}]}"#
                .to_owned(),
            r#"{"tables": [{"table": "T", "mrsc_conflict": 0.5}]}"#.to_owned(),
        ] {
            assert_eq!(said(&allowed), Ok(()), "{allowed}");
        }
        for (refused, part) in [
            (link("eu-west-1", "*", r#""latency_ms": 5"#), "its own server"),
            (link("eu-west-1", "us-east-1", r#""reorder": 1"#), "its own server"),
            (link("*", "eu-west-1", r#""duplicate": 1"#), "leave out duplicate"),
            (link("*", "*", r#""duplicate": 1"#), "leave out duplicate"),
            (link("us-east-1", "*", r#""duplicate": 1"#), "leave out duplicate"),
            (r#"{"tables": [{"table": "T", "step": true}]}"#.to_owned(), "leave out step"),
            (r#"{"regions": [{"region": "eu-west-1", "clock_ms": 5}]}"#.to_owned(), "clock_ms"),
            (
                r#"{"replicas": [{"table": "T", "region": "us-east-1", "status": "REGION_DISABLED"}]}"#
                    .to_owned(),
                "a status",
            ),
        ] {
            let said = said(&refused).unwrap_err();
            assert!(said.contains(part), "{refused}: {said}");
        }
        let simulation = form::read(br#"{"replicas": []}"#, 0).expect("it is a simulation");
        assert_eq!(check(&simulation, &[]), Ok(()));
    }
}
