//! Rules about regions and tables that are not there: they would hold nothing back, and a test would pass
//! that should not.

use keywright_engine::{AccountId, Chance, Regions, Simulation, TableRule};
use keywright_semantics::place::GLOBAL_TABLE_REGIONS;

/// Refuses rules about regions that AWS does not have.
pub(super) fn check_regions(simulation: &Simulation) -> Result<(), String> {
    let of_pairs = simulation.pairs.iter().flat_map(|rule| [&rule.from, &rule.to]);
    let of_pairs = of_pairs.filter_map(|regions| match regions {
        Regions::One(name) => Some(name),
        Regions::Any => None,
    });
    let of_regions = simulation.regions.iter().map(|rule| &rule.region);
    let of_replicas = simulation.replicas.iter().map(|rule| &rule.region);
    let mut all = of_pairs.chain(of_regions).chain(of_replicas);
    match all.find(|region| !GLOBAL_TABLE_REGIONS.contains(&region.as_str())) {
        Some(unknown) => Err(format!(
            "AWS has no global tables in a region `{unknown}`: write the name of one, such as us-east-1"
        )),
        None => Ok(()),
    }
}

/// The tables that a server has. Each question is about an account or any, and about a region or any.
pub(crate) trait Tables {
    /// Whether there is a table of this name.
    fn has(&self, account: Option<&AccountId>, name: &str, region: Option<&str>) -> bool;

    /// Whether there is a strongly consistent table, of this name or of any.
    fn has_strong(&self, account: Option<&AccountId>, name: Option<&str>, region: Option<&str>) -> bool;
}

/// Refuses rules about tables that are not there, and rules for strongly consistent tables about others.
pub(super) fn check_tables(simulation: &Simulation, known: &impl Tables) -> Result<(), String> {
    let tables = simulation.tables.iter().map(|rule| (rule.account.as_ref(), &rule.table, None));
    let replicas = simulation.replicas.iter();
    let replicas = replicas.map(|rule| (rule.account.as_ref(), &rule.table, Some(rule.region.as_str())));
    let mut all = tables.chain(replicas);
    if let Some((_, table, region)) =
        all.find(|(account, table, region)| !known.has(*account, table, *region))
    {
        let place = region.map_or_else(String::new, |region| format!(" in region {region}"));
        return Err(format!("there is no table `{table}`{place}: make it first, or correct its name"));
    }
    let is_ordinary = |rule: &&TableRule| {
        (rule.round_trip_ms > 0 || rule.conflict != Chance::default())
            && !known.has_strong(rule.account.as_ref(), Some(&rule.table), None)
    };
    if let Some(rule) = simulation.tables.iter().find(is_ordinary) {
        return Err(format!(
            "the table `{}` is not strongly consistent: mrsc_round_trip_ms and mrsc_conflict would change nothing",
            rule.table
        ));
    }
    let mut isolated = simulation.regions.iter().filter(|rule| rule.isolated_ms.is_some());
    match isolated.find(|rule| !known.has_strong(None, None, Some(&rule.region))) {
        Some(rule) => Err(format!(
            "no strongly consistent table has a replica in region {}, and isolate is about those only: make one \
             first, or write pause to hold changes of other tables",
            rule.region
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::form;
    use super::*;

    fn of(text: &str) -> Simulation {
        form::read(text.as_bytes(), 0).expect("it is a simulation")
    }

    #[test]
    fn a_region_that_is_none_of_aws_is_refused_wherever_it_stands() {
        for text in [
            r#"{"links": [{"from": "us-est-1", "to": "*", "partition": true}]}"#,
            r#"{"links": [{"from": "*", "to": "us-est-1", "partition": true}]}"#,
            r#"{"regions": [{"region": "us-est-1", "pause": true}]}"#,
            r#"{"replicas": [{"table": "T", "region": "us-est-1", "status": "REGION_DISABLED"}]}"#,
        ] {
            assert!(check_regions(&of(text)).unwrap_err().contains("`us-est-1`"), "{text}");
            assert_eq!(check_regions(&of(&text.replace("est", "east"))), Ok(()));
        }
    }

    /// The table `T` in us-east-1, and the strongly consistent `Strong`, which also is in us-west-2.
    struct Known;

    impl Tables for Known {
        fn has(&self, _: Option<&AccountId>, name: &str, region: Option<&str>) -> bool {
            let is_ordinary = name == "T" && region.is_none_or(|region| region == "us-east-1");
            is_ordinary || self.has_strong(None, Some(name), region)
        }

        fn has_strong(&self, _: Option<&AccountId>, name: Option<&str>, region: Option<&str>) -> bool {
            let is_there = |region: &str| region == "us-east-1" || region == "us-west-2";
            name.is_none_or(|name| name == "Strong") && region.is_none_or(is_there)
        }
    }

    #[test]
    fn rules_for_strongly_consistent_tables_are_refused_where_there_is_none() {
        let check = |text: &str| check_tables(&of(text), &Known);
        for rule in [r#""mrsc_conflict": 0.5"#, r#""mrsc_round_trip_ms": 5"#] {
            let rule_of = |table: &str| format!(r#"{{"tables": [{{"table": "{table}", {rule}}}]}}"#);
            assert_eq!(check(&rule_of("Strong")), Ok(()));
            assert!(check(&rule_of("T")).unwrap_err().contains("`T` is not strongly consistent"), "{rule}");
            assert!(check(&rule_of("U")).unwrap_err().contains("no table `U`"));
        }
        let isolated =
            |region: &str| check(&format!(r#"{{"regions": [{{"region": "{region}", "isolate": true}}]}}"#));
        assert_eq!(isolated("us-west-2"), Ok(()));
        assert!(isolated("eu-west-1").unwrap_err().contains("replica in region eu-west-1"));
        let paused = r#"{"regions": [{"region": "eu-west-1", "pause": true}]}"#;
        assert_eq!(check(paused), Ok(()));
    }

    #[test]
    fn a_table_that_is_not_there_is_refused_with_its_region() {
        let step = of(r#"{"tables": [{"table": "T", "step": true}]}"#);
        assert_eq!(check_tables(&step, &Known), Ok(()));
        let step = of(r#"{"tables": [{"table": "U", "step": true}]}"#);
        assert!(check_tables(&step, &Known).unwrap_err().contains("`U`"));
        let status = |region: &str| {
            let rule = format!(r#"{{"table": "T", "region": "{region}", "status": "REGION_DISABLED"}}"#);
            of(&format!(r#"{{"replicas": [{rule}]}}"#))
        };
        assert_eq!(check_tables(&status("us-east-1"), &Known), Ok(()));
        assert!(check_tables(&status("eu-west-1"), &Known).unwrap_err().contains("in region eu-west-1"));
    }
}
