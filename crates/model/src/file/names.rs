//! Suggestions for unknown names.

/// Names less alike than this are not suggested.
const LIKENESS_MIN: f64 = 0.75;

/// The end of a message about an unknown name: a question for a similar one, or the list of known names, or
/// nothing if none are known.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let nearest = known.iter().copied().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    match nearest {
        Some(nearest) if likeness(nearest) >= LIKENESS_MIN => format!("; did you mean `{nearest}`?"),
        Some(_) => format!("; known are {}", known.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested_otherwise_all_are_listed() {
        assert_eq!(did_you_mean("tabel", ["table", "text"]), "; did you mean `table`?");
        assert_eq!(did_you_mean("zzz", ["a", "b"]), "; known are a, b");
    }
}
