//! Dates and times inside key texts: a delimiter within one does not end the value.

/// Whether the text is a date or a time as ISO 8601 writes it.
pub fn is_time(text: &str) -> bool {
    matches_form(text, "0000-00-00")
}

/// The length of the ISO 8601 date or time at the beginning of a text, if the text ends there or continues
/// with this delimiter; zero otherwise.
pub fn time_before(text: &str, next: &str) -> usize {
    let followed =
        |end: &usize| text.get(*end..).is_some_and(|rest| rest.is_empty() || rest.starts_with(next));
    time_ends(text).into_iter().rfind(followed).unwrap_or(0)
}

/// Whether the whole text is a date or a time as ISO 8601 writes it.
pub fn is_whole_time(text: &str) -> bool {
    !text.is_empty() && time_ends(text).contains(&text.len())
}

/// The positions at which a date or time at the beginning of a text can
/// end: `2026-01-01T10:20:30Z` can be a day, or a time with minutes.
fn time_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = 0;
    for form in ["0000-00-00", "T00:00", ":00", "."] {
        let rest = text.get(end..).unwrap_or_default();
        if !matches_form(rest, form) {
            break;
        }
        end += form.len();
        if form == "." {
            end += text.get(end..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        }
        ends.push(end);
        if ends.len() > 1 {
            let rest = text.get(end..).unwrap_or_default();
            let zones = ["Z", "+00:00", "-00:00", "+0000", "-0000"];
            ends.extend(zones.iter().filter(|form| matches_form(rest, form)).map(|form| end + form.len()));
        }
    }
    ends.sort_unstable();
    ends
}

/// Whether a text begins with a form in which `0` stands for any digit.
fn matches_form(text: &str, form: &str) -> bool {
    let mut letters = text.bytes();
    form.bytes().all(|wanted| {
        letters.next().is_some_and(|letter| letter == wanted || wanted == b'0' && letter.is_ascii_digit())
    })
}
