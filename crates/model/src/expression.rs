//! The attributes and placeholders that a pattern's expressions name, as their author wrote them.
//!
//! It knows the reserved words of the expression language. The engine decides whether an expression is valid.

/// Keywords and functions of expressions, which are not attributes.
const KEYWORDS: &[&str] = &["and", "or", "not", "between", "in", "set", "remove", "add", "delete"];

pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A token of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word<'a> {
    /// A top-level attribute of the item; names inside documents are not counted.
    Attribute(&'a str),
    /// `:name`, without the colon.
    Value(&'a str),
    /// `#name`, without the hash.
    Name(&'a str),
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
        let (word, left) = rest.split_at(if end == 0 { first.len_utf8() } else { end });
        if end > 0 {
            let function = left.trim_start().starts_with('(');
            let number = word.bytes().all(|byte| byte.is_ascii_digit());
            match before {
                ':' => words.push(Word::Value(word)),
                '#' => words.push(Word::Name(word)),
                '.' => {}
                _ if function || number || is_keyword(word) => {}
                _ => words.push(Word::Attribute(word)),
            }
            before = ' ';
        } else if !first.is_whitespace() || before != '.' {
            before = first;
        }
        rest = left;
    }
    words
}

/// The top-level attributes that an expression names: `info` for `info.name`.
pub fn attributes_in(text: &str) -> impl Iterator<Item = &str> {
    words(text).into_iter().filter_map(|word| match word {
        Word::Attribute(name) => Some(name),
        Word::Value(_) | Word::Name(_) => None,
    })
}

/// The value placeholders, without their colon.
pub fn values_in(text: &str) -> impl Iterator<Item = &str> {
    words(text).into_iter().filter_map(|word| match word {
        Word::Value(name) => Some(name),
        Word::Attribute(_) | Word::Name(_) => None,
    })
}

/// The name placeholders, without their hash. Model files do not need them.
pub fn hashed_in(text: &str) -> impl Iterator<Item = &str> {
    words(text).into_iter().filter_map(|word| match word {
        Word::Name(name) => Some(name),
        Word::Attribute(_) | Word::Value(_) => None,
    })
}

/// The equality comparisons that a condition always requires, as attribute and placeholder.
pub fn equal_in(condition: &str) -> Vec<(String, String)> {
    compared_in(condition, "=")
}

/// The inequality (`<>`) comparisons that a condition always requires, as attribute and placeholder.
pub fn unequal_in(condition: &str) -> Vec<(String, String)> {
    compared_in(condition, "<>")
}

/// Whether a condition holds only for an existing item. `<>`
/// does not count: a missing attribute differs from every value.
pub fn must_find(condition: &str) -> bool {
    let open = |clause: &str| clause.contains("<>") || clause.contains("attribute_not_exists");
    condition.contains("attribute_exists")
        || !branches(condition) && clauses_of(condition).into_iter().any(|clause| !open(clause))
}

/// Whether the condition contains an `or` or `not`, so that not every clause has to hold.
fn branches(condition: &str) -> bool {
    let lower = condition.to_lowercase();
    // `:or` and `:not` are placeholders, not operators.
    let mut words = lower.split(|letter: char| !(is_word(letter) || letter == ':'));
    words.any(|word| word == "or" || word == "not")
}

fn compared_in(condition: &str, sign: &str) -> Vec<(String, String)> {
    if branches(condition) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for clause in clauses_of(condition) {
        let Some((one, other)) = clause.split_once(sign) else { continue };
        let (one, other) = (one.trim(), other.trim());
        let pair = placeholder_of(other).map(|value| (one, value));
        let pair = pair.or_else(|| placeholder_of(one).map(|value| (other, value)));
        let pair = pair.filter(|(name, _)| is_name(name));
        found.extend(pair.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    found
}

/// The clauses of a condition joined by `and`, without enclosing brackets.
pub fn clauses_of(condition: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = condition;
    while let Some(end) = rest.to_ascii_lowercase().find(" and ") {
        let (clause, more) = rest.split_at(end);
        found.push(clause);
        rest = more.get(" and ".len()..).unwrap_or_default();
    }
    found.push(rest);
    found.iter().map(|clause| clause.trim().trim_matches(['(', ')']).trim()).collect()
}

/// The attributes that the clauses of an update change, in order.
pub fn changed_in(update: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let clauses = update.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    clauses.filter_map(|clause| attributes_in(clause).next()).map(str::to_owned).collect()
}

/// `:name` alone, without the colon.
pub fn placeholder_of(text: &str) -> Option<&str> {
    text.trim().strip_prefix(':').filter(|name| is_name(name))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equality_requires_an_item_and_an_inequality_does_not() {
        assert!(must_find("version = :v") && must_find("a <> :a AND total < :t"));
        assert!(!must_find("a <> :a") && !must_find("attribute_not_exists(id) OR version = :v"));
    }

    #[test]
    fn each_clause_of_an_update_changes_its_first_attribute() {
        assert_eq!(changed_in("a = if_not_exists(b, :b), c[0].d = :d, hits :one"), ["a", "c", "hits"]);
    }

    #[test]
    fn names_inside_documents_are_not_attributes() {
        let names = |text| attributes_in(text).collect::<Vec<_>>();
        assert_eq!(names("info.name = :n AND name <> :m AND size (a[0].b) > :n"), ["info", "name", "a"]);
        assert_eq!(names("attribute_not_exists(x) OR NOT y IN (:a, :b)"), ["x", "y"]);
        assert_eq!(values_in("n = n + :one, m = :two").collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(hashed_in("#s = :s").collect::<Vec<_>>(), ["s"]);
    }

    #[test]
    fn only_equalities_that_always_hold_are_found() {
        let names = |text| {
            equal_in(text).into_iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
        };
        assert_eq!(
            names("status = :open and (x = :y) AND n >= :n AND :z = b"),
            ["status open", "x y", "b z"]
        );
        assert_eq!(names("a = :a or b = :b"), [""; 0]);
        assert_eq!(names("not a = :a"), [""; 0]);
        assert_eq!(names("a <> :a and size(b) = :c and d.e = :f"), [""; 0]);
    }
}
