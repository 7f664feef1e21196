//! The buckets that requests may name. The settings say which there are; a request cannot widen them.
//!
//! A bucket is opened when it is first named, and nothing is sent before something is asked of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use keywright_objects::{Bucket, ObjectFault, S3Settings};

/// So many opened buckets are kept. Requests choose the names.
const OPENED_MAX: usize = 64;

/// Which buckets requests may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BucketSettings {
    /// How those without a section are reached; `None`: there are none.
    pub(crate) others: Option<Reach>,
    pub(crate) sections: BTreeMap<String, Reach>,
    /// `None`: all.
    pub(crate) only: Option<BTreeSet<String>>,
}

/// How a bucket is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is a folder in this one.
    Folder(PathBuf),
    S3(S3Settings),
    /// What the settings lack for it, as a sentence.
    Unfit(String),
}

/// The buckets of a server.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    settings: BucketSettings,
    opened: Mutex<HashMap<String, Bucket>>,
}

impl Buckets {
    pub(crate) fn new(settings: BucketSettings) -> Self {
        Self { settings, opened: Mutex::default() }
    }

    /// A bucket that a request names. That it is there is only known of a folder.
    pub(crate) fn open(&self, name: &str) -> Result<Bucket, ObjectFault> {
        if let Some(bucket) = self.opened().get(name) {
            return Ok(bucket.clone());
        }
        let bucket = match self.reach(name)? {
            Reach::Folder(folder) => Bucket::in_folder(folder, name)?,
            Reach::S3(settings) => Bucket::in_s3(name, settings)?,
            Reach::Unfit(lacking) => return Err(ObjectFault::not_allowed(name, lacking.as_str())),
        };
        let mut opened = self.opened();
        if opened.len() >= OPENED_MAX {
            opened.clear();
        }
        opened.insert(name.to_owned(), bucket.clone());
        Ok(bucket)
    }

    /// The folder that a bucket is, if it is one.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        match self.reach(name) {
            Ok(Reach::Folder(buckets)) => Some(buckets.join(name)),
            Ok(Reach::S3(_) | Reach::Unfit(_)) | Err(_) => None,
        }
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<String, Bucket>> {
        self.opened.lock().expect("nobody panics with the opened buckets")
    }

    fn reach(&self, name: &str) -> Result<&Reach, ObjectFault> {
        let BucketSettings { others, sections, only } = &self.settings;
        if only.as_ref().is_some_and(|only| !only.contains(name)) {
            return Err(ObjectFault::not_allowed(
                name,
                "requests may not name this bucket: add it to s3-buckets of the server",
            ));
        }
        sections.get(name).or(others.as_ref()).ok_or_else(|| {
            let reason = if sections.is_empty() {
                "no object store is configured: start the server with --s3-endpoint URL or --s3-folder DIR"
            } else {
                "no object store is configured for this bucket: write s3-endpoint, s3-folder or a section \
                 [s3.buckets.NAME] into the settings of the server"
            };
            ObjectFault::not_allowed(name, reason)
        })
    }
}

#[cfg(test)]
mod tests {
    use keywright_objects::{FaultKind, S3Keys};

    use super::*;

    fn fault(buckets: &Buckets, name: &str, kind: FaultKind) -> String {
        let fault = buckets.open(name).unwrap_err();
        assert_eq!(fault.kind(), kind, "{fault}");
        fault.to_string()
    }

    fn s3() -> Reach {
        let keys = S3Keys {
            access_key_id: "AK".to_owned(),
            secret_access_key: "secret".to_owned(),
            session_token: None,
        };
        Reach::S3(S3Settings {
            endpoint: Some("https://s3.invalid".to_owned()),
            region: "us-east-1".to_owned(),
            keys: Some(keys),
            ..S3Settings::default()
        })
    }

    #[test]
    fn without_a_store_no_bucket_is_opened_and_the_settings_are_named() {
        let said = fault(&Buckets::default(), "shop", FaultKind::AccessDenied);
        assert_eq!(
            said,
            "cannot open s3://shop: no object store is configured: start the server with --s3-endpoint URL or \
             --s3-folder DIR"
        );
        let sections = BTreeMap::from([("shop".to_owned(), s3())]);
        let buckets = Buckets::new(BucketSettings { sections, ..BucketSettings::default() });
        buckets.open("shop").unwrap();
        assert!(fault(&buckets, "other", FaultKind::AccessDenied).contains("[s3.buckets.NAME]"));
        let unfit = Some(Reach::Unfit("it needs a key".to_owned()));
        let buckets = Buckets::new(BucketSettings { others: unfit, ..BucketSettings::default() });
        assert!(fault(&buckets, "shop", FaultKind::AccessDenied).ends_with(": it needs a key"));
    }

    #[tokio::test]
    async fn a_folder_that_is_made_later_is_a_bucket_and_one_that_is_missing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let others = Some(Reach::Folder(folder.path().to_owned()));
        let only = Some(BTreeSet::from(["shop".to_owned(), "away".to_owned()]));
        let buckets = Buckets::new(BucketSettings { others, only, ..BucketSettings::default() });
        fault(&buckets, "shop", FaultKind::NoSuchBucket);
        std::fs::create_dir(folder.path().join("shop")).unwrap();
        std::fs::create_dir(folder.path().join("hidden")).unwrap();
        let etag = buckets.open("shop").unwrap().put("in/a", "content".into()).await.unwrap();
        let found = buckets.open("shop").unwrap().stat("in/a").await.unwrap();
        assert_eq!((found.bytes, found.etag), (7, etag));
        fault(&buckets, "away", FaultKind::NoSuchBucket);
        assert!(fault(&buckets, "hidden", FaultKind::AccessDenied).contains("s3-buckets"));
        fault(&buckets, "../shop", FaultKind::AccessDenied);
    }

    #[test]
    fn however_many_names_are_asked_for_a_bounded_number_of_buckets_is_kept() {
        let buckets = Buckets::new(BucketSettings { others: Some(s3()), ..BucketSettings::default() });
        for number in 0..OPENED_MAX + 6 {
            buckets.open(&format!("bucket-{number}")).unwrap();
        }
        fault(&buckets, "../x", FaultKind::NoSuchBucket);
        assert_eq!(buckets.opened.lock().unwrap().len(), 6);
    }
}
