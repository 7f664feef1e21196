//! The store that a server runs on, and the database over it: opening, watching, scrubbing, opening again.
//! And the backup store, the buckets that requests may name, and keys of encrypted folders (`encryption`).
//!
//! It does not know requests.

pub(crate) mod any_store;
pub(crate) mod backend;
pub(crate) mod buckets;
pub(crate) mod copies;
pub(crate) mod damage_report;
pub(crate) mod database;
pub(crate) mod encryption;
pub(crate) mod file_lock;
pub(crate) mod health;
pub(crate) mod object_faults;
pub(crate) mod outages;
pub(crate) mod private_file;
pub(crate) mod recovery;
pub(crate) mod scrub;
pub(crate) mod store_url;
