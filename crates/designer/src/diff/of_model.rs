//! Builds the input of a comparison from a model.

use std::collections::BTreeSet;

use keywright_semantics::schema::{IndexSchema, Projection};

use super::input::{Count, Load, Reading, Subject, SubjectFault, SubjectPattern, Touch, TouchKind, units};
use keywright_exchange::of_model::{Items, of_model};
use keywright_model::data::ReadFile;
use keywright_model::expression::{ConditionExpression, Effect, Section};
use keywright_model::{
    Condition, Fault, GivenOp, Model, Operation, Pattern, Read, ReadKind, Write, WriteKind,
};
use keywright_workbench::lint::{Finding, Severity, lint};
use keywright_workbench::run::{Outcome, run};

impl Subject {
    /// From a model and its stored items.
    pub fn of_model(model: &Model, items: &Items) -> Self {
        let mut subject = Self::of_draft(&of_model(model, items));
        for table in &mut subject.tables {
            let indexes = table.definition.schema.indexes.clone();
            for entity in &mut table.entities {
                let entered: Vec<IndexSchema> =
                    indexes.iter().filter(|index| entity.is_in(index)).cloned().collect();
                let Some(known) = model.entity(&entity.name) else { continue };
                if let Some(count) = known.count {
                    entity.count = Count::Declared(count);
                }
                for attribute in &known.attributes {
                    if let Some(source) = &attribute.copy_of {
                        entity.copies.insert(attribute.name.clone(), source.clone());
                    }
                    if attribute.present_ppm.is_some() {
                        entity.partial.insert(attribute.name.clone());
                    }
                }
                if let Some(bytes) = known.size_bytes {
                    declared(&mut entity.load, bytes, &entered);
                }
            }
        }
        subject.patterns = model.patterns.iter().map(pattern).collect();
        subject
    }

    /// From a model that is run before it is compared. Where the author left `uses` to the planner, the run
    /// says which index a pattern uses, which patterns no request answers, and what the rules report as
    /// errors. A model that does not run is compared as written.
    pub fn of_run(mut model: Model, items: &Items, read_file: ReadFile<'_>) -> Self {
        let report = match run(&model, read_file, &mut |_| {}) {
            Ok(report) => report,
            Err(faults) => return Self::of_model(&model, items).stopped(&faults),
        };
        let findings = lint(&model, &report);
        let mut unanswered = BTreeSet::new();
        for pattern in &mut model.patterns {
            let Some(ran) = report.pattern(&pattern.id) else { continue };
            if matches!(ran.outcome, Outcome::NoPlan(_)) {
                unanswered.insert(pattern.id.clone());
            }
            if pattern.uses.is_none() {
                pattern.uses.clone_from(&ran.index);
            }
        }
        Self::of_model(&model, items).unanswered(&unanswered).judged(&findings)
    }

    /// Adds the errors that the rules found in the model.
    #[must_use]
    pub fn judged(mut self, findings: &[Finding]) -> Self {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        self.faults.extend(errors.map(|finding| SubjectFault {
            rule: Some(finding.rule),
            subject: finding.subject.clone(),
            text: finding.text.clone(),
            fix: finding.fix.clone(),
        }));
        self
    }

    /// Adds the reasons for which the model does not run.
    #[must_use]
    pub fn stopped(mut self, faults: &[Fault]) -> Self {
        let texts = faults.iter().map(|fault| fault.text.clone());
        let fault = |text| SubjectFault { rule: None, subject: String::new(), text, fix: String::new() };
        self.faults.extend(texts.map(fault));
        self
    }
}

/// Uses the item size that the model declares, as examples are often shorter. Entries of an index that
/// projects all attributes are as large as the items; narrower entries are known from examples only.
fn declared(load: &mut Load, bytes: u64, entered: &[IndexSchema]) {
    let examples = load.examples.max(1);
    let measured = load.examples > 0;
    let own = units(usize::try_from(bytes).unwrap_or(usize::MAX)).saturating_mul(examples);
    let all = bytes.saturating_mul(examples);
    if measured && load.table_bytes >= all {
        return;
    }
    load.examples = examples;
    load.table_units = own;
    load.table_bytes = all;
    for index in entered.iter().filter(|index| !measured || index.projection == Projection::All) {
        load.index_units.insert(index.name.clone(), own);
        load.index_bytes.insert(index.name.clone(), all);
    }
}

fn pattern(pattern: &Pattern) -> SubjectPattern {
    let entities = match &pattern.operation {
        Operation::Read(read) => read.entities.clone(),
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => {
            pattern.steps().iter().map(|step| step.entity.clone()).collect()
        }
    };
    SubjectPattern {
        id: pattern.id.clone(),
        text: pattern.text.clone().unwrap_or_default(),
        writes: writes(pattern),
        uses: pattern.uses.clone(),
        reading: reading(pattern),
        entities,
        given: given(pattern, |_| true),
        equal: given(pattern, |op| op == GivenOp::Eq),
        needs: needs(pattern),
        whole: matches!(&pattern.operation, Operation::Read(read) if read.attributes.is_empty()),
        touches: touches(pattern),
        answered: true,
        definition: definition(pattern),
    }
}

fn reading(pattern: &Pattern) -> Reading {
    match &pattern.operation {
        Operation::Read(read) => match read.kind {
            ReadKind::Get => Reading::Get,
            ReadKind::Query | ReadKind::ScatterGather => Reading::Query,
            ReadKind::Scan => Reading::Scan,
        },
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => Reading::Get,
    }
}

fn given(pattern: &Pattern, how: impl Fn(GivenOp) -> bool) -> Vec<String> {
    let Operation::Read(read) = &pattern.operation else { return Vec::new() };
    let given = read.given.iter().filter(|given| how(given.op));
    let mut names: Vec<String> = given.map(|given| given.attribute.clone()).collect();
    names.sort();
    names
}

fn needs(pattern: &Pattern) -> Vec<String> {
    let Operation::Read(read) = &pattern.operation else { return Vec::new() };
    let given = read.given.iter().map(|given| given.attribute.as_str());
    let filtered = read.filter.iter().flat_map(ConditionExpression::attributes);
    let ordered = read.order_by.iter().map(|by| by.attribute.as_str());
    let returned = read.attributes.iter().map(String::as_str);
    given.chain(filtered).chain(ordered).chain(returned).map(str::to_owned).collect()
}

fn touches(pattern: &Pattern) -> Vec<Touch> {
    let steps: &[Write] = match &pattern.operation {
        Operation::Read(_) => &[],
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => pattern.steps(),
    };
    steps.iter().map(touch).collect()
}

fn touch(write: &Write) -> Touch {
    let kind = match write.kind {
        WriteKind::Put if write.condition == Some(Condition::NotExists) => TouchKind::Create,
        WriteKind::Put => TouchKind::Put,
        WriteKind::Update => TouchKind::Update,
        WriteKind::Delete => TouchKind::Delete,
        WriteKind::Check | WriteKind::Get => TouchKind::Read,
    };
    let read = write.effects.iter().flat_map(Effect::reads);
    let accumulated = write.effects.iter().filter(|effect| effect.accumulates()).map(Effect::attribute);
    Touch {
        entity: write.entity.clone(),
        kind,
        attributes: write.changed().chain(read).map(str::to_owned).collect(),
        accumulated: accumulated.map(str::to_owned).collect(),
        dropped: write.removed().map(str::to_owned).collect(),
    }
}

fn writes(pattern: &Pattern) -> bool {
    match &pattern.operation {
        Operation::Read(_) => false,
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => pattern
            .steps()
            .iter()
            .any(|step| matches!(step.kind, WriteKind::Put | WriteKind::Update | WriteKind::Delete)),
    }
}

/// Everything that defines the pattern, without source positions and examples.
fn definition(pattern: &Pattern) -> String {
    let operation = match &pattern.operation {
        Operation::Read(read) => read_text(read),
        Operation::Write(write) => write_text(write),
        Operation::Transact(steps) => format!("transact {}", steps_text(steps)),
        Operation::Batch(steps) => format!("batch {}", steps_text(steps)),
    };
    format!("{operation} {:?} {:?} {}", pattern.rate, pattern.returns, pattern.admin)
}

fn read_text(read: &Read) -> String {
    let given: Vec<String> =
        read.given.iter().map(|given| format!("{} {:?}", given.attribute, given.op)).collect();
    format!(
        "{:?} {:?} {given:?} {:?} {:?} {:?} {:?} {:?}",
        read.kind,
        read.entities,
        (&read.order, read.order_by.as_ref().map(|by| &by.attribute)),
        read.filter.as_ref().map(ConditionExpression::text),
        read.attributes,
        read.consistency,
        read.limit
    )
}

fn steps_text(steps: &[Write]) -> String {
    let texts: Vec<String> = steps.iter().map(write_text).collect();
    texts.join("; ")
}

fn write_text(write: &Write) -> String {
    let text = |section: Section| write.section_text(section).unwrap_or_default();
    let condition = match &write.condition {
        Some(Condition::Expression(expression)) => expression.text(),
        Some(Condition::Exists) => "exists",
        Some(Condition::NotExists) => "not-exists",
        None => "",
    };
    format!(
        "{:?} {} {} {:?} {:?} {:?} {:?} {}",
        write.kind,
        write.entity,
        write.n,
        condition,
        text(Section::Set),
        text(Section::Remove),
        text(Section::Add),
        write.returns_values
    )
}
