//! Meters what the declared workload takes: the same patterns on the same engine as in a check, but on items of the
//! declared size, in collections of as many items as each question is said to return.
//!
//! What a check runs on is a sample that its author can survey; what it consumes is not what the workload will. What the
//! model does not say, and what therefore rests on the sample, is noted by name.

use std::cmp::Reverse;
use std::fmt;

use keywright_semantics::capacity::{HalfUnits, TableUsage};
use keywright_semantics::value::Item;

use super::collection::Place;
use super::database::{Database, Purpose};
use super::example::asked;
use super::execute::pattern as execute;
use super::report::{Outcome, PatternReport, Report};
use super::sizes::average;
use super::tables;
use crate::data::{FillFault, Further, Sample, further, generate, pad};
use crate::model::{
    Entity, Expectation, Fault, Faults, Generate, GivenOp, Index, Model, Operation, Pattern, Read, ReadKind,
    Template, WriteKind,
};

/// Items of one question's collection at most; of a larger one whole pages are read and the rest is in proportion.
const COLLECTION_ITEMS_MAX: u64 = 20_000;
/// The same in bytes.
const COLLECTION_BYTES_MAX: u64 = 64 << 20;
/// A page without a limit ends at so many bytes (developer guide: Query).
const PAGE_BYTES_MAX: u64 = 1 << 20;
/// Items of the most numerous entity among those made up because the model has no data.
const MADE_UP: Generate = Generate { seed: 1, sample: 20 };

/// A model's workload, metered.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What each pattern consumes, and the items it ran on.
    pub report: Report,
    /// What the figures rest on that the model does not say.
    pub notes: Vec<Note>,
}

/// Something that the model leaves open, and what was taken instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// No one said how many there will be.
    NoCount { entity: String },
    /// Neither a size nor data: made-up items of so many bytes.
    NoSize { entity: String, bytes: u64 },
    /// The data are larger than the size that is declared.
    Larger { entity: String, declared: u64, bytes: u64 },
    /// A question that does not say how much it returns: what it returned from the sample.
    NoAverage { pattern: String, items: u64 },
    /// A question whose given values leave fewer different keys than it is said to return.
    FewerKeys { pattern: String, items: u64, wanted: u64 },
    /// So many items were metered in whole pages, the rest taken in proportion.
    Extended { pattern: String, items: u64, wanted: u64 },
    /// A filter whose share is taken from the sample.
    Filtered { pattern: String, read: u64, returned: u64 },
    /// It did not run, so nothing was metered.
    NotRun { pattern: String, reason: String },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCount { entity } => {
                write!(f, "{entity} has no count: its storage is not in the total; write `count: 1000`")
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
            Self::FewerKeys { pattern, items, wanted } => write!(
                f,
                "{pattern} is said to return {wanted}, but its given values leave {}",
                of(*items, "key", "keys")
            ),
            Self::Extended { pattern, items, wanted } => write!(
                f,
                "{pattern}: {items} of its {wanted} items were metered, in whole pages; the rest is in proportion"
            ),
            Self::Filtered { pattern, read, returned } => {
                write!(f, "{pattern} filters: of {read} items read {returned} come back, as in the sample")
            }
            Self::NotRun { pattern, reason } => {
                write!(f, "{pattern} did not run and is not in the total: {reason}")
            }
        }
    }
}

/// A number with its noun.
fn of(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Meters a model's workload. The samples are its own data, as loaded; faults are what keeps it from running at all.
pub fn measure(model: &Model, samples: &[Sample]) -> Result<Measured, Faults> {
    let given = samples;
    let samples = completed(model, given)?;
    let model = measuring(model);
    let samples = padded(&model, samples);
    let mut notes = unsaid(&model, &samples, given);
    let mut database = open(&model, &model.tables.iter().map(|table| &*table.name).collect::<Vec<_>>())?;
    load(&mut database, &model, &samples)?;
    let mut patterns = Vec::new();
    for pattern in &model.patterns {
        let mut ran = execute(&mut database, &model, &samples, pattern);
        if let Some(reason) = why_not(&ran) {
            notes.push(Note::NotRun { pattern: pattern.id.clone(), reason });
        } else if let Some(read) = pattern.read() {
            let sized = Sized { model: &model, samples: &samples, pattern, read, notes: &mut notes };
            sized.resize(&mut ran)?;
        }
        patterns.push(ran);
    }
    let tables = tables::measure(&model, &samples);
    let (name, text) = (model.name.clone(), model.text.clone());
    let report = Report { model: name, text, patterns, tables, collisions: Vec::new(), samples };
    Ok(Measured { report, notes })
}

fn why_not(ran: &PatternReport) -> Option<String> {
    match &ran.outcome {
        Outcome::Met | Outcome::Ran | Outcome::Unmet(_) => None,
        Outcome::NoPlan(reasons) => Some(reasons.join("; ")),
        Outcome::Failed(reason) => Some(reason.clone()),
    }
}

fn open(model: &Model, tables: &[&str]) -> Result<Database, Faults> {
    let no_place = |fault: String| vec![Fault::new(crate::model::At::default(), fault)];
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

/// The samples, with made-up ones of the entities that have none.
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
        let number = taken(model, entity).saturating_sub(u64::try_from(has).unwrap_or(u64::MAX));
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

/// Whether an index that few of an entity's items are in, as its author says, has none of the samples.
fn is_missed(model: &Model, entity: &Entity, samples: &[Sample]) -> bool {
    let Some(said) = model.entity(&entity.name) else { return false };
    let Some(table) = model.table(&entity.table) else { return false };
    let few = |name: &str| said.attribute(name).is_some_and(|own| own.present_ppm.is_some());
    let own: Vec<&Sample> =
        samples.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name)).collect();
    table.indexes.iter().any(|index| {
        let templates: Option<Vec<_>> = index.key_parts().map(|part| entity.template(&part.name)).collect();
        let sparse = templates.is_some_and(|all| all.iter().flat_map(Template::attributes).any(few));
        let is_in = |sample: &&Sample| index.key_parts().all(|part| sample.item.contains_key(&part.name));
        sparse && !own.iter().any(is_in)
    })
}

/// How many items of an entity a change or a batch of gets takes at once.
fn taken(model: &Model, entity: &Entity) -> u64 {
    let steps = model.patterns.iter().flat_map(Pattern::steps);
    let own = steps.filter(|step| step.entity == entity.name && step.kind != WriteKind::Put);
    own.map(|step| step.n).max().unwrap_or(0)
}

/// The model as it is metered: nothing is expected, and every item is in its indexes (how many are is for the bill to weigh).
fn measuring(model: &Model) -> Model {
    let mut model = model.clone();
    for pattern in &mut model.patterns {
        // What must fail on the data as it is, is paid for as a failure.
        let must_fail = |own: &Expectation| own.fails.as_ref().is_some_and(|fails| fails.when.is_empty());
        pattern.expect = pattern.expect.take().filter(must_fail);
    }
    enter_indexes(&mut model);
    model
}

/// What the model leaves open of its entities, and where its data contradict it.
fn unsaid(model: &Model, samples: &[Sample], given: &[Sample]) -> Vec<Note> {
    let mut notes = Vec::new();
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

/// What is put has the attributes of its entity's index keys, however few of the items have them.
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

/// Whether the sizes of all values are known: given, of a format or of listed values, or of a type of fixed size.
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
    // Changes take the first items that fit: those that are in most indexes.
    samples.sort_by_key(|sample| {
        let table = model.table(&sample.table);
        let keys = table.into_iter().flat_map(|table| &table.indexes).flat_map(Index::key_parts);
        Reverse(keys.filter(|part| sample.item.contains_key(&part.name)).count())
    });
    samples
}

/// One question on a collection of the declared size.
struct Sized<'a> {
    model: &'a Model,
    samples: &'a [Sample],
    pattern: &'a Pattern,
    read: &'a Read,
    notes: &'a mut Vec<Note>,
}

impl Sized<'_> {
    /// Replaces what the question did on the sample by what it does on as many items as it is said to return.
    fn resize(self, ran: &mut PatternReport) -> Result<(), Faults> {
        if !matches!(self.read.kind, ReadKind::Query | ReadKind::ScatterGather) {
            return Ok(());
        }
        let id = || self.pattern.id.clone();
        let returns = self.pattern.returns.unwrap_or_default();
        let Some(average) = returns.average.or(returns.max.filter(|most| *most == 1)) else {
            if ran.items_read > 0 || returns.max != Some(0) {
                self.notes.push(Note::NoAverage { pattern: id(), items: ran.items_returned });
            }
            return Ok(());
        };
        let returned = self.read.limit.map_or(average, |limit| average.min(limit));
        let mut wanted = returned;
        if ran.filter.is_some() && ran.items_returned > 0 && ran.items_read > ran.items_returned {
            let (read, returned) = (ran.items_read, ran.items_returned);
            self.notes.push(Note::Filtered { pattern: id(), read, returned });
            wanted = wanted.saturating_mul(read).div_ceil(returned);
        }
        let Some(loaded) = self.on_a_collection(ran, wanted)? else { return Ok(()) };
        if loaded.items < loaded.tried {
            self.notes.push(Note::FewerKeys { pattern: id(), items: loaded.items, wanted });
            return Ok(());
        }
        if loaded.tried < wanted {
            self.notes.push(Note::Extended { pattern: id(), items: loaded.tried, wanted });
            extend(ran, wanted, loaded.tried);
        }
        Ok(())
    }

    fn on_a_collection(&self, ran: &mut PatternReport, wanted: u64) -> Result<Option<Loaded>, Faults> {
        let model = self.model;
        let Some(table) = model.table(&ran.table) else { return Ok(None) };
        let index = ran.index.as_deref().and_then(|name| table.index(name));
        let tried = self.bounded(wanted);
        let pattern = self.whole_collection(ran, tried);
        let Operation::Read(read) = &pattern.operation else { return Ok(None) };
        let Ok(asked) = asked(model, self.samples, &pattern, read) else { return Ok(None) };
        let place = Place { model, table, index, known: &asked.known, samples: self.samples, ran };
        let items = place.items(read, tried);
        let mut database = open(model, &[&table.name])?;
        load(&mut database, model, &items)?;
        let mut sized = execute(&mut database, model, self.samples, &pattern);
        if why_not(&sized).is_some() || (sized.items_read == 0 && wanted > 0) {
            return Ok(None);
        }
        let items = sized.items_read;
        sized.returned.clear();
        sized.read.clear();
        sized.strangers.clear();
        sized.filter.clone_from(&ran.filter);
        *ran = PatternReport { key: ran.key.clone(), touched: Vec::new(), ..sized };
        Ok(Some(Loaded { items, tried }))
    }

    /// No more items than fit, in whole pages.
    fn bounded(&self, wanted: u64) -> u64 {
        let entities = self.read.entities.iter().filter_map(|name| self.model.entity(name));
        let sizes = entities.filter_map(|own| own.size_bytes.or_else(|| average(own, self.samples)));
        let bytes = sizes.max().unwrap_or(1).max(1);
        let most = COLLECTION_ITEMS_MAX.min((COLLECTION_BYTES_MAX / bytes).max(1));
        if wanted <= most {
            return wanted;
        }
        let page = self.pattern.returns.and_then(|returns| returns.page).unwrap_or(u64::MAX);
        let page = page.min((PAGE_BYTES_MAX / bytes).max(1));
        (most / page).max(1) * page
    }

    /// The question without its range, in a partition that holds nothing else: it reads what the range would. How many there
    /// are is known, so that no empty page is asked for behind the last one.
    fn whole_collection(&self, ran: &PatternReport, items: u64) -> Pattern {
        let mut pattern = self.pattern.clone();
        pattern.uses = Some(ran.index.clone().unwrap_or_else(|| ran.table.clone()));
        let mut returns = pattern.returns.unwrap_or_default();
        returns.max = (ran.filter.is_none()).then_some(items);
        pattern.returns = Some(returns);
        if let Operation::Read(read) = &mut pattern.operation {
            read.given.retain(|given| given.op == GivenOp::Eq);
        }
        pattern
    }
}

/// Items that a question was metered on, and that it was meant to be.
struct Loaded {
    items: u64,
    tried: u64,
}

/// What all items take when some of them took this.
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
