//! `keywright model explain`: a rule in words.

use clap::Args;
use keywright_model::did_you_mean;
use keywright_workbench::lint::{RULES, explain, rule};

use crate::banner;

/// Explains a rule: why it is there, what to do, and its source. Without a rule, lists them all.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The rule's id, such as L002
    rule: Option<String>,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), String> {
    let Some(id) = &arguments.rule else {
        for rule in RULES {
            banner::say(&format!("{}  {:16}  {}", rule.id, rule.severity(), rule.title));
        }
        return Ok(());
    };
    let Some(rule) = rule(id) else {
        let hint = did_you_mean(id, RULES.iter().map(|rule| rule.id));
        return Err(format!("there is no rule `{id}`{hint}"));
    };
    banner::say(explain(rule).trim_end());
    Ok(())
}
