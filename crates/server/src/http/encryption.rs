//! The call `POST /_keywright/encryption`: how the data folder is encrypted, a new data key, and files
//! written anew under it.
//!
//! It knows the form of requests and responses, for the server and for `keywright encryption`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::process::failure::Failure;
use crate::storage::database::Database;
use crate::storage::encryption::census::Census;
use crate::storage::encryption::rotation::Progress;

pub(crate) const PATH: &str = "/_keywright/encryption";
const FORM: &str =
    r#"the body is none of {"action": "status"}, {"action": "rotate-data"} and {"action": "rewrite"}"#;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Wish {
    Status,
    /// A new data key.
    RotateData,
    /// A step of writing files anew; it is asked for until the answer says that nothing is left.
    Rewrite,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    action: Wish,
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answered {
    /// Whether nothing is left to be written anew.
    pub(crate) is_done: bool,
    #[serde(flatten)]
    pub(crate) census: Census,
}

/// Reads a request's body.
pub(super) fn read(body: &[u8]) -> Result<Wish, String> {
    let body: Body = serde_json::from_slice(body).map_err(|_| FORM.to_owned())?;
    Ok(body.action)
}

/// What the audit log shows of a request: its action, which is one of three words.
pub(super) fn recorded(body: &[u8]) -> serde_json::Value {
    let action = read(body).ok().and_then(|action| serde_json::to_value(Body { action }).ok());
    action.unwrap_or(serde_json::Value::Null)
}

/// Does what a request asks for. It waits for files, and perhaps for a key service.
pub(super) fn answered(database: &Database, wish: Wish) -> Result<Answered, Failure> {
    let taken = |folder: &Path| Census::take(folder);
    let progress = match (wish, database.rotation()) {
        (Wish::Rewrite, Some(rotation)) => rotation.rewrite()?,
        (Wish::RotateData, Some(rotation)) => {
            rotation.add_key()?;
            rotation.rewrite()?
        }
        (Wish::Rewrite | Wish::RotateData, None) => {
            return Err(Failure::new("the store is being opened again").advising("try again in a moment"));
        }
        (Wish::Status, _) => {
            let census = database.folder().map(taken).transpose()?.unwrap_or_default();
            Progress { is_done: census.outdated_bytes() == 0, census }
        }
    };
    let Progress { is_done, mut census } = progress;
    census.source = database.encrypted().map(|folder| folder.source.shown());
    Ok(Answered { is_done, census })
}

/// The body of a request.
pub(crate) fn request(action: Wish) -> Vec<u8> {
    serde_json::to_vec(&Body { action }).expect("a word is JSON")
}

/// The body of a response.
pub(super) fn shown(answered: &Answered) -> Vec<u8> {
    serde_json::to_vec(answered).expect("numbers and texts are JSON")
}

/// The body of a refusal.
pub(super) fn refusal(message: &str) -> Vec<u8> {
    serde_json::json!({ "message": message }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_names_one_of_three_actions() {
        for wish in [Wish::Status, Wish::RotateData, Wish::Rewrite] {
            assert_eq!(read(&request(wish)), Ok(wish));
        }
        assert_eq!(read(br#"{"action": "rotate-data"}"#), Ok(Wish::RotateData));
        for body in ["", "{}", r#"{"action": "disable"}"#, r#"{"action": "status", "x": 1}"#] {
            assert_eq!(read(body.as_bytes()), Err(FORM.to_owned()), "{body}");
        }
        let answered = Answered { is_done: true, census: Census::default() };
        assert_eq!(serde_json::from_slice::<Answered>(&shown(&answered)).unwrap(), answered);
    }
}
