//! Objects as the source of items, for imports and bulk puts: their list, and their records piece by piece.
//!
//! ```text
//! list      keys, sizes and etags, once: each is a row of the job
//! fetch     a task opens the objects in their order, some ahead, and sends their bytes
//! inflate   bytes as they were before compression
//! records   a thread cuts them into records, and sends batches of pieces
//! ```
//!
//! Between two stages is a channel of a few elements, so memory is bounded by the pieces, not by an object,
//! a line or what is compressed in it. A job that goes on after a kill reads the object that it was at from
//! the start, and passes over the records that it has done.
//!
//! What is wrong with one object is an error of the job, and its next object is read. What is wrong with the
//! bucket ends the job or, if it may pass, has it tried again.
//!
//! Layers: fetch, inflate < records < list

mod fetch;
mod inflate;
mod list;
mod records;

use keywright_engine::ObjectSource;
use keywright_model::json::Json;
use keywright_objects::{Bucket, Etag, ObjectFault};

use super::{Stop, Tools};
use crate::storage::object_faults::sentence;

pub(super) use list::list;
pub(super) use records::{Limits, read};

/// An object as it was listed. It is noted as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    key: String,
    bytes: u64,
    etag: String,
}

impl Listed {
    fn to_bytes(&self) -> Vec<u8> {
        let members = [
            ("key", Json::text(&self.key)),
            ("bytes", Json::number(self.bytes)),
            ("etag", Json::text(&self.etag)),
        ];
        Json::object(members).compact().into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let noted = Json::parse(std::str::from_utf8(bytes).ok()?).ok()?;
        Some(Self {
            key: noted.str_at("key")?.to_owned(),
            bytes: noted.get("bytes").and_then(Json::as_u64)?,
            etag: noted.str_at("etag")?.to_owned(),
        })
    }

    fn etag(&self) -> Etag {
        Etag::new(self.etag.clone())
    }
}

/// The bucket of a source.
pub(super) fn bucket(tools: &Tools, source: &ObjectSource) -> Result<Bucket, Stop> {
    tools.buckets.open(&source.bucket).map_err(|fault| stop(&fault))
}

/// A fault of a whole bucket.
fn stop(fault: &ObjectFault) -> Stop {
    let message = sentence(fault);
    if fault.is_temporary() { Stop::Later(message) } else { Stop::Failed { code: fault.code(), message } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_of_an_object_leads_back_to_it() {
        let listed = Listed { key: "in/\"a\" é.json".to_owned(), bytes: 7, etag: "0a-1".to_owned() };
        assert_eq!(Listed::from_bytes(&listed.to_bytes()), Some(listed));
        assert_eq!(Listed::from_bytes(b"{}"), None);
    }
}
