//! The report for a terminal: one line for each pattern, then the faults, then the sum.

use std::fmt::Write as _;

use super::{Checked, cases, complaints, operation, path, units, verdict};
use crate::lint::Severity;
use crate::run::Report;

const HEADER: [&str; 7] = ["pattern", "operation", "path", "read", "returned", "units", "result"];

/// The report as text; `file` precedes findings, in the form that compilers use.
pub fn text(checked: &Checked, file: &str) -> String {
    let mut out = table(&checked.report);
    let mut wrong = String::new();
    for pattern in &checked.report.patterns {
        for complaint in complaints(pattern) {
            let _ = writeln!(wrong, "{file}:{}: {}: {complaint}", pattern.at, pattern.id);
        }
    }
    if !wrong.is_empty() {
        let _ = write!(out, "\n{wrong}");
    }
    if !checked.findings.is_empty() {
        out.push('\n');
    }
    for finding in &checked.findings {
        let _ = writeln!(
            out,
            "{file}:{}: {} {}: {}",
            finding.at,
            finding.severity.name(),
            finding.rule,
            finding.text
        );
        let (listed, unlisted) = cases(finding);
        for case in listed {
            let _ = writeln!(out, "    also {file}:{}: {}", case.at, case.text);
        }
        if unlisted > 0 {
            let _ = writeln!(out, "    and {unlisted} more like these");
        }
        let _ = writeln!(out, "    fix: {}", finding.fix);
    }
    let _ = writeln!(out, "\n{}", sum(checked));
    out
}

fn table(report: &Report) -> String {
    let mut rows: Vec<Vec<String>> = vec![HEADER.iter().map(|title| (*title).to_owned()).collect()];
    for pattern in &report.patterns {
        let read = pattern.read_units();
        let write = pattern.write_units();
        let capacity = match (read.0, write.0) {
            (0, 0) => "-".to_owned(),
            (0, _) => format!("{} W", units(write)),
            (_, 0) => format!("{} R", units(read)),
            _ => format!("{} R {} W", units(read), units(write)),
        };
        rows.push(vec![
            pattern.id.clone(),
            operation(pattern),
            path(pattern),
            pattern.items_read.to_string(),
            pattern.items_returned.to_string(),
            capacity,
            verdict(pattern).to_owned(),
        ]);
    }
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADER.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Numbers are aligned to the right.
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let cell = if (3..=5).contains(&place) {
                format!("{padding}{cell}")
            } else {
                format!("{cell}{padding}")
            };
            line.push_str(&cell);
            line.push_str("  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// `10 patterns: 9 met, 1 ran. 0 errors, 2 warnings, 3 notes. The check passes.`
pub(super) fn sum(checked: &Checked) -> String {
    let patterns = &checked.report.patterns;
    let good = patterns.iter().filter(|pattern| verdict(pattern) == "met").count();
    let ran = patterns.iter().filter(|pattern| verdict(pattern) == "ran").count();
    let bad = patterns.len() - good - ran;
    let of = |severity: Severity| {
        let number = checked.findings.iter().filter(|finding| finding.severity == severity).count();
        counted(number, severity.name())
    };
    format!(
        "{}: {good} met, {ran} ran without expectation, {bad} failed. {}, {}, {}. The check {}.",
        counted(patterns.len(), "pattern"),
        of(Severity::Error),
        of(Severity::Warning),
        of(Severity::Note),
        if checked.passes() { "passes" } else { "fails" }
    )
}

fn counted(number: usize, name: &str) -> String {
    if number == 1 { format!("1 {name}") } else { format!("{number} {name}s") }
}

impl Checked {
    /// Whether every pattern is one request with the expected result, and no rule found an error.
    pub fn passes(&self) -> bool {
        self.report.is_good() && self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}
