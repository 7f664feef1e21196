//! The report as `JUnit` XML: one test case for each pattern, one for each error of a rule.

use std::fmt::Write as _;

use super::{Checked, cases, complaints};
use crate::lint::Severity;

/// The report as `JUnit` XML.
pub fn junit(checked: &Checked, file: &str) -> String {
    let errors: Vec<_> =
        checked.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let failed = checked.report.patterns.iter().filter(|pattern| !pattern.outcome.is_good()).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">",
        escaped(&checked.report.model),
        checked.report.patterns.len() + errors.len(),
        failed + errors.len()
    );
    for pattern in &checked.report.patterns {
        let name = match &pattern.text {
            Some(text) => format!("{} {text}", pattern.id),
            None => pattern.id.clone(),
        };
        let complaints = complaints(pattern);
        case(&mut out, file, pattern.at.line, &name, &complaints);
    }
    for finding in errors {
        let (listed, unlisted) = cases(finding);
        let mut lines = vec![finding.text.clone()];
        lines.extend(listed.iter().map(|case| format!("also line {}: {}", case.at.line, case.text)));
        lines.extend((unlisted > 0).then(|| format!("and {unlisted} more like these")));
        lines.push(format!("fix: {}", finding.fix));
        case(&mut out, file, finding.at.line, &format!("{} {}", finding.rule, finding.subject), &lines);
    }
    out.push_str("</testsuite>\n");
    out
}

fn case(out: &mut String, file: &str, line: usize, name: &str, complaints: &[String]) {
    let _ = write!(
        out,
        "  <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{line}\"",
        escaped(file),
        escaped(name),
        escaped(file)
    );
    if complaints.is_empty() {
        out.push_str("/>\n");
        return;
    }
    let text = complaints.join("\n");
    let first = complaints.first().map(String::as_str).unwrap_or_default();
    let _ = writeln!(
        out,
        ">\n    <failure message=\"{}\">{}</failure>\n  </testcase>",
        escaped(first),
        escaped(&text)
    );
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            // XML 1.0 has no other control characters.
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
