//! Bounds on the amplification of small requests: depth, copies, and the estimated work.

use super::*;
use crate::expression::legacy::{expected, filter};
use crate::expression::{ConditionKind, Expr, Update, parse_condition, parse_projection, parse_update};
use crate::limits::{
    EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX, EXPRESSION_PARSER_DEPTH_MAX, ITEM_BYTES_MAX,
};
use crate::messages::Wording;
use crate::partiql::{Statement, prepare};
use crate::request::parts::{
    ComparisonOperator, ConditionParts, ConditionalOperator, ExpectedAttributeValueParts,
};

/// The deepest tree that a request can make. Recursive walks over it have enough stack.
const DEPTH_MAX: usize = EXPRESSION_PARSER_DEPTH_MAX + 32;

fn depth(expr: &Expr) -> usize {
    match expr {
        Expr::And(left, right) | Expr::Or(left, right) => 1 + depth(left).max(depth(right)),
        Expr::Not(inner) => 1 + depth(inner),
        _ => 1,
    }
}

fn legacy_filter(conditions: usize, operator: ConditionalOperator) -> Expr {
    let parts =
        || ConditionParts { attribute_value_list: None, comparison_operator: ComparisonOperator::NotNull };
    let conditions: Vec<_> = (0..conditions).map(|number| (format!("a{number}"), parts())).collect();
    let condition = filter(&conditions, Some(operator), Wording::Present).expect("it is valid");
    condition.expect("there are conditions").root
}

#[test]
fn no_condition_of_a_request_is_deep() {
    for operator in [ConditionalOperator::And, ConditionalOperator::Or] {
        for conditions in [2, EXPRESSION_OPERATORS_MAX, EXPRESSION_OPERATORS_MAX + 1, 3_160, 100_000] {
            let depth = depth(&legacy_filter(conditions, operator));
            assert!(depth <= DEPTH_MAX, "{conditions} conditions are {depth} deep");
        }
    }
    let parts = ExpectedAttributeValueParts {
        value: None,
        exists: Some(false),
        comparison_operator: None,
        attribute_value_list: None,
    };
    let conditions: Vec<_> = (0..100_000).map(|number| (format!("a{number}"), parts.clone())).collect();
    let condition = expected(&conditions, None).expect("it is valid").expect("there are conditions");
    assert!(depth(&condition.root) <= DEPTH_MAX);
}

#[test]
fn no_expression_is_deep() {
    let longest = |unit: &str, end: &str| unit.repeat((EXPRESSION_BYTES_MAX - end.len()) / unit.len()) + end;
    for text in
        [longest("a=b or ", "a=b"), longest("not ", "a=b"), "a=b or (".repeat(149) + "a=b" + &")".repeat(149)]
    {
        let parsed = parse_condition(&text, ConditionKind::Condition, &mut placeholders(&[], &[]));
        if let Ok(condition) = parsed {
            assert!(depth(&condition.root) <= DEPTH_MAX, "{text}");
        }
    }
    for link in [" OR ", " AND "] {
        let text = format!(
            "SELECT * FROM t WHERE a=1{}",
            format!("{link}a=1").repeat(EXPRESSION_OPERATORS_MAX / 2 - 1)
        );
        let Ok(Statement::Select(select)) = prepare(&text, &[]) else { panic!("{text}") };
        let condition = select.condition.expect("it has a WHERE").condition();
        assert!(depth(&condition.root) <= DEPTH_MAX);
    }
}

/// An item with a list `l` of this many elements of the smallest size.
fn with_list(elements: usize) -> Item {
    item(&[("pk", s("k")), ("l", AttributeValue::L(vec![AttributeValue::Null; elements]))])
}

fn updated(update: &Update, old: &Item) -> Result<Item, String> {
    let key = item(&[("pk", s("k"))]);
    update.apply(Some(old), &key).map(|updated| updated.new).map_err(|error| error.message)
}

const TOO_LARGE: &str = "Item size to update has exceeded the maximum allowed size";

/// One copy of the list takes seven megabytes, so 598 copies would exhaust memory or time.
#[test]
fn an_update_that_copies_too_much_is_refused_before_it_copies() {
    let old = with_list(ITEM_BYTES_MAX / 4);
    let copies: Vec<String> = (0..580).map(|number| format!("a{number}=l")).collect();
    let update = parse_update(&format!("SET {}", copies.join(",")), &mut placeholders(&[], &[]));
    assert_eq!(updated(&update.expect("it is valid"), &old), Err(TOO_LARGE.to_owned()));
    let copies: Vec<String> = (0..120).map(|number| format!("a{number}=list_append(l,l)")).collect();
    let update = parse_update(&format!("SET {}", copies.join(",")), &mut placeholders(&[], &[]));
    assert_eq!(updated(&update.expect("it is valid"), &old), Err(TOO_LARGE.to_owned()));
    let sets = (0..600).map(|number| format!("SET a{number}=l")).collect::<Vec<_>>().join(" ");
    let Ok(Statement::Update { update, .. }) = prepare(&format!("UPDATE t {sets} WHERE pk='k'"), &[]) else {
        panic!("the statement is valid")
    };
    assert_eq!(updated(&update, &old), Err(TOO_LARGE.to_owned()));
}

#[test]
fn an_update_whose_result_fits_is_made_however_often_it_names_a_list() {
    let old = with_list(2);
    let update = parse_update(
        "SET a=list_append(l,:v), b=l, c=list_append(l,l), l=list_append(:v,l)",
        &mut placeholders(&[], &[(":v", l(&[n(1)]))]),
    );
    let new = updated(&update.expect("it is valid"), &old).expect("it fits");
    let null = AttributeValue::Null;
    assert_eq!(new["a"], l(&[null.clone(), null.clone(), n(1)]));
    assert_eq!(new["c"], l(&[null.clone(), null.clone(), null.clone(), null.clone()]));
    assert_eq!(new["b"], old["l"]);
    assert_eq!(new["l"], l(&[n(1), null.clone(), null]));
}

#[test]
fn elements_of_nested_lists_are_removed_at_the_places_that_the_old_item_has() {
    let old = item(&[
        ("pk", s("k")),
        (
            "l",
            l(&[n(0), l(&[n(10), n(11), n(12)]), m(&[("f", n(1)), ("g", l(&[n(20), n(21)]))]), n(3), n(4)]),
        ),
    ]);
    let text = "REMOVE l[0], l[1][0], l[1][2], l[2].f, l[2].g[1], l[4], l[9]";
    let update = parse_update(text, &mut placeholders(&[], &[])).expect("it is valid");
    let new = updated(&update, &old).expect("it applies");
    assert_eq!(new["l"], l(&[l(&[n(11)]), m(&[("g", l(&[n(20)]))]), n(3)]));
}

#[test]
fn members_of_nested_maps_are_added_and_removed_in_any_order() {
    let old = item(&[
        ("pk", s("k")),
        ("m", m(&[("b", n(1)), ("d", n(2)), ("n", m(&[("p", n(3)), ("q", n(4))]))])),
        ("z", n(5)),
    ]);
    let text = "SET m.e = :v, m.a = :v, y = :v, m.n.r = :v, m.c = :v, m.n.o = :v, m.b = :v REMOVE m.d, z, m.n.p, m.x, x";
    let update = parse_update(text, &mut placeholders(&[], &[(":v", n(9))])).expect("it is valid");
    let new = updated(&update, &old).expect("it applies");
    let inner = m(&[("o", n(9)), ("q", n(4)), ("r", n(9))]);
    let outer = m(&[("a", n(9)), ("b", n(9)), ("c", n(9)), ("e", n(9)), ("n", inner)]);
    assert_eq!(new, item(&[("m", outer), ("pk", s("k")), ("y", n(9))]));
}

#[test]
fn an_expression_says_how_much_work_it_is() {
    let contains = vec!["contains(a, :v)"; 149].join(" or ");
    let condition =
        parse_condition(&contains, ConditionKind::Condition, &mut placeholders(&[], &[(":v", n(1))]));
    let many = condition.expect("it is valid").work();
    assert!(many.steps(ITEM_BYTES_MAX) > 149 * 400_000);
    assert!(many.steps(100) < 100_000);
    let legacy = parts_of(10_000);
    let condition = filter(&[("a".to_owned(), legacy)], None, Wording::Present).expect("it is valid");
    assert!(condition.expect("there is one").work().steps(1) > 100_000);
    let paths: Vec<String> = (0..400).map(|number| format!("l[{number}]")).collect();
    let projection = parse_projection(&paths.join(","), &mut placeholders(&[], &[])).expect("it is valid");
    assert!(projection.work().steps(1000) > 10_000);
    let update = parse_update("SET a = l, b = l", &mut placeholders(&[], &[])).expect("it is valid");
    assert!(update.work().steps(1000) > 4_000);
}

fn parts_of(operands: i64) -> ConditionParts {
    ConditionParts {
        attribute_value_list: Some((0..operands).map(|number| Ok(n(number))).collect()),
        comparison_operator: ComparisonOperator::In,
    }
}
