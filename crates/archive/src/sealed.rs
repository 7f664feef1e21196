//! The text of a manifest: one JSON object whose last member is the SHA-256 of all that stands before.
//!
//! The sum covers the file's bytes without the line of that member and the comma before it, so a changed byte
//! is found wherever it stands, also between the members.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::fault::Wrong;
use crate::sum::Sum;

/// The format that this release writes, and the latest that it reads.
pub(crate) const FORMAT: u64 = 1;
const BEFORE_SUM: &str = ",\n  \"sha256\": \"";
const AFTER_SUM: &str = "\"\n}\n";
const END: &str = "\n}\n";

/// The text of an object, and its sum.
pub(crate) fn seal(members: &impl Serialize) -> (Vec<u8>, Sum) {
    let text = serde_json::to_string_pretty(members).expect("members are texts, numbers and lists of them");
    let open = text.strip_suffix("\n}").expect("an object has members and ends with a brace");
    let sum = sum_of(open);
    (with_sum(open, sum), sum)
}

/// The sum over an object, given without its end.
pub(crate) fn sum_of(open: &str) -> Sum {
    Sum::of(format!("{open}{END}").as_bytes())
}

/// The text of an object, given without its end.
pub(crate) fn with_sum(open: &str, sum: Sum) -> Vec<u8> {
    format!("{open}{BEFORE_SUM}{sum}{AFTER_SUM}").into_bytes()
}

/// The members of a text that `seal` made, and its sum.
pub(crate) fn open<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Sum), Wrong> {
    let text = str::from_utf8(bytes).map_err(|_| Wrong::Malformed("it is no text in UTF-8".to_owned()))?;
    // First of all: a later release may seal its manifests in another way.
    if let Ok(Format { format }) = serde_json::from_str(text)
        && format > FORMAT
    {
        return Err(Wrong::NewerFormat { found: format, known: FORMAT });
    }
    let cut = || Wrong::Malformed("it does not end with its SHA-256, as if it was truncated".to_owned());
    let (open, sum) =
        text.strip_suffix(AFTER_SUM).and_then(|rest| rest.rsplit_once(BEFORE_SUM)).ok_or_else(cut)?;
    let sum: Sum = sum.parse().map_err(|_| cut())?;
    if sum_of(open) != sum {
        return Err(Wrong::Sum);
    }
    let members =
        serde_json::from_str(&format!("{open}{END}")).map_err(|error| Wrong::Malformed(error.to_string()))?;
    Ok((members, sum))
}

#[derive(Deserialize)]
struct Format {
    format: u64,
}
