//! Reads an event as functions in Rust do, with their library, and writes what it has read:
//! `read_event FILE`.

use aws_lambda_events::event::dynamodb::{Event, TimeWindowEvent};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name the file of the event")?;
    let text = std::fs::read_to_string(file)?;
    let has_window = serde_json::from_str::<serde_json::Value>(&text)?.get("window").is_some();
    let read = if has_window {
        serde_json::to_string(&serde_json::from_str::<TimeWindowEvent>(&text)?)?
    } else {
        serde_json::to_string(&serde_json::from_str::<Event>(&text)?)?
    };
    println!("{read}");
    Ok(())
}
