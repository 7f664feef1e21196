//! Reads by SELECT: rows, order and pages, and the texts of refused statements.

use keywright_semantics::messages::partiql as messages;
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::partiql::{filled, parts, rows, run};

/// The rows as `pk/sk`, or the text of the error.
fn shown(bench: &Bench<MemoryStore>, tail: &str) -> String {
    match run(bench, parts(&format!("SELECT * FROM {tail}"))) {
        Err(error) => error.message,
        Ok(output) => {
            let key = |row: &Item| match (&row["pk"], &row["sk"]) {
                (AttributeValue::S(pk), AttributeValue::S(sk)) => format!("{pk}{sk}"),
                other => panic!("{other:?}"),
            };
            rows(&output).iter().map(key).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn each_branch_of_a_clause_is_a_read_of_its_partition() {
    let bench = filled();
    for (clause, expected) in [
        ("pk IN ['q', 'p'] AND sk = '1'", "p1 q1"),
        ("pk = 'p' AND (sk = '4' OR sk = '2')", "p2 p4"),
        ("pk = 'p' AND (sk < '2' OR sk > '4' OR sk = '3')", "p1 p3 p5"),
        ("pk = 'p' AND sk > '1' AND sk < '4' AND sk <> '3'", "p2"),
        ("pk = 'p' AND sk = '2' AND sk > '3'", ""),
        ("(pk = 'p' AND h = 2) OR pk = 'q'", "p2 q1"),
        ("pk = 'p' AND (sk = '1' OR sk <> '2')", "p1 p3 p4 p5"),
        ("pk IN ['q', 'p'] AND sk IN ['2', '1']", "p1 p2 q1"),
        ("pk = 'p' AND pk = 'q'", ""),
        ("pk IN ['p', 'p']", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND (sk > '0' OR sk < '5')", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND (sk = '1' OR h = 2)", messages::OVERLAPPING_RANGES),
        ("pk = 'p' AND h = 1 OR pk = 'p' AND h = 2", messages::OVERLAPPING_RANGES),
    ] {
        let found = shown(&bench, &format!("t WHERE {clause}"));
        assert_eq!(found, expected, "{clause}");
    }
}

#[test]
fn order_by_orders_partitions_and_the_rows_of_each() {
    let bench = filled();
    for (tail, expected) in [
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY sk DESC", "p3 p2 p1"),
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY sk", "p1 p2 p3"),
        ("t WHERE pk = 'p' AND sk < '4' ORDER BY pk ASC", "p3 p2 p1"),
        ("t WHERE pk IN ['p', 'q'] ORDER BY pk DESC, sk ASC", "q1 p1 p2 p3 p4 p5"),
        ("t WHERE pk IN ['p', 'q'] ORDER BY pk ASC, sk DESC", "p5 p4 p3 p2 p1 q1"),
        ("t WHERE pk = 'p' AND sk IN ['1', '3', '2'] ORDER BY sk DESC", "p3 p2 p1"),
        ("t WHERE pk = 'p' ORDER BY h", "Attribute h in ORDER BY clause must be part of the primary key"),
        ("t WHERE pk > 'p' ORDER BY sk", messages::ORDER_WITHOUT_PARTITION),
        ("t WHERE pk IN ['p', 'q'] ORDER BY sk", messages::ORDER_OF_SEVERAL_PARTITIONS),
    ] {
        assert_eq!(shown(&bench, tail), expected, "{tail}");
    }
}

#[test]
fn an_index_read_by_its_key_filters_on_what_it_holds() {
    let bench = filled();
    let secondary = "One or more parameter values were invalid: Secondary index gsi does not project one or more \
         filter attributes: ";
    for (tail, expected) in [
        ("t.gsi WHERE g = 'g' AND d = 'x'", format!("{secondary}[d]")),
        ("t.gsi WHERE g = 'g' AND (zz = 1 OR aa = 2 OR mm = 3)", format!("{secondary}[zz, aa, mm]")),
        ("t.gsi WHERE (g = 'b' AND u = 1) OR (g = 'q' AND v = 2)", format!("{secondary}[v]")),
        ("t.gsi WHERE (g = 'q' AND u = 1) OR (g = 'b' AND v = 2)", format!("{secondary}[u]")),
        ("t.gsi WHERE (g = 'none' AND d = 'x') OR (g = 'q')", String::new()),
        ("t.gsi WHERE d = 'x'", String::new()),
        ("t.nowhere WHERE g = 'g'", messages::UNKNOWN_INDEX.to_owned()),
        ("t.multi WHERE g = 'g'", messages::MULTI_ATTRIBUTE_INDEX.to_owned()),
    ] {
        assert_eq!(shown(&bench, tail), expected, "{tail}");
    }
    let mut strong = parts("SELECT * FROM t.gsi WHERE g = 'g'");
    strong.consistent_read = Some(true);
    let refused = run(&bench, strong).expect_err("a global index");
    assert_eq!(refused.message, messages::GLOBAL_INDEX_NOT_CONSISTENT);
}

#[test]
fn a_page_is_at_most_ten_reads_and_one_megabyte_of_them_together() {
    let bench = bench();
    for number in 10..40 {
        bench.put(item([("pk", s(&format!("v{number}"))), ("sk", s("1")), ("n", n(1))])).expect("put");
        let large = item([("pk", s(&format!("w{number}"))), ("sk", s("1")), ("d", s(&"d".repeat(300_000)))]);
        bench.put(large).expect("put");
    }
    let values =
        |letter: char| (10..40).map(|number| format!("'{letter}{number}'")).collect::<Vec<_>>().join(",");
    for (letter, per_page, pages) in [('v', 10, 3), ('w', 4, 8)] {
        let mut request = parts(&format!("SELECT * FROM t WHERE pk IN [{}]", values(letter)));
        let mut seen = Vec::new();
        let mut count = 0;
        loop {
            let page = run(&bench, request.clone()).expect("a page");
            assert!(page.items.len() <= per_page, "{}", page.items.len());
            count += 1;
            seen.extend(rows(&page).into_iter().map(|row| row["pk"].clone()));
            let Some(token) = page.next_token else { break };
            request.next_token = Some(token);
        }
        let expected: Vec<_> = (10..40).map(|number| s(&format!("{letter}{number}"))).collect();
        assert_eq!((seen, count), (expected, pages));
    }
}

#[test]
fn a_token_belongs_to_its_statement_and_not_to_its_limit() {
    let bench = filled();
    let mut first = parts("SELECT * FROM t WHERE pk = 'p'");
    first.limit = Some(1);
    let token = run(&bench, first.clone()).expect("a page").next_token.expect("there is more");
    let next = |statement: &str, token: &str, limit| {
        let mut request = parts(statement);
        request.limit = limit;
        request.next_token = Some(token.to_owned());
        run(&bench, request).map(|page| page.items.len()).map_err(|error| error.message)
    };
    assert_eq!(next(&first.statement, &token, Some(3)), Ok(3));
    assert_eq!(next(&first.statement, &token, None), Ok(4));
    assert_eq!(
        next("SELECT * FROM t WHERE pk = 'q'", &token, None),
        Err(messages::TOKEN_OF_OTHER_STATEMENT.to_owned())
    );
    assert_eq!(next(&first.statement, "none", None), Err(messages::INVALID_TOKEN.to_owned()));
}

#[test]
fn a_write_names_one_item_by_equalities() {
    let bench = filled();
    for (statement, expected) in [
        (
            "UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '1' AND pk = 'q'",
            Err("Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported"),
        ),
        ("UPDATE t SET c = 1 WHERE pk = 'p' AND sk = '1' AND pk = 'p'", Ok(())),
        ("UPDATE t SET c = 1 WHERE (pk = 'p' AND sk = '1') AND h = 1", Ok(())),
        ("UPDATE t SET c = 1 WHERE pk IN ['p'] AND sk = '1'", Err(messages::NO_KEY_EQUALITY)),
        ("DELETE FROM t WHERE pk = 'p'", Err(messages::NO_KEY_EQUALITY)),
        ("DELETE FROM t WHERE pk = 'none' AND sk = '1' AND h = 7", Ok(())),
        ("DELETE FROM t WHERE pk = 'p' AND sk = '1' AND h = 7", Err("The conditional request failed")),
    ] {
        let outcome = run(&bench, parts(statement)).map(|_| ()).map_err(|error| error.message);
        assert_eq!(outcome, expected.map_err(str::to_owned), "{statement}");
    }
}

/// A condition on strings, rendered and evaluated independently of the code under test.
enum Clause {
    Compare(&'static str, &'static str, String),
    In(&'static str, [String; 2]),
    Between(&'static str, String, String),
    BeginsWith(&'static str, String),
    Not(Box<Self>),
    Or(Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
}

impl Clause {
    fn random(dice: &mut fastrand::Rng, depth: usize) -> Self {
        let value = |dice: &mut fastrand::Rng| dice.u8(1..5).to_string();
        let name = *dice.choice(&["pk", "pk", "sk", "sk", "x"]).expect("a name");
        let inner = |dice: &mut fastrand::Rng| Box::new(Self::random(dice, depth.saturating_sub(1)));
        match dice.u8(0..if depth == 0 { 6 } else { 10 }) {
            0 | 1 => Self::Compare(name, "=", value(dice)),
            2 => Self::In(name, [value(dice), value(dice)]),
            3 => {
                let comparator = *dice.choice(&["<", "<=", ">", ">=", "<>"]).expect("a comparator");
                Self::Compare(name, comparator, value(dice))
            }
            4 => Self::Between(name, value(dice), value(dice)),
            5 => Self::BeginsWith(name, value(dice)),
            6 => Self::Not(inner(dice)),
            7 => Self::Or(inner(dice), inner(dice)),
            _ => Self::And(inner(dice), inner(dice)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Compare(name, comparator, value) => format!("{name} {comparator} '{value}'"),
            Self::In(name, [one, other]) => format!("{name} IN ['{one}', '{other}']"),
            Self::Between(name, lower, upper) => format!("{name} BETWEEN '{lower}' AND '{upper}'"),
            Self::BeginsWith(name, prefix) => format!("begins_with({name}, '{prefix}')"),
            Self::Not(inner) => format!("NOT ({})", inner.text()),
            Self::Or(left, right) => format!("({} OR {})", left.text(), right.text()),
            Self::And(left, right) => format!("{} AND {}", left.text(), right.text()),
        }
    }

    fn holds(&self, row: &Item) -> bool {
        let of = |name: &str| match &row[name] {
            AttributeValue::S(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        match self {
            Self::Compare(name, comparator, value) => match *comparator {
                "=" => of(name) == *value,
                "<>" => of(name) != *value,
                "<" => of(name) < *value,
                "<=" => of(name) <= *value,
                ">" => of(name) > *value,
                _ => of(name) >= *value,
            },
            Self::In(name, values) => values.contains(&of(name)),
            Self::Between(name, lower, upper) => (lower..=upper).contains(&&of(name)),
            Self::BeginsWith(name, prefix) => of(name).starts_with(prefix.as_str()),
            Self::Not(inner) => !inner.holds(row),
            Self::Or(left, right) => left.holds(row) || right.holds(row),
            Self::And(left, right) => left.holds(row) && right.holds(row),
        }
    }
}

/// The service refuses some conditions that it could answer; what is answered must be right, over pages of
/// any size.
#[test]
fn a_random_clause_selects_the_rows_that_fulfil_it() {
    let bench = bench();
    let mut all = Vec::new();
    for number in 0..64 {
        let (pk, sk, x) = (number / 16 + 1, number / 4 % 4 + 1, number % 4 + 1);
        if (pk + sk * 2 + x) % 4 == 0 {
            let row =
                item([("pk", s(&pk.to_string())), ("sk", s(&sk.to_string())), ("x", s(&x.to_string()))]);
            bench.put(row.clone()).expect("put");
            all.push(row);
        }
    }
    let (mut answered, mut refused, mut several) = (0, 0, 0);
    let seeds = seeds(3000);
    let number = seeds.end - seeds.start;
    for seed in seeds {
        let mut dice = fastrand::Rng::with_seed(seed);
        let clause = Clause::random(&mut dice, 3);
        let text = clause.text();
        let mut request = parts(&format!("SELECT * FROM t WHERE {text}"));
        request.limit = Some(dice.i64(1..20));
        let mut found = Vec::new();
        let refusal = loop {
            match run(&bench, request.clone()) {
                Err(error) => break Some(error.message),
                Ok(page) => {
                    found.extend(rows(&page));
                    request.next_token = page.next_token;
                }
            }
            if request.next_token.is_none() {
                break None;
            }
        };
        if let Some(refusal) = refusal {
            assert_eq!(refusal, messages::OVERLAPPING_RANGES, "seed {seed}: {text}");
            refused += 1;
            continue;
        }
        answered += 1;
        several += usize::from(text.starts_with("pk IN") || text.starts_with("(pk = "));
        let mut expected = all.clone();
        expected.retain(|row| clause.holds(row));
        let key = |row: &Item| format!("{:?}", (&row["pk"], &row["sk"]));
        found.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(found, expected, "seed {seed}: {text}");
    }
    assert!(
        refused * 10 < number && several > 100,
        "{answered} answered, {refused} refused, {several} of several reads"
    );
}
