//! The report for pull requests and documents.

use std::fmt::Write as _;

use super::text::sum;
use super::{Checked, complaints, operation, path, units, verdict};

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
            pattern.key.as_ref().map(|key| format!("`{}`", cell(key))).unwrap_or_default(),
            pattern.items_read,
            pattern.items_returned,
            units(pattern.read_units()),
            units(pattern.write_units()),
            verdict(pattern)
        );
    }
    for pattern in &checked.report.patterns {
        for complaint in complaints(pattern) {
            let _ = write!(out, "\n- **{}**: {complaint}", cell(&pattern.id));
        }
    }
    if !checked.findings.is_empty() {
        out.push_str("\n\n## Findings\n\n");
        for finding in &checked.findings {
            let _ = writeln!(
                out,
                "- **{} {}** (line {}): {} *Fix:* {}",
                finding.severity.name(),
                finding.rule,
                finding.at.line,
                finding.text,
                finding.fix
            );
        }
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
