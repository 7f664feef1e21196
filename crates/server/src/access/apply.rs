//! Makes an account as a file says: secrets are read before the first call, and each change is reported.

use std::path::Path;

use keywright_access::file::{Secret, Step};

use super::iam::Iam;
use crate::process::failure::Failure;
use crate::storage::private_file;

/// A secret. Paths are those of a file in this folder.
pub(crate) fn secret(secret: &Secret, folder: &Path) -> Result<String, Failure> {
    let text = match secret {
        Secret::PlainText(text) => text.clone(),
        Secret::Variable(name) => std::env::var(name)
            .map_err(|_| Failure::new(format!("the environment variable {name} has no secret: set it")))?,
        Secret::File(path) => {
            let path = folder.join(path);
            let fault =
                |fault: &str| Failure::new(format!("cannot read the secret in {}: {fault}", path.display()));
            private_file::read(&path)
                .map_err(|text| fault(&text))?
                .ok_or_else(|| fault("it does not exist"))?
        }
    };
    Ok(text.trim().to_owned())
}

/// The steps with the secrets that they need among their parameters.
pub(crate) fn with_secrets(steps: Vec<Step>, file: &Path) -> Result<Vec<Step>, Failure> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let add = |mut step: Step| {
        if let Some(named) = step.secret.take() {
            let text =
                secret(&named, folder).map_err(|fault| Failure::new(format!("{}: {fault}", step.text)))?;
            step.members.push(("SecretAccessKey".to_owned(), text));
        }
        Ok(step)
    };
    steps.into_iter().map(add).collect()
}

/// Takes the steps, and says each that is done.
pub(crate) async fn take(iam: &mut impl Iam, steps: &[Step], say: impl Fn(&str)) -> Result<(), Failure> {
    for (done, step) in steps.iter().enumerate() {
        iam.call(step.operation, &step.members).await.map_err(|fault| {
            Failure::new(format!(
                "cannot {}: {fault} ({done} of {} changes are made: remove the cause and apply the file again)",
                step.text,
                steps.len()
            ))
        })?;
        say(&step.text);
    }
    Ok(())
}
