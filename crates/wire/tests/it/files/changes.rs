//! Lines of incremental exports.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::value::Item;
use keywright_wire::files::{Change, ion, json_lines};

fn item(names: &[&str]) -> EncodedItem {
    let attributes = names.iter().map(|name| ((*name).to_owned(), "1".into()));
    EncodedItem::encode(&attributes.collect::<Item>())
}

#[test]
fn a_change_has_the_images_that_there_are() {
    let (keys, old, new) = (item(&["pk"]), item(&["pk", "a"]), item(&["pk", "b"]));
    let lines = |old_image, new_image| {
        let change = Change { written_at_us: 1_768_387_634_507_675, keys: &keys, old_image, new_image };
        let (mut json, mut ion) = (Vec::new(), Vec::new());
        json_lines::push_change(&mut json, &change);
        ion::push_change(&mut ion, &change);
        (String::from_utf8(json).unwrap(), String::from_utf8(ion).unwrap())
    };
    let json = r#"{"Metadata":{"WriteTimestampMicros":{"N":"1768387634507675"}},"Keys":{"pk":{"S":"1"}}"#;
    let ion = r#"$ion_1_0 {Metadata:{WriteTimestampMicros:1768387634507675.},Keys:{pk:"1"}"#;
    let (old_json, new_json) =
        (r#","OldImage":{"a":{"S":"1"},"pk":{"S":"1"}}"#, r#","NewImage":{"b":{"S":"1"},"pk":{"S":"1"}}"#);
    let (old_ion, new_ion) = (r#",OldImage:{a:"1",pk:"1"}"#, r#",NewImage:{b:"1",pk:"1"}"#);
    let both = lines(Some(&old), Some(&new));
    assert_eq!(both, (format!("{json}{old_json}{new_json}}}\n"), format!("{ion}{old_ion}{new_ion}}}\n")));
    assert_eq!(lines(None, Some(&new)), (format!("{json}{new_json}}}\n"), format!("{ion}{new_ion}}}\n")));
    assert_eq!(lines(Some(&old), None), (format!("{json}{old_json}}}\n"), format!("{ion}{old_ion}}}\n")));
    assert_eq!(lines(None, None), (format!("{json}}}\n"), format!("{ion}}}\n")));
}
