//! Over moto, which knows more of S3 than it checks.

use keywright_objects::{Bucket, Encryption};

use super::objects;
use crate::support::stores::{BUCKET, moto};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn a_bucket_of_moto_lists_streams_and_removes_as_a_folder_does() {
    let store = moto::start();
    objects::uses(&store).await;
    objects::ranges(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn an_empty_object_that_stands_for_a_folder_is_not_listed() {
    let store = moto::start();
    for key in ["in/", "in/a.json", "in/empty.json", "in/sub/"] {
        let made = moto::ask(&store, "PUT", &format!("/{BUCKET}/{key}"));
        assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    }
    let bucket = Bucket::in_s3(BUCKET, &store.settings()).unwrap();
    for prefix in ["", "in", "in/"] {
        let keys: Vec<String> =
            bucket.list(prefix, None, 9).await.unwrap().into_iter().map(|object| object.key).collect();
        assert_eq!(keys, ["in/a.json", "in/empty.json"], "{prefix:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs moto: run `cargo xtask test`"]
async fn the_store_is_asked_to_encrypt_as_the_bucket_says() {
    let store = moto::start();
    let bucket = Bucket::in_s3(BUCKET, &store.settings()).unwrap();
    let key_id = "arn:aws:kms:us-east-1:000000000000:key/1".to_owned();
    for (key, encryption, expected) in [
        ("aes.json", Encryption::Aes256, ["x-amz-server-side-encryption: aes256", ""]),
        (
            "kms.json",
            Encryption::Kms { key_id: Some(key_id.clone()) },
            ["x-amz-server-side-encryption: aws:kms", &format!("-aws-kms-key-id: {key_id}")],
        ),
    ] {
        bucket.encrypted(&encryption).unwrap().put(key, "x".into()).await.unwrap();
        let head = moto::ask(&store, "HEAD", &format!("/{BUCKET}/{key}")).to_lowercase();
        assert!(expected.iter().all(|part| head.contains(part)), "{head}");
    }
}
