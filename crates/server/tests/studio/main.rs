//! The studio against a real server: its guard, sessions and calls over raw HTTP; its pages in Chromium.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

mod calls;
mod guard;
mod http;
mod pages;
#[cfg(target_os = "linux")]
mod processes;
mod read_only;
mod rights;
#[cfg(target_os = "linux")]
mod shares;
mod sign_in;
#[path = "../support/mod.rs"]
mod support;
