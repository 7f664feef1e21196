//! How commands print: one list of formats, of which each command has some.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people at a terminal.
    Text,
    /// For programs.
    Json,
    /// For build servers.
    Junit,
    /// For pull requests and documents.
    Markdown,
}

/// Reads one of the formats that a command has.
pub(super) fn one_of(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let names = formats.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(names)
        .try_map(|name| Format::from_str(&name, false).map_err(|_| "no output format has this name"))
}
