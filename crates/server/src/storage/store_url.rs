//! `--store`: the address of a store as text, and its password.
//!
//! A password on the command line is seen by everybody on the machine, so only a variable or a file may hold
//! one.

use std::path::{Path, PathBuf};

use super::private_file;
use crate::process::failure::Failure;

/// Where the data is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    Memory,
    Folder(PathBuf),
    /// A `postgres://` address without password.
    Postgres(String),
    /// A `tikv://` address.
    Tikv(String),
}

/// An option whose value is the address of a store, and the variable that can hold its password.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreOption {
    pub(crate) flag: &'static str,
    pub(crate) password_variable: &'static str,
}

impl StoreOption {
    /// The option whose value is the file with the password.
    pub(crate) fn password_flag(self) -> String {
        format!("{}-password-file", self.flag)
    }
}

/// A password, which no log shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(String);

impl std::fmt::Debug for Password {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Password")
    }
}

impl Password {
    #[cfg(feature = "postgres")]
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The password that the environment or a file holds for `option`; `None` if neither does.
    pub(crate) fn find(option: StoreOption, file: Option<&Path>) -> Result<Option<Self>, Failure> {
        Self::choose(option, std::env::var(option.password_variable).ok(), file)
    }

    /// The password of a variable, or of the first line of a file; `None` if neither is set.
    fn choose(
        option: StoreOption,
        variable: Option<String>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, Failure> {
        match (variable, file) {
            (Some(_), Some(_)) => Err(Failure::new(format!(
                "{} and {} exclude each other: choose one",
                option.password_variable,
                option.password_flag()
            ))),
            (Some(password), None) => Ok(Some(Self(password))),
            (None, Some(path)) => {
                let unread = |fault: &str| {
                    Failure::new(format!("cannot read the password file {}: {fault}", path.display()))
                };
                let text = private_file::read(path).map_err(|fault| unread(&fault))?;
                let text = text.ok_or_else(|| unread("it does not exist"))?;
                match text.lines().next() {
                    Some(line) if !line.is_empty() => Ok(Some(Self(line.to_owned()))),
                    _ => Err(Failure::new(format!(
                        "the password file {} is empty: write the password on its first line",
                        path.display()
                    ))),
                }
            }
            (None, None) => Ok(None),
        }
    }
}

const POSTGRES: [&str; 2] = ["postgres://", "postgresql://"];

impl StoreUrl {
    /// Reads the value of `option`.
    pub(crate) fn parse(option: StoreOption, text: &str) -> Result<Self, Failure> {
        let flag = option.flag;
        if let Some(folder) = text.strip_prefix("embedded:") {
            return match folder {
                "" => Err(Failure::new(format!("{flag} embedded: names no folder: write embedded:DIR"))),
                _ => Ok(Self::Folder(PathBuf::from(folder))),
            };
        }
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if text.starts_with("tikv://") {
            return Ok(Self::Tikv(text.to_owned()));
        }
        let Some(rest) = POSTGRES.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
            return Err(Failure::new(format!(
                "{flag} {} is not known: write embedded:DIR, memory:, \
                 postgres://USER@HOST:PORT/DATABASE or tikv://PD:PORT/PREFIX",
                scheme_of(text)
            )));
        };
        if has_password(rest) {
            return Err(Failure::new(format!(
                "{flag} holds a password, which everybody on this machine can see: \
                 leave it out and pass {} FILE or set {}",
                option.password_flag(),
                option.password_variable
            )));
        }
        Ok(Self::Postgres(text.to_owned()))
    }
}

/// What stands before the address: the rest may be secret.
fn scheme_of(text: &str) -> &str {
    text.split_once(':').map_or(text, |(scheme, _)| scheme)
}

fn has_password(rest: &str) -> bool {
    let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = authority.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
        || query.split('&').filter_map(|parameter| parameter.split('=').next()).any(may_be_password)
}

/// A name that is written with `%` can be any name.
fn may_be_password(parameter: &str) -> bool {
    parameter == "password" || parameter.contains('%')
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: StoreOption = StoreOption { flag: "--store", password_variable: "SHOP_PASSWORD" };

    #[test]
    fn each_kind_of_store_is_read() {
        assert_eq!(StoreUrl::parse(STORE, "memory:"), Ok(StoreUrl::Memory));
        assert_eq!(StoreUrl::parse(STORE, "embedded:a/b"), Ok(StoreUrl::Folder("a/b".into())));
        let url = "postgres://me@db:5433/shop?schema=orders";
        assert_eq!(StoreUrl::parse(STORE, url), Ok(StoreUrl::Postgres(url.to_owned())));
        let url = "tikv://pd1:2379,pd2:2379/shop";
        assert_eq!(StoreUrl::parse(STORE, url), Ok(StoreUrl::Tikv(url.to_owned())));
        for unknown in ["", "shop", "mysql://me@db/shop", "embedded:"] {
            assert!(StoreUrl::parse(STORE, unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_password_in_the_address_is_refused_and_not_repeated() {
        for url in [
            "postgres://me:secret@db/shop",
            "postgresql://me@db/shop?password=secret",
            "postgres://me@db/shop?pass%77ord=secret",
        ] {
            let refused = StoreUrl::parse(STORE, url).unwrap_err().to_string();
            assert!(!refused.contains("secret") && refused.contains("SHOP_PASSWORD"), "{refused}");
        }
        assert!(!StoreUrl::parse(STORE, "mysql://me:secret@db").unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn a_password_comes_from_a_variable_or_the_first_line_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        assert!(
            Password::choose(STORE, None, Some(&file)).unwrap_err().to_string().contains("does not exist")
        );
        private_file::replace(&file, "secret\nnote\n").unwrap();
        let read = Password::choose(STORE, None, Some(&file)).unwrap();
        assert_eq!(read, Some(Password("secret".to_owned())));
        assert_eq!(format!("{read:?}"), "Some(Password)");
        assert_eq!(
            Password::choose(STORE, Some("other".to_owned()), None),
            Ok(Some(Password("other".to_owned())))
        );
        assert!(Password::choose(STORE, Some("other".to_owned()), Some(&file)).is_err());
        private_file::replace(&file, "").unwrap();
        assert!(Password::choose(STORE, None, Some(&file)).unwrap_err().to_string().contains("is empty"));
        assert_eq!(Password::choose(STORE, None, None), Ok(None));
    }
}
