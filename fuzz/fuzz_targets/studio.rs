//! Any bytes on a connection to the studio, and any body of any of its calls that are short: nothing panics,
//! and no answer is an internal error.
//!
//! The first byte chooses what the rest is: bytes of a connection, the body of a call that the studio
//! executes itself, or the body of a light call on models.

#![no_main]

use std::sync::LazyLock;

use keywright::fuzz::{Fuzzed, studio_call};
use libfuzzer_sys::{Corpus, fuzz_target};

static SERVER: LazyLock<Fuzzed> = LazyLock::new(Fuzzed::start);

fn is_internal(answer: &[u8]) -> bool {
    answer.windows(13).any(|window| window == b"HTTP/1.1 500 ")
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((choice, rest)) = data.split_first() else { return Corpus::Reject };
    match choice % 3 {
        0 => assert!(!is_internal(&SERVER.studio_answers(&[rest]))),
        1 => {
            let request = SERVER.studio_request(choice / 3, rest);
            assert!(!is_internal(&SERVER.studio_answers(&[&request])));
        }
        _ => {
            let answer = studio_call(choice / 3, rest);
            assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok(), "{answer}");
            assert!(!answer.starts_with("{\"error\":{\"kind\":\"internal\""), "{answer}");
        }
    }
    Corpus::Keep
});
