//! Where the master key of an encrypted data folder comes from: exactly one of a file, a variable, a command
//! and a key management service.

use std::path::PathBuf;

use clap::Args;

use super::arguments::EncryptionArguments;
use super::kms::{self, KmsArguments};
use super::storage::Storage;
use crate::process::failure::Failure;
use crate::storage::encryption::source::{GivenKey, KeySource};

const FILE: &str = "--encryption-key-file";
/// May hold the key itself.
const VARIABLE: &str = "KEYWRIGHT_ENCRYPTION_KEY";
const COMMAND: &str = "--encryption-key-command";
const KMS_KEY: &str = "--kms-key-id";
const NEW_FILE: &str = "--new-key-file";
const NEW_COMMAND: &str = "--new-key-command";
const NEW_KMS_KEY: &str = "--new-kms-key-id";

/// The key of a data folder that a command opens, and the service that may keep it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FolderKeyArguments {
    #[command(flatten)]
    key: EncryptionArguments,
    #[command(flatten)]
    kms: KmsArguments,
}

/// The key under which the keys of a folder are sealed anew.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "New key")]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(crate) struct NewKeyArguments {
    /// The new key is in this file
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// This command of the shell prints the new key
    #[arg(long, value_name = "COMMAND")]
    new_key_command: Option<String>,
    /// The new key is made and kept by --kms-endpoint, under this key of it
    #[arg(long, value_name = "KEY")]
    new_kms_key_id: Option<String>,
}

impl FolderKeyArguments {
    /// The source that they and the variables name.
    pub(crate) fn source(&self) -> Result<Option<KeySource>, Failure> {
        source(&self.key, variable().as_deref(), self.kms()?)
    }

    /// The same where a key is needed.
    pub(crate) fn required(&self) -> Result<KeySource, Failure> {
        self.source()?.ok_or_else(|| {
            Failure::new("no key is given")
                .advising(format!("pass {FILE} FILE, {COMMAND} COMMAND or {KMS_KEY} KEY, or set {VARIABLE}"))
        })
    }

    /// The source of a new key at the same service.
    pub(crate) fn new_source(&self, new: &NewKeyArguments) -> Result<KeySource, Failure> {
        let NewKeyArguments { new_key_file, new_key_command, new_kms_key_id } = new;
        let file = new_key_file.clone().map(|path| GivenKey::File { flag: NEW_FILE, path });
        let command = new_key_command.clone().map(|command| GivenKey::Command { flag: NEW_COMMAND, command });
        let service = new_kms_key_id.as_ref().map(|key_id| (NEW_KMS_KEY, key_id.clone()));
        let names = [(NEW_FILE, file), (NEW_COMMAND, command)];
        one_of(names, service, self.kms()?)?.ok_or_else(|| {
            Failure::new("no new key is given")
                .advising(format!("pass {NEW_FILE} FILE, {NEW_COMMAND} COMMAND or {NEW_KMS_KEY} KEY"))
        })
    }

    fn kms(&self) -> Result<Option<crate::kms::Settings>, Failure> {
        kms::merge(self.kms.clone(), KmsArguments::default())
    }
}

/// The key of the store that `keywright copy` writes.
pub(crate) fn to_key_file(path: PathBuf) -> KeySource {
    KeySource::Given(GivenKey::File { flag: "--to-key-file", path })
}

/// The source of a server's key. A flag or variable comes before the file.
pub(crate) fn merge(
    arguments: &EncryptionArguments,
    file: &EncryptionArguments,
    kms: Option<&crate::kms::Settings>,
    storage: &Storage,
) -> Result<Option<KeySource>, Failure> {
    let variable = variable();
    let chosen =
        if *arguments == EncryptionArguments::default() && variable.is_none() { file } else { arguments };
    let source = source(chosen, variable.as_deref(), kms.cloned())?;
    match (&source, storage) {
        (Some(source), Storage::Memory) => Err(Failure::new(format!(
            "{} is given, but with --in-memory there is no file to encrypt: leave it out, or choose --data",
            source.shown()
        ))),
        (Some(source @ KeySource::Service { .. }), Storage::Postgres { .. } | Storage::Tikv { .. }) => {
            Err(Failure::new(format!(
                "{} keeps its key in a data folder, and a shared store has none",
                source.shown()
            ))
            .advising(format!("pass {FILE} FILE or {COMMAND} COMMAND to all servers")))
        }
        _ => Ok(source),
    }
}

/// Refuses a server that must encrypt and does not.
pub(crate) fn check_required(
    required: bool,
    source: Option<&KeySource>,
    storage: &Storage,
) -> Result<(), Failure> {
    match storage {
        _ if !required || source.is_some() => Ok(()),
        Storage::Folder { .. } => Err(Failure::new("--require-encryption needs a key")
            .advising(format!("pass {FILE} FILE, {COMMAND} COMMAND or {KMS_KEY} KEY, or set {VARIABLE}"))),
        Storage::Memory => Ok(()),
        Storage::Postgres { .. } | Storage::Tikv { .. } => Err(Failure::new(
            "--require-encryption needs a key for users and their secrets in the shared store",
        )
        .advising(format!("pass {FILE} FILE or {COMMAND} COMMAND, the same to all servers"))),
    }
}

fn variable() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|value| !value.is_empty())
}

fn source(
    arguments: &EncryptionArguments,
    variable: Option<&str>,
    kms: Option<crate::kms::Settings>,
) -> Result<Option<KeySource>, Failure> {
    let EncryptionArguments { encryption_key_file, encryption_key_command, kms_key_id } = arguments;
    let file = encryption_key_file.clone().map(|path| GivenKey::File { flag: FILE, path });
    let command = encryption_key_command.clone().map(|command| GivenKey::Command { flag: COMMAND, command });
    let variable = variable.map(|text| GivenKey::of_variable(VARIABLE, text)).transpose()?;
    let service = kms_key_id.as_ref().map(|key_id| (KMS_KEY, key_id.clone()));
    one_of([(FILE, file), (COMMAND, command), (VARIABLE, variable)], service, kms)
}

/// The one source that is given.
fn one_of<const N: usize>(
    given: [(&'static str, Option<GivenKey>); N],
    service: Option<(&'static str, String)>,
    kms: Option<crate::kms::Settings>,
) -> Result<Option<KeySource>, Failure> {
    let mut given = given.into_iter().filter_map(|(name, key)| Some((name, key?)));
    let (first, second) = (given.next(), given.next());
    let second = second.map(|(name, _)| name).or(service.as_ref().map(|(name, _)| *name));
    match (first, second, service) {
        (Some((one, _)), Some(other), _) => {
            Err(Failure::new(format!("{one} and {other} exclude each other: choose one")))
        }
        (Some((_, key)), None, _) => Ok(Some(KeySource::Given(key))),
        (None, _, Some((name, key_id))) => match kms {
            Some(settings) => Ok(Some(KeySource::Service { settings, key_id })),
            None => Err(Failure::new(format!("{name} {key_id} needs --kms-endpoint URL"))),
        },
        (None, _, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(file: Option<&str>, command: Option<&str>, key: Option<&str>) -> EncryptionArguments {
        EncryptionArguments {
            encryption_key_file: file.map(PathBuf::from),
            encryption_key_command: command.map(str::to_owned),
            kms_key_id: key.map(str::to_owned),
        }
    }

    #[test]
    fn exactly_one_source_is_taken() {
        let key = keywright_encryption::MasterKey::new([1; 32]).text();
        let of = |arguments: EncryptionArguments, variable: Option<&str>| {
            let found = source(&arguments, variable, None).map_err(String::from)?;
            Ok(found.map(|source| source.shown()))
        };
        assert_eq!(of(arguments(None, None, None), None), Ok(None));
        let shown = |text: &str| Ok::<_, String>(Some(text.to_owned()));
        assert_eq!(of(arguments(Some("k"), None, None), None), shown("--encryption-key-file k"));
        assert_eq!(of(arguments(None, None, None), Some(&key)), shown(VARIABLE));
        for (both, variable) in [
            (arguments(Some("k"), Some("c"), None), None),
            (arguments(Some("k"), None, Some("a")), None),
            (arguments(Some("k"), None, None), Some(key.as_str())),
            (arguments(None, None, Some("a")), Some(key.as_str())),
        ] {
            let said = of(both, variable).unwrap_err();
            assert!(said.ends_with("exclude each other: choose one"), "{said}");
        }
        let said = of(arguments(None, None, None), Some("secret-but-no-key")).unwrap_err();
        assert!(said.starts_with(VARIABLE) && !said.contains("secret"), "{said}");
        let said = of(arguments(None, None, Some("alias/a")), None).unwrap_err();
        assert_eq!(said, "--kms-key-id alias/a needs --kms-endpoint URL");
    }

    #[test]
    fn a_key_is_for_a_folder_or_a_shared_store_and_can_be_required() {
        let given = arguments(Some("k"), None, None);
        let none = EncryptionArguments::default();
        let merged = |storage: &Storage| {
            let merged = merge(&given, &none, None, storage).map_err(String::from)?;
            Ok::<_, String>(merged.is_some())
        };
        let folder = Storage::Folder {
            path: "d".into(),
            durability: crate::settings::arguments::DurabilityArgument::Synced,
            cache_bytes: 0,
            write_buffer_bytes: None,
        };
        assert_eq!(merged(&folder), Ok(true));
        assert!(merged(&Storage::Memory).unwrap_err().contains("--in-memory"));
        assert_eq!(merged(&Storage::Tikv { url: "tikv://a/b".to_owned() }), Ok(true));
        assert!(check_required(true, None, &folder).unwrap_err().to_string().contains("needs a key"));
        assert_eq!(check_required(false, None, &folder), Ok(()));
        assert_eq!(check_required(true, None, &Storage::Memory), Ok(()));
    }
}
