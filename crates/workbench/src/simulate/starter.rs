//! A traffic profile to begin with: the model's own rates, and a rush in the middle.

use std::fmt::Write as _;

use keywright_model::Model;
use keywright_semantics::share::MICRO;

/// How much busier the rush is.
const RUSH: u64 = 5;
/// Requests a second of a pattern whose rate the model does not say.
const RATE_DEFAULT: u64 = 10;

/// A profile of half an hour in which every pattern has a rush of ten minutes.
pub fn starter(model: &Model) -> String {
    let mut text = format!(
        "# Half an hour of {}: each pattern at its rate, and a rush of ten minutes {RUSH} times as busy.\n\
         start: 2026-11-27T16:50:00Z\nlength: 30m\nseed: 1\narrivals: poisson\nretries: 3\n",
        one_line(&model.name)
    );
    if !model.patterns.is_empty() {
        text.push_str("patterns:\n");
    }
    for pattern in &model.patterns {
        let declared = pattern.rate.map(|rate| rate.average.0.div_ceil(MICRO));
        let rate = declared.unwrap_or(RATE_DEFAULT).max(1);
        let note = if declared.is_none() { "  # the model says no rate" } else { "" };
        let _infallible = writeln!(
            text,
            "  {}:\n    rate: [{{at: 0, rate: {rate}}}, {{at: 10m, rate: {}}}, {{at: 20m, rate: {rate}}}]{note}",
            quoted(&pattern.id),
            rate.saturating_mul(RUSH)
        );
    }
    text.push_str("expect:\n  lost: 0\n");
    text
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// A key of the file: quoted where its characters would mean something.
fn quoted(id: &str) -> String {
    let is_plain = id.starts_with(|first: char| first.is_ascii_alphabetic())
        && id.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.'))
        && !matches!(
            id.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if is_plain { id.to_owned() } else { format!("'{}'", id.replace('\'', "''")) }
}

#[cfg(test)]
mod tests {
    use super::super::profile::parse;
    use super::*;

    #[test]
    fn the_starter_of_a_model_is_a_profile_of_it() {
        let text = include_str!("../../../../examples/models/ecommerce.yaml");
        let model = keywright_model::parse(text).expect("the example reads");
        let profile = parse(&starter(&model), &model).expect("the starter reads");
        assert_eq!(profile.patterns.len(), model.patterns.len());
    }

    #[test]
    fn ids_with_signs_and_words_of_yaml_are_quoted() {
        assert_eq!(quoted("P1"), "P1");
        assert_eq!(quoted("off"), "'off'");
        assert_eq!(quoted("it's: #1"), "'it''s: #1'");
    }
}
