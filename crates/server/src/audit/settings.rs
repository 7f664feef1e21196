//! What is recorded, where, and how long it is kept.

use std::path::PathBuf;
use std::str::FromStr;

/// The settings of an audit log.
#[derive(Clone, Debug)]
pub(crate) struct AuditSettings {
    pub(crate) file: PathBuf,
    pub(crate) place: LogPlace,
    pub(crate) data: DataEvents,
    pub(crate) keep: Keep,
    /// Whether changes are refused while the log cannot be written.
    pub(crate) is_required: bool,
    /// A file of the log is closed when it would become larger.
    pub(crate) file_bytes_max: u64,
}

/// Where the log lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogPlace {
    /// It is opened before the data folder, so that what it cannot be refuses the start.
    Apart,
    /// It is opened once the data folder is there, and encrypted if that is.
    DataFolder,
}

/// Which requests about items are recorded. Denied ones always are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DataEvents {
    #[default]
    None,
    All,
    Writes,
    /// Those on these tables.
    Tables(Vec<String>),
}

impl DataEvents {
    /// Reads a setting: a list of tables, or one word.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::None),
            [word] if word == "off" => Ok(Self::None),
            [word] if word == "all" => Ok(Self::All),
            [word] if word == "writes" => Ok(Self::Writes),
            tables => {
                let is_name = |name: &String| {
                    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
                    name.len() >= 3 && name.bytes().all(letter)
                };
                match tables.iter().find(|name| !is_name(name)) {
                    None => Ok(Self::Tables(tables.to_vec())),
                    Some(name) => Err(format!(
                        "\"{name}\" is not the name of a table: write all, writes, off, or names of tables"
                    )),
                }
            }
        }
    }

    /// Whether a request about items of these tables is recorded.
    pub(crate) fn covers<'t>(&self, changes: bool, mut tables: impl Iterator<Item = &'t str>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Writes => changes,
            Self::Tables(chosen) => tables.any(|table| chosen.iter().any(|name| name == table)),
        }
    }
}

/// Which closed files are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keep {
    #[default]
    Everything,
    /// Those closed within so many days.
    Days(u64),
    /// The newest, so many.
    Files(usize),
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kept = match text.strip_suffix('d') {
            _ if text == "off" => Some(Self::Everything),
            Some(days) => days.parse().ok().filter(|days| *days > 0).map(Self::Days),
            None => text.parse().ok().filter(|files| *files > 0).map(Self::Files),
        };
        kept.ok_or_else(|| {
            format!("\"{text}\" is not known: write days as 90d, a number of closed files as 100, or off")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_words_tables_days_and_counts() {
        let of =
            |words: &[&str]| DataEvents::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]), Ok(DataEvents::None));
        assert_eq!(of(&["writes"]), Ok(DataEvents::Writes));
        assert!(of(&["a b"]).unwrap_err().contains("write all, writes, off"));
        let tables = of(&["Orders", "Users"]).unwrap();
        assert!(tables.covers(false, ["Users"].into_iter()));
        assert!(!tables.covers(true, ["Other"].into_iter()));
        assert_eq!("90d".parse(), Ok(Keep::Days(90)));
        assert_eq!("7".parse(), Ok(Keep::Files(7)));
        assert_eq!("off".parse(), Ok(Keep::Everything));
        for text in ["0", "0d", "", "d", "week"] {
            assert!(text.parse::<Keep>().unwrap_err().contains("90d"), "{text}");
        }
    }
}
