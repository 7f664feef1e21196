//! Pages of a caller's transfers of one kind, newest first.
//!
//! A page's token is a position: the transfer that it names may be gone. It is made of 16 hexadecimal digits
//! for every eight bytes, 112 at least, as the service's are.

use std::ops::ControlFlow;

use keywright_semantics::error::Error;
use keywright_store::{Direction, KeyRange, Snapshot};

use super::row::{self, Kind, Transfer};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::hex::{hex, unhex};
use crate::support::rows::each_row_until;

/// Bytes that a token is filled up to a multiple of, and its fewest.
const TOKEN_STEP_BYTES: usize = 8;
const TOKEN_BYTES_MIN: usize = 56;

/// Some transfers, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub transfers: Vec<Transfer>,
    /// The token of the next page.
    pub next_token: Option<String>,
}

/// A page of the wanted transfers. `None` if the token is none of this caller's for this kind.
pub(crate) async fn page(
    view: &impl Snapshot,
    (namespace, kind): (&Namespace, Kind),
    token: Option<&str>,
    limit: usize,
    is_wanted: impl Fn(&Transfer) -> bool + Sync,
) -> Result<Option<Page>, Error> {
    let mut range = row::range(namespace, kind);
    if let Some(token) = token {
        let place = place_of(token);
        let key = place.and_then(|place| row::key_of_place(&place, namespace, kind));
        let Some(key) = key else { return Ok(None) };
        range = KeyRange { end: Some(key), ..range };
    }
    let mut page = Page::default();
    let mut is_whole = true;
    let mut last = None;
    let read = each_row_until(view, (range, Direction::Backward), |entry| {
        match Transfer::decode(&entry.value) {
            Ok(transfer) if is_wanted(&transfer) => {
                if page.transfers.len() == limit {
                    page.next_token = last.as_deref().map(token_of);
                    return ControlFlow::Break(());
                }
                last = Some(row::place_of_key(&entry.key).to_vec());
                page.transfers.push(transfer);
            }
            Ok(_) => {}
            Err(_damaged) => is_whole = false,
        }
        ControlFlow::Continue(())
    });
    read.await.map_err(|error| fault::storage(&error))?;
    if is_whole { Ok(Some(page)) } else { Err(fault::internal()) }
}

/// The token of the page that follows this place.
fn token_of(place: &[u8]) -> String {
    let mut bytes = place.to_vec();
    bytes.resize(place.len().next_multiple_of(TOKEN_STEP_BYTES).max(TOKEN_BYTES_MIN), 0);
    hex(&bytes)
}

fn place_of(token: &str) -> Option<Vec<u8>> {
    let mut bytes = unhex(token)?;
    // No name of a table has a zero.
    while bytes.pop_if(|byte| *byte == 0).is_some() {}
    (token_of(&bytes) == token).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lead_back_to_their_places_and_have_the_service_s_form() {
        for place in [b"short".to_vec(), vec![b'x'; 56], vec![b'x'; 57], vec![b'x'; 300]] {
            let token = token_of(&place);
            assert_eq!(place_of(&token), Some(place));
            assert!(token.len().is_multiple_of(16) && (112..=1024).contains(&token.len()), "{token}");
        }
        for token in ["", "00", "abc", "zz", &"00".repeat(55), &"FF".repeat(56)] {
            assert_eq!(place_of(token).filter(|place| !place.is_empty()), None, "{token}");
        }
    }
}
