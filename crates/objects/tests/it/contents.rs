//! What is written is read: whole, in part, piece by piece, and only as the object that is expected.

use bytes::Bytes;
use keywright_objects::FaultKind;
use pollster::block_on;

use crate::support::{all, each, folder, kind, put};

#[test]
fn an_object_is_read_whole_in_part_and_piece_by_piece() {
    each(|bucket| {
        let text = "0123456789".repeat(10_000);
        let parts = vec![
            Bytes::copy_from_slice(&text.as_bytes()[..7]),
            Bytes::copy_from_slice(&text.as_bytes()[7..]),
        ];
        let etag = block_on(bucket.put_parts("a/b", parts)).unwrap();
        let found = block_on(bucket.stat("a/b")).unwrap();
        assert_eq!((found.key.as_str(), found.bytes, &found.etag), ("a/b", 100_000, &etag));
        assert!(found.modified_ms > 1_500_000_000_000 && !found.etag.as_str().contains('"'));
        assert_eq!(block_on(bucket.read("a/b", 3..6)).unwrap(), "345");
        assert_eq!(block_on(bucket.read("a/b", 99_998..200_000)).unwrap(), "89");
        assert_eq!(block_on(bucket.read_whole("a/b", 100_000)).unwrap(), text);
        let content = block_on(bucket.stream("a/b", Some(&etag))).unwrap();
        assert_eq!(content.object(), &found);
        assert_eq!(all(content).unwrap(), text.as_bytes());
        put(bucket, "empty", "");
        assert_eq!(all(block_on(bucket.stream("empty", None)).unwrap()).unwrap(), b"");

        let fault = block_on(bucket.read_whole("a/b", 99_999)).unwrap_err();
        assert!(fault.to_string().ends_with("/a/b: it has more than 99999 bytes"), "{fault}");
        assert_eq!(fault.kind(), FaultKind::Other);
    });
}

#[test]
fn an_object_that_is_not_there_is_named_and_removed_already() {
    each(|bucket| {
        put(bucket, "a/b", "x");
        for fault in [
            block_on(bucket.stat("a/c")).map(drop),
            block_on(bucket.read("a/c", 0..1)).map(drop),
            block_on(bucket.read_whole("a", 9)).map(drop),
            block_on(bucket.stream("a/c", None)).map(drop),
        ] {
            let fault = fault.unwrap_err();
            assert_eq!((fault.kind(), fault.code()), (FaultKind::NoSuchKey, "S3NoSuchKey"), "{fault}");
            assert!(
                !fault.is_temporary() && fault.to_string().contains("there is no such object"),
                "{fault}"
            );
        }
        block_on(bucket.remove("a/c")).unwrap();
        block_on(bucket.remove("a/b")).unwrap();
        assert_eq!(kind(block_on(bucket.stat("a/b"))), FaultKind::NoSuchKey);
        block_on(bucket.check()).unwrap();
    });
}

#[test]
fn another_object_under_the_key_is_not_the_one_that_is_expected() {
    each(|bucket| {
        let first = put(bucket, "k", "first");
        assert_eq!(all(block_on(bucket.stream("k", Some(&first))).unwrap()).unwrap(), b"first");
        let second = put(bucket, "k", "other");
        assert_ne!(first, second);
        let fault = block_on(bucket.stream("k", Some(&first))).unwrap_err();
        assert_eq!((fault.kind(), fault.code()), (FaultKind::Changed, "S3ObjectChanged"));
        assert!(fault.to_string().ends_with("/k: it has changed meanwhile"), "{fault}");
        block_on(bucket.stream("k", Some(&second))).unwrap();
    });
}

#[test]
fn a_file_that_changes_while_it_is_read_ends_with_a_fault() {
    let folder = folder();
    let file = folder.buckets.path().join("shop/k");
    let before = "x".repeat(100_000);
    for after in ["y".repeat(100_000), "y".repeat(50_000), "y".repeat(150_000), String::new()] {
        put(&folder.bucket, "k", &before);
        let mut content = block_on(folder.bucket.stream("k", None)).unwrap();
        let _first = block_on(content.next()).unwrap().unwrap();
        std::fs::write(&file, &after).unwrap();
        assert_eq!(kind(all(content)), FaultKind::Changed, "{} bytes", after.len());
    }
    put(&folder.bucket, "k", &before);
    let content = block_on(folder.bucket.stream("k", None)).unwrap();
    block_on(folder.bucket.remove("k")).unwrap();
    assert_eq!(kind(all(content)), FaultKind::Changed);
}
