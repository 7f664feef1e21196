//! Where the data lives, and which source of settings decides it.

use std::path::PathBuf;

use super::arguments::DurabilityArgument;
use crate::process::failure::Failure;
use crate::storage::store_url::{Password, StoreOption, StoreUrl};
use crate::studio::StoredIn;

const DEFAULT_FOLDER: &str = "keywright-data";
/// May hold the password of `--store`.
pub(crate) const STORE: StoreOption =
    StoreOption { flag: "--store", password_variable: "KEYWRIGHT_STORE_PASSWORD" };

/// Where the data lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Memory,
    Folder {
        path: PathBuf,
        durability: DurabilityArgument,
        cache_bytes: u64,
        /// The store's own if None.
        write_buffer_bytes: Option<u64>,
    },
    Postgres {
        /// Without the password.
        url: String,
        password: Option<Password>,
    },
    Tikv {
        url: String,
    },
}

impl Storage {
    /// As the studio shows it.
    pub(crate) fn shown(&self) -> StoredIn {
        let (kind, place) = match self {
            Self::Memory => ("memory", "memory".to_owned()),
            Self::Folder { path, .. } => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                ("folder", path.display().to_string())
            }
            Self::Postgres { url, .. } => ("postgres", url.clone()),
            Self::Tikv { url } => ("tikv", url.clone()),
        };
        StoredIn { kind, place }
    }
}

/// Where to keep the data, as one source of settings gives it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) in_memory: Option<bool>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) store: Option<String>,
}

impl Place {
    pub(crate) fn of_variables() -> Result<Self, Failure> {
        let in_memory = match std::env::var("KEYWRIGHT_IN_MEMORY") {
            Err(_unset) => None,
            Ok(text) => Some(truth(&text).ok_or_else(|| {
                format!("KEYWRIGHT_IN_MEMORY = \"{text}\" is not known: write \"true\" or \"false\"")
            })?),
        };
        // A unit or an image may set one that a service without a folder has to take back.
        let data = std::env::var_os("KEYWRIGHT_DATA").filter(|path| !path.is_empty()).map(PathBuf::from);
        let store = std::env::var("KEYWRIGHT_STORE").ok().filter(|url| !url.is_empty());
        Ok(Self { in_memory, data, store })
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" | "" => Some(false),
        _ => None,
    }
}

/// The first source that says where the data is kept decides.
pub(crate) fn chosen(sources: [Place; 3]) -> Result<StoreUrl, Failure> {
    let default = || StoreUrl::Folder(PathBuf::from(DEFAULT_FOLDER));
    for Place { in_memory, data, store } in sources {
        match (in_memory, data, store) {
            (Some(true), Some(_), _) => {
                return Err(Failure::new("--in-memory and --data exclude each other: choose one"));
            }
            (Some(true), None, Some(_)) | (_, Some(_), Some(_)) => {
                return Err(Failure::new(
                    "--store says where the data is kept: leave out --data and --in-memory, and set their \
                     variables to nothing",
                ));
            }
            (Some(true), None, None) => return Ok(StoreUrl::Memory),
            (_, None, Some(store)) => return StoreUrl::parse(STORE, &store),
            (_, Some(path), None) => return Ok(StoreUrl::Folder(path)),
            (Some(false), None, None) => return Ok(default()),
            (None, None, None) => {}
        }
    }
    Ok(default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_that_sets_the_storage_decides() {
        let memory = || Place { in_memory: Some(true), ..Place::default() };
        let folder = |name: &str| Place { data: Some(name.into()), ..Place::default() };
        let store = |url: &str| Place { store: Some(url.to_owned()), ..Place::default() };
        let none = Place::default;
        let chose = |name: &str| Ok(StoreUrl::Folder(name.into()));
        assert_eq!(chosen([memory(), folder("v"), folder("f")]), Ok(StoreUrl::Memory));
        assert_eq!(chosen([folder("a"), memory(), memory()]), chose("a"));
        assert_eq!(chosen([none(), memory(), folder("f")]), Ok(StoreUrl::Memory));
        assert_eq!(chosen([none(), none(), folder("f")]), chose("f"));
        assert_eq!(chosen([store("embedded:s"), folder("f"), memory()]), chose("s"));
        assert_eq!(chosen([none(), none(), none()]), chose(DEFAULT_FOLDER));
        for both in [
            Place { data: Some("a".into()), ..memory() },
            Place { store: Some("memory:".to_owned()), ..memory() },
            Place { store: Some("memory:".to_owned()), ..folder("a") },
        ] {
            assert!(chosen([both, none(), none()]).is_err());
        }
    }
}
