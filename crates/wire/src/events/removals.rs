//! Whether an archive would keep only the keys of removed items: its stream keeps no old images, and its
//! filters let removals pass.

use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::Mapping;
use serde_json::{Map, Value, json};

use super::Pattern;

/// What an archive loses, for people; `None`: nothing, or its stream is gone.
pub fn archive_warning(mapping: &Mapping) -> Option<String> {
    let is_archive = matches!(mapping.settings.target, Target::Bucket { .. });
    (is_archive && mapping.lacks_old_images && may_match_removals(&mapping.settings.filters)).then(|| {
        format!(
            "archives only the keys of removed items, and the items are lost: the stream of table {} keeps no old \
             images. Enable its stream again with NEW_AND_OLD_IMAGES or OLD_IMAGE.",
            mapping.table
        )
    })
}

/// Whether a pattern may match a removal. Only the name of the event is looked at.
fn may_match_removals(filters: &[String]) -> bool {
    filters.is_empty() || filters.iter().any(|filter| may_match(filter).unwrap_or(true))
}

fn may_match(filter: &str) -> Option<bool> {
    let pattern: Map<String, Value> = serde_json::from_slice(filter.as_bytes()).ok()?;
    let rules = pattern.get("eventName")?;
    let pattern = Pattern::compile(&json!({"eventName": rules}).to_string()).ok()?;
    Some(pattern.matches_value(&json!({"eventName": "REMOVE"})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_matches_removals_unless_its_event_name_excludes_them() {
        for (filters, expected) in [
            (&[][..], true),
            (&[r#"{"eventName":["REMOVE"],"userIdentity":{"type":["Service"]}}"#], true),
            (&[r#"{"dynamodb":{"Keys":{"pk":{"S":["a"]}}}}"#], true),
            (&[r#"{"eventName":["INSERT","MODIFY"]}"#], false),
            (&[r#"{"eventName":[{"anything-but":["REMOVE"]}]}"#], false),
            (&[r#"{"eventName":["INSERT"]}"#, r#"{"eventName":["REMOVE"]}"#], true),
        ] {
            let filters: Vec<String> = filters.iter().map(|&filter| filter.to_owned()).collect();
            assert_eq!(may_match_removals(&filters), expected, "{filters:?}");
        }
    }
}
