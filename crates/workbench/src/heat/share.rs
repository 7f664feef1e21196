//! The share of traffic on the busiest of an entity's partition keys, by what the model says of the attributes in them.

use super::{ALL_PPM, busiest_share_ppm};
use crate::model::{Entity, Model, Part, Skew, Template};

/// The busiest key of some templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// What all keys with its values receive, shards aside, in parts per million.
    pub of_values_ppm: u64,
    /// What the key itself receives of everything: the busiest shard of those values.
    pub ppm: u64,
}

/// Shards as a template writes them, and what their attribute makes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// The attribute that tells the shards apart.
    pub attribute: String,
    /// As many as are written.
    pub written: u64,
    /// As many as one key is spread over: no more than the attribute has values within it.
    pub shards: u64,
    /// Whether the key holds the attribute already, so that each of its values has one shard.
    pub determined: bool,
    /// What the busiest shard receives of its key, in parts per million.
    ppm: u64,
}

impl Spread {
    /// Why it spreads less than is written; none if it does not.
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
}

fn plural(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The share of the busiest of a template's keys: attributes are taken to vary independently. None when the model does
/// not say how many values there are.
pub(super) fn share(model: &Model, entity: &Entity, templates: &[Template]) -> Option<Share> {
    let of_values_ppm = of_values(model, entity, templates)?;
    let ppm = spreads(model, entity, templates).iter().fold(of_values_ppm, |share, own| part(share, own.ppm));
    Some(Share { of_values_ppm, ppm })
}

/// The shards of a partition key's templates.
pub fn spreads(model: &Model, entity: &Entity, templates: &[Template]) -> Vec<Spread> {
    let told: Vec<&str> = templates.iter().flat_map(Template::tells).collect();
    let items =
        entity.count.zip(of_values(model, entity, templates)).map(|(count, share)| part(count, share));
    let parts = templates.iter().flat_map(|template| &template.parts);
    parts
        .filter_map(|part| match part {
            Part::Shard { name, shards } => {
                let determined = told.contains(&name.as_str());
                Some(spread(model, entity, name, u64::from(*shards).max(1), determined, items))
            }
            Part::Literal(_) | Part::Attribute { .. } => None,
        })
        .collect()
}

/// One value is in one shard: no more shards are used than there are values among the items of the key, and the busiest
/// value warms its shard alone.
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
        return Spread { attribute, written, shards: 1, determined, ppm: ALL_PPM };
    }
    let values = distinct(model, entity, name);
    let within = values.unwrap_or(u64::MAX).min(items.unwrap_or(u64::MAX)).max(1);
    // Of more values than shards, some shard has so many of them at least.
    let fullest = u128::from(within.div_ceil(written)) * u128::from(ALL_PPM);
    let even = u64::try_from(fullest.div_ceil(u128::from(within))).unwrap_or(ALL_PPM);
    let busiest = match skew_of(entity, name) {
        Some(skew @ Skew::Hottest { .. }) => busiest_share_ppm(skew, within),
        Some(skew) if values.is_some() => busiest_share_ppm(skew, within),
        Some(_) | None => 0,
    };
    Spread {
        attribute,
        written,
        shards: written.min(within),
        determined,
        ppm: even.max(busiest).min(ALL_PPM),
    }
}

fn of_values(model: &Model, entity: &Entity, templates: &[Template]) -> Option<u64> {
    let mut share = ALL_PPM;
    let mut seen: Vec<&str> = Vec::new();
    for name in templates.iter().flat_map(Template::tells) {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let values = distinct(model, entity, name);
        let of_one = match skew_of(entity, name) {
            Some(skew @ Skew::Hottest { .. }) => busiest_share_ppm(skew, values.unwrap_or(u64::MAX)),
            Some(skew) => busiest_share_ppm(skew, values?),
            None => busiest_share_ppm(Skew::Uniform, values?),
        };
        share = part(share, of_one);
    }
    Some(share)
}

fn skew_of(entity: &Entity, name: &str) -> Option<Skew> {
    entity.skew.iter().find(|(skewed, _)| skewed == name).map(|(_, skew)| *skew)
}

/// So many millionths of a number, rounded up.
fn part(of: u64, ppm: u64) -> u64 {
    let part = (u128::from(of) * u128::from(ppm)).div_ceil(u128::from(ALL_PPM));
    u64::try_from(part).unwrap_or(of)
}

/// How many different values an attribute has: the author's word, or the count of the entity it identifies.
pub fn distinct(model: &Model, entity: &Entity, name: &str) -> Option<u64> {
    let attribute = entity.attribute(name)?;
    let listed = u64::try_from(attribute.values.len()).ok().filter(|listed| *listed > 0);
    attribute.distinct.or(listed).or_else(|| {
        let identified = model.entities.iter().find(|other| identity(other) == Some(name));
        identified.and_then(|other| other.count)
    })
}

/// How many different keys some templates make of an entity; none when the model does not say.
pub fn different(model: &Model, entity: &Entity, templates: &[Template]) -> Option<u64> {
    let mut names: Vec<&str> = templates.iter().flat_map(Template::tells).collect();
    names.sort_unstable();
    names.dedup();
    let mut values = names.into_iter().map(|name| distinct(model, entity, name));
    let values = values.try_fold(1_u64, |product, values| Some(product.saturating_mul(values?)))?;
    Some(
        spreads(model, entity, templates)
            .iter()
            .fold(values, |product, own| product.saturating_mul(own.shards)),
    )
}

/// The one attribute that an entity's key is made of, if it is one.
fn identity(entity: &Entity) -> Option<&str> {
    let mut names: Vec<&str> =
        entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}
