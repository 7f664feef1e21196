//! The ARN of an import or a bulk put, found by the id that `keywright jobs` shows.

use keywright_model::json::Json;

use crate::client::endpoint::Client;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// An operation that lists, the member of its answer, and that of an element with its ARN.
const LISTS: [(&str, &str, &str); 2] = [
    ("ListImports", "ImportSummaryList", "ImportArn"),
    ("ListBulkOperations", "BulkOperationsSummaryList", "BulkOperationArn"),
];

/// The ARN that a text names: itself, or that of the import or bulk put with this id.
pub(super) async fn arn_of(client: &mut Client, named: &str) -> Result<String, Failure> {
    if named.starts_with("arn:") {
        return Ok(named.to_owned());
    }
    for list in LISTS {
        if let Some(arn) = find(client, list, named).await? {
            return Ok(arn);
        }
    }
    let text = format!("{} has no import and no bulk put {}", client.endpoint, inline(named));
    Err(Failure::new(text).advising("name an ARN, or an id of `keywright jobs`"))
}

async fn find(
    client: &mut Client,
    (operation, member, arn): (&str, &str, &str),
    id: &str,
) -> Result<Option<String>, Failure> {
    let mut question = Json::Object(Vec::new());
    loop {
        let answer = client.ask_again(operation, &question).await?;
        let listed = answer.get(member).map(Json::elements).unwrap_or_default();
        let mut arns = listed.iter().filter_map(|one| one.str_at(arn));
        if let Some(found) = arns.find(|arn| arn.rsplit('/').next() == Some(id)) {
            return Ok(Some(found.to_owned()));
        }
        let Some(token) = answer.str_at("NextToken") else { return Ok(None) };
        question.set("NextToken", Json::text(token));
    }
}
