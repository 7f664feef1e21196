//! Meters the declared workload: the same patterns on the same engine as in a check, but on items of the
//! declared size, in collections of as many items as each read is declared to return.
//!
//! A check runs on a small sample that its author can survey, which consumes less than the workload. Figures
//! that rest on the sample, because the model leaves something out, are listed as notes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use keywright_semantics::capacity::{HalfUnits, TableUsage};
use keywright_semantics::limits::PAGE_BYTES_MAX;
use keywright_semantics::value::Item;

use super::collection::Place;
use super::database::{Database, Purpose};
use super::example::asked;
use super::execute::pattern as execute;
use super::report::{Outcome, PatternReport, Report};
use super::selectivity::{alone, enters, population};
use super::sizes::average;
use super::{is_each_once, tables};
use keywright_model::data::{FillFault, Further, Sample, further, generate, pad, taken_at_once};
use keywright_model::expression::ConditionExpression;
use keywright_model::{
    Entity, Expectation, Fault, Faults, Generate, Given, GivenOp, Index, MilliItems, Model, Operation,
    Pattern, Read, ReadKind, Template,
};

/// Maximum number of items of one collection; of a larger one whole pages are read and the rest is
/// extrapolated.
const COLLECTION_ITEMS_MAX: u64 = 20_000;
/// Maximum size of one collection.
const COLLECTION_BYTES_MAX: u64 = 64 << 20;
/// Maximum size of a scanned collection: all pages of a scan are alike.
const SCAN_BYTES_MAX: u64 = 8 << 20;
/// Used if the model has no data: the number of generated items of the largest entity.
const MADE_UP: Generate = Generate { seed: 1, sample: 20 };

/// A model's workload, metered.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What each pattern consumes, and the items it ran on.
    pub report: Report,
    /// The assumptions behind the figures, where the model leaves something out.
    pub notes: Vec<Note>,
    /// The consumption of each step of a transaction or batch alone, by pattern, if there are several steps
    /// and all of them run alone.
    pub steps: BTreeMap<String, Vec<PatternReport>>,
}

/// Something that the model leaves out, and what was assumed instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentences of `Display` say what each figure is")]
pub enum Note {
    /// The entity has no declared count.
    NoCount { entity: String },
    /// The entity has neither a size nor data: generated items of this many bytes were used.
    NoSize { entity: String, bytes: u64 },
    /// The data are larger than the declared size.
    Larger { entity: String, declared: u64, bytes: u64 },
    /// A read without a declared number of items: the number that it returned from the sample was used.
    NoAverage { pattern: String, items: u64 },
    /// A scan of a table without any declared count.
    Uncounted { pattern: String, items: u64 },
    /// A read whose given values leave fewer distinct keys than it is declared to return.
    FewerKeys { pattern: String, items: u64, wanted: u64 },
    /// A pattern with a peak rate but no average rate.
    PeakOnly { pattern: String },
    /// This many items were metered in whole pages, the rest extrapolated.
    Extended { pattern: String, items: u64, wanted: u64 },
    /// A filter whose share comes from the sample.
    Filtered { pattern: String, read: u64, returned: u64 },
    /// Fewer items could be generated for the read than it is declared to return.
    Unmade { pattern: String, items: u64, wanted: u64 },
    /// The pattern did not run, so nothing was metered.
    NotRun { pattern: String, reason: String },
    /// A write that must fail but did not: its consumption is unknown.
    NotFailed { pattern: String },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCount { entity } => {
                write!(
                    f,
                    "{entity} has no count: its storage and scans of it are not in the total; write `count: 1000`"
                )
            }
            Self::NoSize { entity, bytes } => write!(
                f,
                "{entity} has neither `size` nor data: taken as {bytes} bytes, which made-up values have; write `size: 500`"
            ),
            Self::Larger { entity, declared, bytes } => write!(
                f,
                "{entity}: items of the data have {bytes} bytes on average, more than the declared size of {declared}"
            ),
            Self::NoAverage { pattern, items } => write!(
                f,
                "{pattern} does not say how much it returns: metered on {}; write `returns: {{avg: 10}}`",
                of(*items, "item of the sample", "items of the sample")
            ),
            Self::Uncounted { pattern, items } => write!(
                f,
                "{pattern} reads all there is, which nobody counts: metered on {}; write the entities' `count: 1000`",
                of(*items, "item of the sample", "items of the sample")
            ),
            Self::PeakOnly { pattern } => write!(
                f,
                "{pattern} has a peak and no average rate: it is billed as if it were at its peak always; write `rate: {{avg: 1, peak: 10}}`"
            ),
            Self::FewerKeys { pattern, items, wanted } => write!(
                f,
                "{pattern} is said to return {wanted}, but its given values leave {}",
                of(*items, "key", "keys")
            ),
            Self::Extended { pattern, items, wanted } => write!(
                f,
                "{pattern}: {items} of its {wanted} items were metered, in whole pages; the rest is in proportion"
            ),
            Self::Filtered { pattern, read: 0, .. } => write!(
                f,
                "{pattern} filters, and finds nothing in the sample to filter: taken as if all that is read came back; write an `example` that finds some"
            ),
            Self::Filtered { pattern, read, returned: 0 } => write!(
                f,
                "{pattern} filters, and none of {} comes back: taken as if all that is read did; write an `example` that some pass",
                of(*read, "item of the sample", "items of the sample")
            ),
            Self::Filtered { pattern, read, returned } => {
                write!(f, "{pattern} filters: of {read} items read {returned} come back, as in the sample")
            }
            Self::Unmade { pattern, items, wanted } => write!(
                f,
                "{pattern}: the {wanted} items that it reads could not be made: metered on {}; write an `example` that finds some of the data",
                of(*items, "item of the sample", "items of the sample")
            ),
            Self::NotRun { pattern, reason } => {
                write!(f, "{pattern} did not run and is not in the total: {reason}")
            }
            Self::NotFailed { pattern } => write!(
                f,
                "{pattern} is expected to fail and does not: it is not in the total; write an `example` with which it fails, or drop `fails-when`"
            ),
        }
    }
}

/// A number with its noun.
fn of(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Meters a model's workload. The samples are its own data, as loaded; faults keep it from running at all.
pub fn measure(model: &Model, samples: &[Sample]) -> Result<Measured, Faults> {
    let (said, given) = (model, samples);
    let samples = completed(said, given)?;
    let model = measuring(said);
    let samples = padded(&model, samples);
    let mut notes = unsaid(&model, &samples, given);
    let mut database = open(&model, &model.tables.iter().map(|table| &*table.name).collect::<Vec<_>>())?;
    load(&mut database, &model, &samples)?;
    let (name, text) = (model.name.clone(), model.text.clone());
    let tables = tables::measure(&model, &samples);
    let mut report =
        Report { model: name, text, patterns: Vec::new(), tables, collisions: Vec::new(), samples };
    let mut steps = BTreeMap::new();
    for pattern in &model.patterns {
        let ran = if let Some(read) = pattern.read() {
            let mut ran = execute(&mut database, &model, &report.samples, pattern);
            if why_not(&ran).is_none() {
                let notes = &mut notes;
                let mut sized = Sized { said, model: &model, report: &report, pattern, read, notes };
                sized.resize(&mut ran)?;
            }
            ran
        } else {
            let (ran, parts) = changed(said, &model, &mut database, &report, pattern)?;
            if !parts.is_empty() {
                steps.insert(pattern.id.clone(), parts);
            }
            ran
        };
        notes.extend(not_metered(pattern, &ran));
        report.patterns.push(ran);
    }
    assert!(is_each_once(&model, &report.patterns), "each pattern is metered once");
    Ok(Measured { report, notes, steps })
}

/// The reason why a pattern cannot be billed.
fn not_metered(pattern: &Pattern, ran: &PatternReport) -> Option<Note> {
    if let Some(reason) = why_not(ran) {
        return Some(Note::NotRun { pattern: pattern.id.clone(), reason });
    }
    let fails = pattern.expect.as_ref().is_some_and(|expect| expect.fails.is_some());
    (fails && ran.capacity.is_empty()).then(|| Note::NotFailed { pattern: pattern.id.clone() })
}

/// The consumption of a write and of each of its steps alone. A write that puts items into a sparse index
/// runs on items outside it, unless its condition requires others.
fn changed(
    said: &Model,
    model: &Model,
    database: &mut Database,
    report: &Report,
    pattern: &Pattern,
) -> Result<(PatternReport, Vec<PatternReport>), Faults> {
    if let Some(outside) = outside(said, model, report, pattern) {
        let mut own = open(model, &model.tables.iter().map(|table| &*table.name).collect::<Vec<_>>())?;
        load(&mut own, model, &outside)?;
        let ran = execute(&mut own, model, &outside, pattern);
        if why_not(&ran).is_none() && !ran.capacity.is_empty() {
            let parts = parts(&mut own, model, &outside, pattern);
            return Ok((ran, parts));
        }
    }
    let ran = execute(database, model, &report.samples, pattern);
    Ok((ran, parts(database, model, &report.samples, pattern)))
}

/// Each step of a pattern with several steps, run alone; empty if one of them does not run alone.
fn parts(
    database: &mut Database,
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
) -> Vec<PatternReport> {
    if pattern.steps().len() < 2 || pattern.expect.is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for step in pattern.steps() {
        let ran = execute(database, model, samples, &alone(pattern, step));
        if why_not(&ran).is_some() {
            return Vec::new();
        }
        found.push(ran);
    }
    found
}

/// The samples without the sparse index attributes that a pattern sets, and without the keys made of them;
/// `None` if it sets no such attribute.
fn outside(said: &Model, model: &Model, report: &Report, pattern: &Pattern) -> Option<Vec<Sample>> {
    let mut absent: Vec<(&str, String)> = Vec::new();
    for step in pattern.steps() {
        let (Some(entity), Some(seen)) = (said.entity(&step.entity), report.entity(&step.entity)) else {
            continue;
        };
        let indexes = said.table(&entity.table).map_or(&[][..], |table| table.indexes.as_slice());
        for index in indexes {
            let own = enters(step, entity, index, seen);
            absent.extend(own.into_iter().map(|name| (&*entity.name, name)));
        }
    }
    if absent.is_empty() {
        return None;
    }
    let without = |sample: &Sample| {
        let entity = sample.entity.as_deref().and_then(|name| model.entity(name))?;
        let own: Vec<&String> =
            absent.iter().filter(|(name, _)| *name == entity.name).map(|(_, name)| name).collect();
        let mut item = sample.item.clone();
        for name in &own {
            item.remove(name);
        }
        let indexes = model.table(&entity.table).map_or(&[][..], |table| table.indexes.as_slice());
        for part in indexes.iter().flat_map(Index::key_parts) {
            let Some(template) = entity.template(&part.name) else { continue };
            if template.attributes().any(|name| own.iter().any(|own| *own == name)) {
                item.remove(&part.name);
            }
        }
        Some(Sample { item, ..sample.clone() })
    };
    Some(report.samples.iter().map(|sample| without(sample).unwrap_or_else(|| sample.clone())).collect())
}

fn why_not(ran: &PatternReport) -> Option<String> {
    match &ran.outcome {
        Outcome::Met | Outcome::Ran | Outcome::Unmet(_) => None,
        Outcome::NoPlan(reasons) => Some(reasons.join("; ")),
        Outcome::Failed(reason) => Some(reason.clone()),
    }
}

fn open(model: &Model, tables: &[&str]) -> Result<Database, Faults> {
    let no_place = |fault: String| vec![Fault::new(keywright_model::At::default(), fault)];
    let mut database = Database::open().map_err(no_place)?;
    database.purpose = Purpose::Measure;
    for table in model.tables.iter().filter(|table| tables.contains(&&*table.name)) {
        database
            .create(table)
            .map_err(|fault| vec![Fault::new(table.at, format!("table `{}`: {fault}", table.name))])?;
    }
    Ok(database)
}

fn load(database: &mut Database, model: &Model, samples: &[Sample]) -> Result<(), Faults> {
    for sample in samples {
        let Some(table) = model.table(&sample.table) else { continue };
        database.load(table, sample).map_err(|fault| vec![Fault::new(sample.at, fault)])?;
    }
    Ok(())
}

/// The samples, with generated ones for the entities without samples.
fn completed(model: &Model, samples: &[Sample]) -> Result<Vec<Sample>, Faults> {
    let has = |entity: &Entity| samples.iter().any(|own| own.entity.as_deref() == Some(&entity.name));
    let without: Vec<&str> =
        model.entities.iter().filter(|entity| !has(entity)).map(|entity| &*entity.name).collect();
    let mut all = samples.to_vec();
    if !without.is_empty() {
        let made = generate(model, MADE_UP, samples).map_err(|fault| vec![fault])?;
        all.extend(
            made.into_iter().filter(|own| own.entity.as_deref().is_some_and(|it| without.contains(&it))),
        );
    }
    for entity in &model.entities {
        let has = all.iter().filter(|own| own.entity.as_deref() == Some(&entity.name)).count();
        let number = taken_at_once(model, entity).saturating_sub(u64::try_from(has).unwrap_or(u64::MAX));
        let wanted = Further { fixed: &Item::new(), number, seed: MADE_UP.seed };
        if number > 0 {
            let no_key =
                |fault: FillFault| vec![Fault::new(entity.at, format!("`{}`: {fault}", entity.name))];
            let more = further(model, entity, &all, wanted).map_err(no_key)?;
            all.extend(more);
        }
    }
    let measured = measuring(model);
    for entity in &measured.entities {
        if !is_missed(model, entity, &all) {
            continue;
        }
        let no_key = |fault: FillFault| vec![Fault::new(entity.at, format!("`{}`: {fault}", entity.name))];
        let wanted = Further { fixed: &Item::new(), number: 1, seed: MADE_UP.seed };
        all.extend(further(&measured, entity, &all, wanted).map_err(no_key)?);
    }
    Ok(all)
}

/// Whether no sample is in all indexes of an entity that has an index declared sparse. Writes are metered on
/// an item that is in them.
fn is_missed(model: &Model, entity: &Entity, samples: &[Sample]) -> bool {
    let Some(said) = model.entity(&entity.name) else { return false };
    let Some(table) = model.table(&entity.table) else { return false };
    let few = |name: &str| said.attribute(name).is_some_and(|own| own.present_ppm.is_some());
    let own: Vec<&Sample> =
        samples.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name)).collect();
    let templates = |index: &Index| -> Option<Vec<Template>> {
        index.key_parts().map(|part| entity.template(&part.name)).collect()
    };
    let all: Vec<(&Index, Vec<Template>)> =
        table.indexes.iter().filter_map(|index| Some((index, templates(index)?))).collect();
    let sparse = all.iter().any(|(_, own)| own.iter().flat_map(Template::attributes).any(few));
    let is_in = |sample: &Sample| {
        let mut parts = all.iter().flat_map(|(index, _)| index.key_parts());
        parts.all(|part| sample.item.contains_key(&part.name))
    };
    sparse && !own.iter().any(|sample| is_in(sample))
}

/// The model as it is metered: without expectations, and with every item in its indexes (the bill weighs how
/// many are).
fn measuring(model: &Model) -> Model {
    let mut model = model.clone();
    for pattern in &mut model.patterns {
        // A write that must fail on the unchanged data is billed as a failure.
        let must_fail = |own: &Expectation| own.fails.as_ref().is_some_and(|fails| fails.when.is_empty());
        pattern.expect = pattern.expect.take().filter(must_fail);
    }
    enter_indexes(&mut model);
    model
}

/// What the model leaves out about its entities, and where its data contradict it.
fn unsaid(model: &Model, samples: &[Sample], given: &[Sample]) -> Vec<Note> {
    let peaks = model.patterns.iter().filter(|own| own.rate.is_some_and(|rate| rate.is_peak_only));
    let mut notes: Vec<Note> = peaks.map(|own| Note::PeakOnly { pattern: own.id.clone() }).collect();
    let data = &model.data;
    let written = !data.records.is_empty() || !data.items.is_empty() || !data.files.is_empty();
    let given = |own: &Entity| written && given.iter().any(|it| it.entity.as_deref() == Some(&own.name));
    for entity in &model.entities {
        let name = || entity.name.clone();
        if entity.count.is_none() {
            notes.push(Note::NoCount { entity: name() });
        }
        let Some(bytes) = average(entity, samples) else { continue };
        match entity.size_bytes {
            Some(declared) if declared < bytes => {
                notes.push(Note::Larger { entity: name(), declared, bytes });
            }
            None if !given(entity) && !has_sizes(entity) => {
                notes.push(Note::NoSize { entity: name(), bytes });
            }
            Some(_) | None => {}
        }
    }
    notes
}

/// Declares the attributes of every entity's index keys present, so that puts write into all indexes.
fn enter_indexes(model: &mut Model) {
    let tables = model.tables.clone();
    for entity in &mut model.entities {
        let Some(table) = tables.iter().find(|table| table.name == entity.table) else { continue };
        let parts = table.indexes.iter().flat_map(Index::key_parts);
        let templates: Vec<_> = parts.filter_map(|part| entity.template(&part.name)).collect();
        for attribute in &mut entity.attributes {
            if templates.iter().flat_map(Template::attributes).any(|name| name == attribute.name) {
                attribute.present_ppm = None;
            }
        }
    }
}

/// Whether the sizes of all values are known: declared, of a format or listed values, or of a type of fixed
/// size.
fn has_sizes(entity: &Entity) -> bool {
    use keywright_semantics::value::ValueType::{Bool, N, Null};
    entity.attributes.iter().all(|own| {
        own.size_bytes.is_some()
            || own.format.is_some()
            || !own.values.is_empty()
            || matches!(own.value_type, Bool | N | Null)
    })
}

fn padded(model: &Model, samples: Vec<Sample>) -> Vec<Sample> {
    let fill = |sample: Sample| match sample.entity.as_deref().and_then(|name| model.entity(name)) {
        Some(entity) => Sample { item: pad(model, entity, sample.item), ..sample },
        None => sample,
    };
    let mut samples: Vec<Sample> = samples.into_iter().map(fill).collect();
    // Writes use the first items that fit: sort those in most indexes first.
    samples.sort_by_key(|sample| {
        let table = model.table(&sample.table);
        let keys = table.into_iter().flat_map(|table| &table.indexes).flat_map(Index::key_parts);
        Reverse(keys.filter(|part| sample.item.contains_key(&part.name)).count())
    });
    samples
}

/// One read on a collection of the declared size.
struct Sized<'a> {
    /// The model as its author wrote it.
    said: &'a Model,
    model: &'a Model,
    report: &'a Report,
    pattern: &'a Pattern,
    read: &'a Read,
    notes: &'a mut Vec<Note>,
}

impl Sized<'_> {
    /// Replaces the pattern's measured run on the sample by its run on the declared number of items.
    fn resize(&mut self, ran: &mut PatternReport) -> Result<(), Faults> {
        match self.read.kind {
            ReadKind::Get => Ok(()),
            ReadKind::Scan => self.resize_scan(ran),
            ReadKind::Query | ReadKind::ScatterGather => self.resize_query(ran),
        }
    }

    fn resize_query(&mut self, ran: &mut PatternReport) -> Result<(), Faults> {
        let id = || self.pattern.id.clone();
        let returns = self.pattern.returns.unwrap_or_default();
        let Some(average) = returns.average.map(MilliItems::whole).or(returns.max.filter(|most| *most == 1))
        else {
            if ran.items_read > 0 || returns.max != Some(0) {
                self.notes.push(Note::NoAverage { pattern: id(), items: ran.items_returned });
            }
            return Ok(());
        };
        let returned = self.read.limit.map_or(average, |limit| average.min(limit));
        let mut wanted = returned;
        if ran.filter.is_some() && (ran.items_read > ran.items_returned || ran.items_read == 0) {
            let (read, returned) = (ran.items_read, ran.items_returned);
            self.notes.push(Note::Filtered { pattern: id(), read, returned });
            wanted = wanted
                .saturating_mul(read)
                .checked_div(returned)
                .map_or(wanted, |_| wanted.saturating_mul(read).div_ceil(returned));
        }
        let entities = self.read.entities.iter().filter_map(|name| self.model.entity(name));
        let bytes = entities.filter_map(|own| self.bytes(own)).max().unwrap_or(1);
        let tried = self.bounded(wanted, bytes, COLLECTION_BYTES_MAX);
        self.on_so_many(ran, self.model, self.read, (tried, wanted))
    }

    /// A scan reads the whole table or index, also if it returns little: the declared counts.
    fn resize_scan(&mut self, ran: &mut PatternReport) -> Result<(), Faults> {
        let Some(table) = self.said.table(&ran.table) else { return Ok(()) };
        let index = ran.index.as_deref().and_then(|name| table.index(name));
        let there = population(self.said, &table.name, index, |name| self.report.entity(name));
        let all: u64 = there.iter().fold(0, |sum, (_, number)| sum.saturating_add(*number));
        if all == 0 {
            let (pattern, items) = (self.pattern.id.clone(), ran.items_read);
            self.notes.push(Note::Uncounted { pattern, items });
            return Ok(());
        }
        let mut model = self.model.clone();
        for entity in &mut model.entities {
            let number = there.iter().find(|(name, _)| *name == entity.name).map(|(_, number)| *number);
            entity.count = number.or(entity.count);
        }
        let mut read = self.read.clone();
        read.entities = there.iter().map(|(name, _)| (*name).to_owned()).collect();
        let wanted = read.limit.map_or(all, |limit| limit.min(all));
        let sum: u128 = there
            .iter()
            .filter_map(|(name, number)| {
                Some(u128::from(self.bytes(model.entity(name)?)?) * u128::from(*number))
            })
            .sum();
        let bytes = u64::try_from(sum / u128::from(all)).unwrap_or(u64::MAX).max(1);
        let tried = self.bounded(wanted, bytes, SCAN_BYTES_MAX);
        self.on_so_many(ran, &model, &read, (tried, wanted))
    }

    fn bytes(&self, entity: &Entity) -> Option<u64> {
        entity.size_bytes.or_else(|| average(entity, &self.report.samples))
    }

    /// Runs the pattern on `items` items and extrapolates to all wanted ones.
    fn on_so_many(
        &mut self,
        ran: &mut PatternReport,
        model: &Model,
        read: &Read,
        (tried, wanted): (u64, u64),
    ) -> Result<(), Faults> {
        let pattern = self.pattern.id.clone();
        let Some(items) = self.on_a_collection(ran, model, read, tried)? else {
            if ran.items_read != wanted {
                self.notes.push(Note::Unmade { pattern, items: ran.items_read, wanted });
            }
            return Ok(());
        };
        if items < tried {
            // A scan of few keys still reads the declared counts.
            if read.kind != ReadKind::Scan {
                self.notes.push(Note::FewerKeys { pattern, items, wanted });
                return Ok(());
            }
        }
        if items.min(tried) < wanted {
            self.notes.push(Note::Extended { pattern, items: items.min(tried), wanted });
            extend(ran, wanted, items.min(tried));
        }
        Ok(())
    }

    /// The number of generated items that the pattern read.
    fn on_a_collection(
        &self,
        ran: &mut PatternReport,
        model: &Model,
        read: &Read,
        tried: u64,
    ) -> Result<Option<u64>, Faults> {
        let Some(table) = model.table(&ran.table) else { return Ok(None) };
        let index = ran.index.as_deref().and_then(|name| table.index(name));
        let samples = &self.report.samples;
        let pattern = self.whole_collection(ran, tried);
        let Operation::Read(asking) = &pattern.operation else { return Ok(None) };
        let Ok(asked) = asked(model, samples, &pattern, asking) else { return Ok(None) };
        let mut seen = ran.clone();
        if read.kind == ReadKind::Scan {
            // A scan reads every item, not those it found on the sample.
            seen.read.clear();
        }
        let place = Place { model, table, index, known: &asked.known, samples, ran: &seen };
        let items = place.items(read, tried);
        let mut database = open(model, &[&table.name])?;
        load(&mut database, model, &items)?;
        let mut sized = execute(&mut database, model, samples, &pattern);
        if why_not(&sized).is_some() || (sized.items_read == 0 && tried > 0) {
            return Ok(None);
        }
        let items = sized.items_read;
        sized.returned.clear();
        sized.read.clear();
        sized.strangers.clear();
        sized.filter.clone_from(&ran.filter);
        sized.filtered.clone_from(&ran.filtered);
        *ran = PatternReport { key: ran.key.clone(), touched: Vec::new(), ..sized };
        Ok(Some(items))
    }

    /// The number of items of this size that fits the limits, in whole pages.
    fn bounded(&self, wanted: u64, bytes: u64, bytes_max: u64) -> u64 {
        let bytes = bytes.max(1);
        let most = COLLECTION_ITEMS_MAX.min((bytes_max / bytes).max(1));
        if wanted <= most {
            return wanted;
        }
        let page_bytes_max = u64::try_from(PAGE_BYTES_MAX).unwrap_or(u64::MAX);
        let page = self.pattern.returns.and_then(|returns| returns.page).unwrap_or(u64::MAX);
        let page = page.min((page_bytes_max / bytes).max(1));
        (most / page).max(1) * page
    }

    /// The pattern without its range, on a partition that holds nothing else: it reads what the range would.
    /// The number of items is known, so no empty page is requested after the last one.
    fn whole_collection(&self, ran: &PatternReport, items: u64) -> Pattern {
        let mut pattern = self.pattern.clone();
        pattern.uses = Some(ran.index.clone().unwrap_or_else(|| ran.table.clone()));
        let mut returns = pattern.returns.unwrap_or_default();
        returns.max = (ran.filter.is_none()).then_some(items);
        pattern.returns = Some(returns);
        if let Operation::Read(read) = &mut pattern.operation {
            let (equal, ranges): (Vec<Given>, Vec<Given>) =
                std::mem::take(&mut read.given).into_iter().partition(|given| given.op == GivenOp::Eq);
            read.given = equal;
            // The pattern has no range any more: drop the range's example values.
            let filter: Vec<&str> = read.filter.iter().flat_map(ConditionExpression::values).collect();
            pattern.example.retain(|(name, _)| {
                filter.contains(&name.as_str()) || !ranges.iter().any(|given| given.attribute == *name)
            });
        }
        pattern
    }
}

/// Extrapolates the consumption from the metered items to all.
fn extend(ran: &mut PatternReport, wanted: u64, metered: u64) {
    let times = |number: u64| {
        let all = u128::from(number) * u128::from(wanted);
        u64::try_from(all.div_ceil(u128::from(metered.max(1)))).unwrap_or(u64::MAX)
    };
    for own in &mut ran.capacity {
        let TableUsage { table, local_indexes, global_indexes } = &mut own.usage;
        for usage in
            std::iter::once(table).chain(local_indexes.values_mut()).chain(global_indexes.values_mut())
        {
            usage.read = HalfUnits(times(usage.read.0));
        }
    }
    ran.items_read = times(ran.items_read);
    ran.items_returned = times(ran.items_returned);
    ran.requests = u32::try_from(times(u64::from(ran.requests))).unwrap_or(u32::MAX);
}
