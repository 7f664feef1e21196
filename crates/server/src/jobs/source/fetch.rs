//! The bytes of the listed objects, in their order. Some objects are opened ahead, as most are short and the
//! store takes its time to answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use keywright_objects::{Bucket, Content, ObjectFault};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::Listed;

/// Objects that are opened at a time.
const AHEAD: usize = 8;
/// Pieces that wait for their reader.
const PIECES: usize = 4;

/// What comes of an object.
#[derive(Debug)]
pub(super) enum Fetched {
    /// It is open, or cannot be opened.
    Begin {
        number: u32,
        listed: Listed,
        opened: Result<(), ObjectFault>,
    },
    Piece(Bytes),
    /// All of it has come, or the rest does not come.
    End(Result<(), ObjectFault>),
}

/// The reader's side.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) pieces: Receiver<Fetched>,
    passed: Arc<AtomicU32>,
}

impl Fetch {
    /// The rest of objects up to this one is not needed.
    pub(super) fn pass(&self, number: u32) {
        self.passed.fetch_max(number + 1, Ordering::Relaxed);
    }
}

/// Begins to fetch objects, which have these numbers in the list. It ends with its reader.
pub(super) fn fetch(bucket: Bucket, objects: Vec<(u32, Listed)>) -> Fetch {
    let (sender, pieces) = channel(PIECES);
    let passed = Arc::new(AtomicU32::new(0));
    let to_pass = Arc::clone(&passed);
    tokio::spawn(async move {
        let open = |(number, listed): (u32, Listed)| {
            let bucket = bucket.clone();
            async move {
                let content = bucket.stream(&listed.key, Some(&listed.etag())).await;
                (number, listed, content)
            }
        };
        let mut opened = stream::iter(objects).map(open).buffered(AHEAD);
        while let Some((number, listed, content)) = opened.next().await {
            let is_passed = || to_pass.load(Ordering::Relaxed) > number;
            if send(&sender, (number, listed), content, is_passed).await.is_err() {
                // Its reader has stopped.
                return;
            }
        }
    });
    Fetch { pieces, passed }
}

async fn send(
    sender: &Sender<Fetched>,
    (number, listed): (u32, Listed),
    content: Result<Content, ObjectFault>,
    is_passed: impl Fn() -> bool,
) -> Result<(), ()> {
    let send = async |fetched| sender.send(fetched).await.map_err(drop);
    let (opened, content) = match content {
        Ok(content) => (Ok(()), Some(content)),
        Err(fault) => (Err(fault), None),
    };
    send(Fetched::Begin { number, listed, opened }).await?;
    let Some(mut content) = content else { return Ok(()) };
    while !is_passed() {
        match content.next().await {
            Ok(Some(piece)) => send(Fetched::Piece(piece)).await?,
            Ok(None) => break,
            Err(fault) => return send(Fetched::End(Err(fault))).await,
        }
    }
    send(Fetched::End(Ok(()))).await
}
