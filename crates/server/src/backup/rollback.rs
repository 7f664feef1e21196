//! `keywright rollback`: shows what a rollback would do, asks, begins it and follows it to its end.

use clap::Args;
use keywright_engine::{RollbackCounts, RollbackFilter, RollbackRequest};
use keywright_exchange::table_key;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;
use keywright_workbench::price::{Item as Priced, Prices, TODAY};

use super::difference::{attributes, differences, shown};
use super::jobs::follow;
use crate::client::aws_settings::Target;
use crate::client::confirm::{confirm, confirm_always};
use crate::client::endpoint::{Client, OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::key_argument::{self, Names};
use crate::client::progress::{Bar, Spinner};
use crate::client::time_argument::TimeArgument;
use crate::data::table;
use crate::http::rollbacks::{PATH, Wish, add_counts, next, request};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::{output, timestamp};

const CALL: OwnCall = OwnCall { name: "Rollback", path: PATH };
/// Items that the preview shows.
const EXAMPLES_MAX: usize = 10;

/// Bring a table, some of its items or one item back to what they were
///
/// Undoes all changes since a time by ordinary writes, which streams and indexes see. First it shows what
/// would change. An item that is changed after the beginning is left alone. The table needs point-in-time
/// recovery.
#[derive(Debug, Args)]
pub(crate) struct RollbackArguments {
    /// The table
    #[arg(long, value_name = "NAME")]
    table: String,
    /// The time to go back to: `2026-10-06T23:16:32Z`, or so long ago: `-10m`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: TimeArgument,
    /// Only the item with this key, such as `{"pk": "a", "sk": 7}`, or the items with this partition key
    #[arg(long, value_name = "JSON", value_parser = key_argument::key)]
    key: Option<Item>,
    /// Only the items that match this filter expression. It is judged on the item as it was at the time; if
    /// there was none, on the present one
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// The filter's values, such as `{":low": 5}` or `{":low": {"N": "5"}}`
    #[arg(long, value_name = "JSON", value_parser = key_argument::key, requires = "filter")]
    values: Option<Item>,
    /// The filter's names, such as `{"#s": "status"}`
    #[arg(long, value_name = "JSON", value_parser = key_argument::names, requires = "filter")]
    names: Option<Names>,
    /// Also put back items whose time to live has passed; it deletes them again
    #[arg(long)]
    with_expired: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &RollbackArguments) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    let filter = arguments.filter.as_ref().map(|expression| RollbackFilter {
        expression: expression.clone(),
        names: arguments.names.as_ref().map(|names| names.0.clone()).unwrap_or_default(),
        values: arguments.values.clone().unwrap_or_default(),
    });
    let wish = RollbackRequest {
        table: arguments.table.clone(),
        to_ms: arguments.to.0,
        key: arguments.key.clone(),
        filter,
        with_expired: arguments.with_expired,
    };
    block_on(roll_back(arguments, &target, wish))
}

async fn roll_back(
    arguments: &RollbackArguments,
    target: &Target,
    wish: RollbackRequest,
) -> Result<(), Failure> {
    let mut client = arguments.endpoint.connect(target).await?;
    let description = table::describe(&mut client, &wish.table).await?;
    let preview = preview(&mut client, &wish).await?;
    preview.lines(&wish, &description)?.iter().for_each(|line| output::say(line));
    let changed = preview.counts.changed();
    if arguments.dry_run {
        return Ok(());
    }
    if changed == 0 {
        output::note("There is nothing to change.");
        return Ok(());
    }
    let change = format!("this changes {} of the table {}", items(changed), wish.table);
    if arguments.yes {
        confirm(target, &change)?;
    } else {
        confirm_always(target, &change)?;
    }
    let table = wish.table.clone();
    // The question may have waited longer than the endpoint keeps a connection.
    let mut client = arguments.endpoint.connect(target).await?;
    let begun = match client.call(CALL, &request(&Wish::Begin(wish))).await {
        Ok(job) => job,
        Err(refusal) => return Err(table::explained(&mut client, &table, refusal).await.into()),
    };
    let id = begun.str_at("id").ok_or("Rollback: the answer has no job")?.to_owned();
    output::note(&format!("Job {} has begun.", inline(&id)));
    let bar = Bar::new();
    let job = follow(&mut client, &id, |job| {
        let done = counts_of(job);
        let done = done.changed() + done.changed_meanwhile + done.refused;
        bar.at(&format!("rolling back {table}"), done, changed.max(done));
    })
    .await?;
    drop(bar);
    end(&job, &table, arguments.to)
}

/// Says how a job has ended.
fn end(job: &Json, table: &str, to: TimeArgument) -> Result<(), Failure> {
    if let Some(error) = job.get("error") {
        let message = inline(error.str_at("message").unwrap_or_default()).into_owned();
        return Err(Failure::new(format!("the rollback has failed: {message}")));
    }
    let counts = counts_of(job);
    let changed = items(counts.changed());
    output::note(&format!("Of {table}, {changed} brought back to {}.", timestamp::of(to.0)));
    for (left, why) in [
        (counts.changed_meanwhile, "because of changes after the beginning"),
        (counts.refused, "because the item collection has no room"),
    ] {
        if left > 0 {
            output::note(&format!("{} left alone {why}.", items(left)));
        }
    }
    Ok(())
}

fn counts_of(job: &Json) -> RollbackCounts {
    let mut counts = RollbackCounts::default();
    if let Some(answered) = job.get("rollback") {
        add_counts(&mut counts, answered);
    }
    counts
}

/// A number of items, for people.
fn items(count: u64) -> String {
    format!("{count} {}", if count == 1 { "item" } else { "items" })
}

/// What a rollback would do.
#[derive(Default)]
struct Preview {
    counts: RollbackCounts,
    /// Images before and after.
    examples: Vec<(Option<Item>, Option<Item>)>,
    expired: Vec<Item>,
}

async fn preview(client: &mut Client, wish: &RollbackRequest) -> Result<Preview, Failure> {
    let spinner = Spinner::new();
    let mut preview = Preview::default();
    let mut from = None;
    loop {
        spinner.show(&format!("looking at {}: {} would change", wish.table, items(preview.counts.changed())));
        let asked = request(&Wish::Preview(wish.clone(), from.take()));
        let page = match client.call_again(CALL, &asked).await {
            Ok(page) => page,
            Err(refusal) => return Err(table::explained(client, &wish.table, refusal).await.into()),
        };
        preview.add(&page).ok_or("Rollback: the answer cannot be read")?;
        from = next(&page);
        if from.is_none() {
            return Ok(preview);
        }
    }
}

impl Preview {
    /// Adds a page.
    fn add(&mut self, page: &Json) -> Option<()> {
        add_counts(&mut self.counts, page.get("counts")?);
        let image = |json: &Json| match json {
            Json::Null => Some(None),
            item => read_item(item).map(|read| Some(read.item)),
        };
        for example in page.get("examples").map(Json::elements)? {
            if self.examples.len() < EXAMPLES_MAX {
                self.examples.push((image(example.get("before")?)?, image(example.get("after")?)?));
            }
        }
        for expired in page.get("expired").map(Json::elements)? {
            if self.expired.len() < EXAMPLES_MAX {
                self.expired.push(image(expired)??);
            }
        }
        Some(())
    }

    fn lines(&self, wish: &RollbackRequest, description: &Json) -> Result<Vec<String>, Failure> {
        let keys = table_key::keys(description)?;
        let RollbackCounts { put_back, removed, overwritten, unchanged, expired, .. } = self.counts;
        let mut lines = vec![format!("{} back to {}:", inline(&wish.table), timestamp::of(wish.to_ms))];
        for (count, what) in [
            (put_back, "to put back"),
            (removed, "to remove"),
            (overwritten, "to overwrite"),
            (unchanged, "changed and the same again"),
            (self.counts.changed_meanwhile, "changed during this look"),
        ] {
            if count > 0 || what.starts_with("to ") {
                lines.push(format!("  {} {what}", items(count)));
            }
        }
        lines.push(format!("  {}", cost(self.counts.write_units, description)));
        for (before, after) in &self.examples {
            lines.extend(example(&keys, before.as_ref(), after.as_ref()));
        }
        let more =
            self.counts.changed().saturating_sub(u64::try_from(self.examples.len()).unwrap_or(u64::MAX));
        if more > 0 {
            lines.push(format!("  … and {more} more"));
        }
        if expired > 0 {
            lines.push(format!(
                "  {} not to put back, as time to live has passed (--with-expired puts them back):",
                items(expired)
            ));
            lines.extend(self.expired.iter().map(|item| format!("    {}", key_text(&keys, item))));
        }
        Ok(lines)
    }
}

fn example(keys: &[KeyAttribute], before: Option<&Item>, after: Option<&Item>) -> Vec<String> {
    let key = |item: &Item| key_text(keys, item);
    match (before, after) {
        (Some(before), Some(after)) => {
            let head = format!("  {}: to overwrite", key(after));
            std::iter::once(head).chain(differences(before, after)).collect()
        }
        (None, Some(after)) => {
            let head = format!("  {}: to put back", key(after));
            std::iter::once(head).chain(attributes(after)).collect()
        }
        (Some(before), None) => vec![format!("  {}: to remove", key(before))],
        (None, None) => Vec::new(),
    }
}

fn key_text(keys: &[KeyAttribute], item: &Item) -> String {
    let value = |key: &KeyAttribute| item.get(&key.name).map(shown).unwrap_or_default();
    keys.iter().map(value).collect::<Vec<_>>().join(" ")
}

/// The write units, and what they cost on demand, or how long they take of what is provisioned.
fn cost(units: u64, description: &Json) -> String {
    let table = |path: &[&str]| description.get("Table").and_then(|table| table.at(path));
    let provisioned = table(&["ProvisionedThroughput", "WriteCapacityUnits"]).and_then(Json::as_u64);
    if let Some(provisioned) = provisioned.filter(|units| *units > 0) {
        let seconds = units.div_ceil(provisioned);
        return format!("{units} write units, at least {seconds} s of the {provisioned} provisioned units");
    }
    let class = table(&["TableClassSummary", "TableClass"]).and_then(Json::as_str);
    let priced = match class {
        Some("STANDARD_INFREQUENT_ACCESS") => Priced::InfrequentWriteRequest,
        _ => Priced::WriteRequest,
    };
    let each = Prices::built_in(TODAY).ok().and_then(|prices| prices.of(priced));
    let money = each.map(|each| format!(": {} on demand in {TODAY}", each.times(i128::from(units), 1)));
    format!("{units} write units{}", money.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(more: &str) -> Json {
        let text = format!(
            r#"{{"Table": {{"TableName": "T", "KeySchema": [{{"AttributeName": "pk", "KeyType": "HASH"}}],
                "AttributeDefinitions": [{{"AttributeName": "pk", "AttributeType": "S"}}]{more}}}}}"#
        );
        Json::parse(&text).expect("JSON")
    }

    #[test]
    fn a_preview_shows_counts_cost_examples_and_what_stays_away() {
        let pages = [
            r#"{"counts": {"putBack": 1, "overwritten": 1, "writeUnits": 3000000}, "expired": [],
                "examples": [{"before": null, "after": {"pk": {"S": "a"}}},
                             {"before": {"pk": {"S": "b"}, "v": {"N": "2"}},
                              "after": {"pk": {"S": "b"}, "v": {"N": "1"}}}]}"#,
            r#"{"counts": {"removed": 12, "unchanged": 4, "expired": 1}, "expired": [{"pk": {"S": "d"}}],
                "examples": [{"before": {"pk": {"S": "c"}}, "after": null}]}"#,
        ];
        let mut preview = Preview::default();
        for page in pages {
            preview.add(&Json::parse(page).expect("JSON")).expect("a page");
        }
        let wish = RollbackRequest { table: "T".to_owned(), ..RollbackRequest::default() };
        assert_eq!(
            preview.lines(&wish, &described("")).expect("lines").join("\n"),
            r#"T back to 1970-01-01T00:00:00.000Z:
  1 item to put back
  12 items to remove
  1 item to overwrite
  4 items changed and the same again
  3000000 write units: $1.88 on demand in us-east-1@2026-08
  "a": to put back
    pk: "a"
  "b": to overwrite
    v: 2 → 1
  "c": to remove
  … and 11 more
  1 item not to put back, as time to live has passed (--with-expired puts them back):
    "d""#
        );
    }

    #[test]
    fn units_of_a_provisioned_table_cost_time() {
        let provisioned = described(r#", "ProvisionedThroughput": {"WriteCapacityUnits": 7}"#);
        assert_eq!(cost(15, &provisioned), "15 write units, at least 3 s of the 7 provisioned units");
        let on_demand = described(r#", "ProvisionedThroughput": {"WriteCapacityUnits": 0}"#);
        assert!(cost(1, &on_demand).starts_with("1 write units: < $0.01"), "{}", cost(1, &on_demand));
    }
}
