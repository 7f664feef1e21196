//! Request cases: one file per operation, one row per fault, the message in the last column.
//!
//! A row is `name | body | outcome | message`; `<a*256>` means 256 times `a`. The overlay of the shape table
//! refers to these rows.

use keywright_wire::{Operation, decode, decode_parts, is_served, render_error};

use crate::case_file::{Case, cases, snake_case};

#[test]
fn every_request_case_is_answered_as_the_service_does() {
    let mut wrong = Vec::new();
    for case in cases() {
        let operation = Operation::ALL.iter().find(|operation| snake_case(operation.name()) == case.file);
        let answer =
            decode_parts(*operation.expect("a case file is named after an operation"), case.body.as_bytes());
        let (outcome, message) = match answer {
            Ok(_) => ("ok".to_owned(), String::new()),
            Err(error) => {
                let type_name = render_error(&error).type_name;
                (type_name.split_once('#').unwrap().1.to_owned(), error.message)
            }
        };
        if (&outcome, &message) != (&case.outcome, &case.message) {
            wrong.push(format!(
                "{}/{}\n  wanted {}: {}\n  found  {outcome}: {message}",
                case.file, case.name, case.outcome, case.message
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_served_operation_has_a_case_file() {
    let cases = cases();
    for operation in Operation::ALL.iter().filter(|operation| is_served(**operation)) {
        assert!(cases.iter().any(|case| case.file == snake_case(operation.name())), "{}", operation.name());
    }
}

/// A small pseudo-random generator with the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}

/// Pieces of JSON that are hard on decoders.
const SPLINTERS: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "null", "-1e999", "\\ud800", "\u{0}", "{\"L\":[", "\"\":", "1e30",
    "=", "é",
];

#[test]
fn no_mutation_of_a_case_makes_decoding_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.body.len() < 2_000).collect();
    for _ in 0..20_000 {
        let mut body = cases[random.below(cases.len())].body.clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(body.len() + 1);
            match random.below(4) {
                0 => body.truncate(at),
                1 => {
                    let splinter = SPLINTERS[random.below(SPLINTERS.len())];
                    body.splice(at..at, splinter.bytes());
                }
                2 if at < body.len() => body[at] = u8::try_from(random.below(256)).unwrap(),
                _ => {
                    let other = cases[random.below(cases.len())].body.as_bytes();
                    let from = random.below(other.len() + 1);
                    let end = (from + random.below(40)).min(other.len());
                    body.splice(at..at, other[from..end].iter().copied());
                }
            }
        }
        let operation = Operation::ALL[random.below(Operation::ALL.len())];
        if let Err(error) = decode(operation, &body) {
            assert!(render_error(&error).body.starts_with(b"{\"__type\":"));
        }
    }
}
