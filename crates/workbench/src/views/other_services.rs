//! Workloads that do not fit DynamoDB (analytics, full text), and reads that a cache would serve better.

use super::Looked;
use super::facts::{priced, rate_text};
use crate::cost::{Bill, Costing, bill};
use crate::price::{Item, Money};
use crate::run::measure;
use keywright_model::{Consistency, MilliItems, Pattern, Read, ReadKind};
use keywright_semantics::share::ALL_PPM;

/// A read that returns more than one in this many items is not a lookup.
const SHARE_OF_ALL: u64 = 10;
/// Fewer items of an entity can be read whole without harm.
const COUNT_LARGE: u64 = 10_000;
/// A cluster that survives the loss of a node has three (developer guide, DAX cluster components).
const CACHE_NODES: i128 = 3;
/// More reads per second of one key than a partition serves, in millionths: 3000 read units, two eventually
/// consistent reads each (developer guide, "Data modeling building blocks", write sharding).
const KEY_READS_MICRO: u64 = 6_000_000_000;

pub(super) fn advice(looked: &Looked<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in &looked.model.patterns {
        let Some(read) = pattern.read() else { continue };
        if let Some(reason) = full_text(read) {
            found.push(format!(
                "{}: {reason}. Send changes by a stream to a search service (OpenSearch) and ask that; a filter reads, and pays for, everything.",
                pattern.id
            ));
        } else if let Some(reason) = analytics(looked, pattern, read) {
            found.push(format!(
                "{}: {reason}. Export the table to an object store and ask there (Athena, Redshift), or keep the figure in an item that a stream updates.",
                pattern.id
            ));
        }
        found.extend(hot_reads(looked, pattern, read));
    }
    found.extend(cache(looked));
    found
}

/// The filter of a read that looks for a part of a text.
fn full_text(read: &Read) -> Option<String> {
    let filter = read.filter.as_ref()?;
    let searches = filter.tree().calls().iter().any(|call| call.function == "contains");
    searches.then(|| format!("it looks for a part of a text (`{filter}`)"))
}

fn analytics(looked: &Looked<'_>, pattern: &Pattern, read: &Read) -> Option<String> {
    let count: u64 = read
        .entities
        .iter()
        .filter_map(|name| looked.model.entity(name))
        .filter_map(|entity| entity.count)
        .sum();
    if read.kind == ReadKind::Scan && !pattern.admin {
        return Some(format!("it reads all {count} items to answer"));
    }
    let returned = pattern.returns.and_then(|returns| returns.average).map_or(0, MilliItems::whole);
    let many = count >= COUNT_LARGE && returned.saturating_mul(SHARE_OF_ALL) >= count;
    many.then(|| format!("it returns {returned} of {count} items"))
}

/// Eventually consistent reads whose busiest key receives more than one partition serves.
fn hot_reads(looked: &Looked<'_>, pattern: &Pattern, read: &Read) -> Option<String> {
    let eventual = read.consistency == Consistency::Eventual;
    // Only attributes that the pattern reads by count, not the items' other ones.
    let given = || read.given.iter().filter(|given| given.op == keywright_model::GivenOp::Eq);
    let skewed = read.entities.iter().filter_map(|name| looked.model.entity(name)).find_map(|entity| {
        given().find_map(|given| match looked.model.skew(entity, &given.attribute) {
            Some(keywright_model::Skew::Hottest { share_ppm }) => Some((&given.attribute, share_ppm)),
            Some(_) | None => None,
        })
    });
    let (attribute, share_ppm) = skewed.filter(|_| eventual)?;
    let peak = u128::from(pattern.rate?.peak.0) * u128::from(share_ppm) / u128::from(ALL_PPM);
    let peak = u64::try_from(peak).unwrap_or(u64::MAX);
    (peak > KEY_READS_MICRO).then(|| {
        format!(
            "{}: at the peak one `{attribute}` gets {} reads a second, and a partition gives 6000 eventually consistent ones of up to 4 KB. Put a read cache in front.",
            pattern.id,
            rate_text(keywright_model::MicroPerSecond(peak))
        )
    })
}

/// The cost of a cache of three nodes, compared with the cost of the reads that it would serve.
fn cache(looked: &Looked<'_>) -> Option<String> {
    priced(looked.model, |costing| {
        let measured = measure(looked.model, &looked.samples).ok()?;
        let bill = bill(looked.model, &measured, costing).ok()?;
        let nodes = cluster(costing)?;
        let reads = cacheable(looked, &bill);
        (reads > nodes).then(|| {
            format!(
                "A cache: eventually consistent reads cost {reads} a month; {CACHE_NODES} cache nodes cost {nodes} and would serve those that repeat. \
                 Strong reads pass by a cache."
            )
        })
    })
}

fn cluster(costing: &Costing<'_>) -> Option<Money> {
    let hour = costing.prices.of(Item::CacheNodeHour)?;
    Some(hour.times(i128::from(costing.settings.month.hours) * CACHE_NODES, 1))
}

fn cacheable(looked: &Looked<'_>, bill: &Bill) -> Money {
    let eventual = |id: &str| {
        let read = looked.model.pattern(id).and_then(Pattern::read);
        read.is_some_and(|read| read.consistency == Consistency::Eventual)
    };
    bill.lines.iter().filter(|line| eventual(&line.pattern)).map(|line| line.monthly.reads).sum()
}
