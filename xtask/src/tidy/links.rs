//! Relative links of documents name files that exist.

use std::path::Path;

use super::allowance::{Fault, Rule};
use super::source::part_of;

pub(super) fn check(root: &Path, shown: &str, text: &str, faults: &mut Vec<Fault>) {
    let folder = root.join(shown);
    let Some(folder) = folder.parent() else { return };
    for (line, number) in text.lines().zip(1..) {
        for target in targets(line).filter(|target| !folder.join(target).exists()) {
            let text = format!("{shown}:{number}: the link to `{target}` leads nowhere");
            faults.push(Fault { rule: Rule::Links, part: part_of(shown).to_owned(), text });
        }
    }
}

/// The files that a line links to, without their sections.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next());
    ends.filter(|target| !target.is_empty() && !target.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_no_file_is_refused() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut faults = Vec::new();
        let text = "[a](../README.md#top) [b](#here) [c](https://example.org)\n[d](gone.md)\n";
        check(root, "docs/a.md", text, &mut faults);
        let texts: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
        assert_eq!(texts, ["docs/a.md:2: the link to `gone.md` leads nowhere"]);
    }
}
