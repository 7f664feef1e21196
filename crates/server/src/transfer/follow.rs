//! Follows an export, an import or a bulk put to its end, also while the server starts again.
//!
//! It does not know what their counts mean.

use std::time::Duration;

use keywright_model::json::Json;

use crate::client::endpoint::Client;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks in succession that may find no server: it may be starting again.
const MISSES_MAX: u32 = 10;

/// What is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    Export,
    Import,
    BulkPut,
}

/// How the API calls it.
struct Names {
    text: &'static str,
    operation: &'static str,
    arn: &'static str,
    description: &'static str,
    status: &'static str,
}

impl Followed {
    const fn names(self) -> Names {
        match self {
            Self::Export => Names {
                text: "export",
                operation: "DescribeExport",
                arn: "ExportArn",
                description: "ExportDescription",
                status: "ExportStatus",
            },
            Self::Import => Names {
                text: "import",
                operation: "DescribeImport",
                arn: "ImportArn",
                description: "ImportTableDescription",
                status: "ImportStatus",
            },
            Self::BulkPut => Names {
                text: "bulk put",
                operation: "DescribeBulkOperation",
                arn: "BulkOperationArn",
                description: "BulkOperationDescription",
                status: "BulkOperationStatus",
            },
        }
    }

    /// Its status in a description.
    pub(super) fn status(self, description: &Json) -> &str {
        description.str_at(self.names().status).unwrap_or_default()
    }

    /// Whether a description says that it is still at work.
    pub(super) fn is_at_work(self, description: &Json) -> bool {
        matches!(self.status(description), "IN_PROGRESS" | "CANCELLING")
    }

    /// The request for its description, and where that is in the answer.
    pub(super) fn question(self, arn: &str) -> (&'static str, Json) {
        let names = self.names();
        (names.operation, Json::object([(names.arn, Json::text(arn))]))
    }

    /// The description in an answer.
    pub(super) fn described(self, answer: &Json) -> Json {
        answer.get(self.names().description).cloned().unwrap_or(Json::Null)
    }
}

/// Follows it to its end. `show` gets its description after each look.
pub(super) async fn follow(
    client: &mut Client,
    followed: Followed,
    arn: &str,
    mut show: impl FnMut(&Json),
) -> Result<Json, Failure> {
    let (operation, body) = followed.question(arn);
    let mut misses = 0;
    loop {
        match client.ask_again(operation, &body).await {
            Ok(answer) => {
                misses = 0;
                let description = followed.described(&answer);
                show(&description);
                if !followed.is_at_work(&description) {
                    return Ok(description);
                }
            }
            // The server answers, and not with what is followed.
            Err(refusal) if !refusal.kind.is_empty() => return Err(refusal.into()),
            Err(_) if misses < MISSES_MAX => misses += 1,
            Err(refusal) => {
                let text = followed.names().text;
                let advice = format!("the {text} goes on once the server does; its ARN is {arn}");
                return Err(Failure::from(refusal).advising(advice));
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Says that no object had anything to read.
pub(super) fn nothing_read(bucket: &str, prefix: Option<&str>) -> String {
    let which =
        prefix.map_or_else(String::new, |prefix| format!(" whose key begins with {}", inline(prefix)));
    format!("Nothing was read: bucket {bucket} has no object{which}, or only empty ones. Check --from.")
}
