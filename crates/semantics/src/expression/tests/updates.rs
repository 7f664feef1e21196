//! Updates applied to items.

use super::*;
use crate::expression::{Update, parse_update, read_update};
use crate::number::Number;

fn update(text: &str, values: &[(&str, AttributeValue)]) -> Update {
    parse_update(text, &mut placeholders(&[("#1", "1")], values)).expect(text)
}

fn key() -> Item {
    item(&[("pk", s("k"))])
}

/// The new item without its key.
fn apply(text: &str, values: &[(&str, AttributeValue)], old: &Item) -> Result<Item, String> {
    let old: Item = old.clone().into_iter().chain(key()).collect();
    let update = update(text, values);
    let applied = update.apply(Some(&old), &key());
    // The stored form has the same outcome, or leaves the update to the tree.
    if let Some(stored) = update.apply_stored(&EncodedItem::encode(&old)) {
        let tree = &applied.as_ref().expect(text).new;
        assert_eq!(EncodedItem::encode(tree), stored, "{text}");
    }
    let mut new = applied.map_err(|error| error.message)?.new;
    new.remove("pk");
    Ok(new)
}

#[test]
fn whole_attributes_are_changed_in_the_stored_form() {
    let old = item(&[("a", s("hello")), ("b", n(2)), ("l", AttributeValue::L(vec![s("x")])), ("pk", s("k"))]);
    let stored = EncodedItem::encode(&old);
    let list = AttributeValue::L(vec![n(1), AttributeValue::M(item(&[("m", s("deep"))]))]);
    let values = [(":v", n(3)), (":l", list)];
    let with = |text: &str| -> Vec<(&str, AttributeValue)> {
        values.iter().filter(|(name, _)| text.contains(name)).cloned().collect()
    };
    for text in [
        "SET b = b + :v",
        "SET b = :v - b, c = a REMOVE l",
        "SET z = if_not_exists(z, :l), a = if_not_exists(a, :v)",
        "SET l = :l REMOVE a, b, gone",
        "ADD b :v, c :v",
        "SET y = l",
    ] {
        let update = update(text, &with(text));
        let tree = update.apply(Some(&old), &key()).expect(text).new;
        assert_eq!(update.apply_stored(&stored), Some(EncodedItem::encode(&tree)), "{text}");
    }
    for text in [
        "SET l[0] = :v",
        "SET b = gone",
        "SET b = a + :v",
        "ADD a :v",
        "SET l = list_append(l, :l)",
        "REMOVE l[0]",
    ] {
        assert_eq!(update(text, &with(text)).apply_stored(&stored), None, "{text}");
    }
}

#[test]
fn all_operands_read_the_old_item() {
    let old = item(&[("a", s("hello")), ("b", n(2))]);
    for (text, wanted) in [
        ("REMOVE a SET b = a", item(&[("b", s("hello"))])),
        ("SET a = b, b = a", item(&[("a", n(2)), ("b", s("hello"))])),
        ("SET c = b + b, b = b - :v", item(&[("a", s("hello")), ("b", n(1)), ("c", n(4))])),
        ("SET a = a", old.clone()),
        ("SET c = pk", item(&[("a", s("hello")), ("b", n(2)), ("c", s("k"))])),
    ] {
        let values: &[(&str, AttributeValue)] = if text.contains(":v") { &[(":v", n(1))] } else { &[] };
        assert_eq!(apply(text, values, &old).as_ref(), Ok(&wanted), "{text}");
    }
    assert_eq!(
        apply("SET x = :v, y = x", &[(":v", n(4))], &old),
        Err("The provided expression refers to an attribute that does not exist in the item".to_owned())
    );
}

#[test]
fn functions_of_set_choose_and_append() {
    let old = item(&[("a", l(&[n(1)])), ("n", n(3))]);
    let list = [(":l", l(&[n(2)]))];
    for (text, name, wanted) in [
        ("SET a = list_append(a, :l)", "a", l(&[n(1), n(2)])),
        ("SET a = list_append(:l, a)", "a", l(&[n(2), n(1)])),
        ("SET b = list_append(if_not_exists(b, :l), :l)", "b", l(&[n(2), n(2)])),
        ("SET n = if_not_exists(n, :l)", "n", n(3)),
        ("SET c = if_not_exists(c, if_not_exists(n, :l))", "c", n(3)),
        ("SET c = if_not_exists(n, :l) + n", "c", n(6)),
        ("SET c = ((n) + (n))", "c", n(6)),
    ] {
        let new = apply(text, &list, &old).expect(text);
        assert_eq!(new[name], wanted, "{text}");
    }
}

#[test]
fn operands_of_the_wrong_type_are_refused() {
    let old = item(&[("m", m(&[("a", ss(&["1"]))])), ("n", n(1)), ("t", ns(&[1])), ("l", l(&[]))]);
    for (text, value) in [
        ("delete t :a", ss(&["1"])),
        ("delete m :a", ns(&[1])),
        ("delete m.a :a", ns(&[1])),
        ("delete n :a", ns(&[1])),
        ("add m :a", ns(&[1])),
        ("add t :a", n(1)),
        ("add l :a", ns(&[1])),
        ("set e = pk + :a", n(1)),
        ("set e = m - :a", n(1)),
        ("set e = list_append(t, if_not_exists(f, :a))", l(&[])),
    ] {
        assert_eq!(
            apply(text, &[(":a", value)], &old),
            Err("An operand in the update expression has an incorrect data type".to_owned()),
            "{text}"
        );
    }
}

#[test]
fn paths_lead_to_a_map_or_list_that_exists() {
    let old = item(&[("b", s("x")), ("c", m(&[("1", s("a"))])), ("d", l(&[s("a"), s("b")]))]);
    for text in [
        "set b.a = :a",
        "set b[1] = :a",
        "set y.a = :a",
        "set y[1] = :a",
        "set c[1] = :a",
        "set d.#1 = :a",
        "remove b.a",
        "remove b[1]",
        "remove y.a",
        "remove y[1]",
        "remove c[1]",
        "remove d.#1",
        "delete b.a :a",
        "delete y[1] :a",
        "delete c[1] :a",
        "delete d.#1 :a",
        "add b.a :a",
        "add y.a :a",
        "add c[1] :a",
        "add d.#1 :a",
    ] {
        assert_eq!(
            apply(text, &[(":a", ss(&["a"]))], &old),
            Err("The document path provided in the update expression is invalid for update".to_owned()),
            "{text}"
        );
    }
    for text in ["remove c.y", "remove d[7]", "remove q", "delete c.y :a", "delete q :a"] {
        assert_eq!(apply(text, &[(":a", ss(&["a"]))], &old).as_ref(), Ok(&old), "{text}");
    }
}

#[test]
fn without_an_item_removals_below_an_attribute_do_nothing() {
    for text in ["REMOVE x.y", "REMOVE x[0]", "REMOVE x"] {
        let parsed = update(text, &[]);
        assert_eq!(parsed.apply(None, &key()).expect(text).new, key(), "{text}");
        assert!(!parsed.creates_item(), "{text}");
    }
    let parsed = update("SET x = :v REMOVE y", &[(":v", n(1))]);
    assert_eq!(parsed.apply(None, &key()).expect("it is valid").new, item(&[("pk", s("k")), ("x", n(1))]));
    assert!(parsed.creates_item());
    assert!(update("ADD x :v", &[(":v", n(1))]).creates_item());
    let parsed = update("SET x.y = :v", &[(":v", n(1))]);
    assert_eq!(
        parsed.apply(None, &key()).expect_err("x is missing").message,
        "The document path provided in the update expression is invalid for update"
    );
}

#[test]
fn list_indexes_mean_the_elements_of_the_old_list() {
    let numbers = |numbers: &[i64]| l(&numbers.iter().map(|number| n(*number)).collect::<Vec<_>>());
    let old = item(&[("a", numbers(&[2, 3, 4, 5, 6, 7]))]);
    let values = [(":v", n(17)), (":w", n(18)), (":x", n(19))];
    for (text, wanted) in [
        ("REMOVE a[1] SET a[3] = :v", numbers(&[2, 4, 17, 6, 7])),
        ("SET a[3] = :v REMOVE a[1]", numbers(&[2, 4, 17, 6, 7])),
        ("REMOVE a[0], a[2], a[1]", numbers(&[5, 6, 7])),
        ("REMOVE a[17]", numbers(&[2, 3, 4, 5, 6, 7])),
        ("SET a[9] = :v", numbers(&[2, 3, 4, 5, 6, 7, 17])),
        ("SET a[84] = :v, a[37] = :w, a[17] = :x", numbers(&[2, 3, 4, 5, 6, 7, 19, 18, 17])),
        ("REMOVE a[6], a[5] SET a[10] = :v", numbers(&[2, 3, 4, 5, 6, 17])),
        ("ADD a[0] :v", numbers(&[19, 3, 4, 5, 6, 7])),
        ("ADD a[9] :v", numbers(&[2, 3, 4, 5, 6, 7, 17])),
    ] {
        let new = apply(text, &values, &old).expect(text);
        assert_eq!(new["a"], wanted, "{text}");
    }
}

#[test]
fn removals_of_nested_elements_do_not_move_each_other() {
    let old = item(&[("a", l(&[n(0), l(&[n(1), n(2), n(3)]), l(&[n(4)])]))]);
    let wanted = item(&[("a", l(&[l(&[n(1), n(3), n(9)]), l(&[n(4)])]))]);
    assert_eq!(apply("REMOVE a[0], a[1][1] SET a[1][8] = :v", &[(":v", n(9))], &old), Ok(wanted));
}

#[test]
fn a_sum_with_too_many_digits_is_reported_as_an_overflow() {
    let old = item(&[("a", AttributeValue::N(Number::parse("1e50").expect("a number")))]);
    for sum in ["SET a = a + :v", "SET a = a - :v"] {
        assert_eq!(
            apply(sum, &[(":v", n(1))], &old),
            Err("Number overflow. Attempting to store a number with magnitude larger than supported range"
                .into()),
            "{sum}"
        );
    }
}

#[test]
fn add_and_delete_work_on_numbers_and_sets() {
    let old = item(&[("n", n(3)), ("t", ss(&["b", "d"]))]);
    for (text, value, name, wanted) in [
        ("ADD n :v", n(4), "n", Some(n(7))),
        ("ADD q :v", n(4), "q", Some(n(4))),
        ("ADD t :v", ss(&["a", "d"]), "t", Some(ss(&["a", "b", "d"]))),
        ("ADD q :v", ss(&["a"]), "q", Some(ss(&["a"]))),
        ("DELETE t :v", ss(&["b", "x"]), "t", Some(ss(&["d"]))),
        ("DELETE t :v", ss(&["b", "d"]), "t", None),
        ("DELETE q :v", ss(&["b"]), "q", None),
    ] {
        let new = apply(text, &[(":v", value)], &old).expect(text);
        assert_eq!(new.get(name), wanted.as_ref(), "{text}");
    }
}

#[test]
fn removing_the_last_entry_leaves_an_empty_map_or_list() {
    let old = item(&[("m", m(&[("b", n(1))])), ("l", l(&[n(1)]))]);
    assert_eq!(apply("REMOVE m.b, l[0]", &[], &old), Ok(item(&[("m", m(&[])), ("l", l(&[]))])));
}

#[test]
fn images_show_touched_values_within_their_maps_and_lists() {
    let old = item(&[("a", m(&[("b", s("yo")), ("c", l(&[n(1), n(2), n(3)]))])), ("d", s("cat"))]);
    let values = [(":v", n(7)), (":w", s("dog"))];
    for (text, before, after) in [
        ("SET a.b = :w", item(&[("a", m(&[("b", s("yo"))]))]), item(&[("a", m(&[("b", s("dog"))]))])),
        (
            "SET a.c[1] = :v, a.b = :w",
            item(&[("a", m(&[("b", s("yo")), ("c", l(&[n(2)]))]))]),
            item(&[("a", m(&[("b", s("dog")), ("c", l(&[n(7)]))]))]),
        ),
        ("SET a.x = :v", item(&[]), item(&[("a", m(&[("x", n(7))]))])),
        ("SET a.c[100] = :v", item(&[]), item(&[])),
        (
            "REMOVE a.c[1], a.c[3]",
            item(&[("a", m(&[("c", l(&[n(2)]))]))]),
            item(&[("a", m(&[("c", l(&[n(3)]))]))]),
        ),
        ("REMOVE d", item(&[("d", s("cat"))]), item(&[])),
        ("SET d = :v, e = :w", item(&[("d", s("cat"))]), item(&[("d", n(7)), ("e", s("dog"))])),
    ] {
        let update = update(text, &values);
        let updated = update.apply(Some(&old), &key()).expect(text);
        assert_eq!(update.touched_in(&old), before, "{text}");
        assert_eq!(update.touched_in(&updated.new), after, "{text}");
    }
}

#[test]
fn the_size_of_a_statement_follows_from_its_text_and_values() {
    let values = [(":v", s("12345"))];
    for (text, bytes) in [
        ("SET ab = :v", 3 + 19 + 2 + 5),
        ("SET ab = :v, c = :v", 3 + (19 + 2 + 5) + (19 + 1 + 5)),
        ("REMOVE ab, c", 3 + (1 + 2) + (1 + 1)),
        ("SET ab[12] = :v", 3 + 19 + (2 + 4 + 2) + 5),
        ("SET ab.cde = :v", 3 + 19 + (2 + 4 + 3) + 5),
        ("SET ab = cd", 3 + 19 + 2 + (1 + 14 + 2)),
        ("SET ab = cd.e[0]", 3 + 19 + 2 + (1 + (14 + 2) + (14 + 1) + (14 + 1))),
        ("SET ab = ab + cd", 3 + 19 + 2 + 34 + 2 * (1 + 14 + 2)),
        ("SET ab = ab - cd", 3 + 19 + 2 + 37 + 2 * (1 + 14 + 2)),
        ("SET ab = if_not_exists(ab, :v)", 3 + 19 + 2 + 39 + (1 + 14 + 2) + 5),
        ("SET ab = list_append(ab, cd)", 3 + 19 + 2 + 37 + 2 * (1 + 14 + 2)),
    ] {
        assert_eq!(update(text, &values).statement_bytes(), bytes, "{text}");
    }
    assert_eq!(update("ADD a :s", &[(":s", ss(&["xy"]))]).statement_bytes(), 3 + 19 + 1 + 2);
    assert_eq!(update("DELETE a :s", &[(":s", ss(&["xy"]))]).statement_bytes(), 3 + 1 + 1);
}

#[test]
fn targets_and_operands_are_listed() {
    let parsed = update("SET a.b = if_not_exists(c, d) REMOVE e[1]", &[]);
    let print = |paths: Vec<&crate::expression::DocumentPath>| {
        paths.into_iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(print(parsed.targets()), ["[a, b]", "[e, [1]]"]);
    assert_eq!(print(parsed.paths()), ["[a, b]", "[c]", "[d]", "[e, [1]]"]);
    assert!(parsed.touches_attribute("a"));
    assert!(!parsed.touches_attribute("c"));
}

#[test]
fn the_syntax_alone_is_read_with_reserved_names_and_open_placeholders() {
    let read = read_update("SET status = :s, n = n + :one REMOVE #x DELETE tags :t").expect("an update");
    let sections: Vec<(&str, usize)> =
        read.sections.iter().map(|(section, actions)| (section.name(), actions.len())).collect();
    assert_eq!(sections, [("SET", 2), ("REMOVE", 1), ("DELETE", 1)]);
    let fault = read_update("SET a = ").expect_err("it breaks off").message;
    assert_eq!(fault, r#"Syntax error; token: "<EOF>", near: "=""#);
}
