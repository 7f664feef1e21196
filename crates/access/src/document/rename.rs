//! Principals of a document's text under other names: ARNs become unique ids where a text is stored, and ids
//! become ARNs where it is shown (IAM user guide, element Principal).
//!
//! All else of the text stays as it was written. It does not know which principals exist.

/// What a string of the text stands in.
enum Frame {
    /// The newest key of an object.
    Object(Option<String>),
    List,
}

/// The text with other names of users and roles. `rename` has none for a name that stays.
///
/// The text is JSON: of another one it changes nothing that `rename` does not know.
pub fn rename_principals(text: &str, mut rename: impl FnMut(&str) -> Option<String>) -> String {
    let mut renamed = String::with_capacity(text.len());
    let (mut frames, mut rest) = (Vec::new(), text);
    let mut is_key = false;
    while let Some(at) = rest.find(|symbol| "{}[],:\"".contains(symbol)) {
        let (before, from) = rest.split_at(at);
        renamed.push_str(before);
        let token = if from.starts_with('"') { string(from) } else { &from[..1] };
        assert!(!token.is_empty(), "each step comes nearer to the end");
        match token {
            "{" => frames.push(Frame::Object(None)),
            "[" => frames.push(Frame::List),
            "}" | "]" => drop(frames.pop()),
            _ => {}
        }
        is_key = match token {
            "{" => true,
            "," => matches!(frames.last(), Some(Frame::Object(_))),
            _ if !token.starts_with('"') => false,
            _ => is_key,
        };
        match serde_json::from_str::<String>(token) {
            Ok(key) if is_key => {
                if let Some(Frame::Object(newest)) = frames.last_mut() {
                    *newest = Some(key);
                }
                renamed.push_str(token);
            }
            Ok(name) if is_principal(&frames) => match rename(&name) {
                Some(new) => renamed.push_str(&serde_json::Value::from(new).to_string()),
                None => renamed.push_str(token),
            },
            Ok(_) | Err(_) => renamed.push_str(token),
        }
        rest = &from[token.len()..];
    }
    renamed.push_str(rest);
    renamed
}

/// The string at the start of a text, with its quotes.
fn string(text: &str) -> &str {
    let mut is_escaped = false;
    for (place, symbol) in text.char_indices().skip(1) {
        match symbol {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return &text[..=place],
            _ => {}
        }
    }
    text
}

/// Whether a string there is a principal of AWS.
fn is_principal(frames: &[Frame]) -> bool {
    let mut keys = frames.iter().filter_map(|frame| match frame {
        Frame::Object(key) => Some(key.as_deref()),
        Frame::List => None,
    });
    let is_statement = keys.next() == Some(Some("Statement"));
    let is_principals = matches!(keys.next(), Some(Some("Principal" | "NotPrincipal")));
    is_statement && is_principals && keys.next() == Some(Some("AWS")) && keys.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(text: &str) -> String {
        rename_principals(text, |name| (name == "arn:x").then(|| "AIDA1".to_owned()))
    }

    #[test]
    fn only_principals_get_other_names_and_all_else_stays_as_it_was_written() {
        let text = r#" { "Version": "2012-10-17", "Statement" : [ {"Sid": "a\"b", "Effect":"Allow",
            "Principal": {"AWS": ["arn:x", "arn:\u0078", "arn:y"], "Service": "arn:x"}, "Action": ["arn:x"],
            "Condition": {"ArnEquals": {"aws:PrincipalArn": "arn:x", "AWS": "arn:x"}}},
            {"NotPrincipal" : {"AWS":"arn:x"}, "Statement": {"Principal": {"AWS": "arn:x"}}} ] } "#;
        let expected = r#" { "Version": "2012-10-17", "Statement" : [ {"Sid": "a\"b", "Effect":"Allow",
            "Principal": {"AWS": ["AIDA1", "AIDA1", "arn:y"], "Service": "arn:x"}, "Action": ["arn:x"],
            "Condition": {"ArnEquals": {"aws:PrincipalArn": "arn:x", "AWS": "arn:x"}}},
            {"NotPrincipal" : {"AWS":"AIDA1"}, "Statement": {"Principal": {"AWS": "arn:x"}}} ] } "#;
        assert_eq!(renamed(text), expected);
        for text in ["", "{", r#"{"Statement": {"Principal": {"AWS": "arn:x"#, r#""\"#, "}]é\"é"] {
            assert_eq!(renamed(text), text);
        }
        let one = |name: &str| format!(r#"{{"Statement":{{"Principal":{{"AWS":"{name}"}}}}}}"#);
        assert_eq!(renamed(&one("arn:x")), one("AIDA1"));
    }
}
