//! Round trips, sizes, and damaged bytes.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::number::Number;
use crate::size;

fn value() -> impl Strategy<Value = AttributeValue> {
    let number = (any::<i64>(), 0_i32..40)
        .prop_map(|(integer, scale)| Number::parse(&format!("{integer}e-{scale}")).unwrap());
    let leaf = prop_oneof![
        ".{0,12}".prop_map(AttributeValue::S),
        number.clone().prop_map(AttributeValue::N),
        vec(any::<u8>(), 0..12).prop_map(AttributeValue::B),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Null),
        btree_set(".{0,6}", 1..4).prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        btree_set(number, 1..4).prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
        btree_set(vec(any::<u8>(), 0..6), 1..4).prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(AttributeValue::L),
            btree_map(".{0,6}", inner, 0..6).prop_map(|map| AttributeValue::M(map.into_iter().collect())),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    btree_map(".{1,8}", value(), 0..8).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn items_decode_to_the_encoded_tree(item in item()) {
        let encoded = EncodedItem::encode(&item);
        let stored = EncodedItem::from_stored(encoded.as_bytes().clone()).unwrap();
        prop_assert_eq!(stored.decode(), item.clone());
        prop_assert_eq!(stored.validate(), Ok(()));
        prop_assert_eq!(stored.size_bytes(), size::item_bytes(&item));
        prop_assert_eq!(stored.view().item_bytes(), size::item_bytes(&item));
        prop_assert_eq!(stored.view().len(), item.len());
        for (name, value) in &item {
            let seen = stored.view().get(name).unwrap();
            prop_assert_eq!(seen.to_value(), value.clone());
            prop_assert_eq!(seen.size_bytes(), size::value_bytes(value));
        }
    }

    #[test]
    fn lookups_and_iteration_agree(item in item(), names in vec(".{0,4}", 0..8), list in vec(value(), 0..6)) {
        let stored = EncodedItem::encode(&item);
        for name in names.iter().chain(item.keys()) {
            let seen = stored.view().iter().find(|(other, _)| other == name).map(|(_, value)| value);
            prop_assert_eq!(stored.view().get(name), seen);
        }
        let stored = EncodedValue::encode(&AttributeValue::L(list));
        let ValueRef::L(list) = stored.view() else { panic!("a list is seen as a list") };
        for index in 0..=list.len() {
            prop_assert_eq!(list.get(index), list.iter().nth(index));
        }
    }

    #[test]
    fn encodings_fill_their_allocation_exactly(item in item()) {
        let tree = write::item_vec(&item);
        prop_assert_eq!(tree.len(), tree.capacity());
    }

    #[test]
    fn the_builder_and_encode_give_equal_bytes(item in item()) {
        let encoded = EncodedItem::encode(&item);
        let mut builder = EncodedItemBuilder::new();
        let members: Vec<_> = encoded.view().iter().collect();
        for (name, value) in members.iter().rev() {
            builder.push(name, *value);
        }
        prop_assert_eq!(builder.finish(), encoded);
    }

    #[test]
    fn values_are_equal_exactly_when_their_encodings_are(one in value(), other in value()) {
        let (left, right) = (EncodedValue::encode(&one), EncodedValue::encode(&other));
        prop_assert_eq!(left.view() == right.view(), one == other);
        prop_assert_eq!(left.type_name(), one.type_name());
        prop_assert_eq!(left.view().to_value(), one);
    }

    #[test]
    fn a_subset_is_the_item_of_the_wanted_names(item in item()) {
        let wanted = |name: &str| name.len().is_multiple_of(2);
        let subset: Item = item.clone().into_iter().filter(|(name, _)| wanted(name)).collect();
        let encoded = EncodedItem::encode(&item);
        prop_assert_eq!(encoded.view().encode_subset(wanted), EncodedItem::encode(&subset));
        let names = subset.keys().map(String::as_str).chain(["absent"]);
        prop_assert_eq!(encoded.view().encode_named(&names), EncodedItem::encode(&subset));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let mut stored = vec![VERSION];
        stored.extend(bytes);
        if let Ok(item) = EncodedItem::from_stored(Bytes::from(stored)) {
            let _ = item.validate();
            let _ = item.size_bytes();
        }
    }

    #[test]
    fn a_changed_byte_never_panics(item in item(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut stored = EncodedItem::encode(&item).as_bytes().to_vec();
        let place = place.index(stored.len());
        stored[place] = byte;
        if let Ok(item) = EncodedItem::from_stored(Bytes::from(stored)) {
            let _ = item.validate();
        }
    }
}

#[test]
fn damaged_sets_are_malformed() {
    let set = |members: &[&str]| {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        EncodedItem::encode(&Item::from([("a".to_owned(), AttributeValue::Ss(members))]))
    };
    assert_eq!(set(&["x", "y"]).validate(), Ok(()));
    for members in [&["y", "x"][..], &["x", "x"], &[]] {
        assert_eq!(set(members).validate(), Err(CodecFault::Malformed), "{members:?}");
    }
}

#[test]
fn excessive_levels_read_as_the_end_of_the_item() {
    let nested =
        |levels: usize| (0..levels).fold(AttributeValue::Null, |inner, _| AttributeValue::L(vec![inner]));
    let stored = |levels: usize| EncodedItem::encode(&Item::from([("a".to_owned(), nested(levels))]));
    let allowed = stored(crate::limits::STORED_LEVELS_MAX);
    assert_eq!(allowed.validate(), Ok(()));
    let too_deep = stored(crate::limits::STORED_LEVELS_MAX + 1);
    assert_eq!(too_deep.validate(), Err(CodecFault::Malformed));
    // Nested lists whose lengths cover the rest, far deeper than any stack.
    let mut bytes = vec![VERSION, 0, 0, 0, 0, 1, 1, b'a'];
    let levels = 200_000_u32;
    for left in (0..levels).rev() {
        bytes.push(TAG_L);
        bytes.extend_from_slice(&(left * 6 + 1).to_le_bytes());
        bytes.push(1);
    }
    let endless = EncodedItem::from_stored(Bytes::from(bytes)).unwrap();
    assert_eq!(endless.validate(), Err(CodecFault::Malformed));
    assert_eq!(endless.view().get("a").unwrap().type_name(), "L");
    let _ = (endless.view().item_bytes(), endless.view().encode_subset(|_| true));
}

#[test]
fn bytes_of_another_version_are_refused() {
    assert_eq!(EncodedItem::from_stored(Bytes::from_static(&[9; 12])), Err(CodecFault::UnknownVersion(9)));
    assert_eq!(EncodedItem::from_stored(Bytes::new()), Err(CodecFault::TooShort));
}
