//! The share of traffic on the busiest partition key of an
//! entity, from what the model declares of the key's attributes.

use super::{Exact, busiest};
use crate::{Attribute, AttributeFormat, Entity, MicroPerSecond, Model, Part, Skew, Template};
use keywright_semantics::share::MICRO;

/// If an attribute has fewer values per shard than this, the
/// fullest shard decides: it can hold one value more than others.
const VALUES_FEW: u64 = 100;
/// Distinct times within a second for a time with milliseconds.
const TIMES_PER_SECOND: u64 = 1000;

/// The age of the items that a request touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Items of any age.
    Any,
    /// New items, at this average rate.
    #[expect(missing_docs, reason = "the variant says it")]
    Now { average: MicroPerSecond },
}

/// The shards of a template, and how far their attribute can fill them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// The attribute that selects the shard.
    pub attribute: String,
    /// The number of shards in the template.
    pub written: u64,
    /// The number of shards that one key can use: at most
    /// the number of the attribute's values within the key.
    pub shards: u64,
    /// Whether the key contains the attribute itself, so that each of its values has only one shard.
    pub determined: bool,
    /// The most values that the attribute has within one key.
    within: Option<u64>,
    /// The share of its key's traffic that the attribute's busiest value receives.
    busiest: Exact,
}

impl Spread {
    /// Why the key spreads over fewer shards than the template says; `None` if it does not.
    pub fn fault(&self) -> Option<String> {
        let Self { attribute, written, shards, .. } = self;
        if self.determined {
            Some(format!(
                "`{{{attribute}|shard({written})}}` spreads nothing: the key is of one `{attribute}`, which has one shard"
            ))
        } else if shards < written {
            let (values, used) = (plural(*shards, "value"), plural(*shards, "shard"));
            Some(format!(
                "`{{{attribute}|shard({written})}}` spreads a key over {used} at most: it has {values} of `{attribute}`"
            ))
        } else {
            None
        }
    }

    /// A spread by an attribute that has at most so many values within a key, evenly.
    pub const fn among(within: Option<u64>) -> Self {
        Self {
            attribute: String::new(),
            written: 1,
            shards: 1,
            determined: false,
            within,
            busiest: Exact::ZERO,
        }
    }

    /// The share of its key's traffic on the busiest of `shards` shards. An even spread gives one n-th; a
    /// single value always stays in one shard, however frequent it is.
    pub fn share(&self, shards: u64) -> Exact {
        if self.determined {
            return Exact::ONE;
        }
        let few = self.within.filter(|within| *within < shards.saturating_mul(VALUES_FEW));
        let even = few.map_or_else(
            || Exact::part(1_u64, shards),
            // With more values than shards, some shard holds at least the rounded-up average.
            |within| Exact::part(within.div_ceil(shards), within),
        );
        even.max(self.busiest).min(Exact::ONE)
    }

    /// The share of its key's traffic on the busiest of `shards` shards, if all of them can be used.
    pub fn share_if_held(&self, shards: u64) -> Option<Exact> {
        self.holds(shards).then(|| self.share(shards))
    }

    /// Whether all of `shards` shards can be used.
    pub fn holds(&self, shards: u64) -> bool {
        !self.determined && self.within.is_none_or(|within| within >= shards)
    }
}

fn plural(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The share of a key's traffic on its busiest shard.
pub fn of_shards(spreads: &[Spread]) -> Exact {
    spreads.iter().fold(Exact::ONE, |share, own| share.times(own.share(own.written)))
}

/// The shards of a partition key's templates.
pub fn spreads(model: &Model, entity: &Entity, templates: &[Template]) -> Vec<Spread> {
    let readable: Vec<&str> = templates.iter().flat_map(Template::tells).collect();
    let items = items(model, entity, templates);
    let parts = templates.iter().flat_map(|template| &template.parts);
    parts
        .filter_map(|part| match part {
            Part::Shard { name, shards } => {
                let determined = readable.contains(&name.as_str());
                Some(spread(model, entity, name, u64::from(*shards).max(1), determined, items))
            }
            Part::Literal(_) | Part::Attribute { .. } => None,
        })
        .collect()
}

/// The number of items under the busiest key of some templates, before sharding.
pub fn items(model: &Model, entity: &Entity, templates: &[Template]) -> Option<u64> {
    let share = of_values(model, entity, templates, When::Any)?;
    Some(Exact::of(entity.count?).times(share).ceil())
}

/// Each value is in one shard: a key uses at most as many shards as it has values, and all traffic of the
/// busiest value goes to one shard.
fn spread(
    model: &Model,
    entity: &Entity,
    name: &str,
    written: u64,
    determined: bool,
    items: Option<u64>,
) -> Spread {
    let attribute = name.to_owned();
    if determined {
        let (within, busiest) = (Some(1), Exact::ONE);
        return Spread { attribute, written, shards: 1, determined, within, busiest };
    }
    let values = model.distinct(entity, name);
    let within = [values, items].into_iter().flatten().min().map(|within| within.max(1));
    let busiest = match model.skew(entity, name) {
        Some(skew @ Skew::Hottest { .. }) => busiest(skew, within.unwrap_or(u64::MAX)),
        Some(skew) if values.is_some() => busiest(skew, within.unwrap_or(u64::MAX)),
        Some(_) | None => Exact::ZERO,
    };
    let shards = within.map_or(written, |within| written.min(within));
    assert!((1..=written).contains(&shards), "a key uses one of its shards, and no more than there are");
    assert!(busiest <= Exact::ONE, "the busiest value has a part of the traffic");
    Spread { attribute, written, shards, determined, within, busiest }
}

/// The share of traffic on the busiest key, before sharding. Attributes are taken to vary independently.
/// `None` when the model does not say how many values there are.
pub fn of_values(model: &Model, entity: &Entity, templates: &[Template], when: When) -> Option<Exact> {
    let names = readable_attributes(templates);
    let (mut share, others) = match identified(model, entity, &names, when) {
        Some((count, others)) => (Exact::part(1_u64, count), others),
        None => (Exact::ONE, names),
    };
    for name in others {
        let values = model.distinct(entity, name);
        let present = || match when {
            When::Any => None,
            When::Now { average } => {
                let attribute = entity.attribute(name)?;
                of_present(entity, attribute, values, average)
            }
        };
        let of_one = match model.skew(entity, name) {
            Some(skew @ Skew::Hottest { .. }) => {
                let said = busiest(skew, values.unwrap_or(u64::MAX));
                present().map_or(said, |present| present.max(said))
            }
            Some(Skew::Uniform) => busiest(Skew::Uniform, values?),
            Some(skew) => busiest(skew, values?),
            None => match present() {
                Some(present) => present,
                None => busiest(Skew::Uniform, values?),
            },
        };
        share = share.times(of_one);
    }
    // There are at most as many keys as items, however many combinations of values there could be.
    let share =
        entity.count.filter(|count| *count > 0).map_or(share, |count| share.max(Exact::part(1_u64, count)));
    assert!(share <= Exact::ONE, "the busiest key has a part of the traffic");
    Some(share)
}

/// The number of owners (the entity or one of its parents) that several of
/// these attributes identify together, and the attributes that distinguish
/// further. `None` if one of the attributes has a skew or is a present time.
fn identified<'a>(
    model: &Model,
    entity: &Entity,
    names: &[&'a str],
    when: When,
) -> Option<(u64, Vec<&'a str>)> {
    let even = |name: &str| {
        let time = entity.attribute(name).and_then(|own| own.format).is_some_and(AttributeFormat::is_time);
        model.skew(entity, name).is_none_or(|skew| skew == Skew::Uniform) && (when == When::Any || !time)
    };
    let parents = entity.parents.iter().filter_map(|parent| model.entity(parent));
    std::iter::once(entity).chain(parents).find_map(|owner| {
        let mut key = model.key_of(owner);
        key.sort_unstable();
        key.dedup();
        let is_its = |name: &str| {
            let line = model.line(entity, name);
            line.iter().any(|own| own.entity.name == owner.name && own.attribute.name == name)
        };
        let whole =
            key.len() > 1 && key.iter().all(|name| names.contains(name) && is_its(name) && even(name));
        let count = owner.count.filter(|count| whole && *count > 0)?;
        let more = |name: &&&str| owner.name != entity.name && !key.contains(*name);
        Some((count, names.iter().filter(more).copied().collect()))
    })
}

/// The time attributes of a key: items written at the same moment share their values.
pub fn of_time<'a>(model: &Model, entity: &Entity, templates: &'a [Template]) -> Vec<&'a str> {
    let mut names = readable_attributes(templates);
    names.retain(|name| {
        let format = entity.attribute(name).and_then(|attribute| attribute.format);
        format.is_some_and(AttributeFormat::is_time) && model.skew(entity, name) != Some(Skew::Uniform)
    });
    names
}

/// The share of the writes within a second that has the same value of a time attribute: all of them for a day
/// or a second. A time with milliseconds and repeated values covers the time in which that many items arrive.
fn of_present(
    entity: &Entity,
    attribute: &Attribute,
    values: Option<u64>,
    average: MicroPerSecond,
) -> Option<Exact> {
    match attribute.format? {
        AttributeFormat::Date | AttributeFormat::LocalTime | AttributeFormat::EpochSeconds => {
            Some(Exact::ONE)
        }
        AttributeFormat::Iso8601 | AttributeFormat::EpochMs => {
            let finest = Exact::part(1_u64, TIMES_PER_SECOND);
            let Some(values) = values else { return Some(finest) };
            let Some(count) = entity.count else { return Some(Exact::ONE) };
            if values >= count {
                return Some(finest);
            }
            let items = Exact::part(count, values);
            let seconds = items.times(Exact::part(MICRO, average.0.max(1)));
            Some(seconds.max(finest).min(Exact::ONE))
        }
        AttributeFormat::Uuid
        | AttributeFormat::Ulid
        | AttributeFormat::Sequence
        | AttributeFormat::Email => None,
    }
}

/// The attributes whose values can be read from the templates' texts, each once.
fn readable_attributes(templates: &[Template]) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for name in templates.iter().flat_map(Template::tells) {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// How many different keys some templates make of an entity; `None` when the model does not say.
pub fn different(model: &Model, entity: &Entity, templates: &[Template]) -> Option<u64> {
    let names = readable_attributes(templates);
    let (first, others) = identified(model, entity, &names, When::Any).unwrap_or((1, names));
    let mut values = others.into_iter().map(|name| model.distinct(entity, name));
    let values = values.try_fold(first, |product, values| Some(product.saturating_mul(values?)))?;
    let values = entity.count.filter(|count| *count > 0).map_or(values, |count| values.min(count));
    Some(
        spreads(model, entity, templates)
            .iter()
            .fold(values, |product, own| product.saturating_mul(own.shards)),
    )
}
