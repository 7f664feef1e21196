//! The report as Markdown, for pull requests and documents.

use std::fmt::Write as _;

use super::text::sum;
use super::{Checked, cases, complaints, operation, path, units, verdict};
use crate::lint::Finding;
use crate::run::PatternReport;

/// The report as Markdown.
pub fn markdown(checked: &Checked) -> String {
    let mut out = format!("# {}\n\n", checked.report.model);
    if let Some(text) = &checked.report.text {
        let _ = writeln!(out, "{text}\n");
    }
    let _ = writeln!(out, "{}\n", sum(checked));
    out.push_str("| pattern | question | operation | path | key | read | returned | RCU | WCU | result |\n");
    out.push_str("|---|---|---|---|---|--:|--:|--:|--:|---|\n");
    for pattern in &checked.report.patterns {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            cell(&pattern.id),
            cell(pattern.text.as_deref().unwrap_or_default()),
            operation(pattern),
            cell(&path(pattern)),
            asked(pattern),
            pattern.items_read,
            pattern.items_returned,
            units(pattern.read_units()),
            units(pattern.write_units()),
            verdict(pattern)
        );
    }
    let mut complained = Vec::new();
    for pattern in &checked.report.patterns {
        for complaint in complaints(pattern) {
            complained.push(format!("- **{}**: {complaint}\n", cell(&pattern.id)));
        }
    }
    if !complained.is_empty() {
        let _ = write!(out, "\n## What did not go as expected\n\n{}", complained.concat());
    }
    if !checked.findings.is_empty() {
        out.push_str("\n## Findings\n\n");
        for finding in &checked.findings {
            let _ = writeln!(
                out,
                "- **{} {}** (line {}): {}{} *Fix:* {}",
                finding.severity.name(),
                finding.rule,
                finding.at.line,
                finding.text,
                further(finding),
                finding.fix
            );
        }
    }
    out
}

/// The further places of a finding.
fn further(finding: &Finding) -> String {
    let (listed, unlisted) = cases(finding);
    let mut out = String::new();
    for case in listed {
        let _ = write!(out, "; also (line {}): {}", case.at.line, case.text);
    }
    if unlisted > 0 {
        let _ = write!(out, "; and {unlisted} more like these");
    }
    out
}

/// The key condition and the filter.
fn asked(pattern: &PatternReport) -> String {
    let key = pattern.key.as_ref().map(|key| format!("`{}`", cell(key)));
    let filter = pattern.filter.as_ref().map(|filter| format!("filter `{}`", cell(filter)));
    key.into_iter().chain(filter).collect::<Vec<_>>().join(", ")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
