//! Verifies a design's reads by running them. Data is generated from a seed, and every read is executed on
//! the engine. Its items and metered capacity are compared with a plain evaluation over the same items in
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::capacity::READ_UNIT_BYTES;
use keywright_semantics::value::{AttributeValue, Item};

use super::fixtures::{generated, node};
use keywright_model::data::Sample;
use keywright_model::{
    At, Consistency, Entity, Faults, GivenOp, HalfUnits, KeyAttribute, Model, Node, NodeKind, Operation,
    Pattern, Projection, Read, ReadKind, Table,
};
use keywright_workbench::run::{Loaded, Outcome};

/// One pattern, run and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The pattern.
    pub pattern: String,
    /// Items the engine returned.
    pub returned: u64,
    /// Items that the plain evaluation finds.
    pub expected: u64,
    /// Items of other entities in the result.
    pub strangers: usize,
    /// Metered units.
    pub measured: HalfUnits,
    /// Units predicted from the sum of the sizes of the found items.
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

impl Verified {
    fn untried(pattern: &Pattern, read: &Read) -> Self {
        let names: Vec<&str> = read.given.iter().map(|given| given.attribute.as_str()).collect();
        Self {
            pattern: pattern.id.clone(),
            returned: 0,
            expected: 0,
            strangers: 0,
            measured: HalfUnits(0),
            predicted: HalfUnits(0),
            failed: Some(format!("not tried, as no generated item has {}", names.join(" and "))),
        }
    }
}

/// A read with concrete values.
pub(super) struct Ask {
    pub(super) pattern: String,
    pub(super) given: Vec<AttributeValue>,
}

/// Runs the reads of a designed model on generated data.
pub fn verify(model: &Model) -> Result<Vec<Verified>, Faults> {
    let (model, samples) = generated(model)?;
    let (mut asks, mut untried) = (Vec::new(), Vec::new());
    for pattern in &model.patterns {
        let Some(read) = pattern.read() else { continue };
        match values(read, &samples) {
            Some(given) => asks.push(Ask { pattern: pattern.id.clone(), given }),
            None => untried.push(Verified::untried(pattern, read)),
        }
    }
    let mut loaded = Loaded::of(&model, &samples)?;
    let mut verified = ask(&model, &mut loaded, (&samples, &samples), asks);
    verified.extend(untried);
    Ok(verified)
}

/// Runs a read on an engine that holds these items, and compares the result with a plain evaluation.
pub(super) fn ask(
    model: &Model,
    loaded: &mut Loaded,
    (stored, plain): (&[Sample], &[Sample]),
    asks: Vec<Ask>,
) -> Vec<Verified> {
    let mut asking = model.clone();
    asking.patterns.clear();
    let mut expected = Vec::new();
    for ask in asks {
        let Some(mut pattern) = model.pattern(&ask.pattern).cloned() else { continue };
        let Operation::Read(read) = &mut pattern.operation else { continue };
        read.limit = None;
        let read = read.clone();
        let place = place(&model.tables, &model.entities, &pattern, &read);
        expected.push(evaluate(&pattern, &read, &ask.given, plain, place.as_ref()));
        pattern.example = example(&read, &ask.given);
        pattern.expect = None;
        pattern.returns = None;
        asking.patterns.push(pattern);
    }
    assert_eq!(expected.len(), asking.patterns.len(), "each read is compared with its own evaluation");
    for (verified, pattern) in expected.iter_mut().zip(&asking.patterns) {
        let ran = loaded.ask(&asking, stored, pattern);
        // A scan of a shared table also reads what it is not for, which its caller leaves out.
        let others = u64::try_from(ran.strangers.len()).unwrap_or(u64::MAX);
        if pattern.read().is_some_and(|read| read.kind == ReadKind::Scan) {
            verified.returned = ran.items_returned.saturating_sub(others);
        } else {
            verified.returned = ran.items_returned;
            verified.strangers = ran.strangers.len();
        }
        verified.measured = ran.read_units();
        verified.failed = match &ran.outcome {
            Outcome::Met | Outcome::Ran => None,
            Outcome::Unmet(reasons) | Outcome::NoPlan(reasons) => Some(reasons.join("; ")),
            Outcome::Failed(reason) => Some(reason.clone()),
        };
    }
    expected
}

/// Values of an existing item, so that the pattern finds at least that one.
fn values(read: &Read, samples: &[Sample]) -> Option<Vec<AttributeValue>> {
    samples.iter().filter(|sample| is_asked(read, sample)).find_map(|sample| {
        read.given.iter().map(|given| sample.item.get(given.attribute.as_str()).cloned()).collect()
    })
}

pub(super) fn belongs(read: &Read, entity: &str) -> bool {
    read.entities.iter().any(|own| own == entity)
}

fn is_asked(read: &Read, sample: &Sample) -> bool {
    sample.entity.as_deref().is_some_and(|entity| belongs(read, entity))
}

/// Where a pattern reads: the attributes held there, and the number of keys that the items are spread over.
struct Place {
    table: String,
    /// The key attributes that an index entry must have.
    keys: Vec<String>,
    /// The attributes held; none if all.
    held: Option<Vec<String>>,
    /// The attributes whose values one request has in common; none for a scan.
    partition: Vec<String>,
    shards: u64,
}

impl Place {
    /// All items of the table or index.
    fn items<'a>(&self, samples: &'a [Sample]) -> Vec<&'a Sample> {
        let is_in = |sample: &&Sample| {
            sample.table == self.table && self.keys.iter().all(|name| sample.item.contains_key(name.as_str()))
        };
        samples.iter().filter(is_in).collect()
    }
}

fn place(tables: &[Table], entities: &[Entity], pattern: &Pattern, read: &Read) -> Option<Place> {
    let entity = entities.iter().find(|entity| read.entities.first() == Some(&entity.name))?;
    let table = tables.iter().find(|table| table.name == entity.table)?;
    let index = pattern.uses.as_deref().and_then(|name| table.index(name));
    let names = |parts: &[&KeyAttribute]| parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    let partition = match index {
        _ if read.kind == ReadKind::Scan => Vec::new(),
        Some(index) => names(&index.partition.iter().collect::<Vec<_>>()),
        None => vec![table.partition.name.clone()],
    };
    let held = index.and_then(|index| {
        let included = match &index.projection {
            Projection::All => return None,
            Projection::KeysOnly => BTreeSet::new(),
            Projection::Include(names) => names.clone(),
        };
        let keys = names(&table.key_parts().chain(index.key_parts()).collect::<Vec<_>>());
        Some(keys.into_iter().chain(included).collect())
    });
    let templates = partition.iter().filter_map(|name| entity.template(name));
    let spread = templates.map(|template| u64::from(template.shards())).product();
    // A read that gives the attributes of the shard queries one shard only.
    let shards = if read.kind == ReadKind::ScatterGather { spread } else { 1 };
    let keys = index.map(|index| names(&index.key_parts().collect::<Vec<_>>())).unwrap_or_default();
    Some(Place { table: table.name.clone(), keys, held, partition, shards })
}

/// The plain evaluation: every item of the entities that has the values.
fn evaluate(
    pattern: &Pattern,
    read: &Read,
    given: &[AttributeValue],
    samples: &[Sample],
    place: Option<&Place>,
) -> Verified {
    let matches = |item: &Item| {
        let ordered = read.order_by.as_ref().is_none_or(|by| item.contains_key(by.attribute.as_str()));
        ordered
            && read.given.iter().zip(given).all(|(given, value)| {
                item.get(given.attribute.as_str()).is_some_and(|own| fulfils(own, given.op, value))
            })
    };
    // Which items come first is up to the engine; the limit is reached either way.
    let limit = read.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let matching = samples.iter().filter(|sample| is_asked(read, sample) && matches(&sample.item));
    let found: Vec<&Sample> = matching.take(limit).collect();
    let strong = read.consistency == Consistency::Strong;
    let scanned = place.filter(|_| read.kind == ReadKind::Scan).map(|place| place.items(samples));
    let read = scanned.as_ref().unwrap_or(&found);
    Verified {
        pattern: pattern.id.clone(),
        returned: 0,
        expected: u64::try_from(found.len()).unwrap_or(u64::MAX),
        strangers: 0,
        measured: HalfUnits(0),
        predicted: HalfUnits(units(read, place) * if strong { 2 } else { 1 }),
        failed: None,
    }
}

/// Each key's items summed, then rounded up; a key without items costs one unit like any other.
fn units(found: &[&Sample], place: Option<&Place>) -> u64 {
    let mut keys: BTreeMap<String, u64> = BTreeMap::new();
    for sample in found {
        let key = place.map(|place| {
            let values = place.partition.iter().map(|name| sample.item.get(name.as_str()));
            format!("{:?}", values.collect::<Vec<_>>())
        });
        let held = place.and_then(|place| place.held.as_ref());
        let bytes = held.map_or_else(
            || size(&sample.item),
            |held| {
                let here = sample.item.iter().filter(|(name, _)| held.iter().any(|own| own == *name));
                size(&here.map(|(name, value)| (name.clone(), value.clone())).collect())
            },
        );
        *keys.entry(key.unwrap_or_default()).or_insert(0) += bytes;
    }
    let asked = place.map_or(1, |place| place.shards);
    let empty = asked.saturating_sub(u64::try_from(keys.len()).unwrap_or(u64::MAX));
    empty + keys.values().map(|bytes| bytes.div_ceil(READ_UNIT_BYTES).max(1)).sum::<u64>()
}

/// Whether a value satisfies the pattern. A range with two equal bounds is equality.
fn fulfils(own: &AttributeValue, op: GivenOp, asked: &AttributeValue) -> bool {
    let order = match (own, asked) {
        (AttributeValue::S(own), AttributeValue::S(asked)) => own.cmp(asked),
        (AttributeValue::N(own), AttributeValue::N(asked)) => own.cmp(asked),
        _ => return own == asked,
    };
    match op {
        GivenOp::Eq | GivenOp::Between => order.is_eq(),
        GivenOp::Lt => order.is_lt(),
        GivenOp::Le => order.is_le(),
        GivenOp::Gt => order.is_gt(),
        GivenOp::Ge => order.is_ge(),
        GivenOp::BeginsWith => {
            matches!((own, asked), (AttributeValue::S(own), AttributeValue::S(asked)) if own.starts_with(asked.as_str()))
        }
    }
}

pub(super) fn size(item: &Item) -> u64 {
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
