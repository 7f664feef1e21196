//! The embedded, durable store: a journal, a write buffer, sorted tables, one commit thread that commits in
//! groups, and checks at open. See `docs/adr/0006-own-journal-and-buffer.md`.
//!
//! Guarantees:
//! - A synced commit is acknowledged and visible only after its journal bytes are on disk. A failed write or
//!   sync stops all writes until the store is opened again; the commits of that group end as unknown.
//! - After a crash at any moment, every acknowledged commit is there, and every other commit is there as a
//!   whole or not at all.
//! - Open refuses a missing, truncated or changed file and names it: the format marker, the lists of tables,
//!   the frame of every table, the content of the newest tables (`LocalOptions::verify_bytes_max`), every
//!   journal. Older tables are checked block by block as they are read, and as a whole by the scrub.
//! - Damage that a read or the scrub meets is known by file, block and keys ([`LocalStore::damage`]);
//!   [`verify`] reads a stopped folder whole and names everything that is damaged.
//! - Not detected at open: after a power loss, a journal damaged in exactly the commits of the last seconds
//!   before it. They look like commits that were never finished.
//!
//! Reads run on the caller's thread, mostly from memory. The rest of a long read runs through
//! `LocalOptions::long_reads`.

mod background;
mod committer;
mod conflicts;
mod convert;
mod damage;
mod dead_ranges;
mod error;
mod failure;
mod figures;
mod file_reader;
mod files;
mod folder;
mod journal;
mod key_use;
mod keys;
mod layers;
mod open;
mod options;
mod pacing;
mod pauses;
mod removal;
mod reply;
mod row_cache;
mod row_map;
mod scrub;
mod scrub_figures;
mod shared;
mod store;
mod table_check;
mod table_file;
mod tables;
mod threads;
mod verify;
mod watermark;

pub use convert::{Converted, convert, convert_with};
pub use damage::{Damage, DamagedPart, Holds};
pub use error::OpenFault;
pub use failure::{Fault, FaultCause};
pub use figures::Figures;
pub use files::Files;
pub use key_use::{KeyUse, KeyUses, bytes_per_key};
pub use keys::KeySpan;
pub use options::{Aside, Durability, LocalOptions};
pub use pauses::{LONG as LONG_PAUSE, Pause, PauseCause};
pub use scrub::{Round, ScrubStep};
pub use scrub_figures::ScrubFigures;
pub use store::{LocalSnapshot, LocalStore, LocalTransaction};
pub use verify::{Verified, verify};
