//! The output formats of all commands; each command supports some.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people at a terminal.
    Text,
    /// For programs.
    Json,
    /// For build servers.
    Junit,
    /// For pull requests and documents.
    Markdown,
}

/// Parses one of the formats that a command supports.
pub(crate) fn one_of(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let names = formats.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(names)
        .try_map(|name| Format::from_str(&name, false).map_err(|_| "there is no output format of this name"))
}
