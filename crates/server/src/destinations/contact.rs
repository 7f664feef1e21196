//! The first contact with a stream, which decides whether a destination becomes ACTIVE or `ENABLE_FAILED`.

use std::time::Duration;

use keywright_engine::{Contact, Delivery};
use keywright_semantics::messages::destination as messages;
use keywright_wire::kinesis::{DESCRIBE_TARGET, StreamName, describe_body, is_active};

use super::endpoint::{CallFault, Endpoint};
use super::{Begun, Tools};
use crate::process::environment;

/// How long a stream is tried to be reached. The service takes a minute for some that it cannot reach.
const REACHED_WITHIN: Duration = Duration::from_mins(1);
/// The time between two tries.
const AGAIN: Duration = Duration::from_secs(1);

/// Looks at the stream of a destination until it is known whether it takes records.
pub(super) async fn run(tools: &Tools, delivery: &Delivery, mut begun: Begun) {
    let first = environment::instant();
    while begun.goes_on() {
        let is_last = environment::instant().saturating_duration_since(first) >= REACHED_WITHIN;
        let Some(found) = begun.unless_stopped(look(tools.endpoint.as_ref(), delivery)).await else { return };
        let contact = match found {
            Ok(contact) => contact,
            Err(fault) if is_last => {
                tracing::warn!("a destination of table {} is not enabled: {fault}", delivery.table);
                Contact::Refused(messages::NO_ANSWER.to_owned())
            }
            Err(_temporary) => {
                begun.pause(AGAIN).await;
                continue;
            }
        };
        let Some(engine) = tools.database.engine() else {
            begun.pause(AGAIN).await;
            continue;
        };
        match engine.note_contact(delivery, &contact).await {
            Ok(()) => return,
            Err(_logged) => {
                drop(engine);
                begun.pause(AGAIN).await;
            }
        }
    }
}

/// What is known of a stream after one look; a fault that may pass.
async fn look(endpoint: Option<&Endpoint>, delivery: &Delivery) -> Result<Contact, CallFault> {
    let refused = |why: &str| Ok(Contact::Refused(why.to_owned()));
    let Some(endpoint) = endpoint else { return refused(messages::NO_ENDPOINT) };
    let Some(stream) = StreamName::of_arn(&delivery.stream_arn) else {
        return refused(messages::NO_PERMISSION);
    };
    if stream.region != delivery.namespace.region.as_str() {
        return refused(messages::OTHER_REGION);
    }
    let body = describe_body(&delivery.stream_arn, &stream.name);
    match endpoint.call(&stream, DESCRIBE_TARGET, body).await {
        Ok(answer) => match is_active(&answer) {
            Some(true) => Ok(Contact::Reached),
            Some(false) => refused(messages::STREAM_NOT_ACTIVE),
            None => Err(CallFault::Silent("it is no Kinesis".to_owned())),
        },
        Err(CallFault::Refused(name)) => {
            tracing::warn!("a destination of table {} is not enabled: {name}", delivery.table);
            refused(messages::NO_PERMISSION)
        }
        Err(temporary) => Err(temporary),
    }
}
