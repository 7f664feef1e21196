//! A bucket that is a folder: nothing is read or written outside, and a killed writer leaves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use keywright_objects::{Bucket, FaultKind, ObjectFault};
use pollster::block_on;

use crate::support::{NAME, all, folder, kind, list, put};

/// All paths below a folder.
fn tree(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            found.insert(entry.path().strip_prefix(folder).unwrap().display().to_string());
        }
    }
    found
}

#[test]
fn no_name_of_a_bucket_leads_out_of_the_folder() {
    let place = tempfile::tempdir().unwrap();
    let buckets = place.path().join("buckets");
    fs::create_dir_all(buckets.join(NAME)).unwrap();
    fs::create_dir(place.path().join("outside")).unwrap();
    fs::write(buckets.join("file"), "x").unwrap();
    for name in ["", ".", "..", "../outside", "shop/..", "shop/", "a\0b", "a\\b", "/tmp", "missing", "file"] {
        let fault = Bucket::in_folder(&buckets, name).unwrap_err();
        assert_eq!((fault.kind(), fault.code()), (FaultKind::NoSuchBucket, "S3NoSuchBucket"), "{fault}");
    }
    let missing = Bucket::in_folder(&buckets, "missing").unwrap_err().to_string();
    let store = fs::canonicalize(&buckets).unwrap();
    let store = store.display();
    assert_eq!(
        missing,
        format!(
            "cannot open s3://missing: the store at {store} has no such bucket: there is no folder {store}/missing"
        )
    );
    assert_eq!(tree(&buckets), ["file", NAME].map(str::to_owned).into());
    assert_eq!(kind(Bucket::in_folder(&place.path().join("none"), NAME)), FaultKind::NoSuchBucket);
}

/// What every use of a key says.
fn uses(bucket: &Bucket, key: &str) -> Vec<ObjectFault> {
    [
        block_on(bucket.put(key, "x".into())).map(drop),
        block_on(bucket.stat(key)).map(drop),
        block_on(bucket.read(key, 0..1)).map(drop),
        block_on(bucket.read_whole(key, 9)).map(drop),
        block_on(bucket.stream(key, None)).map(drop),
        block_on(bucket.entries(&format!("{key}/x"))).map(drop),
        block_on(bucket.remove(key)),
        bucket.remove_unfinished(key).map(drop),
    ]
    .into_iter()
    .map(|used| used.expect_err(key))
    .collect()
}

#[test]
fn keys_that_are_no_paths_within_the_bucket_are_refused() {
    let folder = folder();
    fs::write(folder.buckets.path().join("secret"), "secret").unwrap();
    for key in
        ["../secret", "a/../../secret", "..", ".", "a/./b", "/secret", "a//b", "a/", "a\0b", "a\nb", ""]
    {
        for fault in uses(&folder.bucket, key) {
            assert_eq!((fault.kind(), fault.code()), (FaultKind::Other, "S3Error"), "{key:?}: {fault}");
            assert!(fault.to_string().contains("a key has parts between"), "{fault}");
        }
    }
    let fault = block_on(folder.bucket.put("a/b#12", "x".into())).unwrap_err().to_string();
    assert!(fault.contains("cannot write s3://shop/a/b#12: ") && fault.contains("being written"), "{fault}");
    assert_eq!(tree(folder.buckets.path()), ["secret", NAME].map(str::to_owned).into());
    for key in ["a b", "é/ü", "a%2Fb", "a~b", "#1/x#", "...", "a\\b", "C:x"] {
        let etag = put(&folder.bucket, key, key);
        assert_eq!(list(&folder.bucket, key, None, 9), [key]);
        assert_eq!(all(block_on(folder.bucket.stream(key, Some(&etag))).unwrap()).unwrap(), key.as_bytes());
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let (folder, outside) = (folder(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("k"), "secret").unwrap();
    let bucket = folder.buckets.path().join(NAME);
    symlink(outside.path(), bucket.join("to-folder")).unwrap();
    symlink(outside.path().join("k"), bucket.join("to-file")).unwrap();
    symlink(outside.path().join("new"), bucket.join("to-nothing")).unwrap();
    put(&folder.bucket, "own", "x");
    for key in ["to-folder/k", "to-folder/new", "to-file", "to-nothing"] {
        for fault in uses(&folder.bucket, key) {
            assert_eq!((fault.kind(), fault.code()), (FaultKind::AccessDenied, "S3AccessDenied"), "{fault}");
            assert!(fault.link().is_some() && fault.to_string().contains("is a link"), "{fault}");
        }
    }
    assert_eq!(list(&folder.bucket, "", None, 9), ["own"]);
    let entries = block_on(folder.bucket.entries("")).unwrap();
    assert_eq!((entries.folders.len(), entries.objects.len(), entries.length("own")), (0, 1, Some(1)));
    assert_eq!(tree(outside.path()), ["k".to_owned()].into());

    // A bucket that is a link, also one that becomes it.
    symlink(outside.path(), folder.buckets.path().join("link")).unwrap();
    assert_eq!(kind(Bucket::in_folder(folder.buckets.path(), "link")), FaultKind::AccessDenied);
    fs::rename(&bucket, folder.buckets.path().join("away")).unwrap();
    symlink(outside.path(), &bucket).unwrap();
    assert_eq!(kind(block_on(folder.bucket.put("x", "x".into()))), FaultKind::AccessDenied);
    assert_eq!(kind(block_on(folder.bucket.check())), FaultKind::AccessDenied);
    assert_eq!(tree(outside.path()), ["k".to_owned()].into());
}

#[test]
fn a_bucket_that_is_removed_is_not_made_again() {
    let folder = folder();
    put(&folder.bucket, "a/b", "x");
    fs::remove_dir_all(folder.buckets.path().join(NAME)).unwrap();
    for fault in uses(&folder.bucket, "a/b") {
        assert_eq!(fault.kind(), FaultKind::NoSuchBucket, "{fault}");
    }
    assert_eq!(kind(block_on(folder.bucket.check())), FaultKind::NoSuchBucket);
    assert_eq!(kind(block_on(folder.bucket.list("", None, 1))), FaultKind::NoSuchBucket);
    assert!(tree(folder.buckets.path()).is_empty());
}

#[test]
fn what_a_killed_writer_left_is_not_listed_and_can_be_removed() {
    let folder = folder();
    put(&folder.bucket, "data/1", "x");
    let data = folder.buckets.path().join(NAME).join("data");
    for name in ["2#1", "1#12", "3#x", "4#1"] {
        fs::write(data.join(name), "half").unwrap();
    }
    assert_eq!(folder.bucket.remove_unfinished_of("data/4").unwrap(), 1);
    assert_eq!(folder.bucket.remove_unfinished_of("5").unwrap(), 0);
    assert_eq!(list(&folder.bucket, "", None, 9), ["data/1", "data/3#x"]);
    assert_eq!(folder.bucket.remove_unfinished("data").unwrap(), 2);
    assert_eq!(folder.bucket.remove_unfinished("none").unwrap(), 0);
    assert_eq!(list(&folder.bucket, "", None, 9), ["data/1", "data/3#x"]);
    assert!(!data.join("2#1").exists());
}

#[test]
fn a_key_below_the_file_of_another_key_stays_an_error() {
    let folder = folder();
    put(&folder.bucket, "a", "x");
    let fault = block_on(folder.bucket.put("a/b", "x".into())).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Other, "{fault}");
    assert!(
        fault.to_string().starts_with("cannot write s3://shop/a/b: ") && !fault.is_temporary(),
        "{fault}"
    );
    put(&folder.bucket, "d/e", "x");
    assert_eq!(kind(block_on(folder.bucket.put("d", "x".into()))), FaultKind::Other);
    assert_eq!(list(&folder.bucket, "", None, 9), ["a", "d/e"]);
}
