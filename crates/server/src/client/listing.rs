//! What an endpoint lists, printed: as JSON, an element in each line, or as lines for people.

use keywright_model::json::Json;

use super::endpoint::{Client, OwnCall, block_on};
use super::endpoint_arguments::EndpointArguments;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::output;

/// A list that an endpoint gives.
pub(crate) struct Listing {
    /// The call that asks for it.
    pub(crate) call: OwnCall,
    /// The member of the answer that has the elements.
    pub(crate) member: &'static str,
    /// An element as lines for people.
    pub(crate) lines: fn(&Json) -> Vec<String>,
    /// What is said to people of an answer without any, for this region.
    pub(crate) none: fn(&Json, &str) -> String,
}

impl Listing {
    /// Asks for the list and prints it: of one table or all, as JSON or for people.
    pub(crate) fn run(
        &self,
        endpoint: &EndpointArguments,
        table: Option<&str>,
        as_json: bool,
    ) -> Result<(), Failure> {
        let target = endpoint.target()?;
        let (found, none) = block_on(async {
            let mut client = endpoint.connect(&target).await?;
            let found = client.call_again(self.call, &Json::Object(Vec::new())).await?;
            let none = (self.none)(&found, &client.region);
            let Some(table) = table else { return Ok((found, none)) };
            let found = of_table(&found, self.member, table);
            if found.get(self.member).is_none_or(|own| own.elements().is_empty()) {
                check_table(&mut client, table).await?;
            }
            Ok::<_, Failure>((found, none))
        })?;
        print(&found, self.member, as_json, self.lines, &none);
        Ok(())
    }
}

/// Refuses the name of a table that does not exist. Who may list may lack the right to describe the table:
/// then nothing is known of it.
async fn check_table(client: &mut Client, table: &str) -> Result<(), Failure> {
    let body = Json::object([("TableName", Json::text(table))]);
    match client.ask_again("DescribeTable", &body).await {
        Err(refusal) if refusal.kind == "ResourceNotFoundException" => {
            let region = inline(&client.region);
            let text = format!("there is no table {} in the region {region}", inline(table));
            Err(Failure::new(text).advising("correct --table, or name the table's region in AWS_REGION"))
        }
        Err(refusal) if refusal.kind == "AccessDeniedException" => Ok(()),
        Err(refusal) => Err(refusal.into()),
        Ok(_) => Ok(()),
    }
}

/// A number with its noun.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// An answer with those elements of a member that are about one table.
pub(crate) fn of_table(answer: &Json, member: &'static str, table: &str) -> Json {
    let elements = answer.get(member).map(Json::elements).unwrap_or_default();
    let own = elements.iter().filter(|element| element.str_at("table") == Some(table)).cloned();
    Json::object([(member, Json::List(own.collect()))])
}

/// Prints the elements in a member of an answer. `none` is said to people if there are none.
pub(crate) fn print(answer: &Json, member: &str, as_json: bool, lines: fn(&Json) -> Vec<String>, none: &str) {
    let elements = answer.get(member).map(Json::elements).unwrap_or_default();
    for element in elements {
        if as_json {
            output::say(&element.compact());
        } else {
            for line in lines(element) {
                output::say(&line);
            }
        }
    }
    if elements.is_empty() && !as_json {
        output::note(none);
    }
}
