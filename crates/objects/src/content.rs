//! The content of an object, piece by piece.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};

use crate::fault::{Cause, Faults, ObjectFault};
use crate::object::Object;

/// An object that is being read from its start to its end.
pub struct Content {
    object: Object,
    faults: Faults,
    pieces: BoxStream<'static, Result<Bytes, Error>>,
    /// Where to look once more at the end, if the object may be written in place.
    again: Option<(Arc<dyn ObjectStore>, Path)>,
    read: u64,
}

impl Content {
    pub(crate) fn new(
        object: Object,
        faults: Faults,
        pieces: BoxStream<'static, Result<Bytes, Error>>,
        again: Option<(Arc<dyn ObjectStore>, Path)>,
    ) -> Self {
        Self { object, faults, pieces, again, read: 0 }
    }

    /// What the store says of the object.
    pub const fn object(&self) -> &Object {
        &self.object
    }

    /// The next piece; `None` after the last. Pieces are as the store sends them, at most some hundred KiB;
    /// an object in memory is one piece.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ObjectFault> {
        let Some(piece) = self.pieces.next().await else {
            return self.check_end().await.map(|()| None);
        };
        let piece = piece.map_err(|error| self.faults.of(error))?;
        // Of a file that has become shorter the library gives such pieces for ever.
        if piece.is_empty() && self.read < self.object.bytes {
            return Err(self.faults.because(Cause::Changed));
        }
        self.read = self.read.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        Ok(Some(piece))
    }

    async fn check_end(&mut self) -> Result<(), ObjectFault> {
        let mut is_same = self.read == self.object.bytes;
        if let Some((store, path)) = self.again.take() {
            let now = store.head(&path).await;
            is_same &= now.is_ok_and(|now| Object::of(&now).etag == self.object.etag);
        }
        if is_same { Ok(()) } else { Err(self.faults.because(Cause::Changed)) }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Content").field("object", &self.object).finish_non_exhaustive()
    }
}
