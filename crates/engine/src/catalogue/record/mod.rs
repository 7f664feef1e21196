//! A table's stored form.

mod untagged;

pub(super) use untagged::{RecordFault, decode, encode};
