//! A bucket: objects under keys, wherever they stand.

use std::fs;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3;
use object_store::list::{PaginatedListOptions, PaginatedListStore as _};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutPayload};
use tokio::runtime::Handle;

use crate::content::Content;
use crate::fault::{Cause, FaultKind, Faults, ObjectFault};
use crate::folder::{self, Folder};
use crate::key;
use crate::object::{Etag, Object};
use crate::s3::{self, Encryption, Refusal, S3Settings};

/// Stores list at most so many objects at once.
const PAGE_OBJECTS_MAX: usize = 1_000;
/// A store answers a request of a few bytes within this time, all attempts together: it lists, looks up or
/// removes, and carries no content. One that has a connection and says nothing is tried again later.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// An action in faults.
const REMOVE_UNFINISHED: &str = "remove unfinished files of";

/// What stands directly below a key.
#[derive(Debug, Default)]
pub struct Entries {
    /// The names of folders, in their order.
    pub folders: Vec<String>,
    /// Names and lengths of objects, in the order of names.
    pub objects: Vec<(String, u64)>,
}

impl Entries {
    /// The length of an object, if it is there.
    pub fn length(&self, name: &str) -> Option<u64> {
        let found = self.objects.binary_search_by(|(object, _)| object.as_str().cmp(name)).ok()?;
        self.objects.get(found).map(|(_, bytes)| *bytes)
    }
}

/// A bucket, or a folder that is used as one. A clone is the same bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    kind: Kind,
    /// What stands before a key, for people.
    shown: Arc<str>,
}

#[derive(Clone, Debug)]
enum Kind {
    Folder(Arc<Folder>),
    S3 { client: Arc<AmazonS3>, name: Arc<str>, settings: Arc<S3Settings>, answer_time: Duration },
    Plain,
}

impl Bucket {
    /// The bucket that is a folder within a folder of buckets. It must be there.
    pub fn in_folder(buckets: &FilePath, name: &str) -> Result<Self, ObjectFault> {
        let shown = format!("s3://{name}");
        let fault = |cause| ObjectFault::new(shown.clone(), "open", cause);
        key::check_bucket(name).map_err(|rule| fault(Cause::BadBucket(rule)))?;
        // The folder of buckets may be a link itself.
        let place = fs::canonicalize(buckets).or_else(|_| std::path::absolute(buckets));
        let place = place.unwrap_or_else(|_| buckets.to_owned());
        let folder = Folder::of_bucket(place.join(name), place.display().to_string());
        folder.check_root().map_err(fault)?;
        Self::over_folder(folder, &shown)
    }

    /// A folder that is no bucket of a folder of buckets. It must be there.
    pub fn of_folder(folder: &FilePath, shown: &str) -> Result<Self, ObjectFault> {
        let root = fs::canonicalize(folder)
            .map_err(|error| ObjectFault::new(shown.to_owned(), "open", folder::cause(error)))?;
        Self::over_folder(Folder::new(root), shown)
    }

    /// Makes a folder with those above it, unless it is there.
    pub fn make_folder(folder: &FilePath, shown: &str) -> Result<(), ObjectFault> {
        fs::create_dir_all(folder)
            .map_err(|error| ObjectFault::new(shown.to_owned(), "create", folder::cause(error)))
    }

    fn over_folder(folder: Folder, shown: &str) -> Result<Self, ObjectFault> {
        let opened = LocalFileSystem::new_with_prefix(folder.root());
        let store =
            opened.map_err(|error| ObjectFault::new(shown.to_owned(), "open", Cause::Store(error)))?;
        // What is said to be written must stay after a power loss.
        let store = store.with_fsync(true).with_automatic_cleanup(true);
        Ok(Self { store: Arc::new(store), kind: Kind::Folder(Arc::new(folder)), shown: shown.into() })
    }

    /// A bucket of an S3-compatible store. Nothing is sent yet.
    pub fn in_s3(name: &str, settings: &S3Settings) -> Result<Self, ObjectFault> {
        let fault = |cause| ObjectFault::new(format!("s3://{name}"), "open", cause);
        key::check_bucket(name).map_err(|rule| fault(Cause::BadBucket(rule)))?;
        Self::connect(name.into(), Arc::new(settings.clone()), None)
    }

    fn connect(
        name: Arc<str>,
        settings: Arc<S3Settings>,
        encryption: Option<&Encryption>,
    ) -> Result<Self, ObjectFault> {
        let shown: Arc<str> = format!("s3://{name}").into();
        let client = s3::open(&name, &settings, encryption).map_err(|error| {
            let cause = match Refusal::of(&error) {
                Some(refusal) => Cause::Refused { store: settings.shown(), refusal },
                None => Cause::Store(error),
            };
            ObjectFault::new(shown.to_string(), "open", cause)
        })?;
        let client = Arc::new(client);
        let store = client.clone();
        let kind = Kind::S3 { client, name, settings, answer_time: ANSWER_TIME_MAX };
        Ok(Self { store, kind, shown })
    }

    /// A bucket in memory.
    pub fn in_memory() -> Self {
        Self::over(Arc::new(InMemory::new()), "memory:")
    }

    /// A bucket over any object store, such as one that fails in a test.
    pub fn over(store: Arc<dyn ObjectStore>, shown: &str) -> Self {
        Self { store, kind: Kind::Plain, shown: shown.into() }
    }

    /// The same bucket, in which the store encrypts what is written from now on. Folders and memory do not.
    pub fn encrypted(&self, encryption: &Encryption) -> Result<Self, ObjectFault> {
        match &self.kind {
            Kind::S3 { name, settings, .. } => {
                Self::connect(Arc::clone(name), Arc::clone(settings), Some(encryption))
            }
            Kind::Folder(_) | Kind::Plain => Ok(self.clone()),
        }
    }

    /// An object's name for people.
    pub fn shown(&self, key: &str) -> String {
        if key.is_empty() {
            self.shown.to_string()
        } else {
            format!("{}/{key}", self.shown.trim_end_matches('/'))
        }
    }

    /// The path of a key that may be used.
    async fn path(&self, key: &str, action: &'static str) -> Result<Path, ObjectFault> {
        let path = self.path_of(key, action)?;
        if let Kind::Folder(folder) = &self.kind {
            let (folder, path) = (Arc::clone(folder), path.clone());
            let checked = where_it_may_wait(move || folder.check(&path)).await;
            checked.map_err(|cause| ObjectFault::new(self.shown(key), action, cause))?;
        }
        Ok(path)
    }

    /// The path of a key that there can be. It may lead through a link.
    fn path_of(&self, key: &str, action: &'static str) -> Result<Path, ObjectFault> {
        let fault = |rule| ObjectFault::new(self.shown(key), action, Cause::BadKey(rule));
        let path = key::path(key).map_err(fault)?;
        if let Kind::Folder(_) = &self.kind {
            key::check_file(&path).map_err(fault)?;
        }
        Ok(path)
    }

    fn fault(&self, key: &str, action: &'static str) -> Faults {
        Faults { object: self.shown(key), action, s3: self.s3() }
    }

    /// The S3-compatible store, for people.
    fn s3(&self) -> Option<String> {
        match &self.kind {
            Kind::S3 { settings, .. } => Some(settings.shown()),
            Kind::Folder(_) | Kind::Plain => None,
        }
    }

    /// What a store answers to a request of a few bytes; an S3-compatible one only within its time.
    async fn answer<T>(
        &self,
        fault: &Faults,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ObjectFault> {
        let Kind::S3 { settings, answer_time, .. } = &self.kind else {
            return request.await.map_err(|error| fault.of(error));
        };
        match tokio::time::timeout(*answer_time, request).await {
            Ok(answer) => answer.map_err(|error| fault.of(error)),
            Err(_elapsed) => {
                let reason = format!("it does not answer within {} seconds", answer_time.as_secs());
                let refusal = Refusal::Unreachable(reason);
                Err(fault.because(Cause::Refused { store: settings.shown(), refusal }))
            }
        }
    }

    /// Writes an object as a whole: readers see all of it or nothing.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<Etag, ObjectFault> {
        self.put_parts(key, vec![content]).await
    }

    /// Writes an object of several parts as a whole, as `put` does.
    pub async fn put_parts(&self, key: &str, parts: Vec<Bytes>) -> Result<Etag, ObjectFault> {
        let path = self.path(key, "write").await?;
        let put = self.store.put(&path, PutPayload::from_iter(parts)).await;
        let put = put.map_err(|error| self.fault(key, "write").of(error))?;
        match put.e_tag {
            Some(etag) => Ok(Etag::of(&etag)),
            None => self.stat(key).await.map(|object| object.etag),
        }
    }

    /// What the store knows of an object, which must be there.
    pub async fn stat(&self, key: &str) -> Result<Object, ObjectFault> {
        let path = self.path(key, "read").await?;
        let found = self.answer(&self.fault(key, "read"), self.store.head(&path)).await?;
        Ok(Object::of(&found))
    }

    /// A part of an object. It may be shorter if the object ends before.
    pub async fn read(&self, key: &str, range: Range<u64>) -> Result<Bytes, ObjectFault> {
        let path = self.path(key, "read").await?;
        self.store.get_range(&path, range).await.map_err(|error| self.fault(key, "read").of(error))
    }

    /// An object of at most so many bytes.
    pub async fn read_whole(&self, key: &str, bytes_max: u64) -> Result<Bytes, ObjectFault> {
        let path = self.path(key, "read").await?;
        let fault = self.fault(key, "read");
        let found = self.store.get(&path).await.map_err(|error| fault.of(error))?;
        if found.meta.size > bytes_max {
            return Err(ObjectFault::new(self.shown(key), "read", Cause::TooLong(bytes_max)));
        }
        found.bytes().await.map_err(|error| fault.of(error))
    }

    /// An object from its start to its end, in pieces. With `expected` it must be the one that the store said
    /// this of. It ends with a fault if it changes meanwhile.
    pub async fn stream(&self, key: &str, expected: Option<&Etag>) -> Result<Content, ObjectFault> {
        let path = self.path(key, "read").await?;
        let fault = self.fault(key, "read");
        let options = GetOptions::new().with_if_match(expected.map(Etag::quoted));
        let found = self.store.get_opts(&path, options).await.map_err(|error| fault.of(error))?;
        let object = Object::of(&found.meta);
        // Not all stores look at the condition.
        if expected.is_some_and(|expected| *expected != object.etag) {
            return Err(ObjectFault::new(self.shown(key), "read", Cause::Changed));
        }
        // A file that is written in place changes while it is read. Other stores replace objects as a whole.
        let again = match &self.kind {
            Kind::Folder(_) => Some((Arc::clone(&self.store), path)),
            Kind::S3 { .. } | Kind::Plain => None,
        };
        Ok(Content::new(object, fault, found.into_stream(), again))
    }

    /// At most so many objects whose keys start with a string. With `after`, the last key of a page, it is
    /// the next page. Fewer than `max` are all that there are. The order is that of the keys' bytes; a store
    /// may have another one and keep to it, as `SeaweedFS` does, which lists `a/b` before `a-b`.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Object>, ObjectFault> {
        key::check_prefix(prefix)
            .map_err(|rule| ObjectFault::new(self.shown(""), "list", Cause::BadKey(rule)))?;
        match &self.kind {
            Kind::S3 { client, .. } => self.list_s3(client, prefix, after, max).await,
            Kind::Folder(folder) => self.list_folder(folder, prefix, after, max).await,
            Kind::Plain => {
                let found: Result<Vec<ObjectMeta>, Error> = self.store.list(None).try_collect().await;
                let found = found.map_err(|error| self.fault("", "list").of(error))?;
                let mut objects: Vec<Object> = found.iter().map(Object::of).collect();
                objects.retain(|object| {
                    object.key.starts_with(prefix) && after.is_none_or(|after| object.key.as_str() > after)
                });
                objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
                objects.truncate(max);
                Ok(objects)
            }
        }
    }

    async fn list_folder(
        &self,
        folder: &Arc<Folder>,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Object>, ObjectFault> {
        let fault = |cause| ObjectFault::new(self.shown(""), "list", cause);
        let root = Arc::clone(folder);
        where_it_may_wait(move || root.check_root()).await.map_err(fault)?;
        let mut objects = Vec::new();
        let mut after = after.unwrap_or_default().to_owned();
        while objects.len() < max {
            let wanted = (max - objects.len()).min(PAGE_OBJECTS_MAX);
            let (folder, prefix, start) = (Arc::clone(folder), prefix.to_owned(), after.clone());
            let keys = where_it_may_wait(move || folder.keys(&prefix, &start, wanted)).await;
            let keys = keys.map_err(|error| fault(folder::cause(error)))?;
            for key in &keys {
                match self.stat(key).await {
                    // Removed, or replaced by a link, meanwhile.
                    Err(fault) if fault.kind() == FaultKind::NoSuchKey || fault.link().is_some() => {}
                    found => objects.push(found?),
                }
            }
            match keys.last() {
                Some(last) if keys.len() == wanted => after.clone_from(last),
                _ => break,
            }
        }
        Ok(objects)
    }

    async fn list_s3(
        &self,
        client: &AmazonS3,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Object>, ObjectFault> {
        let mut objects: Vec<Object> = Vec::new();
        let mut page_token = None;
        while objects.len() < max {
            let options = PaginatedListOptions {
                offset: after.map(str::to_owned),
                max_keys: Some((max - objects.len()).min(PAGE_OBJECTS_MAX)),
                page_token: page_token.take(),
                ..PaginatedListOptions::default()
            };
            let page = client.list_paginated((!prefix.is_empty()).then_some(prefix), options);
            let page = self.answer(&self.fault("", "list"), page).await?;
            for object in page.result.objects.iter().map(Object::of) {
                if after == Some(object.key.as_str()) {
                    // The store begins at the start of the list.
                    objects.clear();
                } else if object.key.starts_with(prefix)
                    && (object.bytes > 0 || self.is_there(&object).await?)
                {
                    objects.push(object);
                }
            }
            page_token = page.page_token;
            if page_token.is_none() {
                break;
            }
        }
        Ok(objects)
    }

    /// Whether an object without bytes has this key, and not this key and a `/`, which is left out.
    async fn is_there(&self, object: &Object) -> Result<bool, ObjectFault> {
        match self.stat(&object.key).await {
            Ok(_) => Ok(true),
            Err(fault) if fault.kind() == FaultKind::NoSuchKey => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// What stands directly below a key, without links. The empty key is the bucket itself.
    pub async fn entries(&self, folder: &str) -> Result<Entries, ObjectFault> {
        let path = if folder.is_empty() { Path::default() } else { self.path(folder, "list").await? };
        let below = (!path.is_root()).then_some(&path);
        let listed = self.store.list_with_delimiter(below);
        let listed = match self.answer(&self.fault(folder, "list"), listed).await {
            Err(fault) if fault.kind() == FaultKind::NoSuchKey => return Ok(Entries::default()),
            listed => listed?,
        };
        let is_link = |name: &str| match &self.kind {
            Kind::Folder(folder) => folder.check(&path.clone().join(name)).is_err(),
            Kind::S3 { .. } | Kind::Plain => false,
        };
        let mut entries = Entries::default();
        for folder in &listed.common_prefixes {
            entries.folders.extend(folder.filename().filter(|name| !is_link(name)).map(str::to_owned));
        }
        for object in &listed.objects {
            let name = object.location.filename().filter(|name| !is_link(name));
            entries.objects.extend(name.map(|name| (name.to_owned(), object.size)));
        }
        entries.folders.sort_unstable();
        entries.objects.sort_unstable();
        Ok(entries)
    }

    /// Removes an object. One that is not there is removed already.
    pub async fn remove(&self, key: &str) -> Result<(), ObjectFault> {
        let path = self.path(key, "remove").await?;
        match self.answer(&self.fault(key, "remove"), self.store.delete(&path)).await {
            Err(fault) if fault.kind() == FaultKind::NoSuchKey => Ok(()),
            removed => removed,
        }
    }

    /// Removes the files directly below a key that a killed process was writing; returns how many. Other
    /// stores have none: what was not written to its end is not there.
    pub fn remove_unfinished(&self, folder: &str) -> Result<u64, ObjectFault> {
        let path = self.path_of(folder, REMOVE_UNFINISHED)?;
        self.remove_unfinished_in(&path, None)
    }

    /// The same of the files that would have become one object. Others may write next to it.
    pub fn remove_unfinished_of(&self, key: &str) -> Result<u64, ObjectFault> {
        let path = self.path_of(key, REMOVE_UNFINISHED)?;
        let folder = key.rsplit_once('/').map(|(folder, _)| self.path_of(folder, REMOVE_UNFINISHED));
        self.remove_unfinished_in(&folder.transpose()?.unwrap_or_default(), path.filename())
    }

    fn remove_unfinished_in(&self, path: &Path, of: Option<&str>) -> Result<u64, ObjectFault> {
        let Kind::Folder(files) = &self.kind else { return Ok(0) };
        let fault = |cause| ObjectFault::new(self.shown(path.as_ref()), REMOVE_UNFINISHED, cause);
        files.check(path).map_err(fault)?;
        files.remove_unfinished(path, of).map_err(|error| fault(folder::cause(error)))
    }

    /// Checks that the bucket is there and may be listed.
    pub async fn check(&self) -> Result<(), ObjectFault> {
        self.list("", None, 1).await.map(|_| ())
    }
}

/// Does what may wait for a disk on a thread for such work, or here where there is none.
async fn where_it_may_wait<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.expect("the work does not panic"),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::s3::S3Keys;

    /// A bucket of a store that takes connections and requests, and says nothing.
    fn silent(answer_time: Duration) -> (TcpListener, Bucket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let keys = S3Keys {
            access_key_id: "AKSTORE".to_owned(),
            secret_access_key: "secret".to_owned(),
            session_token: None,
        };
        let settings = S3Settings {
            endpoint: Some(endpoint),
            region: "us-east-1".to_owned(),
            keys: Some(keys),
            allow_http: true,
            ..S3Settings::default()
        };
        let mut bucket = Bucket::in_s3("shop", &settings).unwrap();
        match &mut bucket.kind {
            Kind::S3 { answer_time: own, .. } => *own = answer_time,
            Kind::Folder(_) | Kind::Plain => unreachable!("it is a bucket of a store"),
        }
        (listener, bucket)
    }

    #[test]
    fn a_store_that_says_nothing_is_tried_again_later() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (listener, bucket) = silent(Duration::from_millis(100));
        let faults = runtime.block_on(async {
            [
                bucket.remove("a").await.unwrap_err(),
                bucket.entries("a").await.unwrap_err(),
                bucket.stat("a").await.unwrap_err(),
                bucket.list("a", None, 1).await.unwrap_err(),
            ]
        });
        for fault in faults {
            assert!(fault.is_temporary(), "{fault}");
            assert!(fault.to_string().contains("cannot be reached: it does not answer within"), "{fault}");
        }
        drop(listener);
    }
}
