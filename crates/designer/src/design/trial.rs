//! The trial of a designed model: its reads and writes on generated items, then its check on its own data.

use super::verify::{Verified, verify};
use super::verify_writes::{VerifiedWrite, verify_writes};
use keywright_model::data::ReadFile;
use keywright_model::{Faults, Model};
use keywright_workbench::check;
use keywright_workbench::lint::{Finding, Severity};
use keywright_workbench::run::Outcome;

/// The reads and writes of a model on generated items.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// One for each read, in the model's order.
    pub reads: Vec<Verified>,
    /// One for each write, in the model's order.
    pub writes: Vec<VerifiedWrite>,
}

/// What the check of a model on its own data reports.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckResult {
    /// The errors among its findings.
    pub errors: Vec<Finding>,
    /// The patterns that fail, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Runs a model on generated items.
pub fn try_out(model: &Model) -> Result<Trial, Faults> {
    Ok(Trial { reads: verify(model)?, writes: verify_writes(model)? })
}

/// Checks a model on its own data.
pub fn check_design(model: &Model, read_file: ReadFile<'_>) -> Result<CheckResult, Faults> {
    let checked = check(model, read_file, &mut |_| {})?;
    let failed = checked.report.patterns.iter().filter_map(|pattern| {
        let reason = match &pattern.outcome {
            Outcome::Met | Outcome::Ran => return None,
            Outcome::Unmet(reasons) | Outcome::NoPlan(reasons) => reasons.join("; "),
            Outcome::Failed(reason) => reason.clone(),
        };
        Some((pattern.id.clone(), reason))
    });
    let failed = failed.collect();
    let errors = checked.findings.into_iter().filter(|own| own.severity == Severity::Error).collect();
    Ok(CheckResult { errors, failed })
}

impl Trial {
    /// Whether everything behaved as predicted.
    pub fn agrees(&self) -> bool {
        self.reads.iter().all(Verified::agrees) && self.writes.iter().all(VerifiedWrite::agrees)
    }

    /// One line for each group of results, the wrong ones by name.
    pub fn text(&self) -> String {
        let wrong: Vec<&Verified> = self.reads.iter().filter(|own| !own.agrees()).collect();
        let mut lines = vec![format!(
            "Verified on generated items: {} of {} reads return the expected items at the predicted units.",
            self.reads.len() - wrong.len(),
            self.reads.len()
        )];
        lines.extend(wrong.iter().map(|own| difference(own, &own.pattern)));
        if !self.writes.is_empty() {
            lines.extend(self.writes_text());
        }
        lines.join("\n")
    }

    fn writes_text(&self) -> Vec<String> {
        // A refused write has changed nothing and shows nothing.
        let right: Vec<&VerifiedWrite> =
            self.writes.iter().filter(|own| own.agrees() && !own.refused && own.untried.is_none()).collect();
        let reads: usize = right.iter().map(|own| own.reads.len()).sum();
        let mut lines = vec![format!(
            "{} of {} writes keep all keys and derived items current at the predicted units; {reads} reads repeated after them return the expected items.",
            right.len(),
            self.writes.len()
        )];
        lines.extend(self.writes.iter().filter(|own| own.refused).map(|own| {
            format!("{}: not tested, because its condition holds on no generated item.", own.pattern)
        }));
        let untried = self.writes.iter().filter_map(|own| Some((&own.pattern, own.untried.as_ref()?)));
        lines.extend(untried.map(|(pattern, reason)| format!("{pattern}: not tested: {reason}.")));
        for own in self.writes.iter().filter(|own| !own.agrees()) {
            let id = &own.pattern;
            lines.extend(own.failed.as_ref().map(|failed| format!("{id}: {failed}")));
            if !own.stale.is_empty() {
                lines.push(format!("{id} leaves stale: {}", own.stale.join(", ")));
            }
            if own.measured != own.predicted {
                let (measured, predicted) = (own.measured.0, own.predicted.0);
                lines.push(format!("{id}: {measured} half units for {predicted} predicted"));
            }
            for read in own.reads.iter().filter(|read| !read.agrees()) {
                lines.push(difference(read, &format!("{} after {id}", read.pattern)));
            }
        }
        lines
    }
}

impl CheckResult {
    /// One line for each error and each pattern that fails.
    pub fn lines(&self) -> Vec<String> {
        let errors = self.errors.iter().map(|Finding { rule, subject, text, fix, .. }| {
            format!("`model check` reports an error in the design, {rule} of {subject}: {text}; {fix}.")
        });
        let failed = self
            .failed
            .iter()
            .map(|(id, reason)| format!("In `model check` of the design {id} fails: {reason}."));
        errors.chain(failed).collect()
    }

    /// The patterns that could not be tested, as a sentence without a full stop.
    pub fn fault(&self) -> Option<String> {
        let failed: Vec<&str> = self.failed.iter().map(|(id, _)| id.as_str()).collect();
        (!failed.is_empty()).then(|| format!("{}: cannot be tested on the model's data", failed.join(", ")))
    }
}

fn difference(own: &Verified, what: &str) -> String {
    let failed = own.failed.as_deref().unwrap_or("the results differ");
    format!(
        "{what}: {failed}: {} items for {} expected, {} of other entities, {} half units for {} predicted",
        own.returned, own.expected, own.strangers, own.measured.0, own.predicted.0
    )
}
