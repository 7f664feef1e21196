//! Suggestions for unknown names.

/// Names less alike than this are not suggested.
const LIKENESS_MIN: f64 = 0.75;

/// Known names that a message lists: all fields of a pattern. Each fault has such a message, and a file can
/// have many names.
const LISTED_MAX: usize = 30;

/// Known names that are compared; nobody has more by hand, and each fault compares all of them.
const COMPARED_MAX: usize = 1_000;

const _: () = assert!(LISTED_MAX <= COMPARED_MAX, "names that are listed were compared");

/// The first letters of a name, which are compared: comparing takes the product of both lengths.
const LETTERS_COMPARED: usize = 64;

/// Letters of a name that a message shows; names of the service have no more.
const LETTERS_SHOWN_MAX: usize = 255;

/// The end of a message about an unknown name: a question for a similar one, or the list of known names, or
/// nothing if none are known. Of many known names the most similar are listed.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known = known.into_iter();
    let letters = |name: &str| cut(name, LETTERS_COMPARED).to_lowercase();
    let name = letters(name);
    let compared = known.by_ref().take(COMPARED_MAX);
    let mut compared: Vec<(f64, &str)> =
        compared.map(|other| (strsim::jaro_winkler(&name, &letters(other)), other)).collect();
    let Some((likeness, nearest)) = compared.iter().copied().max_by(|one, other| one.0.total_cmp(&other.0))
    else {
        return String::new();
    };
    if likeness >= LIKENESS_MIN {
        return format!("; did you mean `{}`?", cut(nearest, LETTERS_SHOWN_MAX));
    }
    let more = (compared.len() + known.count()).saturating_sub(LISTED_MAX);
    if more > 0 {
        compared.sort_by(|one, other| other.0.total_cmp(&one.0));
    }
    let listed: Vec<&str> =
        compared.into_iter().take(LISTED_MAX).map(|(_, name)| cut(name, LETTERS_SHOWN_MAX)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; known are {}{more}", listed.join(", "))
}

fn cut(name: &str, letters: usize) -> &str {
    name.char_indices().nth(letters).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested_otherwise_the_most_similar_are_listed() {
        assert_eq!(did_you_mean("tabel", ["table", "text"]), "; did you mean `table`?");
        assert_eq!(did_you_mean("zzz", ["a", "b"]), "; known are a, b");
        let many: Vec<String> = (0..3_000).map(|at| format!("n{at}")).chain(["x".repeat(1_000)]).collect();
        let hint = did_you_mean("zz7", many.iter().map(String::as_str));
        assert!(hint.starts_with("; known are ") && hint.ends_with(" and 2971 more"), "{hint}");
        assert!(hint.contains("n7"), "{hint}");
    }
}
