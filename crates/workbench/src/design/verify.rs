//! A design proved by running it: data generated from a seed, every read executed on the engine, its items and its
//! metered capacity compared with a plain evaluation over the same items in memory.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::value::{AttributeValue, Item};

use crate::data::{self, Sample};
use crate::model::{
    At, Consistency, DataSource, Faults, Generate, GivenOp, HalfUnits, Model, Node, NodeKind, Operation,
    Pattern, Read,
};
use crate::run::{Outcome, run};

/// Items of the most numerous entity.
const SAMPLE: u64 = 60;
/// The seed of the data.
const SEED: u64 = 7;
/// Bytes that one read unit covers.
const READ_UNIT_BYTES: u64 = 4096;

/// One pattern, run and evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The pattern.
    pub pattern: String,
    /// Items the engine returned.
    pub returned: u64,
    /// Items that the plain evaluation finds.
    pub expected: u64,
    /// Items of other entities that came along.
    pub strangers: usize,
    /// Metered units.
    pub measured: HalfUnits,
    /// Units by the sum of the sizes of the items found.
    pub predicted: HalfUnits,
    /// Why it could not be run, if it could not.
    pub failed: Option<String>,
}

impl Verified {
    /// Whether the engine and the plain evaluation agree.
    pub fn agrees(&self) -> bool {
        self.failed.is_none()
            && self.strangers == 0
            && self.returned == self.expected
            && self.measured == self.predicted
    }
}

/// Runs the reads of a designed model on generated data.
pub fn verify(model: &Model) -> Result<Vec<Verified>, Faults> {
    let mut model = model.clone();
    model.data =
        DataSource { generate: Some(Generate { seed: SEED, sample: SAMPLE }), ..DataSource::default() };
    let no_files = |name: &str| Err(format!("{name} is not read: the data is generated"));
    let samples = stored(&model, data::load(&model, &no_files)?);
    model.patterns.retain(|pattern| pattern.read().is_some());
    let mut expected = Vec::new();
    for pattern in &mut model.patterns {
        let Operation::Read(read) = &pattern.operation else { continue };
        let Some(given) = values(read, &samples) else { continue };
        expected.push(evaluate(pattern, read, &given, &samples));
        pattern.example = example(read, &given);
        pattern.expect = None;
        pattern.returns = None;
    }
    let report = run(&model, &no_files, &mut |_| {})?;
    for verified in &mut expected {
        let Some(ran) = report.pattern(&verified.pattern) else { continue };
        verified.returned = ran.items_returned;
        verified.strangers = ran.strangers.len();
        verified.measured = ran.read_units();
        verified.failed = match &ran.outcome {
            Outcome::Met | Outcome::Ran => None,
            Outcome::Unmet(reasons) | Outcome::NoPlan(reasons) => Some(reasons.join("; ")),
            Outcome::Failed(reason) => Some(reason.clone()),
        };
    }
    Ok(expected)
}

/// What is left of the samples when they are written one after another: scaled counts make few values, so that a later
/// item may have an earlier one's identity. Items of different entities never replace each other here: if their keys are
/// equal on the engine, the answers differ and the design is wrong.
fn stored(model: &Model, samples: Vec<Sample>) -> Vec<Sample> {
    let key = |sample: &Sample| {
        let table = model.table(&sample.table)?;
        let values: Option<Vec<String>> =
            table.key_parts().map(|part| Some(format!("{:?}", sample.item.get(&part.name)?))).collect();
        Some((sample.entity.clone(), values?))
    };
    let mut last: BTreeMap<_, usize> = BTreeMap::new();
    for (place, sample) in samples.iter().enumerate() {
        last.insert(key(sample), place);
    }
    let kept: BTreeSet<usize> = last.into_values().collect();
    samples.into_iter().enumerate().filter_map(|(place, own)| kept.contains(&place).then_some(own)).collect()
}

/// Values that some item has, so that the pattern finds at least that item.
fn values(read: &Read, samples: &[Sample]) -> Option<Vec<AttributeValue>> {
    samples.iter().filter(|sample| belongs(read, sample)).find_map(|sample| {
        read.given.iter().map(|given| sample.item.get(given.attribute.as_str()).cloned()).collect()
    })
}

fn belongs(read: &Read, sample: &Sample) -> bool {
    sample.entity.as_ref().is_some_and(|entity| read.entities.contains(entity))
}

/// The plain evaluation: every item of the entities that has the values.
fn evaluate(pattern: &Pattern, read: &Read, given: &[AttributeValue], samples: &[Sample]) -> Verified {
    let matches = |item: &Item| {
        read.given.iter().zip(given).all(|(given, value)| item.get(given.attribute.as_str()) == Some(value))
    };
    let found: Vec<&Sample> =
        samples.iter().filter(|sample| belongs(read, sample) && matches(&sample.item)).collect();
    let bytes: u64 = found.iter().map(|sample| size(&sample.item)).sum();
    let units = bytes.div_ceil(READ_UNIT_BYTES).max(1);
    let strong = read.consistency == Consistency::Strong;
    Verified {
        pattern: pattern.id.clone(),
        returned: 0,
        expected: u64::try_from(found.len()).unwrap_or(u64::MAX),
        strangers: 0,
        measured: HalfUnits(0),
        predicted: HalfUnits(if strong { units * 2 } else { units }),
        failed: None,
    }
}

fn size(item: &Item) -> u64 {
    u64::try_from(keywright_semantics::size::item_bytes(item)).unwrap_or(u64::MAX)
}

fn example(read: &Read, given: &[AttributeValue]) -> Vec<(String, Node)> {
    read.given
        .iter()
        .zip(given)
        .filter_map(|(given, value)| {
            let node = node(value)?;
            let node = match given.op {
                GivenOp::Between => {
                    Node { at: At::default(), kind: NodeKind::List(vec![node.clone(), node]) }
                }
                _ => node,
            };
            Some((given.attribute.clone(), node))
        })
        .collect()
}

fn node(value: &AttributeValue) -> Option<Node> {
    let kind = match value {
        AttributeValue::S(text) => NodeKind::Text(text.clone()),
        AttributeValue::N(number) => NodeKind::Number(number.to_string()),
        _ => return None,
    };
    Some(Node { at: At::default(), kind })
}
