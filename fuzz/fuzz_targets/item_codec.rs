//! Any bytes as a stored item: no reader panics, and what is valid is canonical and sized as its tree is.
//!
//! The first byte says whether the rest is a whole stored item or what follows a right header.

#![no_main]

use keywright_semantics::codec::{EncodedItem, EncodedItemBuilder, EncodedValue};
use keywright_semantics::size;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let stored = if choice % 4 == 0 { rest.to_vec() } else { [&[1, 0, 0, 0, 0], rest].concat() };
    let Ok(item) = EncodedItem::from_stored(stored.into()) else { return };
    read_everything(&item);
    if item.validate().is_ok() {
        check_valid(&item);
    }
    // Whatever the bytes were, what they read as is an item that can be stored.
    let tree = item.decode();
    let again = EncodedItem::encode(&tree);
    assert_eq!(again.decode(), tree);
    check_valid(&again);
});

fn read_everything(item: &EncodedItem) {
    let view = item.view();
    let _ = (item.size_bytes(), item.is_empty(), view.len(), view.item_bytes());
    for name in ["", "a", "pk"] {
        let _ = view.get(name).map(|value| value.size_bytes());
    }
    for (_, value) in view.iter() {
        let _ = (value.size_bytes(), value.to_value());
    }
    let _ = view.encode_subset(|name| name.len() % 2 == 0);
}

fn check_valid(item: &EncodedItem) {
    let tree = item.decode();
    assert_eq!(item.size_bytes(), size::item_bytes(&tree));
    assert_eq!(item.size_bytes(), item.view().item_bytes());
    assert_eq!(item.view().len(), tree.len());
    let mut builder = EncodedItemBuilder::new();
    for (name, value) in &tree {
        let seen = item.view().get(name).expect("every attribute is found by its name");
        assert_eq!(&seen.to_value(), value);
        assert_eq!(EncodedValue::encode(value).view(), seen);
        builder.push(name, seen);
    }
    assert_eq!(&builder.finish(), item);
    assert_eq!(&item.view().encode_subset(|_| true), item);
}
