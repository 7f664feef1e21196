//! Step 5: the ledger of copies: each copied attribute, its source, the patterns that update it, and the
//! writes that costs.

use super::facts::{average_micro, rate_text, reads_of, writes_of};
use super::page::NOTHING;
use super::{Looked, Page};
use crate::lint::Severity;
use keywright_model::{Attribute, Entity, MicroPerSecond, Pattern, Write, WriteKind};

const HEADERS: [&str; 6] = ["copy", "source", "copies of one", "source changes", "copies written", "verdict"];

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Denormalisation in {}", looked.model.name));
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    for entity in &looked.model.entities {
        for attribute in &entity.attributes {
            if let Some(entry) = Entry::of(looked, entity, attribute) {
                warnings.extend(entry.warning.clone());
                rows.push(entry.row());
            }
        }
    }
    if rows.is_empty() {
        page.say(
            "No attribute is declared a copy. Write `{type: S, copyOf: Product.name}` for each one that is, \
             so that changes of the source are followed to it.",
        );
    } else {
        page.table(HEADERS, rows);
    }
    page.list(warnings);
    page.say("Entries of indexes are copies too; the service keeps those itself, and each costs a write.");
    page
}

/// One line of the ledger.
struct Entry {
    copy: String,
    source: String,
    /// The number of copies of one source item; unknown without both counts.
    fan_out: Option<u64>,
    /// Patterns that change the source, and how.
    updaters: Vec<String>,
    updates: MicroPerSecond,
    verdict: String,
    warning: Option<String>,
}

impl Entry {
    fn of(looked: &Looked<'_>, entity: &Entity, attribute: &Attribute) -> Option<Self> {
        let (source, name) = attribute.copy_of.as_ref()?;
        let changes: Vec<(&Pattern, &Write)> =
            writes_of(looked.model, source).filter(|(_, step)| changes(step, name)).collect();
        let keeps = |pattern: &Pattern| pattern.steps().iter().any(|step| step.entity == entity.name);
        let updaters = changes.iter().map(|(pattern, _)| {
            let how = if keeps(pattern) { "in one transaction" } else { "leaves it" };
            format!("{} {how}", pattern.id)
        });
        let changed_micro = changes.iter().map(|(pattern, _)| average_micro(pattern)).sum();
        let fan_out = entity
            .count
            .zip(looked.model.entity(source).and_then(|source| source.count))
            .map(|(copies, originals)| copies.div_ceil(originals.max(1)));
        let copy = format!("{}.{}", entity.name, attribute.name);
        let costly = looked.checked.findings.iter().find(|it| it.rule == "L059" && it.is_at(attribute.at));
        let left = changes.iter().any(|(pattern, _)| !keeps(pattern));
        let (verdict, warning) = match (costly, changes.is_empty(), left) {
            (Some(finding), _, _) => (
                "volatile".to_owned(),
                Some(format!(
                    "{}: {copy} is volatile: {}. {}.",
                    Severity::Warning.name(),
                    finding.text,
                    finding.fix
                )),
            ),
            (None, true, _) => ("never changes".to_owned(), None),
            (None, false, true) => (
                "goes stale".to_owned(),
                Some(format!(
                    "{}: {copy} goes stale: a pattern changes {source}.{name} and leaves it (L053)",
                    Severity::Warning.name()
                )),
            ),
            (None, false, false) => ("kept".to_owned(), None),
        };
        Some(Self {
            copy,
            source: format!("{source}.{name}"),
            fan_out,
            updaters: updaters.collect(),
            updates: MicroPerSecond(changed_micro),
            verdict: format!("{verdict}; read {}/s", rate_text(reads(looked, entity))),
            warning,
        })
    }

    fn row(self) -> Vec<String> {
        let fan_out = self.fan_out.map_or_else(|| NOTHING.to_owned(), |copies| copies.to_string());
        let written = self
            .fan_out
            .filter(|_| self.updates.0 > 0)
            .map(|copies| format!("{}/s", rate_text(MicroPerSecond(self.updates.0.saturating_mul(copies)))));
        let updaters = match self.updaters.as_slice() {
            [] => "no pattern".to_owned(),
            some => format!("{} ({}/s)", some.join(", "), rate_text(self.updates)),
        };
        vec![
            self.copy,
            self.source,
            fan_out,
            updaters,
            written.unwrap_or_else(|| NOTHING.to_owned()),
            self.verdict,
        ]
    }
}

fn reads(looked: &Looked<'_>, entity: &Entity) -> MicroPerSecond {
    MicroPerSecond(reads_of(looked.model, &entity.name).map(average_micro).sum())
}

/// Whether a step changes an attribute: an update that names it, or a put or delete of the whole item. A put
/// that creates an item has no copies yet.
fn changes(step: &Write, name: &str) -> bool {
    step.kind == WriteKind::Update && step.changed().any(|changed| changed == name)
}
