//! Which buckets requests may name, and how each is reached: a store for all of them, and sections
//! `[s3.buckets.NAME]` of the file for single ones.
//!
//! Nothing is opened here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use keywright_objects::{S3Settings, is_bucket_name};
use serde::Deserialize;

use super::s3::{AWS, Named, S3Arguments, SECRET_VARIABLE, Secrets, TOKEN_VARIABLE, variable};
use crate::process::failure::Failure;
use crate::storage::buckets::{BucketSettings, Reach};

/// Where buckets are that exports, imports and triggers name. docs/guide/backup.md shows how a store is
/// named.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Object stores")]
pub(crate) struct StoreArguments {
    #[command(flatten)]
    pub(crate) s3: S3Arguments,
    /// Take each folder in this one for a bucket of its name, instead of the buckets of a store
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_S3_FOLDER")]
    pub(crate) s3_folder: Option<PathBuf>,
    /// The only buckets that requests may name. Can be repeated [default: all of the store]
    #[arg(long, value_name = "NAME", env = "KEYWRIGHT_S3_BUCKETS", value_delimiter = ',')]
    pub(crate) s3_buckets: Vec<String>,
}

/// What the file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFile {
    pub(crate) arguments: StoreArguments,
    pub(crate) secrets: Secrets,
    pub(crate) sections: Sections,
}

/// The section `[s3]` of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sections {
    #[serde(default)]
    buckets: BTreeMap<String, Section>,
}

/// A section `[s3.buckets.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Section {
    #[serde(alias = "s3-endpoint")]
    endpoint: Option<String>,
    #[serde(alias = "s3-folder")]
    folder: Option<PathBuf>,
    #[serde(alias = "s3-region")]
    region: Option<String>,
    #[serde(alias = "s3-access-key-id")]
    access_key_id: Option<String>,
    #[serde(alias = "s3-secret-access-key", default)]
    secret_access_key: Secret,
    #[serde(alias = "s3-session-token", default)]
    session_token: Secret,
    #[serde(alias = "s3-allow-http")]
    allow_http: Option<bool>,
    #[serde(alias = "s3-virtual-host")]
    virtual_host: Option<bool>,
}

/// A secret, which never reaches a log.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
struct Secret(Option<String>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

/// The settings of object stores, merged.
pub(crate) struct ObjectStores {
    arguments: StoreArguments,
    secrets: Secrets,
    sections: BTreeMap<String, Section>,
}

impl ObjectStores {
    /// A flag or variable comes before the file.
    pub(crate) fn merge(flags: StoreArguments, file: InFile) -> Self {
        let StoreArguments { s3, s3_folder, s3_buckets } = file.arguments;
        let arguments = StoreArguments {
            s3: flags.s3.or(s3),
            s3_folder: flags.s3_folder.or(s3_folder),
            s3_buckets: if flags.s3_buckets.is_empty() { s3_buckets } else { flags.s3_buckets },
        };
        Self { arguments, secrets: file.secrets, sections: file.sections.buckets }
    }

    /// How the store of places `s3://BUCKET/PREFIX` is reached.
    pub(crate) fn s3(&self) -> Result<S3Settings, Failure> {
        self.arguments.s3.settings_or(&self.secrets)
    }

    /// Which buckets requests may name.
    pub(crate) fn buckets(&self) -> Result<BucketSettings, Failure> {
        let StoreArguments { s3, s3_folder, s3_buckets } = &self.arguments;
        let others = match (&s3.s3_endpoint, s3_folder) {
            (Some(_), Some(_)) => {
                return Err(Failure::new("s3-endpoint and s3-folder exclude each other")
                    .advising("choose one, and write the other into [s3.buckets.NAME] of the file"));
            }
            (None, Some(folder)) => Some(Reach::Folder(folder.clone())),
            // A store that is named for other uses needs no key until a request names a bucket.
            (Some(_), None) => Some(match self.s3() {
                Ok(settings) => Reach::S3(settings),
                Err(lacking) => Reach::Unfit(lacking.into()),
            }),
            (None, None) => None,
        };
        let mut sections = BTreeMap::new();
        for (name, section) in &self.sections {
            let named = |fault| Failure::new(format!("[s3.buckets.{name}]: {}", String::from(fault)));
            check_name(name).map_err(named)?;
            sections.insert(name.clone(), self.reach(section).map_err(named)?);
        }
        if others.is_none() && sections.is_empty() && !s3_buckets.is_empty() {
            return Err(Failure::new("s3-buckets names buckets, and no store has them")
                .advising("write s3-endpoint or s3-folder too"));
        }
        s3_buckets.iter().try_for_each(|name| check_name(name))?;
        let only = (!s3_buckets.is_empty()).then(|| s3_buckets.iter().cloned().collect::<BTreeSet<_>>());
        if let (Some(only), Some(name)) = (&only, sections.keys().find(|name| !s3_buckets.contains(name))) {
            let listed = only.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Failure::new(format!(
                "[s3.buckets.{name}] is of no use: s3-buckets allows only {listed}"
            ))
            .advising("add it there, or remove the section"));
        }
        Ok(BucketSettings { others, sections, only })
    }

    /// How the bucket of a section is reached. What it does not say is as for all buckets, but no key and no
    /// token goes to a store that is not the one of these.
    fn reach(&self, section: &Section) -> Result<Reach, Failure> {
        let all = &self.arguments.s3;
        match (&section.endpoint, &section.folder) {
            (Some(_), Some(_)) => Err(Failure::new("endpoint and folder exclude each other: choose one")),
            (None, Some(folder)) => Ok(Reach::Folder(folder.clone())),
            (None, None) if all.s3_endpoint.is_none() => {
                Err(Failure::new("it names no store: write endpoint or folder"))
            }
            (endpoint, None) => {
                let has_own_key = section.access_key_id.is_some() || section.secret_access_key.0.is_some();
                let inherits = endpoint.is_none();
                let own = S3Arguments {
                    s3_endpoint: endpoint.clone(),
                    s3_region: section.region.clone(),
                    s3_access_key_id: section.access_key_id.clone(),
                    s3_allow_http: section.allow_http,
                    s3_virtual_host: section.virtual_host,
                };
                let of_all = match (inherits, has_own_key) {
                    (false, _) => S3Arguments::default(),
                    (true, false) => all.clone(),
                    (true, true) => S3Arguments { s3_access_key_id: None, ..all.clone() },
                };
                let arguments = own.or(of_all);
                let settings = if inherits && !has_own_key {
                    arguments.settings_or(&self.secrets)
                } else {
                    let is_of_role = !has_own_key && endpoint.as_deref() == Some(AWS);
                    arguments.settings_with(&Named::IN_SECTION, |name| match name {
                        SECRET_VARIABLE => section.secret_access_key.0.clone(),
                        TOKEN_VARIABLE => section.session_token.0.clone(),
                        _ if is_of_role => variable(name),
                        _ => None,
                    })
                };
                settings.map(Reach::S3)
            }
        }
    }
}

fn check_name(name: &str) -> Result<(), Failure> {
    let wrong =
        || Failure::new(format!("{name:?} is the name of no bucket: write letters, digits, \"-\" and \".\""));
    if is_bucket_name(name) { Ok(()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `keywright.toml` would say.
    fn merged(
        global: StoreArguments,
        secret: Option<&str>,
        sections: &str,
    ) -> Result<BucketSettings, String> {
        let secrets =
            Secrets { secret_access_key: secret.map(str::to_owned), session_token: Some("token".to_owned()) };
        let sections = toml::from_str(sections).map_err(|error| error.to_string())?;
        let file = InFile { arguments: global, secrets, sections };
        ObjectStores::merge(StoreArguments::default(), file).buckets().map_err(String::from)
    }

    fn endpoint(url: &str) -> StoreArguments {
        let s3 = S3Arguments {
            s3_endpoint: Some(url.to_owned()),
            s3_access_key_id: Some("AK".to_owned()),
            ..S3Arguments::default()
        };
        StoreArguments { s3, ..StoreArguments::default() }
    }

    fn folder(path: &str) -> StoreArguments {
        StoreArguments { s3_folder: Some(path.into()), ..StoreArguments::default() }
    }

    /// Endpoint, key, secret and token of a bucket's section.
    fn keys(settings: &BucketSettings, name: &str) -> (Option<String>, String, String, Option<String>) {
        let Some(Reach::S3(settings)) = settings.sections.get(name) else { panic!("{settings:?}") };
        let keys = settings.keys.clone().expect("it has keys");
        (settings.endpoint.clone(), keys.access_key_id, keys.secret_access_key, keys.session_token)
    }

    #[test]
    fn without_a_store_no_bucket_can_be_named() {
        assert_eq!(merged(StoreArguments::default(), None, ""), Ok(BucketSettings::default()));
    }

    #[test]
    fn a_folder_or_a_store_has_all_buckets_or_those_that_are_listed() {
        let all = merged(folder("objects"), None, "").unwrap();
        assert_eq!((all.others, all.only), (Some(Reach::Folder("objects".into())), None));
        let listed = StoreArguments {
            s3_buckets: vec!["b".to_owned(), "a".to_owned()],
            ..endpoint("https://s3.example")
        };
        let some = merged(listed, Some("secret"), "").unwrap();
        assert!(matches!(some.others, Some(Reach::S3(_))));
        assert_eq!(some.only.unwrap().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_store_without_a_secret_starts_and_says_so_at_the_first_use() {
        let settings = merged(endpoint("https://s3.example"), None, "").unwrap();
        let Some(Reach::Unfit(lacking)) = settings.others else { panic!("{settings:?}") };
        assert!(lacking.contains("KEYWRIGHT_S3_SECRET_ACCESS_KEY"), "{lacking}");
    }

    #[test]
    fn a_section_takes_what_it_does_not_say_from_all_buckets_but_no_key_to_another_store() {
        let sections = r#"
            [buckets.same]
            region = "eu-west-1"
            [buckets.own-key]
            access-key-id = "OWN"
            s3-secret-access-key = "own secret"
            [buckets.elsewhere]
            endpoint = "https://other.example"
            access-key-id = "OTHER"
            secret-access-key = "other secret"
            session-token = "other token"
            [buckets.local]
            folder = "objects"
        "#;
        let settings = merged(endpoint("https://s3.example"), Some("secret"), sections).unwrap();
        let (here, there) = (Some("https://s3.example".to_owned()), Some("https://other.example".to_owned()));
        let owned = |text: &str| text.to_owned();
        let token = Some(owned("token"));
        assert_eq!(keys(&settings, "same"), (here.clone(), owned("AK"), owned("secret"), token));
        assert_eq!(keys(&settings, "own-key"), (here, owned("OWN"), owned("own secret"), None));
        let other = (there, owned("OTHER"), owned("other secret"), Some(owned("other token")));
        assert_eq!(keys(&settings, "elsewhere"), other);
        assert_eq!(settings.sections.get("local"), Some(&Reach::Folder("objects".into())));
        let Some(Reach::S3(same)) = settings.sections.get("same") else { panic!("{settings:?}") };
        assert_eq!(same.region, "eu-west-1");
        assert!(!format!("{:?}", toml::from_str::<Sections>(sections)).contains("secret\""));

        let keyless = "[buckets.x]\nendpoint = \"https://other.example\"";
        let fault = merged(endpoint("https://s3.example"), Some("secret"), keyless).unwrap_err();
        assert!(
            fault.contains("[s3.buckets.x]") && fault.contains("write access-key-id and secret"),
            "{fault}"
        );
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused_by_name() {
        let both = StoreArguments { s3_folder: Some("objects".into()), ..endpoint("https://s3.example") };
        let listed = |names: &[&str], rest: StoreArguments| StoreArguments {
            s3_buckets: names.iter().map(|name| (*name).to_owned()).collect(),
            ..rest
        };
        let both_in_section = "[buckets.x]\nfolder = \"f\"\nendpoint = \"https://s3.example\"";
        let local = "[buckets.x]\nfolder = \"f\"";
        for (arguments, sections, parts) in [
            (both, "", ["s3-endpoint and s3-folder exclude each other", "[s3.buckets.NAME]"]),
            (folder("o"), both_in_section, ["[s3.buckets.x]: endpoint and folder", "choose one"]),
            (
                folder("o"),
                "[buckets.x]\nregion = \"r\"",
                ["[s3.buckets.x]: it names no store", "endpoint or"],
            ),
            (folder("o"), "[buckets.\"../x\"]\nfolder = \"f\"", ["../x", "name of no bucket"]),
            (listed(&["a/b"], folder("o")), "", ["a/b", "name of no bucket"]),
            (listed(&["a"], StoreArguments::default()), "", ["s3-buckets", "s3-endpoint or s3-folder"]),
            (listed(&["a"], folder("o")), local, ["[s3.buckets.x] is of no use", "allows only a"]),
            (folder("o"), "[buckets.x]\nendpont = \"u\"", ["endpont", "unknown field"]),
        ] {
            let fault = merged(arguments, Some("secret"), sections).unwrap_err();
            assert!(parts.iter().all(|part| fault.contains(part)), "{fault}");
        }
    }
}
