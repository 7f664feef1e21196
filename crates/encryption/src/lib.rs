//! Encrypted files and values: the keys of a folder, and the form of what they encrypt.
//!
//! ```text
//! master key    32 bytes from outside: a file, a variable, a command, a key service
//! KEYS          the data keys of a folder, or of objects elsewhere, each sealed under the master key
//! file key      of one file, made from a data key and random bytes of the file's header
//! ```
//!
//! - A **file** begins with a header of 64 bytes that names its data key; the rest is AES-256-CTR under a key
//!   of its own, so that it can be read and extended from any byte. Its writer never writes a byte of it
//!   twice: two texts under one part of the key stream would reveal each other.
//! - A **value** (a data key, a secret in a shared store) is sealed with AES-256-GCM and bound to its place.
//!
//! What holds: who has the files without the master key learns their names, sizes and times, and nothing of
//! their content. What does not: files are not protected against somebody who can write them, nor anything
//! against somebody who can read the memory of the process.
//!
//! The crate does not know what files hold, where master keys come from, or what time it is. Random bytes are
//! those of the operating system: keys that a seed could bring back would not be secret.
//!
//! Layers: bytes < id < fault < master < seal < cipher < header < stored < keyring, objects < content,
//! stream

mod bytes;
mod cipher;
mod content;
mod fault;
mod header;
mod id;
mod keyring;
mod master;
mod objects;
mod seal;
mod stored;
mod stream;

pub use cipher::FileCipher;
pub use fault::{HeaderFault, KeyFault};
pub use header::{HEADER_BYTES, HEADER_LENGTH, Header, is_encrypted, key_of};
pub use id::KeyId;
pub use keyring::Keyring;
pub use master::MasterKey;
pub use objects::{NewObjectKey, ObjectKeys};
pub use seal::Sealer;
pub use stored::{DataKey, KEYS, KeyFile, WrappedMaster};
pub use stream::{Appending, ContentReader, ContentWriter};
