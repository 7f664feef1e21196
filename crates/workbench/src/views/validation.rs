//! Step 6: pattern → operation → index, and whether the expectation was met.

use super::facts::or_nothing;
use super::{Looked, Page};
use crate::lint::Severity;
use crate::run::{Outcome, PatternReport, units};

const HEADERS: [&str; 7] = ["pattern", "operation", "index", "key", "read, returned", "units", "result"];

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Validation of {}", looked.model.name));
    let report = &looked.checked.report;
    page.table(HEADERS, report.patterns.iter().map(row).collect());
    let wrong = report.patterns.iter().flat_map(|pattern| {
        let sentences = match &pattern.outcome {
            Outcome::Met | Outcome::Ran => Vec::new(),
            Outcome::Unmet(sentences) | Outcome::NoPlan(sentences) => sentences.clone(),
            Outcome::Failed(fault) => vec![fault.clone()],
        };
        sentences.into_iter().map(|sentence| format!("{}: {sentence}", pattern.id))
    });
    let errors = looked.checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let from_rules = errors.map(|finding| format!("{}: {}. {}.", finding.rule, finding.text, finding.fix));
    page.list(wrong.chain(from_rules).collect());
    page.say(if looked.checked.passes() { "The check passes." } else { "The check fails." });
    page
}

fn row(pattern: &PatternReport) -> Vec<String> {
    let name = pattern.operation.name();
    let operation =
        if pattern.requests > 1 { format!("Query × {}", pattern.requests) } else { name.to_owned() };
    let path = pattern.index.clone().unwrap_or_else(|| pattern.table.clone());
    let (read, write) = (pattern.read_units(), pattern.write_units());
    let spent = match (read.0, write.0) {
        (0, 0) => String::new(),
        (0, _) => format!("{} W", units(write)),
        (_, 0) => format!("{} R", units(read)),
        _ => format!("{} R {} W", units(read), units(write)),
    };
    let result = match pattern.outcome {
        Outcome::Met => "met",
        Outcome::Ran => "ran, nothing expected",
        Outcome::Unmet(_) => "NOT MET",
        Outcome::NoPlan(_) => "NO PATH",
        Outcome::Failed(_) => "FAILED",
    };
    vec![
        pattern.id.clone(),
        operation,
        or_nothing(path),
        or_nothing(pattern.key.clone().unwrap_or_default()),
        format!("{}, {}", pattern.items_read, pattern.items_returned),
        or_nothing(spent),
        result.to_owned(),
    ]
}
