//! The files of settings that the AWS CLI and the SDKs share: `~/.aws/config` and `~/.aws/credentials`.
//!
//! It reads the format (AWS SDKs and Tools Reference Guide, "Shared config and credentials files") and does
//! not know what a setting means.

use std::collections::BTreeMap;

/// A setting's text, and the settings indented below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Setting {
    text: String,
    below: BTreeMap<String, String>,
}

/// The settings under one heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section(BTreeMap<String, Setting>);

impl Section {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.text.as_str()).filter(|text| !text.is_empty())
    }

    /// A setting that is indented below another one.
    pub(crate) fn below(&self, name: &str, below: &str) -> Option<&str> {
        self.0.get(name)?.below.get(below).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Adds the settings of another section, which win.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// The sections of a file by their headings, blanks and quotation marks in them normalised.
pub(crate) fn sections(text: &str) -> BTreeMap<String, Section> {
    let mut found: BTreeMap<String, Section> = BTreeMap::new();
    let mut heading: Option<String> = None;
    let mut last: Option<String> = None;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(inner) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let name = inner.0.replace(['"', '\''], " ");
            heading = Some(name.split_whitespace().collect::<Vec<_>>().join(" "));
            last = None;
            continue;
        }
        let (Some(heading), Some((name, value))) = (&heading, bare.split_once('=')) else { continue };
        let section = found.entry(heading.clone()).or_default();
        let (name, value) = (name.trim().to_ascii_lowercase(), without_comment(value));
        let is_below = line.starts_with([' ', '\t']);
        if let Some(setting) = last.as_ref().filter(|_| is_below).and_then(|last| section.0.get_mut(last)) {
            setting.below.insert(name, value);
        } else {
            section.0.insert(name.clone(), Setting { text: value, below: BTreeMap::new() });
            last = Some(name);
        }
    }
    found
}

/// A comment begins with a mark after a blank.
fn without_comment(value: &str) -> String {
    let mut before = ' ';
    let end = value.char_indices().find(|(_, character)| {
        let blank = std::mem::replace(&mut before, *character).is_whitespace();
        blank && matches!(character, '#' | ';')
    });
    let kept = end.and_then(|(index, _)| value.get(..index)).unwrap_or(value);
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_below_headings_and_can_have_settings_of_their_own() {
        let text = "# shared\n[default]\nregion = eu-west-1 ; near\n\n[ profile \"dev\" ]\nRegion=eu-north-1\n\
                    services = local\nsso_url = https://x/#frag\n[services local]\ndynamodb =\n  endpoint_url = http://127.0.0.1:8000\n\
                    s3 =\n  endpoint_url = http://127.0.0.1:9000\n";
        let found = sections(text);
        let dev = &found["profile dev"];
        assert_eq!(found["default"].get("region"), Some("eu-west-1"));
        assert_eq!((dev.get("region"), dev.get("services")), (Some("eu-north-1"), Some("local")));
        assert_eq!(dev.get("sso_url"), Some("https://x/#frag"));
        let services = &found["services local"];
        assert_eq!(services.below("dynamodb", "endpoint_url"), Some("http://127.0.0.1:8000"));
        assert_eq!(services.below("s3", "endpoint_url"), Some("http://127.0.0.1:9000"));
        assert_eq!((services.get("dynamodb"), dev.below("region", "x")), (None, None));
    }
}
