//! Which secrets of a file differ from those of a server. IAM gives no secret back, so each key of the file
//! signs one request: a wrong secret is refused.

use std::path::Path;

use keywright_access::file::{AccessFile, Principals};

use super::{apply, iam};
use crate::client::endpoint::Client;
use crate::process::failure::Failure;

/// What STS answers to a wrong secret.
const WRONG_SECRET: &str = "SignatureDoesNotMatch";

/// For people: each active key of the file that the account has with another secret, or whose secret cannot
/// be read. `path` is the file's, which names files of secrets.
pub(crate) async fn differing(
    client: &Client,
    (file, path): (&AccessFile, &Path),
    there: &Principals,
) -> Result<Vec<String>, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut differing = Vec::new();
    for user in file.principals.entities.values() {
        let Some(there) = there.entity(user.kind, &user.name) else { continue };
        for (id, key) in &user.keys {
            let is_there = there.keys.get(id).is_some_and(|key| key.is_active);
            let Some(secret) = key.secret.as_ref().filter(|_| is_there) else { continue };
            let name = &user.name;
            match apply::secret(secret, folder) {
                Err(fault) => differing.push(format!("secret of key {id} of user {name}, not compared: {fault}")),
                Ok(secret) if is_accepted(client, (id, &secret)).await? => {}
                Ok(_) => differing.push(format!(
                    "secret of key {id} of user {name}, which differs: write a key with another id, or delete this \
                     one first"
                )),
            }
        }
    }
    Ok(differing)
}

async fn is_accepted(client: &Client, key: (&str, &str)) -> Result<bool, Failure> {
    match iam::identity_of(&mut client.with_key(key).await?).await {
        Ok(_) => Ok(true),
        Err(refusal) if refusal.kind == WRONG_SECRET => Ok(false),
        Err(refusal) => Err(refusal.into()),
    }
}
