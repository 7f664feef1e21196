//! Any text as a session token, and any bytes as what is sealed in one: none panics, no token opens that was
//! not sealed, and a session that is opened is the same after it was sealed and opened again.

#![no_main]

use keywright::fuzz::{opens, session};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&str, &str, &[u8])| {
    let (access_key_id, token, sealed) = parts;
    assert!(!opens(access_key_id, token), "{access_key_id} {token}");
    assert_ne!(session(access_key_id, sealed), Some(false));
});
