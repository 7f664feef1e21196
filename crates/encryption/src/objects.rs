//! The data keys of objects that lie outside of a folder, such as backups in a bucket.
//!
//! Next to such objects lies a file for each data key, in the form of a folder's `KEYS` and sealed under the
//! master key. A data key is made once and never changed, so writers that know nothing of each other need no
//! lock: each makes a key of its own, and readers open all of them.

use std::sync::Arc;

use crate::cipher::FileCipher;
use crate::fault::{HeaderFault, KeyFault};
use crate::header::{HEADER_BYTES, Header};
use crate::id::KeyId;
use crate::master::MasterKey;
use crate::stored::{self, KeyFile, OpenKey, OpenKeys, WrappedMaster};

/// Data keys of objects, in use. Clones share them.
#[derive(Clone, Default)]
pub struct ObjectKeys(Arc<Vec<OpenKey>>);

/// A data key that was made for objects, and the file that is to lie next to them.
pub struct NewObjectKey {
    /// Its name.
    pub id: KeyId,
    /// The file.
    pub text: Vec<u8>,
    keys: OpenKeys,
}

impl NewObjectKey {
    /// A new data key, sealed under a master key.
    pub fn random(under: (&MasterKey, Option<WrappedMaster>), now_ms: u64) -> Self {
        let keys = OpenKeys::random(now_ms);
        Self { id: keys.current, text: stored::text_of(&keys, under), keys }
    }
}

impl ObjectKeys {
    /// Adds the keys of a file.
    pub fn open(&mut self, file: &KeyFile, master: &MasterKey) -> Result<(), KeyFault> {
        self.add(file.open(master)?);
        Ok(())
    }

    /// Adds a new key, once its file lies next to the objects.
    pub fn adopt(&mut self, new: NewObjectKey) {
        self.add(new.keys);
    }

    fn add(&mut self, keys: OpenKeys) {
        Arc::make_mut(&mut self.0).extend(keys.keys);
    }

    /// When the newest key was made, in milliseconds since 1970; `None` if there is none.
    pub fn newest_ms(&self) -> Option<u64> {
        self.newest().map(|key| key.made_ms)
    }

    fn newest(&self) -> Option<&OpenKey> {
        self.0.iter().max_by_key(|key| (key.made_ms, key.id))
    }

    /// A header and a cipher for a new object, under the newest key.
    ///
    /// # Panics
    ///
    /// Without a key.
    pub fn begin_object(&self) -> (Header, FileCipher) {
        self.newest().expect("keys that objects are written under have one").begin()
    }

    /// The cipher of an object by its header.
    pub fn resume_object(&self, header: &[u8]) -> Result<FileCipher, HeaderFault> {
        stored::resume(&self.0, header)
    }

    /// The content of an object.
    pub fn decrypted(&self, mut object: Vec<u8>) -> Result<Vec<u8>, HeaderFault> {
        let cipher = self.resume_object(&object)?;
        object.drain(..HEADER_BYTES);
        cipher.apply(0, &mut object);
        Ok(object)
    }
}

impl std::fmt::Debug for ObjectKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids: Vec<String> = self.0.iter().map(|key| key.id.to_string()).collect();
        formatter.debug_tuple("ObjectKeys").field(&ids).finish()
    }
}

impl KeyFile {
    /// The same keys, sealed under another master key.
    pub fn resealed(
        &self,
        old: &MasterKey,
        new: (&MasterKey, Option<WrappedMaster>),
    ) -> Result<Vec<u8>, KeyFault> {
        Ok(stored::text_of(&self.open(old)?, new))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn file(text: &[u8]) -> KeyFile {
        KeyFile::parse(Path::new("place/key"), text).unwrap()
    }

    fn encrypted(keys: &ObjectKeys, content: &[u8]) -> Vec<u8> {
        let (header, cipher) = keys.begin_object();
        let mut bytes = content.to_vec();
        cipher.apply(0, &mut bytes);
        [header.encode().as_slice(), &bytes].concat()
    }

    #[test]
    fn objects_of_several_writers_are_read_with_the_files_of_their_keys_and_the_master_key() {
        let master = MasterKey::random();
        let made = [1, 2].map(|now_ms| NewObjectKey::random((&master, None), now_ms));
        let files = [file(&made[0].text), file(&made[1].text)];
        let objects = made.map(|new| {
            let mut keys = ObjectKeys::default();
            keys.adopt(new);
            encrypted(&keys, b"content")
        });
        let mut reader = ObjectKeys::default();
        assert_eq!(reader.newest_ms(), None);
        for file in &files {
            reader.open(file, &master).unwrap();
        }
        assert_eq!(reader.newest_ms(), Some(2));
        for object in &objects {
            assert_eq!(reader.decrypted(object.clone()).unwrap(), b"content");
        }
        let newest = encrypted(&reader, b"");
        assert_eq!(Header::decode(&newest).unwrap().key, Header::decode(&objects[1]).unwrap().key);

        let mut one = ObjectKeys::default();
        one.open(&files[0], &master).unwrap();
        let second = Header::decode(&objects[1]).unwrap().key;
        assert_eq!(one.decrypted(objects[1].clone()), Err(HeaderFault::UnknownKey(second)));
        assert!(matches!(one.open(&files[1], &MasterKey::random()), Err(KeyFault::WrongMaster { .. })));
    }

    #[test]
    fn a_key_that_is_sealed_anew_opens_what_was_written_before() {
        let (old, new) = (MasterKey::random(), MasterKey::random());
        let made = NewObjectKey::random((&old, None), 1);
        let before = file(&made.text);
        let mut keys = ObjectKeys::default();
        keys.adopt(made);
        let object = encrypted(&keys, b"content");
        let after = file(&before.resealed(&old, (&new, None)).unwrap());
        let mut reader = ObjectKeys::default();
        assert!(matches!(reader.open(&after, &old), Err(KeyFault::WrongMaster { .. })));
        reader.open(&after, &new).unwrap();
        assert_eq!(reader.decrypted(object).unwrap(), b"content");
    }
}
