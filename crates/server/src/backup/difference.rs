//! Two versions of an item as lines for people.

use std::collections::BTreeSet;

use keywright_exchange::plain_json::write_plain;
use keywright_semantics::value::{AttributeValue, Item};

use crate::process::foreign::inline;

/// The attributes of an item, each in a line.
pub(super) fn attributes(item: &Item) -> Vec<String> {
    item.iter().map(|(name, value)| line(name, &shown(value))).collect()
}

/// The attributes that differ, each in a line.
pub(super) fn differences(old: &Item, new: &Item) -> Vec<String> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let difference = |name: &String| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => Some(line(name, &format!("{} → {}", shown(old), shown(new)))),
        (None, Some(new)) => Some(line(name, &format!("added {}", shown(new)))),
        (Some(old), None) => Some(line(name, &format!("removed, it was {}", shown(old)))),
        (None, None) => None,
    };
    names.into_iter().filter_map(difference).collect()
}

fn line(name: &str, text: &str) -> String {
    format!("    {}: {text}", inline(name))
}

/// A value in plain JSON, cut if it is long.
pub(super) fn shown(value: &AttributeValue) -> String {
    let item: Item = [(String::new(), value.clone())].into();
    let json = write_plain(&item, &[]);
    let text = json.members().first().map_or_else(String::new, |(_, value)| value.compact());
    inline(&text).into_owned()
}
