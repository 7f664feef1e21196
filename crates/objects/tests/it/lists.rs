//! Lists are those of S3: by a start of the key, in the order of bytes, page by page.

use keywright_objects::{Bucket, FaultKind};
use pollster::block_on;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::support::{NAME, each, folder, kind, list, put};

#[test]
fn a_prefix_is_the_start_of_a_key_and_no_folder() {
    each(|bucket| {
        let keys = ["in-1", "in.json", "in/a/1", "in/ab", "in/abc.json", "in/b", "other"];
        for key in keys {
            put(bucket, key, key);
        }
        assert_eq!(list(bucket, "", None, 100), keys);
        assert_eq!(list(bucket, "in/a", None, 100), ["in/a/1", "in/ab", "in/abc.json"]);
        assert_eq!(list(bucket, "in/abc.json", None, 100), ["in/abc.json"]);
        assert_eq!(list(bucket, "in/", Some("in/ab"), 100), ["in/abc.json", "in/b"]);
        assert_eq!(list(bucket, "in/", Some("in/a/1"), 2), ["in/ab", "in/abc.json"]);
        assert_eq!(list(bucket, "in", Some("in.json/"), 1), ["in/a/1"]);
        assert_eq!(list(bucket, "", None, 0), [""; 0]);
        for nothing in ["x", "in/abcd", "../", "/", "in//", "."] {
            assert_eq!(list(bucket, nothing, None, 100), [""; 0], "{nothing}");
        }
        assert_eq!(kind(block_on(bucket.list("in\0", None, 1))), FaultKind::Other);
        let listed = block_on(bucket.list("in/ab", None, 1)).unwrap();
        assert_eq!(listed, [block_on(bucket.stat("in/ab")).unwrap()]);
    });
}

#[test]
fn three_thousand_keys_come_in_pages() {
    let mut keys: Vec<String> = (0..3_000).map(|number| format!("in/{}/{number}.json", number % 7)).collect();
    let (folder, memory) = (folder(), Bucket::in_memory());
    for key in &keys {
        put(&memory, key, "");
        // As another program writes it, which does not wait for the disk at each.
        let file = folder.buckets.path().join(NAME).join(key);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    keys.sort();
    for bucket in [&folder.bucket, &memory] {
        assert_eq!(list(bucket, "in/", None, 5_000), keys);
        let (mut after, mut pages, mut found) = (None, 0, Vec::new());
        loop {
            let page = list(bucket, "in/", after.as_deref(), 700);
            pages += 1;
            after = page.last().cloned();
            let is_last = page.len() < 700;
            found.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!((pages, &found), (5, &keys));
    }
}

fn name() -> impl Strategy<Value = String> {
    // Signs that stand before and after the `/`, and one of two bytes.
    vec(prop_oneof![Just('!'), Just('-'), Just('.'), Just('0'), Just('a'), Just('é')], 1..3)
        .prop_map(|name| name.into_iter().collect::<String>())
        .prop_filter("it is no part of a path", |name| name != "." && name != "..")
}

fn key() -> impl Strategy<Value = String> {
    vec(name(), 1..4).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_list_of_a_folder_is_that_of_sorted_strings(
        keys in btree_set(key(), 0..20),
        prefix in prop_oneof![Just(String::new()), key(), key().prop_map(|key| key + "/")],
        after in proptest::option::of(key()),
        max in 0..12_usize,
    ) {
        let folder = folder();
        let mut stored = Vec::new();
        for key in keys {
            // In a folder no key is the start of another one's path.
            if block_on(folder.bucket.put(&key, "x".into())).is_ok() {
                stored.push(key);
            }
        }
        let expected: Vec<String> = stored
            .into_iter()
            .filter(|key| key.starts_with(&prefix) && after.as_ref().is_none_or(|after| key > after))
            .take(max)
            .collect();
        prop_assert_eq!(list(&folder.bucket, &prefix, after.as_deref(), max), expected);
    }
}
