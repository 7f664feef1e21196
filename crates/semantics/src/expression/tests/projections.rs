//! Projections: selected parts, faults and their messages.

use super::*;
use crate::expression::{Projection, parse_projection};

fn fault(text: &str, names: &[(&str, &str)]) -> String {
    let message = parse_projection(text, &mut placeholders(names, &[])).expect_err(text).message;
    message
        .strip_prefix("Invalid ProjectionExpression: ")
        .expect("every fault names its parameter")
        .to_owned()
}

fn sample() -> Item {
    item(&[
        ("a", m(&[("b", l(&[n(2), n(4), m(&[("x", s("hi")), ("y", s("yo"))])])), ("c", n(5))])),
        ("b", s("hello")),
        ("f", l(&[n(0), n(1), n(2)])),
    ])
}

#[test]
fn paths_are_all_that_a_projection_has() {
    for text in
        ["whatever(stuff)", ":a", "abort,", "a,,b", "a..b", "a[b]", "(a.b).c", "(a)", "(a,b)", "a-b", ",a"]
    {
        assert!(fault(text, &[]).starts_with("Syntax error; "), "{text}");
    }
    assert_eq!(fault("", &[]), "The expression can not be empty;");
    assert_eq!(fault("a.abORt", &[]), "Attribute name is a reserved keyword; reserved keyword: abORt");
    assert_eq!(fault("#a,ABSoLUTE", &[]), "Attribute name is a reserved keyword; reserved keyword: ABSoLUTE");
    assert_eq!(
        fault("a,b,a,#a", &[]),
        "An expression attribute name used in the document path is not defined; attribute name: #a"
    );
}

#[test]
fn paths_neither_overlap_nor_conflict() {
    for (text, relation, first, second) in [
        ("b[1], b.a, #a.b, a", "overlap", "[a, b]", "[a]"),
        ("a, #a[1]", "overlap", "[a]", "[a, [1]]"),
        ("a, a", "overlap", "[a]", "[a]"),
        ("a.b[0],a.b[0]", "overlap", "[a, b, [0]]", "[a, b, [0]]"),
        ("a.b, #a[1], #b", "conflict", "[a, b]", "[a, [1]]"),
        ("a.b[1], #a[1], #b", "conflict", "[a, b, [1]]", "[a, [1]]"),
        ("a[3].b, #a.#b.b", "conflict", "[a, [3], b]", "[a, [3], b]"),
    ] {
        let message = format!(
            "Two document paths {relation} with each other; must remove or rewrite one of these paths; \
             path one: {first}, path two: {second}"
        );
        assert_eq!(fault(text, &[("#a", "a"), ("#b", "[3]")]), message, "{text}");
    }
}

#[test]
fn selected_parts_keep_their_place_and_lists_close_up() {
    let stored = encoded(&sample());
    for (text, wanted) in [
        ("a", item(&[("a", sample()["a"].clone())])),
        ("b, q", item(&[("b", s("hello"))])),
        ("a.b[0]", item(&[("a", m(&[("b", l(&[n(2)]))]))])),
        ("a.b[2].y", item(&[("a", m(&[("b", l(&[m(&[("y", s("yo"))])]))]))])),
        ("a.b[0], a.c", item(&[("a", m(&[("b", l(&[n(2)])), ("c", n(5))]))])),
        ("f[2], f[0]", item(&[("f", l(&[n(0), n(2)]))])),
        ("a.x, a.b[0], x, a.b[3].x", item(&[("a", m(&[("b", l(&[n(2)]))]))])),
        ("a.b[3]", item(&[])),
        ("a.x", item(&[])),
        ("a[0]", item(&[])),
        ("a.b.x", item(&[])),
        ("b.x", item(&[])),
    ] {
        let projection = parse_projection(text, &mut placeholders(&[], &[])).expect(text);
        assert_eq!(projection.project(stored.view()).decode(), wanted, "{text}");
    }
}

#[test]
fn attributes_to_get_are_taken_as_they_are() {
    let stored = encoded(&item(&[("a.b", n(1)), ("status", n(2)), ("c", n(3))]));
    let projection = Projection::from_attributes(&["a.b".to_owned(), "status".to_owned()]);
    assert_eq!(projection.project(stored.view()).decode(), item(&[("a.b", n(1)), ("status", n(2))]));
    assert_eq!(projection.attributes(), ["a.b", "status"]);
}
