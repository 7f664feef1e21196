//! The faults that are still allowed in each part of the workspace (`xtask/tidy.toml`): counts that may fall
//! but not rise, and densities of assertions that may rise but not fall.

use std::collections::BTreeMap;
use std::path::Path;

use super::read;

pub(super) const FILE: &str = "xtask/tidy.toml";
/// Faults shown of a rule and part that has too many.
const SHOWN_MAX: usize = 30;
/// The floor of assertions rises to three per 1,000 lines and no further: more than that is free.
const FLOOR_MAX: u64 = 30;

/// A rule that old code may still break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    Words,
    Columns,
    Names,
    Limits,
    Links,
    Rings,
}

impl Rule {
    const ALL: [Self; 6] = [Self::Words, Self::Columns, Self::Names, Self::Limits, Self::Links, Self::Rings];

    fn key(self) -> &'static str {
        match self {
            Self::Words => "banned-words",
            Self::Columns => "wide-lines",
            Self::Names => "banned-names",
            Self::Limits => "limits-outside-semantics",
            Self::Links => "dead-links",
            Self::Rings => "files-in-rings",
        }
    }
}

/// The table of the densities.
const ASSERTIONS: &str = "assertions-per-10000-lines";

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) rule: Rule,
    pub(super) part: String,
    pub(super) text: String,
}

type Counts = BTreeMap<String, u64>;

/// What is allowed, or what was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    faults: BTreeMap<Rule, Counts>,
    assertions: Counts,
}

impl Allowance {
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        Self::parse(&read(&root.join(FILE))?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: toml::Table = text.parse().map_err(|error| format!("{FILE}: {error}"))?;
        let counts = |key: &str| -> Result<Counts, String> {
            let Some(table) = file.get(key).and_then(toml::Value::as_table) else {
                return Ok(Counts::new());
            };
            let pairs = table.iter().map(|(part, count)| {
                let count = count.as_integer().and_then(|count| u64::try_from(count).ok());
                Ok((part.clone(), count.ok_or_else(|| format!("{FILE}: {key}.{part} is no count"))?))
            });
            pairs.collect()
        };
        let faults = Rule::ALL.into_iter().map(|rule| Ok((rule, counts(rule.key())?)));
        Ok(Self { faults: faults.collect::<Result<_, String>>()?, assertions: counts(ASSERTIONS)? })
    }

    /// What the workspace has now. `assertions` are per 10,000 lines of each crate.
    pub(super) fn counted(faults: &[Fault], assertions: Counts) -> Self {
        let mut counted = Self { assertions, ..Self::default() };
        for fault in faults {
            *counted.faults.entry(fault.rule).or_default().entry(fault.part.clone()).or_default() += 1;
        }
        counted
    }

    pub(super) fn without_floors(self) -> Self {
        Self { assertions: Counts::new(), ..self }
    }

    fn allowed(&self, rule: Rule, part: &str) -> u64 {
        self.faults.get(&rule).and_then(|counts| counts.get(part)).copied().unwrap_or(0)
    }

    /// What is wrong with `found`, whose counts are `counted`.
    pub(super) fn check(&self, counted: &Self, found: &[Fault]) -> Vec<String> {
        let mut wrong = Vec::new();
        for (rule, counts) in &counted.faults {
            for (part, count) in counts {
                let allowed = self.allowed(*rule, part);
                if *count > allowed {
                    let own = found.iter().filter(|fault| fault.rule == *rule && fault.part == *part);
                    wrong.extend(own.take(SHOWN_MAX).map(|fault| fault.text.clone()));
                    wrong.push(format!(
                        "{part}: {count} {}, {allowed} allowed by {FILE}; `cargo xtask tidy --list {part}` lists all",
                        rule.key()
                    ));
                }
            }
        }
        for (part, floor) in &self.assertions {
            let count = counted.assertions.get(part).copied().unwrap_or(0);
            if count < *floor {
                wrong.push(format!(
                    "{part}: {} assertions per 1,000 shipped lines, at least {} by {FILE}: assert what the code relies on",
                    tenths(count),
                    tenths(*floor)
                ));
            }
        }
        wrong
    }

    /// What is allowed and is not there any more: the numbers to lower.
    pub(super) fn surplus(&self, counted: &Self) -> Vec<String> {
        let rules = self.faults.iter().flat_map(|(rule, counts)| {
            counts.iter().map(move |(part, allowed)| (*rule, part, *allowed, counted.allowed(*rule, part)))
        });
        let lower = rules.filter(|(_, _, allowed, count)| count < allowed);
        lower
            .map(|(rule, part, allowed, count)| {
                format!("\"{part}\" in [{}] from {allowed} to {count}", rule.key())
            })
            .collect()
    }

    /// Takes what has become better. Nothing that is allowed rises.
    pub(super) fn tightened(&self, counted: &Self) -> Self {
        let mut next = Self::default();
        for rule in Rule::ALL {
            let counts = self.faults.get(&rule).into_iter().flatten();
            let lowered =
                counts.map(|(part, count)| (part.clone(), (*count).min(counted.allowed(rule, part))));
            next.faults.insert(rule, lowered.filter(|(_, count)| *count > 0).collect());
        }
        next.assertions = counted
            .assertions
            .iter()
            .map(|(part, count)| {
                let floor = self.assertions.get(part).copied().unwrap_or(0);
                (part.clone(), floor.max((*count).min(FLOOR_MAX)))
            })
            .collect();
        next
    }

    pub(super) fn text(&self) -> String {
        let mut lines = vec![
            "# What `cargo xtask tidy` still allows, counted per crate or folder. Counts of faults may only fall, and".to_owned(),
            "# assertions only rise. `cargo xtask tidy --update` takes in what has become better.".to_owned(),
        ];
        let faults = Rule::ALL.into_iter().filter_map(|rule| Some((rule.key(), self.faults.get(&rule)?)));
        for (key, counts) in faults.chain([(ASSERTIONS, &self.assertions)]) {
            lines.push(format!("\n[{key}]"));
            lines.extend(counts.iter().map(|(part, count)| format!("\"{part}\" = {count}")));
        }
        lines.join("\n") + "\n"
    }
}

fn tenths(count: u64) -> String {
    format!("{}.{}", count / 10, count % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(part: &str) -> Fault {
        Fault { rule: Rule::Words, part: part.to_owned(), text: format!("{part}: a word") }
    }

    fn allowance(text: &str) -> Allowance {
        Allowance::parse(text).unwrap()
    }

    #[test]
    fn as_many_faults_as_allowed_pass_and_one_more_does_not() {
        let allowed = allowance("[banned-words]\n\"docs\" = 1\n");
        let check = |found: &[Fault]| allowed.check(&Allowance::counted(found, Counts::new()), found).len();
        assert_eq!(check(&[fault("docs")]), 0);
        assert_eq!(check(&[fault("docs"), fault("docs")]), 3);
        assert_eq!(check(&[fault("xtask")]), 2);
    }

    #[test]
    fn assertions_may_not_fall_below_their_floor() {
        let allowed = allowance("[assertions-per-10000-lines]\n\"crates/a\" = 20\n");
        let with = |count| Allowance {
            assertions: Counts::from([("crates/a".to_owned(), count)]),
            ..Allowance::default()
        };
        assert!(allowed.check(&with(20), &[]).is_empty());
        assert_eq!(allowed.check(&with(19), &[]).len(), 1);
    }

    #[test]
    fn a_count_that_fell_is_named_with_the_number_to_write() {
        let allowed = allowance("[files-in-rings]\n\"crates/a/src\" = 4\n\"crates/b/src\" = 1\n");
        let ring = |part: &str| Fault { rule: Rule::Rings, ..fault(part) };
        let counted = Allowance::counted(&[ring("crates/a/src"), ring("crates/b/src")], Counts::new());
        assert_eq!(allowed.surplus(&counted), ["\"crates/a/src\" in [files-in-rings] from 4 to 1"]);
        assert!(allowed.tightened(&counted).surplus(&counted).is_empty());
    }

    #[test]
    fn an_update_lowers_counts_raises_floors_and_never_allows_more() {
        let allowed = allowance(
            "[banned-words]\n\"docs\" = 2\n\"crates/a\" = 1\n[assertions-per-10000-lines]\n\"crates/a\" = 5\n\"crates/b\" = 9\n",
        );
        let assertions = Counts::from([("crates/a".to_owned(), 400), ("crates/b".to_owned(), 7)]);
        let counted = Allowance::counted(&[fault("docs"), fault("xtask")], assertions);
        let next = allowed.tightened(&counted);
        assert_eq!(next.faults.get(&Rule::Words), Some(&Counts::from([("docs".to_owned(), 1)])));
        assert_eq!(next.assertions, Counts::from([("crates/a".to_owned(), 30), ("crates/b".to_owned(), 9)]));
        assert_eq!(Allowance::parse(&next.text()), Ok(next));
    }
}
