//! Faults of update expressions and their messages.

use super::*;
use crate::expression::parse_update;

fn fault(text: &str, names: &[(&str, &str)], values: &[(&str, AttributeValue)]) -> String {
    let message = parse_update(text, &mut placeholders(names, values)).expect_err(text).message;
    message.strip_prefix("Invalid UpdateExpression: ").expect("every fault names its parameter").to_owned()
}

#[test]
fn syntax_errors_name_the_token_and_its_neighbours() {
    for (text, token, near) in [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        ("HELLO b = :val1", "HELLO", "HELLO b"),
        ("SET", "<EOF>", "SET"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = :v REMOVE", "<EOF>", "REMOVE"),
        ("DELETE a :t undefined SET b = :c", "undefined", ":t undefined SET"),
        ("SET _123 = :val1", "_", "SET _123"),
        ("SET hi-there = :val1", "-", "hi-there"),
        ("SET :a = :b", ":a", "SET :a ="),
        ("set a = b + c + d", "+", "c + d"),
        ("set a[1] = 1", "1", "= 1"),
        ("SET a = if_not_exists(a, :x + :y)", "+", ":x + :y"),
        ("SET a = _f(b)", "_", "= _f"),
        ("set (a = (b + c))", "(", "set (a"),
        ("set a = (b.c).d + e", ".", ").d"),
        ("ADD a b", "b", "a b"),
        ("REMOVE a = :v", "=", "a = :v"),
    ] {
        assert_eq!(
            fault(text, &[], &[]),
            format!("Syntax error; token: \"{token}\", near: \"{near}\""),
            "{text}"
        );
    }
    assert_eq!(fault("", &[], &[]), "The expression can not be empty;");
    assert_eq!(fault("SET a = ((b))", &[], &[]), "The expression has redundant parentheses;");
    assert_eq!(
        fault(&format!("SET a = {}b", " ".repeat(4096)), &[], &[]),
        "Expression size has exceeded the maximum allowed size;"
    );
}

#[test]
fn reserved_words_and_functions_are_checked_before_anything_else() {
    for (text, message) in [
        (" set #c = :c set abOrt = true ", "Attribute name is a reserved keyword; reserved keyword: abOrt"),
        (" remove Absolute ", "Attribute name is a reserved keyword; reserved keyword: Absolute"),
        ("set #c = if_not_exist(:c) set c = d", "Invalid function name; function: if_not_exist"),
        ("SET a = LIST_APPEND(:a, :b)", "Invalid function name; function: LIST_APPEND"),
        ("SET a = contains(a, b)", "The function is not allowed in an update expression; function: contains"),
        ("SET a = size(a)", "The function is not allowed in an update expression; function: size"),
        (
            "SET a = list_append(list_append(:a, :b), :c)",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
    ] {
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
}

#[test]
fn each_section_is_used_once() {
    for (text, section) in [
        ("set a = #c set c = :d", "SET"),
        ("remove #d set a = b remove e", "REMOVE"),
        ("add #d :e set a = b add e :f", "ADD"),
        ("delete #d :e set a = b delete #e :f", "DELETE"),
    ] {
        let message = format!("The \"{section}\" section can only be used once in an update expression;");
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
}

#[test]
fn undefined_placeholders_are_named_before_functions_are_counted() {
    assert_eq!(
        fault("SET #c = if_not_exists(:c)", &[("#a", "a")], &[]),
        "An expression attribute name used in the document path is not defined; attribute name: #c"
    );
    assert_eq!(
        fault("SET #a = if_not_exists(:c)", &[("#a", "a")], &[]),
        "An expression attribute value used in expression is not defined; attribute value: :c"
    );
}

#[test]
fn paths_neither_overlap_nor_conflict() {
    let names = [("#c", "c"), ("#d", "[3]")];
    for (text, relation, first, second) in [
        ("set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", "overlap", "[c, [1], a]", "[c]"),
        ("set #c[3].#d = a, #c[3] = a", "overlap", "[c, [3], [3]]", "[c, [3]]"),
        ("SET a = :v REMOVE a", "overlap", "[a]", "[a]"),
        ("SET a = b, a.b = c", "overlap", "[a]", "[a, b]"),
        ("set #c[3].#d = a, #c.#d[3] = if_not_exists(a)", "conflict", "[c, [3], [3]]", "[c, [3], [3]]"),
        ("remove a.#c set a[1] = #d", "conflict", "[a, c]", "[a, [1]]"),
    ] {
        let message = format!(
            "Two document paths {relation} with each other; must remove or rewrite one of these paths; \
             path one: {first}, path two: {second}"
        );
        assert_eq!(fault(text, &names, &[]), message, "{text}");
    }
}

#[test]
fn add_and_delete_refuse_values_of_other_types() {
    for (text, value, section, type_name) in [
        ("set b = list_append(:a, a), c = if_not_exists(a) add a.b :a", s("a"), "ADD", "STRING"),
        ("delete a.b :a", s("a"), "DELETE", "STRING"),
        ("add a.b :a", AttributeValue::Null, "ADD", "NULL"),
        ("add a.b :a", AttributeValue::Bool(true), "ADD", "BOOLEAN"),
        ("add a.b :a", b(b"a"), "ADD", "BINARY"),
        ("add a.b :a", m(&[]), "ADD", "MAP"),
        ("delete a.b :a", l(&[]), "DELETE", "LIST"),
        ("delete a.b :a", n(1), "DELETE", "NUMBER"),
    ] {
        let message = format!(
            "Incorrect operand type for operator or function; operator: {section}, operand type: {type_name}, \
             typeSet: ALLOWED_FOR_{section}_OPERAND"
        );
        assert_eq!(fault(text, &[], &[(":a", value)]), message, "{text}");
    }
}

#[test]
fn functions_and_arithmetic_check_their_values() {
    for (text, value, function, type_name) in [
        ("set a = list_append(:a, a)", s("a"), "list_append", "S"),
        ("set a = list_append(a, :a)", n(1), "list_append", "N"),
        ("set a = list_append(:a, a)", m(&[]), "list_append", "M"),
        ("set a = a + :a", s("a"), "+", "S"),
        ("set a = :a + :a", b(b"a"), "+", "B"),
        ("set a = :a - a", l(&[]), "-", "L"),
    ] {
        let message = format!(
            "Incorrect operand type for operator or function; operator or function: {function}, \
             operand type: {type_name}"
        );
        assert_eq!(fault(text, &[], &[(":a", value)]), message, "{text}");
    }
    for (text, message) in [
        (
            "set a = if_not_exists(c)",
            "Incorrect number of operands for operator or function; operator or function: if_not_exists, \
             number of operands: 1",
        ),
        (
            "set a = list_append(c, d, e)",
            "Incorrect number of operands for operator or function; operator or function: list_append, \
             number of operands: 3",
        ),
        (
            "set a = if_not_exists(:a, c)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "set a = if_not_exists(if_not_exists(a, b), c)",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
    ] {
        assert_eq!(fault(text, &[], &[(":a", s("a"))]), message, "{text}");
    }
}
