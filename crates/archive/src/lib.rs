//! The form of sealed backups: chunks of rows, manifests, chains of increments, and the sums that guard them,
//! over an object store.
//!
//! Rows are pairs of key and value, opaque bytes in the order of their keys; a table's settings are opaque
//! bytes with a few plain lines for people. The crate knows no engine and no clock: times are passed in.
//!
//! ```text
//! <root>/<account>/<region>/<table>/<id>/chunk-<n>.kwb    rows in key order
//! <root>/<account>/<region>/<table>/<id>/manifest.json    written last: with it, the backup is complete
//! <root>/<account>/<region>/=sets/<id>.json               one stamp over several tables, after all of them
//! <root>/=keys/<id>.json                                  the data keys of an encrypted place
//! ```
//!
//! A place is encrypted as a whole or not at all. `place` encrypts and decrypts below everything else: what
//! is said of bytes here is said of the content.
//!
//! What holds:
//! - **The manifest comes last and names everything**: length, rows, keys and SHA-256 of each chunk, and its
//!   own SHA-256. Any changed byte is found, and named by object and place.
//! - **No row of a chunk is handed out before the whole chunk was checked.**
//! - **A writer that was killed goes on after its last sealed chunk** and ends with the same bytes.
//! - **Memory is bounded** by the size of a chunk for writers, and by the budget of a reader, however large a
//!   table is and however long its chain.
//! - **The catalogue is the place itself**: `list` needs nothing else.
//!
//! Work on a chunk (compression, sums) is done by the caller's thread, at most a block or a piece of a few
//! MiB between two points at which the future can wait.
//!
//! Layers: names < fault < encrypted, sum, row < block < sealed < place < keys, chunk < manifest
//! < set, writer, reader < chain < list < verify, removal

mod block;
mod chain;
mod chunk;
mod encrypted;
mod fault;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
mod keys;
mod list;
mod manifest;
mod names;
mod place;
mod reader;
mod removal;
mod row;
mod sealed;
mod set;
mod sum;
mod verify;
mod writer;

pub use block::BLOCK_BYTES_MAX;
pub use chain::{CHAIN_LENGTH_MAX, Chain, ChainRows};
pub use chunk::{CHUNK_BYTES_MAX, Chunk};
pub use fault::{Damage, Fault, Spot, Wrong};
pub use list::{Listed, ListedSet, Listing, SetState, State, list, list_of};
pub use manifest::{Kind, Manifest, Parent, Parts, Summary};
pub use names::{BackupPath, BadName, KEYS as KEYS_FOLDER, Scope};
pub use place::{Access, Address, BadAddress, Place};
pub use reader::BackupRows;
pub use removal::{Keep, Plan, delete, delete_set, plan, plan_of_id, prune};
pub use row::Row;
pub use set::{Member, SetManifest};
pub use sum::Sum;
pub use verify::{Verified, verify, verify_chunk, verify_set};
pub use writer::{Sizes, Writer, all_stand, remove_orphans, remove_unfinished};
