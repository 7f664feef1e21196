//! The production checklist of a table, and which of its points the model covers.

use super::facts::touched;
use super::{Looked, Page};
use keywright_model::{Model, Operation, Table, WriteKind};

/// A line of the list.
struct Line {
    what: &'static str,
    state: State,
    detail: String,
}

#[derive(Clone, Copy)]
enum State {
    Done,
    Open,
    /// The model needs nothing of this kind.
    NotNeeded,
    /// Outside the model: the program or the account handles it.
    Elsewhere,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Done => "yes",
            Self::Open => "NO",
            Self::NotNeeded => "not needed",
            Self::Elsewhere => "in your program",
        }
    }
}

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Checklist for {}", looked.model.name));
    for table in &looked.model.tables {
        page.heading(format!("Table {}", table.name));
        let lines = lines(looked.model, table);
        let open = lines.iter().filter(|line| matches!(line.state, State::Open)).count();
        let rows = lines
            .into_iter()
            .map(|line| vec![line.what.to_owned(), line.state.name().to_owned(), line.detail]);
        page.table(["what", "there", "how"], rows.collect());
        page.say(match open {
            0 => "Nothing is open.".to_owned(),
            open => format!("{open} open."),
        });
    }
    page
}

fn lines(model: &Model, table: &Table) -> Vec<Line> {
    vec![
        switch("point-in-time recovery", table.pitr == Some(true), "`pitr: true`; restores to any second of the last 35 days"),
        Line {
            what: "backups",
            state: State::Elsewhere,
            detail: "a plan of on-demand backups for what must be kept longer than 35 days, and a restore that was tried".to_owned(),
        },
        switch("deletion protection", table.deletion_protection == Some(true), "`deletionProtection: true`"),
        Line {
            what: "encryption at rest",
            state: State::Done,
            detail: "always on; a key of your own if you must show who used it".to_owned(),
        },
        conditional(model, table),
        retries(model, table),
        time_to_live(table),
        indexes(table),
        Line { what: "monitoring", state: State::Elsewhere, detail: monitoring(table) },
    ]
}

fn switch(what: &'static str, on: bool, how: &str) -> Line {
    Line { what, state: if on { State::Done } else { State::Open }, detail: how.to_owned() }
}

/// Puts and updates without a condition that could overwrite or create an item by mistake.
fn conditional(model: &Model, table: &Table) -> Line {
    let here = |entity: &str| model.entity(entity).is_some_and(|entity| entity.table == table.name);
    let steps: Vec<(&str, bool)> = model
        .patterns
        .iter()
        // A batch write takes no conditions.
        .filter(|pattern| !matches!(pattern.operation, Operation::Batch(_)))
        .flat_map(|pattern| pattern.steps().iter().map(move |step| (pattern, step)))
        .filter(|(_, step)| here(&step.entity) && matches!(step.kind, WriteKind::Put | WriteKind::Update))
        .map(|(pattern, step)| (pattern.id.as_str(), step.condition.is_some()))
        .collect();
    let without: Vec<&str> =
        steps.iter().filter(|(_, conditional)| !conditional).map(|(id, _)| *id).collect();
    let (state, detail) = match (steps.len(), without.as_slice()) {
        (0, _) => (State::NotNeeded, "the model has no puts or updates: write them down".to_owned()),
        (all, []) => (State::Done, format!("all {all} puts and updates have a condition")),
        (all, some) => {
            (State::Open, format!("{} of {all} have none: {} (L052)", some.len(), some.join(", ")))
        }
    };
    Line { what: "conditional writes", state, detail }
}

fn retries(model: &Model, table: &Table) -> Line {
    let of_kind = |wanted: &dyn Fn(&Operation) -> bool| -> Vec<&str> {
        let patterns = model.patterns.iter().filter(|pattern| {
            wanted(&pattern.operation)
                && touched(pattern)
                    .iter()
                    .filter_map(|name| model.entity(name))
                    .any(|entity| entity.table == table.name)
        });
        patterns.map(|pattern| pattern.id.as_str()).collect()
    };
    let batches = of_kind(&|operation| matches!(operation, Operation::Batch(_)));
    let transactions = of_kind(&|operation| matches!(operation, Operation::Transact(_)));
    let mut parts =
        vec!["exponential back-off with jitter on throttling and server faults (the SDKs do it)".to_owned()];
    if !batches.is_empty() {
        parts.push(format!("what a batch leaves unprocessed is sent again: {}", batches.join(", ")));
    }
    if !transactions.is_empty() {
        parts.push(format!(
            "transactions carry a client token, so that a repetition counts once: {}",
            transactions.join(", ")
        ));
    }
    Line { what: "retries", state: State::Elsewhere, detail: parts.join("; ") }
}

fn time_to_live(table: &Table) -> Line {
    let (state, detail) = match &table.ttl {
        Some(ttl) => (State::Done, format!("`{ttl}`; items may be read for days after their time")),
        None => (State::NotNeeded, "no item expires; `ttl: …` names the attribute if some shall".to_owned()),
    };
    Line { what: "time to live", state, detail }
}

fn indexes(table: &Table) -> Line {
    const INDEXES_USUAL: usize = 5;
    let count = table.indexes.len();
    let state = if count <= INDEXES_USUAL { State::Done } else { State::Open };
    Line { what: "at most five indexes", state, detail: format!("{count}") }
}

fn monitoring(table: &Table) -> String {
    let paths =
        std::iter::once(table.name.as_str()).chain(table.indexes.iter().map(|index| index.name.as_str()));
    format!(
        "alarms on ThrottledRequests, SystemErrors and consumed capacity of {}; ConditionalCheckFailedRequests and TransactionConflict where writers meet",
        paths.collect::<Vec<_>>().join(", ")
    )
}
