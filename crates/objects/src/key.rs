//! Names of buckets and keys of objects: which there can be, and which are parts of no folder's path.

use std::fmt;

use object_store::path::Path;

/// The longest name of a bucket, and of a file on most file systems.
const NAME_BYTES_MAX: usize = 255;

/// A name or key that there cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadName(&'static str);

impl fmt::Display for BadName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// Whether a bucket can have this name. None leads out of a folder of buckets.
pub fn is_bucket_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && !name.starts_with('.')
}

/// Refuses what no bucket is called.
pub(crate) fn check_bucket(name: &str) -> Result<(), BadName> {
    let rule =
        "the name of a bucket has 1 to 255 letters, digits, \"_\", \"-\" and \".\", and no \".\" first";
    if is_bucket_name(name) { Ok(()) } else { Err(BadName(rule)) }
}

/// The path of a key: the key itself.
pub(crate) fn path(key: &str) -> Result<Path, BadName> {
    match Path::parse(key) {
        // It leaves out a `/` at either end.
        Ok(path) if path.as_ref() == key && !key.is_empty() => Ok(path),
        Ok(_) | Err(_) => Err(BadName(
            "a key has parts between \"/\" that are not empty, \".\" or \"..\", and no control characters",
        )),
    }
}

/// A key in which the characters that S3 advises against are written as `%` and two digits.
pub fn encoded(key: &str) -> String {
    Path::from(key).to_string()
}

/// Refuses a start of keys that no key has.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), BadName> {
    let has_control = prefix.bytes().any(|byte| byte.is_ascii_control());
    if has_control { Err(BadName("a key has no control characters, such as NUL")) } else { Ok(()) }
}

/// Refuses a key that is no path of a file, or that of a file which is being written.
pub(crate) fn check_file(path: &Path) -> Result<(), BadName> {
    if cfg!(windows) && path.as_ref().contains('\\') {
        return Err(BadName("a key in a folder has no \"\\\""));
    }
    match path.filename() {
        Some(name) if of_unfinished(name).is_some() => {
            Err(BadName("\"#\" and a number at the end of a key mark files that are being written"))
        }
        _ => Ok(()),
    }
}

/// The name that a file has at its end, if it is being written: `name#1` is renamed to `name`.
pub(crate) fn of_unfinished(name: &str) -> Option<&str> {
    let (object, number) = name.rsplit_once('#')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(object)
}
