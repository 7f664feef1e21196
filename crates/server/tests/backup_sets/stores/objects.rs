//! What the buckets of every store do, and what their refusals are to an operation.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures_util::StreamExt as _;
use keywright_objects::{Bucket, Content, FaultKind, ObjectFault, S3Keys, S3Settings};

use crate::support::stores::{BUCKET, KEY, SECRET, Store, free_address};

/// More than a store lists at once.
const MANY: usize = 1_100;
const AT_ONCE: usize = 16;

async fn all(mut content: Content) -> Result<Vec<u8>, ObjectFault> {
    let mut bytes = Vec::new();
    while let Some(piece) = content.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

async fn keys(bucket: &Bucket, prefix: &str, after: Option<&str>, max: usize) -> Vec<String> {
    let listed = bucket.list(prefix, after, max).await.unwrap();
    listed.into_iter().map(|object| object.key).collect()
}

pub(super) async fn uses(store: &Store) {
    let bucket = Bucket::in_s3(BUCKET, &store.settings()).unwrap();
    bucket.check().await.unwrap();
    assert_eq!(keys(&bucket, "", None, 10).await, [""; 0]);

    let content: String = (0..200_000).map(|number: u32| number.to_string() + "\n").collect();
    let written = ["in-1.json", "in/a/1.json", "in/ab.json", "in/abc.json", "in/e +%~é.json", "other.json"];
    for key in written {
        let etag = bucket.put(key, Bytes::from(content.clone() + key)).await.unwrap();
        let found = bucket.stat(key).await.unwrap();
        assert_eq!((&found.etag, found.bytes), (&etag, u64::try_from(content.len() + key.len()).unwrap()));
        let listed = bucket.list(key, None, 2).await.unwrap();
        assert_eq!((listed.len(), &listed[0].etag, listed[0].bytes), (1, &etag, found.bytes), "{key}");
        let read = all(bucket.stream(key, Some(&etag)).await.unwrap()).await.unwrap();
        assert!(read == (content.clone() + key).as_bytes(), "{key}");
    }
    // A store may have an order of its own, and keeps to it from page to page.
    let listed = keys(&bucket, "", None, 10).await;
    assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), written.into());
    for page in 1..=3 {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let next = keys(&bucket, "", after.as_deref(), page).await;
            let is_last = next.len() < page;
            after = next.last().cloned();
            found.extend(next);
            if is_last {
                break;
            }
        }
        assert_eq!(found, listed, "in pages of {page}");
    }
    assert_eq!(keys(&bucket, "in/a", None, 10).await, ["in/a/1.json", "in/ab.json", "in/abc.json"]);
    assert_eq!(keys(&bucket, "in/", Some("in/ab.json"), 1).await, ["in/abc.json"]);
    let mut objects = store.objects();
    objects.sort();
    assert_eq!(objects.len(), written.len(), "{objects:?}");

    let first = bucket.stat("other.json").await.unwrap().etag;
    bucket.put("other.json", "another".into()).await.unwrap();
    let changed = bucket.stream("other.json", Some(&first)).await.unwrap_err();
    assert_eq!(changed.kind(), FaultKind::Changed, "{changed}");
    bucket.put("empty.json", Bytes::new()).await.unwrap();
    assert_eq!(all(bucket.stream("empty.json", None).await.unwrap()).await.unwrap(), b"");
    assert_eq!(keys(&bucket, "empty", None, 10).await, ["empty.json"]);
    for key in written.into_iter().chain(["empty.json", "never.json"]) {
        bucket.remove(key).await.unwrap();
    }
    assert_eq!(keys(&bucket, "", None, 10).await, [""; 0]);
    for fault in
        [bucket.stat("other.json").await.map(drop), bucket.stream("other.json", None).await.map(drop)]
    {
        assert_eq!(fault.unwrap_err().kind(), FaultKind::NoSuchKey);
    }
}

pub(super) async fn ranges(store: &Store) {
    let bucket = Bucket::in_s3(BUCKET, &store.settings()).unwrap();
    bucket.put("k.json", "0123456789".into()).await.unwrap();
    for (range, expected) in [(0..4, "0123"), (3..5, "34"), (8..20, "89"), (0..10, "0123456789")] {
        assert_eq!(bucket.read("k.json", range).await.unwrap(), expected);
    }
}

pub(super) async fn pages(store: &Store) {
    let bucket = Bucket::in_s3(BUCKET, &store.settings()).unwrap();
    let many: Vec<String> = (0..MANY).map(|number| format!("many/{number:05}.json")).collect();
    futures_util::stream::iter(&many)
        .for_each_concurrent(AT_ONCE, |key| async { drop(bucket.put(key, "x".into()).await.unwrap()) })
        .await;
    assert_eq!(keys(&bucket, "many/", None, MANY + 1).await, many);
    assert_eq!(keys(&bucket, "many/", Some(&many[0]), 1_050).await, many[1..1_051]);
}

/// What a bucket with these settings says.
async fn refused(bucket: &str, settings: &S3Settings) -> ObjectFault {
    let bucket = Bucket::in_s3(bucket, settings).unwrap();
    let fault = bucket.list("in/", None, 1).await.unwrap_err();
    let written = bucket.put("in/a.json", "x".into()).await.unwrap_err();
    assert_eq!((written.kind(), written.code()), (fault.kind(), fault.code()), "{written}; {fault}");
    assert!(written.to_string().starts_with(&format!("cannot write {}: ", bucket.shown("in/a.json"))));
    fault
}

/// `of_no_bucket`: what a bucket is that is not there.
pub(super) async fn refusals(store: &Store, of_no_bucket: FaultKind) {
    let settings = store.settings();
    let with_key = |id: &str, secret: &str| {
        let (access_key_id, secret_access_key) = (id.to_owned(), secret.to_owned());
        let keys = S3Keys { access_key_id, secret_access_key, session_token: None };
        S3Settings { keys: Some(keys), ..settings.clone() }
    };
    for settings in [with_key(KEY, "wrong"), with_key("AKOTHER", SECRET)] {
        let fault = refused(BUCKET, &settings).await;
        assert_eq!((fault.kind(), fault.code()), (FaultKind::AccessDenied, "S3AccessDenied"), "{fault}");
        assert!(!fault.is_temporary() && fault.to_string().contains(&store.endpoint()), "{fault}");
    }
    let fault = refused("not-a-bucket", &settings).await;
    assert_eq!(fault.kind(), of_no_bucket, "{fault}");

    let gone = S3Settings { endpoint: Some(format!("http://{}", free_address())), ..settings.clone() };
    let fault = refused(BUCKET, &gone).await;
    assert!(fault.is_temporary() && fault.kind() == FaultKind::Temporary, "{fault}");

    let bucket = Bucket::in_s3(BUCKET, &settings).unwrap();
    bucket.put("k.json", "x".into()).await.unwrap();
    store.line.cut_after(0);
    let fault = bucket.put("k.json", "y".into()).await.unwrap_err();
    assert!(fault.is_temporary(), "{fault}");
    store.line.make_whole();
    bucket.put("k.json", "z".into()).await.unwrap();
    assert_eq!(bucket.read_whole("k.json", 9).await.unwrap(), "z");
}
