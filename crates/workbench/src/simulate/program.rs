//! What each pattern asks of the limits: the metered units of its requests, and how their keys are chosen.
//!
//! Units come from the workbench's meter, spreads from the profile or else from the model.

use keywright_engine::{Trial, TrialArm, TrialPart};
use keywright_model::{
    Attribute, AttributeFormat, Entity, Index, IndexKind, KeyAttribute, Model, Part, Pattern, ReadKind, Skew,
    Table, WriteKind,
};
use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage};
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::share::ALL_PPM;
use keywright_semantics::throttle::Direction;

use super::draw::{Choice, Random};
use super::profile::{Keys, PatternProfile};
use crate::run::{Measured, OperationKind, Outcome, PatternReport, written_ppm};

/// Values of an attribute of which the model does not say how many it has.
pub(super) const VALUES: u64 = 1000;

/// A table or one of its global indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The table.
    pub table: String,
    /// The global index; none for the table with its local indexes.
    pub index: Option<String>,
}

impl Resource {
    /// The name in reports.
    pub fn name(&self) -> String {
        self.index.as_ref().map_or_else(|| self.table.clone(), |index| format!("{}/{index}", self.table))
    }
}

/// A piece of a key's text.
#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Value { draw: usize },
}

/// A value that is drawn once for each request.
#[derive(Clone, Debug)]
struct Draw {
    name: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Chosen(Choice),
    /// The value follows from another draw: it is the same for the same key.
    Of {
        draw: usize,
        values: u64,
    },
    /// The present time in steps of so many milliseconds.
    Time {
        step_ms: u64,
    },
}

/// Units of one table or index, and how the key is made.
#[derive(Clone, Debug)]
struct ArmPlan {
    resource: usize,
    direction: Direction,
    units: HalfUnits,
    share_ppm: u64,
    /// One text for each attribute of the partition key; none for a scan, which is anywhere.
    partition: Vec<Vec<Piece>>,
    sort: Vec<Piece>,
}

/// One pattern, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) id: String,
    pub(super) trial: Trial,
    parts: Vec<(String, Vec<ArmPlan>)>,
    draws: Vec<Draw>,
    /// The number of the next request, if sort keys grow.
    sequence: Option<u64>,
}

/// One request: what it asks, and the text of each arm's partition key.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) parts: Vec<TrialPart>,
    /// For each part and arm, the resource and the key's text.
    pub(super) labels: Vec<Vec<(usize, String)>>,
}

/// Every table and global index of a model.
pub(super) fn resources(model: &Model) -> Vec<Resource> {
    let of_table = |table: &Table| {
        let own = Resource { table: table.name.clone(), index: None };
        let globals = table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let globals = globals
            .map(|index| Resource { table: table.name.clone(), index: Some(index.name.clone()) })
            .collect::<Vec<_>>();
        std::iter::once(own).chain(globals)
    };
    model.tables.iter().flat_map(of_table).collect()
}

/// Prepares a pattern; `Err` says why it cannot be simulated.
pub(super) fn program(
    model: &Model,
    measured: &Measured,
    pattern: &Pattern,
    profile: Option<&PatternProfile>,
) -> Result<Program, String> {
    let ran = measured.report.pattern(&pattern.id).ok_or("it was not metered")?;
    match &ran.outcome {
        Outcome::Met | Outcome::Ran | Outcome::Unmet(_) => {}
        Outcome::NoPlan(reasons) => return Err(reasons.join("; ")),
        Outcome::Failed(reason) => return Err(reason.clone()),
    }
    let resources = resources(model);
    let mut maker = Maker { model, measured, pattern, profile, resources: &resources, draws: Vec::new() };
    let is_sequence = profile.and_then(|own| own.keys) == Some(Keys::Sequence);
    maker.main(ran);
    let parts = if pattern.read().is_some() { maker.reads(ran) } else { maker.writes(ran) };
    if parts.is_empty() {
        return Err("it consumes nothing".to_owned());
    }
    let trial = match ran.operation {
        OperationKind::TransactWriteItems | OperationKind::TransactGetItems => Trial::Transaction,
        OperationKind::BatchWriteItem | OperationKind::BatchGetItem => Trial::Batch,
        _ if pattern.read().is_some() => Trial::Read,
        _ => Trial::Write,
    };
    let draws = maker.draws;
    Ok(Program { id: pattern.id.clone(), trial, parts, draws, sequence: is_sequence.then_some(0) })
}

struct Maker<'a> {
    model: &'a Model,
    measured: &'a Measured,
    pattern: &'a Pattern,
    profile: Option<&'a PatternProfile>,
    resources: &'a [Resource],
    draws: Vec<Draw>,
}

impl<'a> Maker<'a> {
    fn entity(&self) -> Option<&'a Entity> {
        let read = self.pattern.read().and_then(|read| read.entities.first());
        let name = read.or_else(|| self.pattern.steps().first().map(|step| &step.entity))?;
        self.model.entity(name)
    }

    /// Draws the values to which the profile's `keys` belong: `by`, or the attributes of the partition key
    /// that the pattern uses, of which the last decides on the others.
    fn main(&mut self, ran: &PatternReport) {
        let Some(profile) = self.profile else { return };
        let Some(entity) = self.entity() else { return };
        let Some(table) = self.model.table(&entity.table) else { return };
        let keys = match (profile.keys, profile.values) {
            (None, None) => return,
            (keys, _) => keys,
        };
        let index = ran.index.as_deref().and_then(|name| table.index(name));
        let names: Vec<String> = if let Some(name) = &profile.by {
            vec![name.clone()]
        } else {
            let own = partition_parts(table, index).iter().filter_map(|part| entity.template(&part.name));
            own.flat_map(|own| own.tells().map(str::to_owned).collect::<Vec<_>>()).collect()
        };
        let Some((last, others)) = names.split_last() else { return };
        let values = profile.values.unwrap_or_else(|| self.values(entity, last));
        let choice = match keys {
            None => Choice::of_skew(self.model.skew(entity, last).unwrap_or(Skew::Uniform), values),
            Some(Keys::Skewed(skew)) => Choice::of_skew(skew, values),
            Some(Keys::Hot { share_ppm, keys }) => Choice::Hot { share_ppm, hot: keys, values },
            Some(Keys::Sequence) => Choice::Fixed,
        };
        self.draws.push(Draw { name: last.clone(), source: Source::Chosen(choice) });
        for name in others {
            let source = Source::Of { draw: 0, values: self.values(entity, name) };
            self.draws.push(Draw { name: name.clone(), source });
        }
    }

    fn values(&self, entity: &Entity, name: &str) -> u64 {
        self.model.distinct(entity, name).or(entity.count).unwrap_or(VALUES).max(1)
    }

    /// The draw of an attribute, made when it is first needed.
    fn draw(&mut self, entity: &Entity, name: &str) -> usize {
        if let Some(place) = self.draws.iter().position(|draw| draw.name == name) {
            return place;
        }
        let format = entity.attribute(name).and_then(|own: &Attribute| own.format);
        let declared = self.model.skew(entity, name);
        let puts = self.pattern.steps().iter().any(|step| step.kind == WriteKind::Put);
        let source = match format.filter(|format| format.is_time() && puts && declared.is_none()) {
            Some(AttributeFormat::Date) => Source::Time { step_ms: super::profile::DAY_SECONDS * 1000 },
            Some(AttributeFormat::EpochSeconds | AttributeFormat::LocalTime) => {
                Source::Time { step_ms: 1000 }
            }
            Some(_) => Source::Time { step_ms: 1 },
            None => {
                let values = self.values(entity, name);
                Source::Chosen(Choice::of_skew(declared.unwrap_or(Skew::Uniform), values))
            }
        };
        self.draws.push(Draw { name: name.to_owned(), source });
        self.draws.len() - 1
    }

    fn shard(&mut self, name: &str, shards: u32) -> usize {
        if let Some(place) = self.draws.iter().position(|draw| draw.name == name) {
            return place;
        }
        let choice = Choice::Turn { values: u64::from(shards).max(1), next: 0 };
        self.draws.push(Draw { name: name.to_owned(), source: Source::Chosen(choice) });
        self.draws.len() - 1
    }

    fn pieces(&mut self, entity: &Entity, part: &KeyAttribute) -> Vec<Piece> {
        let Some(template) = entity.template(&part.name) else { return Vec::new() };
        let piece = |part: &Part| match part {
            Part::Literal(text) => Piece::Literal(text.clone()),
            Part::Attribute { name, .. } => Piece::Value { draw: self.draw(entity, name) },
            Part::Shard { name, shards } => Piece::Value { draw: self.shard(name, *shards) },
        };
        template.parts.iter().map(piece).collect()
    }

    /// The arms of what was used of a table: the table with its local indexes, then its global indexes.
    fn arms(
        &mut self,
        table: &Table,
        entity: &Entity,
        usage: &TableUsage,
        shares: &Shares<'_>,
    ) -> Vec<ArmPlan> {
        let mut own = usage.table;
        for local in usage.local_indexes.values() {
            own = Usage { read: own.read + local.read, write: own.write + local.write };
        }
        let mut found = self.of_resource(table, None, entity, own, ALL_PPM);
        for (name, usage) in &usage.global_indexes {
            let Some(index) = table.index(name) else { continue };
            found.extend(self.of_resource(table, Some(index), entity, *usage, shares(index)));
        }
        found
    }

    fn of_resource(
        &mut self,
        table: &Table,
        index: Option<&Index>,
        entity: &Entity,
        usage: Usage,
        share_ppm: u64,
    ) -> Vec<ArmPlan> {
        let name = index.map(|index| index.name.clone());
        let wanted = Resource { table: table.name.clone(), index: name };
        let Some(resource) = self.resources.iter().position(|own| *own == wanted) else { return Vec::new() };
        let kind = self.pattern.read().map(|read| read.kind);
        let is_scan = kind == Some(ReadKind::Scan);
        let is_range = matches!(kind, Some(ReadKind::Query | ReadKind::ScatterGather | ReadKind::Scan));
        let partition = if is_scan {
            Vec::new()
        } else {
            partition_parts(table, index).iter().map(|part| self.pieces(entity, part)).collect()
        };
        let sort = match index {
            _ if is_range => Vec::new(),
            Some(index) => index.sort.iter().flat_map(|part| self.pieces(entity, part)).collect(),
            None => table.sort.iter().flat_map(|part| self.pieces(entity, part)).collect(),
        };
        let of = |direction, units| ArmPlan {
            resource,
            direction,
            units,
            share_ppm,
            partition: partition.clone(),
            sort: sort.clone(),
        };
        let both = [(Direction::Read, usage.read), (Direction::Write, usage.write)];
        both.into_iter()
            .filter(|(_, units)| units.0 > 0)
            .map(|(direction, units)| of(direction, units))
            .collect()
    }

    fn reads(&mut self, ran: &PatternReport) -> Vec<(String, Vec<ArmPlan>)> {
        let Some(entity) = self.entity() else { return Vec::new() };
        let mut parts = Vec::new();
        for own in &ran.capacity {
            let Some(table) = self.model.table(&own.table) else { continue };
            let whole = self.arms(table, entity, &own.usage, &|_| ALL_PPM);
            let gathers = self.pattern.read().is_some_and(|read| read.kind == ReadKind::ScatterGather);
            let shards = if gathers { u64::from(ran.partitions).max(1) } else { 1 };
            for shard in 0..shards {
                let of_shard = |arm: &ArmPlan| self.in_shard(arm, shard, shards);
                parts.push((table.name.clone(), whole.iter().map(of_shard).collect()));
            }
        }
        parts
    }

    /// One shard's part of a read that gathers all of them.
    fn in_shard(&self, arm: &ArmPlan, shard: u64, shards: u64) -> ArmPlan {
        let is_turn = |draw: usize| {
            let source = self.draws.get(draw).map(|draw| &draw.source);
            matches!(source, Some(Source::Chosen(Choice::Turn { .. })))
        };
        let fixed = |piece: &Piece| match piece {
            Piece::Value { draw } if shards > 1 && is_turn(*draw) => Piece::Literal(shard.to_string()),
            other => other.clone(),
        };
        let partition = arm.partition.iter().map(|text| text.iter().map(fixed).collect()).collect();
        ArmPlan { units: HalfUnits(arm.units.0.div_ceil(shards)), partition, ..arm.clone() }
    }

    fn writes(&mut self, ran: &PatternReport) -> Vec<(String, Vec<ArmPlan>)> {
        let model = self.model;
        let steps = self.pattern.steps();
        let alone = self.measured.steps.get(&self.pattern.id);
        let reports: Vec<(usize, &PatternReport)> = match alone {
            Some(alone) => alone.iter().enumerate().collect(),
            None => vec![(0, ran)],
        };
        let mut parts = Vec::new();
        for (place, report) in reports {
            for own in &report.capacity {
                let Some(table) = model.table(&own.table) else { continue };
                let of_table = |name: &str| model.entity(name).filter(|own| own.table == table.name);
                let step = steps.get(place).filter(|step| of_table(&step.entity).is_some());
                let step = step.or_else(|| steps.iter().find(|step| of_table(&step.entity).is_some()));
                let Some((step, entity)) = step.and_then(|step| Some((step, of_table(&step.entity)?))) else {
                    continue;
                };
                let (measured, pattern) = (self.measured, self.pattern);
                let share = |index: &Index| {
                    let seen = measured.report.entity(&entity.name);
                    seen.map_or(ALL_PPM, |seen| written_ppm(pattern, step, entity, index, seen))
                };
                parts.push((table.name.clone(), self.arms(table, entity, &own.usage, &share)));
            }
        }
        parts
    }
}

/// The share of writes that reach an index, in millionths.
type Shares<'a> = dyn Fn(&Index) -> u64 + 'a;

fn partition_parts<'a>(table: &'a Table, index: Option<&'a Index>) -> &'a [KeyAttribute] {
    index.map_or_else(|| std::slice::from_ref(&table.partition), |index| index.partition.as_slice())
}

impl Program {
    /// The next request.
    pub(super) fn request(&mut self, random: &mut Random, now_ms: u64, resources: &[Resource]) -> Request {
        let mut values: Vec<u64> = Vec::with_capacity(self.draws.len());
        for draw in &mut self.draws {
            let value = match &mut draw.source {
                Source::Chosen(choice) => choice.draw(random),
                Source::Of { draw, values: of } => values.get(*draw).map_or(0, |value| value % *of),
                Source::Time { step_ms } => now_ms / *step_ms,
            };
            values.push(value);
        }
        let number = self.sequence;
        self.sequence = number.map(|number| number + 1);
        let mut request = Request { parts: Vec::new(), labels: Vec::new() };
        for (table, arms) in &self.parts {
            let mut part = TrialPart { table: table.clone(), arms: Vec::with_capacity(arms.len()) };
            let mut labels = Vec::with_capacity(arms.len());
            for arm in arms {
                if !random.chance(arm.share_ppm) {
                    continue;
                }
                let Some(resource) = resources.get(arm.resource) else { continue };
                let (key, label) = arm.key(&values, number, random);
                labels.push((arm.resource, label));
                part.arms.push(TrialArm {
                    index: resource.index.clone(),
                    direction: arm.direction,
                    key,
                    units: arm.units,
                });
            }
            request.parts.push(part);
            request.labels.push(labels);
        }
        request
    }
}

impl ArmPlan {
    /// The key within the table or index, and the partition key's text.
    fn key(&self, values: &[u64], number: Option<u64>, random: &mut Random) -> (Vec<u8>, String) {
        if self.partition.is_empty() {
            return (random.next().to_be_bytes().to_vec(), "(scan)".to_owned());
        }
        let text = |pieces: &[Piece]| {
            let mut text = String::new();
            for piece in pieces {
                match piece {
                    Piece::Literal(literal) => text.push_str(literal),
                    Piece::Value { draw } => {
                        text.push_str(&values.get(*draw).copied().unwrap_or(0).to_string());
                    }
                }
            }
            text
        };
        let texts: Vec<String> = self.partition.iter().map(|pieces| text(pieces)).collect();
        let mut key = partition_hash(texts.iter().map(|text| KeyValueRef::S(text))).0.to_vec();
        match number {
            Some(number) => key.extend_from_slice(&number.to_be_bytes()),
            None => key.extend_from_slice(text(&self.sort).as_bytes()),
        }
        (key, texts.join(" "))
    }
}
