//! Placeholder header; the owner of this crate replaces it.
