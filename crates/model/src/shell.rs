//! Words of lines for a shell. It does not know commands.

use std::borrow::Cow;

/// The text as one quoted word.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The text as one word: as it is where no letter means something to a shell, else quoted.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,@+".contains(&byte);
    let is_plain = text.bytes().all(plain)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric() || "./".contains(first));
    if is_plain { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_a_shell_is_quoted() {
        for plain in ["shop.yaml", "/var/lib/keys.toml", "./a-b_c", "http://localhost:8000"] {
            assert_eq!(word(plain), plain);
        }
        for (text, shown) in [
            ("", "''"),
            ("-rf", "'-rf'"),
            ("~root", "'~root'"),
            ("a b", "'a b'"),
            ("$(id)", "'$(id)'"),
            ("x;id", "'x;id'"),
            ("it's", "'it'\\''s'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(word(text), shown);
        }
    }
}
