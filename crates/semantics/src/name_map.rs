//! A map from names to values as a list that is sorted by name.
//!
//! An item has few attributes, and lives for one request: a list takes one allocation where a tree takes
//! several, and is built from stored items, which are sorted already, by appending. It does not know what the
//! values are.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Index;
use std::slice;
use std::vec;

/// A map from names to values, in the order of the names' bytes. Its functions are called as those of
/// [`BTreeMap`](std::collections::BTreeMap).
///
/// A map of many names is collected: each [`insert`](Self::insert) or [`remove`](Self::remove) moves the
/// entries behind it.
///
/// Invariant: names ascend and none repeats.
#[derive(Clone, PartialEq, Eq)]
pub struct NameMap<V> {
    entries: Vec<(String, V)>,
}

impl<V> NameMap<V> {
    /// A map without entries.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The map of these entries in any order; `None` if a name repeats.
    pub fn of_distinct(mut entries: Vec<(String, V)>) -> Option<Self> {
        if sort(&mut entries) { Some(Self { entries }) } else { None }
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.get_key_value(name).map(|(_, value)| value)
    }

    /// The name as the map holds it, with its value.
    pub fn get_key_value(&self, name: &str) -> Option<(&String, &V)> {
        let (name, value) = if self.entries.len() > SCANNED_MAX {
            self.entries.get(self.place(name).ok()?)?
        } else {
            self.entries.iter().find(|(own, _)| is_same(own, name))?
        };
        Some((name, value))
    }

    /// The value of this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let place = self.place(name).ok()?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Whether the map has this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get_key_value(name).is_some()
    }

    /// Sets the value of a name and returns its value from before.
    pub fn insert(&mut self, name: String, value: V) -> Option<V> {
        match self.place(&name) {
            Ok(place) => self.entries.get_mut(place).map(|(_, old)| std::mem::replace(old, value)),
            Err(place) => {
                self.entries.insert(place, (name, value));
                None
            }
        }
    }

    /// The value of this name, which is made first if there is none.
    pub fn get_or_insert_with(&mut self, name: &str, make: impl FnOnce() -> V) -> &mut V {
        let place = self.place(name).unwrap_or_else(|place| {
            self.entries.insert(place, (name.to_owned(), make()));
            place
        });
        let (_, value) = self.entries.get_mut(place).expect("the entry was found or has just been inserted");
        value
    }

    /// Removes a name and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let place = self.place(name).ok()?;
        Some(self.entries.remove(place).1)
    }

    /// Keeps the entries for which the function holds.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&String, &mut V) -> bool) {
        self.entries.retain_mut(|(name, value)| is_kept(name, value));
    }

    /// The entries by ascending name.
    pub fn iter(&self) -> Iter<'_, V> {
        Iter(self.entries.iter())
    }

    /// The names, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &String> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(name, _)| name)
    }

    /// The values in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The map of a few entries: each takes its place as it comes, mostly at the end. So it is moved once.
    #[inline]
    fn of_few(few: impl Iterator<Item = (String, V)>, most: usize) -> Self {
        let mut map = Self { entries: Vec::with_capacity(most) };
        for (name, value) in few {
            let is_next = map.entries.last().is_none_or(|(last, _)| order_of(last, &name).is_lt());
            if is_next {
                map.entries.push((name, value));
            } else {
                map.insert(name, value);
            }
        }
        map
    }

    /// Where the name is, or where it would be inserted.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(own, _)| order_of(own, name))
    }
}

/// Entries up to which a name is looked for one by one: most have another length or another first byte, which
/// takes no call.
const SCANNED_MAX: usize = 16;

#[inline]
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len() && one.first() == other.first() && one == other
}

/// Sorts entries by name, those of one name as they stand; whether no name repeats.
fn sort<V>(entries: &mut [(String, V)]) -> bool {
    if entries.len() <= SCANNED_MAX {
        return sort_few(entries, |_| ());
    }
    if names_ascend(entries) {
        return true;
    }
    entries.sort_by(|(one, _), (other, _)| order_of(one, other));
    names_ascend(entries)
}

/// The same for few entries, most of which are in order: each goes down to its place, and the function is
/// called with each place at which it passes the entry before it.
#[inline]
pub(crate) fn sort_few<V>(entries: &mut [(String, V)], mut passes: impl FnMut(usize)) -> bool {
    let mut are_distinct = true;
    for mut place in 1..entries.len() {
        while let Some([(before, _), (name, _)]) = entries.get(place.saturating_sub(1)..=place) {
            match order_of(before, name) {
                Ordering::Less => break,
                Ordering::Equal => {
                    are_distinct = false;
                    break;
                }
                Ordering::Greater => {}
            }
            entries.swap(place - 1, place);
            passes(place);
            place -= 1;
        }
    }
    are_distinct
}

fn names_ascend<V>(entries: &[(String, V)]) -> bool {
    entries.is_sorted_by(|(one, _), (next, _)| order_of(one, next).is_lt())
}

/// The order of two names. Most differ in their first byte, which takes no call.
#[inline]
pub(crate) fn order_of(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    match one.first().cmp(&other.first()) {
        Ordering::Equal => one.cmp(other),
        order => order,
    }
}

impl<V> Default for NameMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for NameMap<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self).finish()
    }
}

/// Panics if the map does not have the name.
impl<V, Q: AsRef<str> + ?Sized> Index<&Q> for NameMap<V> {
    type Output = V;

    fn index(&self, name: &Q) -> &V {
        self.get(name.as_ref()).expect("the map has the name that it is indexed by")
    }
}

/// Of a repeated name the last value counts.
impl<V> FromIterator<(String, V)> for NameMap<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        match entries.size_hint() {
            (_, Some(most)) if most <= SCANNED_MAX => Self::of_few(entries, most),
            _ => {
                let mut map = Self { entries: entries.collect() };
                map.restore_order();
                map
            }
        }
    }
}

/// Of a repeated name the last value counts.
impl<V, const N: usize> From<[(String, V); N]> for NameMap<V> {
    fn from(entries: [(String, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

/// Of a repeated name the last value counts.
impl<V> Extend<(String, V)> for NameMap<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, entries: I) {
        self.entries.extend(entries);
        self.restore_order();
    }
}

impl<V> NameMap<V> {
    /// Sorts what was appended. The sort is stable and fast where much is in order already.
    fn restore_order(&mut self) {
        if sort(&mut self.entries) {
            return;
        }
        self.entries.dedup_by(|(later_name, later), (name, value)| {
            let repeats = later_name == name;
            if repeats {
                std::mem::swap(value, later);
            }
            repeats
        });
        assert!(names_ascend(&self.entries), "names ascend and none repeats");
    }
}

impl<V> IntoIterator for NameMap<V> {
    type Item = (String, V);
    type IntoIter = vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'m, V> IntoIterator for &'m NameMap<V> {
    type Item = (&'m String, &'m V);
    type IntoIter = Iter<'m, V>;

    fn into_iter(self) -> Iter<'m, V> {
        self.iter()
    }
}

/// The entries of a [`NameMap`] by ascending name.
#[derive(Debug)]
pub struct Iter<'m, V>(slice::Iter<'m, (String, V)>);

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'m, V> Iterator for Iter<'m, V> {
    type Item = (&'m String, &'m V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(name, value)| (name, value))
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn named(entries: &[(u8, u16)]) -> Vec<(String, u16)> {
        entries.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    fn same(map: &NameMap<u16>, tree: &BTreeMap<String, u16>) -> Result<(), TestCaseError> {
        prop_assert_eq!(map.iter().collect::<Vec<_>>(), tree.iter().collect::<Vec<_>>());
        prop_assert_eq!(map.iter().rev().collect::<Vec<_>>(), tree.iter().rev().collect::<Vec<_>>());
        prop_assert_eq!(map.keys().collect::<Vec<_>>(), tree.keys().collect::<Vec<_>>());
        prop_assert_eq!(map.values().collect::<Vec<_>>(), tree.values().collect::<Vec<_>>());
        prop_assert_eq!(format!("{map:?} {map:#?}"), format!("{tree:?} {tree:#?}"));
        prop_assert_eq!(map.is_empty(), tree.is_empty());
        Ok(())
    }

    fn entries() -> impl Strategy<Value = Vec<(u8, u16)>> {
        prop::collection::vec((0_u8..40, any::<u16>()), 0..60)
    }

    proptest! {
        #[test]
        fn a_map_does_what_a_tree_does(first in entries(), more in entries(), other in 0_u8..40) {
            let (mut map, mut tree) = (NameMap::from_iter(named(&first)), BTreeMap::from_iter(named(&first)));
            same(&map, &tree)?;
            for (name, value) in named(&more) {
                prop_assert_eq!(map.get(&name), tree.get(&name));
                prop_assert_eq!(map.get_key_value(&name), tree.get_key_value(&name));
                prop_assert_eq!(map.insert(name.clone(), value), tree.insert(name, value));
            }
            same(&map, &tree)?;
            let other = other.to_string();
            prop_assert_eq!(map.contains_key(&other), tree.contains_key(&other));
            prop_assert_eq!(map.get_mut(&other), tree.get_mut(&other));
            prop_assert_eq!(map.remove(&other), tree.remove(&other));
            *map.get_or_insert_with(&other, || 6) += 1;
            *map.get_or_insert_with(&other, || 6) %= 8;
            tree.insert(other.clone(), 7);
            prop_assert_eq!(map[&other], 7);
            map.retain(|_, value| *value % 3 > 0);
            tree.retain(|_, value| *value % 3 > 0);
            same(&map, &tree)?;
            map.extend(named(&first));
            tree.extend(named(&first));
            same(&map, &tree)?;
            prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), tree.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn distinct_names_make_a_map_and_others_do_not(entries in prop::collection::vec((0_u8..40, any::<u16>()), 0..9)) {
            let tree = BTreeMap::from_iter(named(&entries));
            match NameMap::of_distinct(named(&entries)) {
                Some(map) => {
                    prop_assert_eq!(tree.len(), entries.len());
                    same(&map, &tree)?;
                }
                None => prop_assert!(tree.len() < entries.len()),
            }
        }
    }

    #[test]
    #[should_panic(expected = "the map has the name that it is indexed by")]
    fn a_name_that_is_missing_has_no_place() {
        let _ = NameMap::from([("a".to_owned(), 1)])["b"];
    }

    /// Inserted one by one, a hundred thousand names in descending order would move five thousand million
    /// entries.
    #[test]
    fn many_names_in_descending_order_are_sorted_once() {
        let names = || (0..100_000_u32).rev().map(|number| (format!("{number:06}"), number));
        let map = NameMap::of_distinct(names().collect()).unwrap();
        assert!(map.values().is_sorted());
        assert_eq!(map, names().collect());
        let mut both: NameMap<u32> = NameMap::from([("050000".to_owned(), 0)]);
        both.extend(names());
        assert_eq!(both, map);
    }
}
