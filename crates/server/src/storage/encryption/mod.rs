//! Encryption at rest: where the master key of a data folder comes from, how the folder lies on disk, and
//! what in it is under which key.
//!
//! - `source`: the master key; `command`: a program that prints it.
//! - `folder`: opens the keys of a folder, or makes them. `census`: counts files by their keys.
//! - `model_files`: the studio's files in the folder. `rotation`: new data keys, and files written anew.
//! - `backup_keys`: the keys of places of backups.
//! - `swap`: a folder that is encrypted or decrypted while nobody uses it.
//!
//! How a file is encrypted is the crate `encryption`'s, and which of them the store's.

pub(crate) mod backup_keys;
pub(crate) mod census;
mod command;
pub(crate) mod folder;
pub(crate) mod model_files;
pub(crate) mod rotation;
pub(crate) mod source;
pub(crate) mod swap;
