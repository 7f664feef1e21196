//! `keywright model explain`: explains a rule.

use clap::Args;
use keywright_model::did_you_mean;
use keywright_workbench::lint::{RULES, explain, rule};

use crate::process::failure::Failure;
use crate::process::output;

/// Explain a rule: its reason, the fix and the source. Without a rule, list all rules
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The rule's id, such as L002
    rule: Option<String>,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let Some(id) = &arguments.rule else {
        for rule in RULES {
            output::say(&format!("{}  {:16}  {}", rule.id, rule.severity(), rule.title));
        }
        return Ok(());
    };
    let Some(rule) = rule(id) else {
        let hint = did_you_mean(id, RULES.iter().map(|rule| rule.id));
        return Err(Failure::new(format!("there is no rule `{id}`{hint}")));
    };
    output::say(explain(rule).trim_end());
    Ok(())
}
