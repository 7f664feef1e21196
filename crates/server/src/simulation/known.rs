//! Rules about regions and tables that are not there: they would hold nothing back, and a test would pass
//! that should not.

use keywright_engine::{AccountId, Regions, Simulation};
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

/// Refuses rules about tables that are not there. `has` says whether an account has a table, in a region or
/// in any; without an account, whether any account has.
pub(super) fn check_tables(
    simulation: &Simulation,
    has: impl Fn(Option<&AccountId>, &str, Option<&str>) -> bool,
) -> Result<(), String> {
    let tables = simulation.tables.iter().map(|rule| (rule.account.as_ref(), &rule.table, None));
    let replicas = simulation.replicas.iter();
    let replicas = replicas.map(|rule| (rule.account.as_ref(), &rule.table, Some(rule.region.as_str())));
    match tables.chain(replicas).find(|(account, table, region)| !has(*account, table, *region)) {
        Some((_, table, region)) => {
            let place = region.map_or_else(String::new, |region| format!(" in region {region}"));
            Err(format!("there is no table `{table}`{place}: make it first, or correct its name"))
        }
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

    #[test]
    fn a_table_that_is_not_there_is_refused_with_its_region() {
        let has = |_: Option<&AccountId>, table: &str, region: Option<&str>| {
            table == "T" && region.is_none_or(|region| region == "us-east-1")
        };
        let step = of(r#"{"tables": [{"table": "T", "step": true}]}"#);
        assert_eq!(check_tables(&step, has), Ok(()));
        let step = of(r#"{"tables": [{"table": "U", "step": true}]}"#);
        assert!(check_tables(&step, has).unwrap_err().contains("`U`"));
        let status = |region: &str| {
            let rule = format!(r#"{{"table": "T", "region": "{region}", "status": "REGION_DISABLED"}}"#);
            of(&format!(r#"{{"replicas": [{rule}]}}"#))
        };
        assert_eq!(check_tables(&status("us-east-1"), has), Ok(()));
        assert!(check_tables(&status("eu-west-1"), has).unwrap_err().contains("in region eu-west-1"));
    }
}
