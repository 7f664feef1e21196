//! Faults of condition expressions and their messages.

use super::*;
use crate::expression::{ConditionKind, parse_condition, parse_projection};
use crate::limits::EXPRESSION_OPERATORS_MAX;

/// The message about a filter without the prefix that names the parameter.
fn fault(text: &str, names: &[(&str, &str)], values: &[(&str, AttributeValue)]) -> String {
    let error = parse_condition(text, ConditionKind::Filter, &mut placeholders(names, values));
    let message = error.expect_err(text).message;
    message.strip_prefix("Invalid FilterExpression: ").expect("every fault names its parameter").to_owned()
}

#[test]
fn syntax_errors_name_the_token_and_its_neighbours() {
    for (text, token, near) in [
        ("!!!", "!", "!!"),
        ("!!! INVALID !!!", "!", "!!"),
        ("a > 4", "4", "> 4"),
        ("things are not", "are", "things are not"),
        ("a", "<EOF>", "a"),
        ("a ", "<EOF>", "a"),
        ("contains (themes, :theme", "<EOF>", ":theme"),
        ("attribute_not_exists(", "<EOF>", "("),
        ("a = :x AND", "<EOF>", "AND"),
        ("a in b, c", "b", "in b,"),
        ("a IN ()", ")", "()"),
        ("a > between", "between", "> between"),
        ("(a = :x", "<EOF>", ":x"),
        ("a != :c", "!", "a !="),
        ("Pi#ctures = :x", "#ctures", "Pi#ctures ="),
        ("attribute_exists(a..b)", ".", "..b"),
        ("size(a).b > a", ".", ").b"),
        ("(size(a))[0] > a", "[", ")[0"),
        ("attribute_exists(asdf[a])", "a", "[a]"),
        ("a[01] = :x", "1", "01]"),
        ("_abc = :x", "_", "_abc"),
        ("ü > a", "ü", "ü >"),
        ("a > :things.stuff", ".", ":things.stuff"),
        ("b[:a] > a", ":a", "[:a]"),
        ("#$.b > a", "#", "#$"),
        ("a between b.(c.d) and e", "(", ".(c"),
        ("a AND b = :x", "AND", "a AND b"),
        ("NOT a", "<EOF>", "a"),
        ("(a) AND (b)", "AND", ") AND ("),
    ] {
        assert_eq!(
            fault(text, &[], &[]),
            format!("Syntax error; token: \"{token}\", near: \"{near}\""),
            "{text}"
        );
    }
}

#[test]
fn empty_and_oversized_expressions_are_refused() {
    assert_eq!(fault("", &[], &[]), "The expression can not be empty;");
    let text = format!("a = {}b", " ".repeat(4092));
    assert_eq!(
        fault(&text, &[], &[]),
        "Expression size has exceeded the maximum allowed size; expression size: 4097"
    );
    let plain = "Expression size has exceeded the maximum allowed size;";
    let key = parse_condition(&text, ConditionKind::Key, &mut placeholders(&[], &[])).expect_err("too long");
    assert_eq!(key.message, format!("Invalid KeyConditionExpression: {plain}"));
    let projection = parse_projection(&"a".repeat(4097), &mut placeholders(&[], &[])).expect_err("too long");
    assert_eq!(projection.message, format!("Invalid ProjectionExpression: {plain}"));
    let text = format!("a = {}b", " ".repeat(4091));
    assert!(parse_condition(&text, ConditionKind::Filter, &mut placeholders(&[], &[])).is_ok());
}

#[test]
fn kinds_introduce_their_errors() {
    for (kind, message) in [
        (ConditionKind::Condition, "Invalid ConditionExpression: The expression can not be empty;"),
        (ConditionKind::Filter, "Invalid FilterExpression: The expression can not be empty;"),
        (ConditionKind::Key, "Invalid KeyConditionExpression: The expression can not be empty;"),
    ] {
        let error = parse_condition("", kind, &mut Placeholders::default()).expect_err("it is empty");
        assert_eq!(error.message, message);
    }
}

#[test]
fn redundant_parentheses_are_refused_at_every_place() {
    for text in [
        "a=b and a > ((views))",
        "a > whatever((:things), ((a)))",
        "a=b AND ((a=b AND a=b)) AND a=b",
        "a=b OR ((a=b OR (a=b OR a=b)))",
        "((a = b))",
        "((a)) = b",
        "NOT ((a = b))",
        "(a)between(((b.c)).d)and(c)",
    ] {
        assert_eq!(fault(text, &[], &[]), "The expression has redundant parentheses;", "{text}");
    }
    let deep = format!("{}a<b{}", "(".repeat(2046), ")".repeat(2046));
    assert_eq!(fault(&deep, &[], &[]), "The expression has redundant parentheses;");
}

#[test]
fn parentheses_that_group_are_accepted() {
    for text in [
        "(a = b) AND (c = d)",
        "(a = b AND c = d)",
        "(a = b AND (c = d))",
        "(a) = (b)",
        "((size(a)) = b) AND c = d",
        "(NOT (a = b))",
        "NOT (NOT (a = b))",
        "NOT NOT a = b",
        "(a) between (b) and (c)",
        "(a) in ((b), (c))",
        "(attribute_exists(a))",
        "attribute_exists((a))",
        "a  in(b)",
    ] {
        let parsed = parse_condition(text, ConditionKind::Filter, &mut placeholders(&[], &[]));
        assert!(parsed.is_ok(), "{text}: {parsed:?}");
    }
}

#[test]
fn operators_are_counted_up_to_their_limit() {
    let chain = |operators: usize| format!("a<b{}", " or a<b".repeat((operators - 1) / 2));
    assert!(
        parse_condition(&chain(299), ConditionKind::Filter, &mut placeholders(&[], &[])).is_ok(),
        "299 operators"
    );
    assert_eq!(
        fault(&chain(EXPRESSION_OPERATORS_MAX + 1), &[], &[]),
        "The expression contains too many operators; operator count: 301"
    );
    let nested = |depth: usize| format!("a<b {}{}", "or (a<b ".repeat(depth), ")".repeat(depth));
    assert!(
        parse_condition(&nested(149), ConditionKind::Filter, &mut placeholders(&[], &[])).is_ok(),
        "299 operators, nested"
    );
    assert_eq!(
        fault(&nested(454), &[], &[]),
        "The expression contains too many operators; operator count: 301"
    );
    assert_eq!(
        fault(&format!("{}a<b", "not ".repeat(1000)), &[], &[]),
        "The expression contains too many operators; operator count: 301"
    );
}

#[test]
fn deep_nesting_ends_in_an_error_and_not_in_a_crash() {
    let calls = format!("a < {}b{}", "f(".repeat(1355), ")".repeat(1355));
    assert_eq!(fault(&calls, &[], &[]), "Invalid function name; function: f");
    let sizes = format!("a < {}b{}", "size(".repeat(680), ")".repeat(680));
    assert_eq!(
        fault(&sizes, &[], &[]),
        "The function is not allowed to be used this way in an expression; function: size"
    );
    assert!(!fault(&"(".repeat(4096), &[], &[]).is_empty());
    let steps = format!("a{} = b", ".a".repeat(32));
    assert_eq!(fault(&steps, &[], &[]), "The document path has too many nesting levels; nesting levels: 33");
}

#[test]
fn functions_are_known_by_name_and_place() {
    for (text, message) in [
        ("a=b and whatever((:things)) > a", "Invalid function name; function: whatever"),
        ("attRIbute_exIsts((views), #a)", "Invalid function name; function: attRIbute_exIsts"),
        (
            "if_not_exists(a, b) = c",
            "The function is not allowed in a condition expression; function: if_not_exists",
        ),
        (
            "list_append(a, b) = c",
            "The function is not allowed in a condition expression; function: list_append",
        ),
    ] {
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
    for (text, function) in [
        ("a=b and attribute_exists((views), (#a)) > b", "attribute_exists"),
        ("attribute_not_exists(things) > b", "attribute_not_exists"),
        ("attribute_type(things, :a) > b", "attribute_type"),
        ("begins_with(things, a) > b", "begins_with"),
        ("contains(:things, c) > b", "contains"),
        ("size(contains(a, b)) > a", "contains"),
        ("size(things)", "size"),
        ("a between b and attribute_exists(things)", "attribute_exists"),
        ("a in (b, attribute_exists(things))", "attribute_exists"),
    ] {
        let message =
            format!("The function is not allowed to be used this way in an expression; function: {function}");
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
}

#[test]
fn reserved_words_need_a_placeholder() {
    for (text, word) in [
        ("attribute_exists(views, #a)", "views"),
        (":a < abOrT", "abOrT"),
        ("status = :v", "status"),
        ("a.status = :v", "status"),
    ] {
        let message = format!("Attribute name is a reserved keyword; reserved keyword: {word}");
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
}

#[test]
fn undefined_placeholders_are_named() {
    for (text, placeholder) in [
        ("attribute_exists(#Pictures.RearView, :a) and a=a", "#Pictures"),
        ("begins_with(Pictures.#RearView)", "#RearView"),
        ("(#P between :lo and :hi) and (#PC in (:cat1, :cat2))", "#P"),
        ("#4g > a", "#4g"),
        ("#_ > a", "#_"),
        ("(a)between(b.c[45].#d)and(:a)", "#d"),
    ] {
        let message = format!(
            "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
        );
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
    for (text, placeholder) in
        [("begins_with(:hello, #a, #b)", ":hello"), (":a < :b", ":a"), (":_ > a", ":_")]
    {
        let message = format!(
            "An expression attribute value used in expression is not defined; attribute value: {placeholder}"
        );
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
}

#[test]
fn operands_are_counted() {
    for (text, function, count) in [
        ("attribute_exists(things, a) and a=a", "attribute_exists", 2),
        ("attribute_not_exists(things, b)", "attribute_not_exists", 2),
        ("attribute_type(things)", "attribute_type", 1),
        ("begins_with(things)", "begins_with", 1),
        ("begins_with(things, size(a), b)", "begins_with", 3),
        ("contains(things)", "contains", 1),
        ("size(things, a) > b", "size", 2),
    ] {
        let message = format!(
            "Incorrect number of operands for operator or function; operator or function: {function}, \
             number of operands: {count}"
        );
        assert_eq!(fault(text, &[], &[]), message, "{text}");
    }
    let list = |count: usize| format!("a IN ({})", vec!["b"; count].join(","));
    assert_eq!(
        fault(&list(101), &[], &[]),
        "The IN operator is provided with too many operands; number of operands: 101"
    );
    assert!(parse_condition(&list(100), ConditionKind::Filter, &mut placeholders(&[], &[])).is_ok());
}

#[test]
fn operand_types_of_values_are_checked() {
    let (set, list) = (ss(&["a"]), l(&[]));
    for (text, value, function, type_name) in [
        ("attribute_type(a, size(a)) and a=a and a=:a", n(1), "attribute_type", "N"),
        ("attribute_type(a, :a)", n(1), "attribute_type", "N"),
        ("attribute_type(a, :a)", list.clone(), "attribute_type", "L"),
        ("begins_with(a, size(a)) and a=:a", n(1), "begins_with", "N"),
        ("begins_with(a, :a)", n(1), "begins_with", "N"),
        ("begins_with(:a, a)", set, "begins_with", "SS"),
        ("begins_with(:a, a)", AttributeValue::Null, "begins_with", "NULL"),
        ("size(size(a)) > :a", n(1), "size", "N"),
        ("attribute_not_exists(size(:a))", n(1), "size", "N"),
        ("size(:a) > a", AttributeValue::Bool(true), "size", "BOOL"),
        ("size(:a) > a", AttributeValue::Null, "size", "NULL"),
        ("a < :a", list.clone(), "<", "L"),
        (":a >= a", AttributeValue::Bool(true), ">=", "BOOL"),
        ("a between :a and b", list, "BETWEEN", "L"),
    ] {
        let message = format!(
            "Incorrect operand type for operator or function; operator or function: {function}, \
             operand type: {type_name}"
        );
        assert_eq!(fault(text, &[], &[(":a", value)]), message, "{text}");
    }
    for (text, function) in [
        ("attribute_exists(:a) and a=a", "attribute_exists"),
        ("attribute_not_exists(size(:a))", "attribute_not_exists"),
    ] {
        let message =
            format!("Operator or function requires a document path; operator or function: {function}");
        assert_eq!(fault(text, &[], &[(":a", s("1"))]), message, "{text}");
    }
    assert_eq!(
        fault("attribute_type(a, :a)", &[], &[(":a", s("DOG"))]),
        "Invalid attribute type name found; type: DOG, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
    );
}

#[test]
fn the_first_operand_is_distinct_from_the_others() {
    for (text, operator, path) in [
        ("a = a AND #a = b", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("a > #a", ">", "[a]"),
        ("((a=a) OR (a=a))", "=", "[a]"),
        ("contains(ab.bc[1].a, ab.bc[1].#a)", "contains", "[ab, bc, [1], a]"),
        ("attribute_type(ab.bc[1].#a, ab.bc[1].a)", "attribute_type", "[ab, bc, [1], a]"),
        ("begins_with(ab.bc[1].a, ab.bc[1].#a)", "begins_with", "[ab, bc, [1], a]"),
        ("a IN (b, a)", "IN", "[a]"),
    ] {
        let message = format!(
            "The first operand must be distinct from the remaining operands for this operator or function; \
             operator: {operator}, first operand: {path}"
        );
        assert_eq!(fault(text, &[("#a", "a")], &[]), message, "{text}");
    }
    let values = [(":a", n(1))];
    assert!(parse_condition(":a = :a", ConditionKind::Filter, &mut placeholders(&[], &values)).is_ok());
}

#[test]
fn bounds_are_of_one_type_and_in_order() {
    let between = |lower, upper| fault("a between :b and :a", &[], &[(":a", upper), (":b", lower)]);
    assert_eq!(
        between(n(1), s("a")),
        "The BETWEEN operator requires same data type for lower and upper bounds; \
         lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}"
    );
    assert_eq!(
        between(s("b"), s("a")),
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
         lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}"
    );
    assert_eq!(
        between(b(b"bb"), b(b"a")),
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
         lower bound operand: AttributeValue: {B:java.nio.HeapByteBuffer[pos=0 lim=2 cap=2]}, \
         upper bound operand: AttributeValue: {B:java.nio.HeapByteBuffer[pos=0 lim=1 cap=1]}"
    );
}

#[test]
fn list_indexes_are_in_range() {
    assert_eq!(
        fault("a[4294967295] = b", &[], &[]),
        "List index is not within the allowable range; index: [4294967295]"
    );
    for text in ["a[2147483648] = b", "a[4294967294] = b"] {
        assert!(parse_condition(text, ConditionKind::Filter, &mut placeholders(&[], &[])).is_ok(), "{text}");
    }
}
