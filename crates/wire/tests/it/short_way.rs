//! The short way of decoding gives up, or agrees with the long way to the last field.

use keywright_wire::{Operation, decode, shape};

use crate::both_ways::{Choices, SHORT, Seeds, agree};
use crate::case_file::{cases, snake_case};

/// Requests that a run compares: some seconds of a test build. `--long` takes many times as many, and the
/// fuzz target as many as one likes.
const CHANGED_REQUESTS: usize = 120_000;

/// A number in the environment.
fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Numbers that look random and are the same in every run (`xorshift64*`).
struct Fixed(u64);

impl Choices for Fixed {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap() % bound
    }
}

#[test]
fn both_ways_agree_on_every_case() {
    let mut short = 0;
    for case in cases() {
        let operation = SHORT.into_iter().find(|operation| snake_case(operation.name()) == case.file);
        if let Some(operation) = operation {
            short += usize::from(agree(operation, case.body.as_bytes()));
        }
    }
    assert!(short > 20, "{short} cases are usual");
}

#[test]
fn both_ways_agree_on_changed_requests() {
    let seeds = Seeds::of(cases());
    let times = set("KEYWRIGHT_TEST_LONG").map_or(1, |times| usize::try_from(times).unwrap());
    let wanted = CHANGED_REQUESTS * times;
    let seed = set("PROPTEST_RNG_SEED").unwrap_or_default();
    let mut choices = Fixed(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut short = 0;
    for _ in 0..wanted {
        let (operation, body) = seeds.changed(&mut choices);
        short += usize::from(agree(operation, &body));
    }
    assert!(short > wanted / 10 && short < wanted, "{short} of {wanted} took the short way");
    println!("{short} of {wanted} requests took the short way");
}

#[test]
fn usual_requests_take_the_short_way() {
    for (operation, body) in Seeds::usual() {
        assert!(agree(operation, body.as_bytes()), "{} {body}", operation.name());
    }
    for operation in SHORT {
        assert!(
            Seeds::usual().any(|(other, _)| other == operation),
            "{} has a usual request",
            operation.name()
        );
    }
}

#[test]
fn what_is_unusual_takes_the_long_way() {
    let unusual = [
        "",
        "null",
        "[]",
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}}} x"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"ConsistentRead":"true"}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"ConsistentRead":null}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"Unknown":1}"#,
        r#"{"TableName":"Shop","TableName":"Shop","Key":{"pk":{"S":"a"}}}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"},"pk":{"S":"b"}}}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a","N":"1"}}}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"},"l":{"NS":["1","1.0"]}}}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"N":"x"}}}"#,
        r#"{"TableName":"a b","Key":{"pk":{"S":"a"}}}"#,
        r#"{"Key":{"pk":{"S":"a"}}}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"ALL"}"#,
        r#"{"TableName":"Shop","Key":{"pk":{"S":"\ud800"}}}"#,
        "{\"TableName\":\"Shop\",\"Key\":{\"pk\":{\"S\":\"a\nb\"}}}",
    ];
    for body in unusual {
        let is_short = shape(Operation::GetItem, body.as_bytes()).is_ok_and(|shaped| shaped.is_short());
        assert!(!is_short, "{body}");
    }
}

/// A value inside of as many maps.
fn nested(maps: usize) -> String {
    let value = format!("{}{}{}", r#"{"M":{"a":"#.repeat(maps), r#"{"S":"x"}"#, "}}".repeat(maps));
    format!(r#"{{"TableName":"Shop","Item":{{"pk":{{"S":"a"}},"deep":{value}}}}}"#)
}

#[test]
fn values_as_deep_as_allowed_take_the_short_way() {
    for maps in [1, 30, 31, 32, 33, 61, 70, 200] {
        let body = nested(maps);
        assert_eq!(agree(Operation::PutItem, body.as_bytes()), maps < 32, "{maps}");
        assert_eq!(decode(Operation::PutItem, body.as_bytes()).is_ok(), maps < 32, "{maps}");
    }
}
