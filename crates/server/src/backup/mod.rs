//! Commands on what has been: the history of an item.

pub(crate) mod history;
