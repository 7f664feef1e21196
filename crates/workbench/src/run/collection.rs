//! The items that one read pattern reads, in the declared number and size, alone in a database of their own.
//!
//! They are made like the sampled items that the pattern read: the same attributes, the values that the
//! pattern gives, and keys of their own.

use std::collections::BTreeMap;

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item};

use super::database::key_texts;
use super::range::Known;
use super::report::PatternReport;
use keywright_model::data::{FILLER, Sample, fill, key_text, pad};
use keywright_model::{Entity, GivenOp, Index, Model, Part, Read, Table, Template};

/// Digits (base 36) of the counter that makes generated items distinct: 1.6 million.
const COUNTER_DIGITS: usize = 4;
const COUNTER_BASE: u64 = 36;
const _: () = assert!(COUNTER_BASE <= 36, "a digit is 0 to 9 or a letter");
/// Maximum number of digits of generated numbers.
const NUMBER_DIGITS_MAX: u32 = 15;

/// The table or index that a pattern reads, and the given values.
pub(super) struct Place<'a> {
    pub(super) model: &'a Model,
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    pub(super) known: &'a [Known],
    pub(super) samples: &'a [Sample],
    /// The pattern's run on the sample.
    pub(super) ran: &'a PatternReport,
}

impl Place<'_> {
    /// Makes `wanted` items of the pattern's entities in the proportion of their counts; fewer if the given
    /// values leave no more keys.
    pub(super) fn items(&self, read: &Read, wanted: u64) -> Vec<Sample> {
        let entities: Vec<&Entity> =
            read.entities.iter().filter_map(|name| self.model.entity(name)).collect();
        let most: Vec<u64> = entities.iter().map(|entity| self.most(entity)).collect();
        let weights = self.weights(&entities);
        let mut made = Vec::new();
        for (entity, number) in entities.iter().zip(shared_out(wanted, &weights, &most)) {
            let patterns: Vec<(&Sample, Item)> =
                self.patterns(entity).into_iter().map(|own| (own, self.values(entity, &own.item))).collect();
            let counting = self.counting(entity, &patterns, wanted);
            for place in 0..number {
                let turn = usize::try_from(place).unwrap_or(0) % patterns.len().max(1);
                let Some((like, values)) = patterns.get(turn) else { break };
                let counter = u64::try_from(made.len()).unwrap_or(u64::MAX);
                if let Some(item) = self.like(entity, (&like.item, values), &counting, counter) {
                    made.push(Sample { item, ..(*like).clone() });
                }
            }
        }
        let number = u64::try_from(made.len()).unwrap_or(u64::MAX);
        assert!(number <= wanted, "no more items are made than a read returns");
        made
    }

    /// One if the given values are the item's whole key, else any number.
    fn most(&self, entity: &Entity) -> u64 {
        if self.free(entity).is_empty() { 1 } else { u64::MAX }
    }

    /// The attributes of the table's key that the pattern does not fix.
    fn free(&self, entity: &Entity) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for template in self.table.key_parts().filter_map(|part| entity.template(&part.name)) {
            for name in template.attributes() {
                if self.fixed(name).is_none() && !names.iter().any(|own| own == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    fn fixed(&self, name: &str) -> Option<&AttributeValue> {
        let given = self.known.iter().find(|given| given.attribute == name && given.op == GivenOp::Eq)?;
        given.values.first()
    }

    /// By declared counts if all entities have one, else by the numbers that the pattern read of the sample.
    fn weights(&self, entities: &[&Entity]) -> Vec<u64> {
        let counts: Option<Vec<u64>> = entities.iter().map(|entity| entity.count).collect();
        counts.unwrap_or_else(|| {
            entities.iter().map(|entity| u64::try_from(self.read(entity).len()).unwrap_or(1)).collect()
        })
    }

    fn own<'s>(&'s self, entity: &Entity) -> impl Iterator<Item = &'s Sample> {
        let name = entity.name.clone();
        self.samples.iter().filter(move |sample| sample.entity.as_ref() == Some(&name))
    }

    /// The samples of an entity that the pattern read.
    fn read(&self, entity: &Entity) -> Vec<&Sample> {
        self.own(entity)
            .filter(|sample| self.ran.read.contains(&key_texts(self.table, &sample.item)))
            .collect()
    }

    /// The samples that new items resemble: those read, else those that could be read, else any.
    fn patterns(&self, entity: &Entity) -> Vec<&Sample> {
        let read = self.read(entity);
        if !read.is_empty() {
            return read;
        }
        let here = |sample: &&Sample| {
            self.index.is_none_or(|index| index.key_parts().all(|part| sample.item.contains_key(&part.name)))
        };
        let could: Vec<&Sample> = self.own(entity).filter(here).collect();
        if could.is_empty() { self.own(entity).collect() } else { could }
    }

    /// How each free value is numbered. All items count from one first number, because ranges with separate
    /// first numbers would overlap. It has as many digits as the longest existing value, unless a key pads it
    /// to fewer.
    fn counting(
        &self,
        entity: &Entity,
        patterns: &[(&Sample, Item)],
        wanted: u64,
    ) -> BTreeMap<String, Counting> {
        let counting = |name: String| {
            let numbers = patterns.iter().filter_map(|(_, values)| match values.get(&name)? {
                AttributeValue::N(number) => u32::try_from(number.to_string().len()).ok(),
                _ => None,
            });
            let digits = numbers.max().unwrap_or(1).clamp(1, NUMBER_DIGITS_MAX);
            let longest = 10_u64.saturating_pow(digits - 1);
            let pad = self.padding(entity, &name);
            let room = pad.map_or(u64::MAX, |pad| 10_u64.saturating_pow(pad));
            let fits = |first: &u64| first.saturating_add(wanted) <= room;
            let first = [longest, 1].into_iter().find(fits).unwrap_or(0);
            (name, Counting { first, padded: pad.is_some() })
        };
        self.free(entity).into_iter().map(counting).collect()
    }

    /// The smallest width to which a key pads an attribute.
    fn padding(&self, entity: &Entity, name: &str) -> Option<u32> {
        let parts = self.table.key_parts().chain(self.table.indexes.iter().flat_map(Index::key_parts));
        let templates: Vec<Template> = parts.filter_map(|part| entity.template(&part.name)).collect();
        let own = templates.iter().flat_map(|template| &template.parts).filter_map(|part| match part {
            Part::Attribute { pad, .. } => pad.filter(|_| part.attribute() == Some(name)),
            Part::Literal(_) | Part::Shard { .. } => None,
        });
        own.filter_map(|pad| u32::try_from(pad).ok()).min()
    }

    /// A copy of an item with the given values and a new key.
    fn like(
        &self,
        entity: &Entity,
        (item, values): (&Item, &Item),
        counting: &BTreeMap<String, Counting>,
        counter: u64,
    ) -> Option<Item> {
        let mut values = values.clone();
        let free = self.free(entity);
        let plain = |name: &&String| {
            entity.attribute(name).is_none_or(|known| known.format.is_none() && known.values.is_empty())
        };
        let renewed: Vec<&String> = if free.iter().any(|name| plain(&name)) {
            free.iter().filter(plain).collect()
        } else {
            free.iter().collect()
        };
        for name in renewed {
            let old = values.get(name).cloned().unwrap_or_else(|| AttributeValue::from(""));
            let counting = counting.get(name).copied().unwrap_or_default();
            values.insert(name.clone(), renew(&old, counting, counter));
        }
        for given in self.known.iter().filter(|given| given.op == GivenOp::Eq) {
            let value = given.values.first()?;
            values.insert(given.attribute.clone(), value.clone());
        }
        let mut made = item.clone();
        made.remove(FILLER);
        for (name, value) in &values {
            // A value that the item has only in its keys does not become an attribute: the item would grow.
            if let Some(own) = made.get_mut(name) {
                own.clone_from(value);
            }
        }
        let indexes = self.table.indexes.iter().filter(|index| {
            self.index.is_some_and(|asked| asked.name == index.name)
                || index.key_parts().all(|part| item.contains_key(&part.name))
        });
        for part in self.table.key_parts().chain(indexes.flat_map(Index::key_parts)) {
            let Some(template) = entity.template(&part.name) else { continue };
            if let Ok(value) = fill(&template, part.key_type, &values) {
                made.insert(part.name.clone(), value);
            }
        }
        Some(pad(self.model, entity, made))
    }

    /// The values of all attributes in the keys: the item's own, or those parsed from its keys.
    fn values(&self, entity: &Entity, item: &Item) -> Item {
        let mut values = Item::new();
        let mut read: BTreeMap<String, String> = BTreeMap::new();
        let parts = self.table.key_parts().chain(self.table.indexes.iter().flat_map(Index::key_parts));
        for part in parts {
            let Some(template) = entity.template(&part.name) else { continue };
            for name in template.attributes() {
                if let Some(value) = item.get(name) {
                    values.insert(name.to_owned(), value.clone());
                }
            }
            if let Some(AttributeValue::S(text)) = item.get(&part.name) {
                read_back(&template, text, &mut read);
            }
        }
        for (name, text) in read {
            let number = entity
                .attribute(&name)
                .is_some_and(|known| known.value_type == keywright_semantics::value::ValueType::N);
            let value =
                if number { AttributeValue::number(&text).ok() } else { Some(AttributeValue::S(text)) };
            if let Some(value) = value {
                values.get_or_insert_with(&name, || value);
            }
        }
        values
    }
}

/// Parses the attributes of a key's text.
fn read_back(template: &Template, text: &str, found: &mut BTreeMap<String, String>) {
    for (part, value) in template.fit(text).unwrap_or_default() {
        if let Some(name) = part.readable() {
            found.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
}

/// How the values of an attribute are numbered.
#[derive(Clone, Copy, Debug, Default)]
struct Counting {
    /// The first number.
    first: u64,
    /// Whether a key pads it: texts are then numbers too.
    padded: bool,
}

/// Another value of the same type and, if it is long enough, of the same size.
fn renew(value: &AttributeValue, counting: Counting, counter: u64) -> AttributeValue {
    let digits = digits(counter);
    let number = counting.first.saturating_add(counter);
    match value {
        AttributeValue::N(_) => AttributeValue::N(Number::from(i64::try_from(number).unwrap_or(i64::MAX))),
        AttributeValue::S(_) if counting.padded => AttributeValue::S(number.to_string()),
        AttributeValue::B(bytes) => {
            let kept = bytes.len().saturating_sub(COUNTER_DIGITS);
            let mut bytes = bytes.get(..kept).unwrap_or_default().to_vec();
            bytes.extend(digits.into_bytes());
            AttributeValue::B(bytes)
        }
        other => {
            let text = key_text(other).unwrap_or_default();
            let mut kept = text.len().saturating_sub(COUNTER_DIGITS);
            while !text.is_char_boundary(kept) {
                kept -= 1;
            }
            AttributeValue::S(format!("{}{digits}", text.get(..kept).unwrap_or_default()))
        }
    }
}

fn digits(counter: u64) -> String {
    let mut rest = counter;
    let mut digits = Vec::new();
    for _ in 0..COUNTER_DIGITS {
        let digit = u32::try_from(rest % COUNTER_BASE).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        rest /= COUNTER_BASE;
    }
    digits.iter().rev().collect()
}

/// Divides a number of items among entities by their counts. An entity whose whole key is given has one item
/// in each result, however many items the others have, unless its count is at most half of that of another
/// such entity.
fn shared_out(wanted: u64, weights: &[u64], most: &[u64]) -> Vec<u64> {
    let single = || weights.iter().zip(most).filter(|(_, most)| **most == 1).map(|(weight, _)| *weight);
    let all = single().max().unwrap_or(0);
    let always = |(weight, most): (&u64, &u64)| u64::from(*most == 1 && weight.saturating_mul(2) > all);
    let first: Vec<u64> = weights.iter().zip(most).map(always).collect();
    let Some(left) = wanted.checked_sub(first.iter().sum()) else {
        return apportioned(wanted, weights, most);
    };
    let more: Vec<u64> = most.iter().zip(&first).map(|(most, first)| most - first).collect();
    apportioned(left, weights, &more).into_iter().zip(first).map(|(share, first)| share + first).collect()
}

/// Divides a number by weights, none above its limit; the rest goes to the others.
fn apportioned(wanted: u64, weights: &[u64], most: &[u64]) -> Vec<u64> {
    let mut shares = vec![0_u64; weights.len()];
    let mut left = wanted;
    while left > 0 {
        let open: Vec<usize> = (0..weights.len())
            .filter(|place| shares.get(*place).zip(most.get(*place)).is_some_and(|(own, most)| own < most))
            .collect();
        let sum: u128 = open.iter().filter_map(|place| weights.get(*place)).map(|own| u128::from(*own)).sum();
        let Some(first) = open.first() else { break };
        let mut given = 0;
        for place in &open {
            let weight = u128::from(weights.get(*place).copied().unwrap_or(0));
            let part = (u128::from(left) * weight).checked_div(sum).unwrap_or(0);
            let (Some(share), Some(most)) = (shares.get_mut(*place), most.get(*place)) else { continue };
            let part = u64::try_from(part).unwrap_or(u64::MAX).min(most - *share);
            *share += part;
            given += part;
        }
        if given == 0 {
            // The remainder of the division goes to the largest entity below its limit.
            let heaviest = open.iter().max_by_key(|place| weights.get(**place)).unwrap_or(first);
            if let Some(share) = shares.get_mut(*heaviest) {
                *share += 1;
            }
            given = 1;
        }
        assert!(given <= left, "no more is given than there is");
        left -= given;
    }
    assert!(shares.iter().zip(most).all(|(share, most)| share <= most), "no entity has more than its limit");
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_divided_by_count_and_the_excess_of_one_entity_goes_to_the_others() {
        assert_eq!(apportioned(5, &[1_000_000, 3_000_000, 1_000_000], &[1, u64::MAX, u64::MAX]), [1, 3, 1]);
        assert_eq!(apportioned(10, &[1, 1], &[1, u64::MAX]), [1, 9]);
        assert_eq!(apportioned(3, &[1], &[1]), [1]);
        assert_eq!(apportioned(3, &[0, 0], &[u64::MAX, u64::MAX]).iter().sum::<u64>(), 3);
    }

    #[test]
    fn a_parent_with_a_given_key_comes_with_any_number_of_children() {
        assert_eq!(shared_out(26, &[300, 90_000], &[1, u64::MAX]), [1, 25]);
        assert_eq!(shared_out(5, &[1_000_000, 3_000_000, 1_000_000], &[1, u64::MAX, u64::MAX]), [1, 3, 1]);
        // Few users have settings.
        assert_eq!(shared_out(10, &[1000, 10, 5000], &[1, 1, u64::MAX]), [1, 0, 9]);
        assert_eq!(shared_out(8, &[10, 30], &[u64::MAX, u64::MAX]), [2, 6]);
    }

    #[test]
    fn renewed_values_differ_and_keep_type_and_size() {
        let made = [0, 35, 36].map(|counter| renew(&"order-000017".into(), Counting::default(), counter));
        assert_eq!(made, ["order-000000", "order-00000z", "order-000010"].map(AttributeValue::from));
        let hundreds = Counting { first: 100, padded: true };
        assert_eq!(renew(&120.into(), hundreds, 7), 107.into());
        assert_eq!(renew(&"120".into(), hundreds, 7), "107".into());
        assert_eq!(renew(&"é".into(), Counting::default(), 1), "0001".into());
    }
}
