//! `keywright jobs`: how the jobs of an endpoint stand, and following one to its end.

use std::time::Duration;

use clap::Args;
use keywright_model::json::Json;

use crate::client::endpoint::{Client, OwnCall, Refusal, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::{self, counted};
use crate::http::jobs::{PATH, Question, request};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::timestamp;

const CALL: OwnCall = OwnCall { name: "Jobs", path: PATH };

/// The code of an import that did not take all records.
const NOT_IMPORTED: &str = "ItemValidationError";

/// The pause between two looks at a job.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Looks in succession that may find no server: it may be starting again.
const MISSES_MAX: u32 = 10;

/// List long work: restores, rollbacks, copies of backups, exports, imports, bulk puts
///
/// Shows the jobs of the account and region that have not ended, and those that ended in the last 35 days.
#[derive(Debug, Args)]
pub(crate) struct JobsArguments {
    /// Show this job only
    id: Option<String>,
    /// Show at most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000),
          conflicts_with = "id")]
    limit: u32,
    /// Print JSON, a job in each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &JobsArguments) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    let limit = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    let question = arguments.id.clone().map_or(Question::Newest(limit), Question::One);
    let jobs = block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        Ok(client.call_again(CALL, &request(&question)).await?)
    })?;
    listing::print(&jobs, "jobs", arguments.json, lines, "There are no jobs.");
    Ok(())
}

/// A job as lines for people.
fn lines(job: &Json) -> Vec<String> {
    let text = |name: &str| inline(job.str_at(name).unwrap_or_default()).into_owned();
    let number = |name: &str| job.get(name).and_then(Json::as_u64);
    let time = |name: &str| number(name).map(timestamp::of);
    let items = number("items").unwrap_or_default();
    let head =
        format!("{}  {}  {}  {}  {items} items", text("id"), text("kind"), text("table"), text("state"));
    let mut lines = vec![head];
    let begun = time("started").or_else(|| time("created")).unwrap_or_default();
    lines.push(match time("ended") {
        Some(ended) => format!("    from {begun} to {ended}"),
        None => format!("    since {begun}"),
    });
    if let Some(counts) = job.get("rollback") {
        let counts = counts.members().iter().map(|(name, count)| format!("{name} {}", count.compact()));
        lines.push(format!("    {}", counts.collect::<Vec<_>>().join(", ")));
    }
    if job.get("waits-for").is_some() {
        lines.push(format!("    waits: {}", text("waits-for")));
    }
    let errors = number("errors").unwrap_or_default();
    if let Some(error) = job.get("error") {
        let part = |name: &str| inline(error.str_at(name).unwrap_or_default()).into_owned();
        // The service's message names a log of CloudWatch, which is not here.
        let message = if part("code") == NOT_IMPORTED {
            "some records were not imported".to_owned()
        } else {
            part("message")
        };
        lines.push(format!("    {}: {message}", part("code")));
    }
    if errors > 0 {
        let errors = counted(errors, "error");
        lines.push(format!("    {errors}: `keywright import errors {}` shows them", text("id")));
    }
    lines
}

/// Follows a job to its end. `show` gets it after each look.
pub(super) async fn follow(
    client: &mut Client,
    id: &str,
    mut show: impl FnMut(&Json),
) -> Result<Json, Failure> {
    let mut misses = 0;
    loop {
        match look(client, id).await {
            Ok(job) => {
                misses = 0;
                show(&job);
                if job.get("ended").is_some() {
                    return Ok(job);
                }
            }
            // The server answers, and not with the job.
            Err(refusal) if !refusal.kind.is_empty() => return Err(refusal.into()),
            Err(_) if misses < MISSES_MAX => misses += 1,
            Err(refusal) => {
                let advice = format!("the job goes on once the server does; `keywright jobs {id}` shows it");
                return Err(Failure::from(refusal).advising(advice));
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn look(client: &mut Client, id: &str) -> Result<Json, Refusal> {
    let answer = client.call_again(CALL, &request(&Question::One(id.to_owned()))).await?;
    let job = answer.get("jobs").map(Json::elements).unwrap_or_default().first().cloned();
    job.ok_or_else(|| Refusal::from("Jobs: the answer has no job".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_shows_its_state_times_counts_and_error() {
        let job = r#"{"id": "7-ab", "kind": "rollback", "table": "T", "state": "failed", "items": 3, "created": 0,
            "started": 1, "ended": 2, "rollback": {"removed": 3}, "error": {"code": "A", "message": "b"}}"#;
        assert_eq!(
            lines(&Json::parse(job).expect("JSON")),
            [
                "7-ab  rollback  T  failed  3 items",
                "    from 1970-01-01T00:00:00.001Z to 1970-01-01T00:00:00.002Z",
                "    removed 3",
                "    A: b",
            ]
        );
        let import = r#"{"id": "7-ab", "kind": "import", "table": "T", "state": "failed", "created": 0,
            "errors": 2, "error": {"code": "ItemValidationError", "message": "look into CloudWatch"}}"#;
        let import = lines(&Json::parse(import).expect("JSON"));
        assert_eq!(import[2], "    ItemValidationError: some records were not imported");
        assert_eq!(import[3], "    2 errors: `keywright import errors 7-ab` shows them");
        let bulk = r#"{"id": "7-ab", "kind": "bulk-put", "table": "T", "state": "running", "errors": 1}"#;
        let bulk = lines(&Json::parse(bulk).expect("JSON"));
        assert_eq!(bulk.last().expect("a line"), "    1 error: `keywright import errors 7-ab` shows them");
        let waiting = r#"{"id": "7-ab", "kind": "seal", "table": "T", "state": "waiting", "created": 0,
            "waits-for": "cannot open /backups: no such folder"}"#;
        let waiting = lines(&Json::parse(waiting).expect("JSON"));
        assert_eq!(waiting[1], "    since 1970-01-01T00:00:00.000Z");
        assert_eq!(waiting[2], "    waits: cannot open /backups: no such folder");
    }
}
