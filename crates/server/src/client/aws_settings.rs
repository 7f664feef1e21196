//! Region and endpoint of the commands that are clients, found as the AWS CLI finds them: flags, then
//! variables, then the profile.
//!
//! `serve` reads none of this. Order and names are those of the AWS SDKs and Tools Reference Guide, "AWS
//! Region" and "Service-specific endpoints".

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::aws_profile::{self, Section};
use super::endpoint_url::{self, Endpoint};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::io_fault::cannot;

/// The region if nothing names one.
const DEFAULT_REGION: &str = "us-east-1";
const REGION_VARIABLES: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const ENDPOINT_VARIABLES: [&str; 2] = ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"];
const IGNORE_VARIABLE: &str = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS";
const IGNORE_SETTING: &str = "ignore_configured_endpoint_urls";
const ENDPOINT_SETTING: &str = "endpoint_url";
const PROFILE_VARIABLE: &str = "AWS_PROFILE";
const DEFAULT_PROFILE: &str = "default";

/// What named an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// The command line.
    Flag,
    /// A variable or a profile, in words.
    Setting(String),
}

/// The endpoint of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) named_by: NamedBy,
}

impl Target {
    /// What named the endpoint, if it is another machine's and the command line does not name it.
    pub(crate) fn surprise(&self) -> Option<&str> {
        match &self.named_by {
            NamedBy::Setting(setting) if !self.endpoint.is_loopback() => Some(setting),
            NamedBy::Setting(_) | NamedBy::Flag => None,
        }
    }
}

/// Where settings are found.
pub(crate) struct AwsSettings<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    read: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// The region of a command; `flag` is what its command line says.
pub(crate) fn region(flag: Option<&str>) -> Result<String, Failure> {
    of_process().region(flag)
}

/// The endpoint of a command; `None` if nothing names one.
pub(crate) fn endpoint(flag: Option<&Endpoint>) -> Result<Option<Target>, Failure> {
    of_process().endpoint(flag)
}

/// The endpoint of a command that needs one.
pub(crate) fn named_endpoint(flag: Option<&Endpoint>) -> Result<Target, Failure> {
    endpoint(flag)?.ok_or_else(|| {
        let [own, all] = ENDPOINT_VARIABLES;
        Failure::new(format!(
            "name the endpoint: pass --endpoint URL, such as http://localhost:8000, or set {own} or {all}"
        ))
    })
}

/// What a profile says of the requests that are signed with its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProfileKeys {
    pub(crate) access_key_id: Option<String>,
    pub(crate) secret_access_key: Option<String>,
    pub(crate) session_token: Option<String>,
    pub(crate) region: Option<String>,
}

/// The keys of a profile that `flag` of the command line names.
pub(crate) fn profile_keys(flag: &str, name: &str) -> Result<ProfileKeys, Failure> {
    of_process().profile_keys(flag, name)
}

fn of_process() -> AwsSettings<'static> {
    AwsSettings { variable: &|name| std::env::var(name).ok(), read: &|path| std::fs::read_to_string(path) }
}

/// A region by the rule of the server.
fn checked(region: &str) -> Result<String, Failure> {
    endpoint_url::region(region)
        .map_err(|rule| Failure::new(format!("the region is `{}`: {rule}", inline(region))))
}

impl AwsSettings<'_> {
    fn region(&self, flag: Option<&str>) -> Result<String, Failure> {
        if let Some(region) =
            flag.map(str::to_owned).or_else(|| self.first(REGION_VARIABLES).map(|own| own.1))
        {
            return checked(&region);
        }
        let profile = self.profile()?;
        checked(profile.own.get("region").unwrap_or(DEFAULT_REGION))
    }

    fn endpoint(&self, flag: Option<&Endpoint>) -> Result<Option<Target>, Failure> {
        if let Some(endpoint) = flag {
            return Ok(Some(Target { endpoint: endpoint.clone(), named_by: NamedBy::Flag }));
        }
        let ignored = self.set(IGNORE_VARIABLE).map(|text| is_true(&text));
        if ignored == Some(true) {
            return Ok(None);
        }
        let profile = self.profile()?;
        if ignored.is_none() && profile.own.get(IGNORE_SETTING).is_some_and(is_true) {
            return Ok(None);
        }
        let named = self.first(ENDPOINT_VARIABLES).or_else(|| profile.endpoint());
        let Some((setting, text)) = named else { return Ok(None) };
        let endpoint =
            text.parse().map_err(|fault| Failure::new(format!("{setting} is `{text}`: {fault}")))?;
        Ok(Some(Target { endpoint, named_by: NamedBy::Setting(setting) }))
    }

    /// A variable; an empty one counts as unset.
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|text| !text.is_empty())
    }

    /// The first of these variables that is set, and its name.
    fn first<const N: usize>(&self, names: [&str; N]) -> Option<(String, String)> {
        names.into_iter().find_map(|name| Some((name.to_owned(), self.set(name)?)))
    }

    fn profile_keys(&self, flag: &str, name: &str) -> Result<ProfileKeys, Failure> {
        let Profile { own, .. } = self.profile_named(flag, Some(name))?;
        let setting = |name: &str| own.get(name).map(str::to_owned);
        Ok(ProfileKeys {
            access_key_id: setting("aws_access_key_id"),
            secret_access_key: setting("aws_secret_access_key"),
            session_token: setting("aws_session_token"),
            region: setting("region"),
        })
    }

    fn profile(&self) -> Result<Profile, Failure> {
        self.profile_named(PROFILE_VARIABLE, self.set(PROFILE_VARIABLE).as_deref())
    }

    /// The profile that `named_by` names, or the default one.
    fn profile_named(&self, named_by: &str, named: Option<&str>) -> Result<Profile, Failure> {
        let config = self.sections("AWS_CONFIG_FILE", "config")?;
        let credentials = self.sections("AWS_SHARED_CREDENTIALS_FILE", "credentials")?;
        let name = named.unwrap_or(DEFAULT_PROFILE).to_owned();
        let bare = config.found.get(&name).filter(|_| name == DEFAULT_PROFILE);
        let sections = [bare, config.found.get(&format!("profile {name}")), credentials.found.get(&name)];
        let own = sections.into_iter().flatten().cloned().reduce(|mut own, more| {
            own.merge(more);
            own
        });
        if let (Some(named), None) = (&named, &own) {
            return Err(Failure::new(format!(
                "{named_by} names the profile {named}, which is neither in {} nor in {}: correct the name, or leave \
                 {named_by} out",
                config.path.display(),
                credentials.path.display()
            )));
        }
        let own = own.unwrap_or_default();
        let services = own.get("services").map(|services| format!("services {services}"));
        let services = services.and_then(|heading| config.found.get(&heading).cloned()).unwrap_or_default();
        Ok(Profile { name, file: config.path, own, services })
    }

    /// The sections of a file that a variable names, or that stands in the user's folder; none without a
    /// file.
    fn sections(&self, variable: &str, name: &str) -> Result<File, Failure> {
        let home = || self.set("HOME").or_else(|| self.set("USERPROFILE")).map(PathBuf::from);
        let path = match self.set(variable).map(PathBuf::from) {
            None => home().unwrap_or_default().join(".aws").join(name),
            Some(path) => match (path.strip_prefix("~"), home()) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => path,
            },
        };
        match (self.read)(&path) {
            Ok(text) => Ok(File { path, found: aws_profile::sections(&text) }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(File { path, found: BTreeMap::new() }),
            Err(error) => Err(cannot("read the AWS settings in", &path, &error).into()),
        }
    }
}

/// A file of settings.
struct File {
    path: PathBuf,
    found: BTreeMap<String, Section>,
}

/// The settings of a profile.
struct Profile {
    name: String,
    file: PathBuf,
    own: Section,
    /// The section that its setting `services` names.
    services: Section,
}

impl Profile {
    fn endpoint(&self) -> Option<(String, String)> {
        let service = self.services.below("dynamodb", ENDPOINT_SETTING);
        let text = service.or_else(|| self.own.get(ENDPOINT_SETTING))?;
        let setting = format!("{ENDPOINT_SETTING} of the profile {} in {}", self.name, self.file.display());
        Some((setting, text.to_owned()))
    }
}

fn is_true(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile dev]\nregion = eu-north-1\nservices = local\n\
                          endpoint_url = http://10.0.0.1:8000\n[services local]\ndynamodb =\n  endpoint_url = http://10.0.0.2:8000\n\
                          [profile plain]\nendpoint_url = http://localhost:8001\n[profile off]\n\
                          ignore_configured_endpoint_urls = true\nendpoint_url = http://10.0.0.3\n";

    fn with<T>(
        variables: &[(&str, &str)],
        look: impl Fn(&AwsSettings<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let variable = |name: &str| {
            let own = variables.iter().find(|(known, _)| *known == name)?;
            Some(own.1.to_owned())
        };
        let read = |path: &Path| match path.to_str() {
            Some("/home/ada/.aws/config" | "/etc/aws") => Ok(CONFIG.to_owned()),
            Some("/home/ada/.aws/credentials") => Ok("[keys]\naws_access_key_id = x\n".to_owned()),
            _ => Err(ErrorKind::NotFound.into()),
        };
        look(&AwsSettings { variable: &variable, read: &read })
    }

    #[test]
    fn a_region_comes_from_the_flag_the_variables_and_the_profile_in_this_order() {
        let home = ("HOME", "/home/ada");
        let region =
            |variables: &[(&str, &str)], flag| with(variables, |own| own.region(flag).map_err(String::from));
        let both = [home, ("AWS_REGION", "ap-south-1"), ("AWS_DEFAULT_REGION", "sa-east-1")];
        let dev = [home, ("AWS_PROFILE", "dev"), ("AWS_REGION", "")];
        for (variables, flag, expected) in [
            (&both[..], Some("us-west-2"), "us-west-2"),
            (&both[..], None, "ap-south-1"),
            (&[home, both[2]], None, "sa-east-1"),
            (&[home, both[2], ("AWS_PROFILE", "nobody")], None, "sa-east-1"),
            (&dev, None, "eu-north-1"),
            (&[home], None, "eu-west-1"),
            (&[home, ("AWS_PROFILE", "keys")], None, "us-east-1"),
            (&[("AWS_CONFIG_FILE", "/etc/aws")], None, "eu-west-1"),
            (&[home, ("AWS_CONFIG_FILE", "~/.aws/config")], None, "eu-west-1"),
            (&[home, ("AWS_CONFIG_FILE", "/nothing")], None, "us-east-1"),
            (&[], None, "us-east-1"),
        ] {
            assert_eq!(region(variables, flag), Ok(expected.to_owned()), "{variables:?}");
        }
        let fault = region(&[home, ("AWS_PROFILE", "nobody")], None).unwrap_err();
        assert!(fault.contains("nobody") && fault.contains("/home/ada/.aws/config"), "{fault}");
    }

    #[test]
    fn the_keys_of_a_profile_come_from_both_files() {
        let home = [("HOME", "/home/ada"), ("AWS_PROFILE", "dev")];
        let keys =
            |name: &str| with(&home, |own| own.profile_keys("--from-profile", name).map_err(String::from));
        let expected = ProfileKeys { access_key_id: Some("x".to_owned()), ..ProfileKeys::default() };
        assert_eq!(keys("keys"), Ok(expected));
        assert_eq!(keys("dev").unwrap().region.as_deref(), Some("eu-north-1"));
        assert!(keys("nobody").unwrap_err().starts_with("--from-profile names the profile nobody"));
    }

    #[test]
    fn an_endpoint_comes_from_the_flag_the_variables_the_service_and_the_profile_in_this_order() {
        let home = ("HOME", "/home/ada");
        let (own, all) =
            (("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1"), ("AWS_ENDPOINT_URL", "https://db:2"));
        let dev = ("AWS_PROFILE", "dev");
        let found = |variables: &[(&str, &str)]| {
            let target = with(variables, |own| own.endpoint(None).map_err(String::from));
            target.map(|target| target.map(|own| (own.endpoint.to_string(), own.surprise().is_some())))
        };
        for (variables, expected) in [
            (&[home, dev, own, all][..], Some(("http://127.0.0.1:1", false))),
            (&[home, dev, all], Some(("https://db:2", true))),
            (&[home, dev], Some(("http://10.0.0.2:8000", true))),
            (&[home, ("AWS_PROFILE", "plain")], Some(("http://localhost:8001", false))),
            (&[home, ("AWS_PROFILE", "off"), own], None),
            (&[home, dev, own, (IGNORE_VARIABLE, "true")], None),
            (&[home, ("AWS_PROFILE", "off"), (IGNORE_VARIABLE, "false")], Some(("http://10.0.0.3", true))),
            (&[home], None),
        ] {
            let expected = expected.map(|(url, asks)| (url.to_owned(), asks));
            assert_eq!(found(variables), Ok(expected), "{variables:?}");
        }
        let fault = found(&[("AWS_ENDPOINT_URL", "localhost:8000")]).unwrap_err();
        assert!(fault.starts_with("AWS_ENDPOINT_URL is `localhost:8000`"), "{fault}");
        let flag: Endpoint = "http://db.example".parse().unwrap();
        let target =
            with(&[home, own], |own| own.endpoint(Some(&flag)).map_err(String::from)).unwrap().unwrap();
        assert_eq!((target.endpoint.to_string(), target.surprise()), ("http://db.example".to_owned(), None));
    }
}
