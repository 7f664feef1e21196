//! History: undo rows, and a table as it was at any stamp that they reach back to.
//!
//! The commit that changes an item also writes an *undo row* with the item before the change (`rows`). All
//! undo rows of a commit carry its stamp. The state as of a stamp is made by all commits with a lower one: an
//! item's value is the image in its first undo row from that stamp on, and without one the present item. So
//! nothing is replayed, and no snapshot has to be kept: a change that comes later adds the row that restores
//! the answer.
//!
//! - `rows`: the keys and values of undo rows, and the rows that order the stamps of one item.
//! - `bound`: the rows that say how far the stamps of commits can have come.
//! - `cut`: a stamp between what was answered and what comes later.
//! - `merge`: items and undo rows of all days, in the order of items.
//! - `as_of`: a table, or a part of it, as of a stamp.
//! - `window`: the items that changed between two stamps.
//! - `versions`: the versions of one item.
//! - `item`: what callers ask about a table's history.

pub(crate) mod as_of;
pub(crate) mod bound;
pub(crate) mod cut;
pub(crate) mod item;
pub(crate) mod merge;
pub(crate) mod rows;
pub(crate) mod versions;
pub(crate) mod window;
