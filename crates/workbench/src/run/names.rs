//! Rewrites the authors' expressions for the service: attribute names become placeholders, because many
//! common names (`status`, `name`, `date`) are reserved words.

use keywright_model::expression::{is_keyword, is_word};

/// An expression with placeholders, the names behind them, and the values it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) names: Vec<(String, String)>,
    /// Without the colon.
    pub(super) values: Vec<String>,
}

impl Expression {
    /// Replaces the attribute names of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut expression = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
            if first == ':' || first == '#' {
                let after = rest.get(1..).unwrap_or_default();
                let end = after.find(|letter: char| !is_word(letter)).unwrap_or(after.len());
                let (word, left) = after.split_at(end);
                expression.text.push(first);
                expression.text.push_str(word);
                if first == ':' && !expression.values.iter().any(|value| value == word) {
                    expression.values.push(word.to_owned());
                }
                rest = left;
            } else if end == 0 {
                let (one, left) = rest.split_at(first.len_utf8());
                expression.text.push_str(one);
                rest = left;
            } else {
                let (word, left) = rest.split_at(end);
                expression.word(word, left);
                rest = left;
            }
        }
        expression
    }

    fn word(&mut self, word: &str, after: &str) {
        let function = after.trim_start().starts_with('(') && !is_keyword(word);
        let number = word.bytes().all(|byte| byte.is_ascii_digit());
        if function || number || is_keyword(word) {
            self.text.push_str(word);
        } else {
            let placeholder = self.name(word);
            self.text.push_str(&placeholder);
        }
    }

    /// The placeholder of a name.
    pub(super) fn name(&mut self, name: &str) -> String {
        if let Some((placeholder, _)) = self.names.iter().find(|(_, known)| known == name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.push((placeholder.clone(), name.to_owned()));
        placeholder
    }

    pub(super) fn some_names(&self) -> Option<Vec<(String, String)>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// Adds another expression's text; its names get placeholders of their own.
    pub(super) fn join(&mut self, text: &str) -> String {
        let other = Self::of(text);
        let mut joined = other.text;
        // Longer placeholders first, so that `#n1` does not touch `#n10`.
        for (placeholder, name) in other.names.iter().rev() {
            let own = self.name(name).replace('#', "\u{1}");
            joined = joined.replace(placeholder.as_str(), &own);
        }
        for value in other.values {
            if !self.values.contains(&value) {
                self.values.push(value);
            }
        }
        joined.replace('\u{1}', "#")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_placeholders_and_words_of_the_language_stay() {
        let made = Expression::of("status = :s AND attribute_exists(info.name) OR size (tags[10]) > :n");
        assert_eq!(made.text, "#n0 = :s AND attribute_exists(#n1.#n2) OR size (#n3[10]) > :n");
        assert_eq!(made.values, ["s", "n"]);
    }

    #[test]
    fn joined_expressions_share_their_names() {
        let mut made = Expression::default();
        let one = made.join("a = a + :x");
        let two = made.join("b > :x AND a < :y");
        assert_eq!((one.as_str(), two.as_str()), ("#n0 = #n0 + :x", "#n1 > :x AND #n0 < :y"));
    }
}
