//! Reads what a test program prints: counts of its summary and the seconds of single tests.

use std::collections::BTreeMap;

/// Passed, failed and ignored tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
}

impl Totals {
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    /// Adds a line such as `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    fn add_line(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        for count in counts.split([';', '.']) {
            let mut words = count.split_whitespace();
            let (Some(number), Some(name)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match name {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// A program's output, read.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) totals: Totals,
    /// Milliseconds by test, as far as the program reports them.
    pub(super) tests: BTreeMap<String, u64>,
}

impl Report {
    pub(super) fn read(output: &str) -> Self {
        let mut report = Self::default();
        for line in output.lines() {
            report.totals.add_line(line);
            if let Some((name, ms)) = timed_test(line) {
                report.tests.insert(name.to_owned(), ms);
            }
        }
        report
    }
}

/// What each failed test said, its first lines only.
pub(super) fn failures(output: &str, lines_max: usize) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut is_in = false;
    for line in output.lines() {
        let begins = line.starts_with("---- ") && line.ends_with(" stdout ----");
        is_in = begins || (is_in && line != "failures:");
        if begins {
            found.push(Vec::new());
        }
        if let Some(last) = found.last_mut().filter(|last| is_in && last.len() < lines_max) {
            last.push(line);
        }
    }
    found.iter().map(|lines| lines.join("\n").trim_end().to_owned()).collect()
}

/// `test some::name ... ok <1.234s>`: the name and its milliseconds.
fn timed_test(line: &str) -> Option<(&str, u64)> {
    let (name, end) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = end.strip_suffix("s>")?.rsplit_once('<')?;
    let (whole, thousandths) = seconds.split_once('.')?;
    let ms = whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths.parse().ok()?)?;
    (thousandths.len() == 3).then_some((name, ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_one_output_are_added_up() {
        let report = Report::read(
            "running 3 tests\n\
             test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
             test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n",
        );
        assert_eq!(report.totals, Totals { passed: 15, failed: 2, ignored: 1 });
    }

    #[test]
    fn what_failed_tests_said_is_cut_to_its_first_lines() {
        let output = "failures:\n\n---- a::b stdout ----\none\ntwo\nthree\n\n---- c stdout ----\nfour\n\n\nfailures:\n    a::b\n";
        assert_eq!(failures(output, 3), ["---- a::b stdout ----\none\ntwo", "---- c stdout ----\nfour"]);
        assert!(failures("test result: ok. 1 passed; 0 failed; 0 ignored\n", 3).is_empty());
    }

    #[test]
    fn seconds_of_a_test_are_read_from_its_line() {
        assert_eq!(timed_test("test a::b ... ok <1.234s>"), Some(("a::b", 1234)));
        assert_eq!(
            timed_test("test a::b - should panic ... FAILED <0.005s>"),
            Some(("a::b - should panic", 5))
        );
        assert_eq!(timed_test("test a::b ... ok"), None);
        assert_eq!(timed_test("test a::b ... ignored, needs clients"), None);
    }
}
