//! Records of the listed objects, cut on a thread of their own and sent in batches.

use std::io::{self, BufRead};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use keywright_engine::{Broken, ObjectSource, Piece, Read};
use keywright_objects::{Bucket, FaultKind, ObjectFault};
use keywright_semantics::request::parts::{InputCompressionType, InputFormat};
use keywright_wire::files::{Contents, CsvOptions, Delimiter, Format, Outcome, Record, Records};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::super::Stop;
use super::fetch::{Fetch, Fetched, fetch};
use super::inflate::{inflated, recognized, window_log};
use super::{Listed, stop};
use crate::storage::object_faults::sentence;

/// Batches that wait for their writer.
const BATCHES: usize = 2;
/// Text of the records of one batch: what one commit of the engine takes.
const BATCH_BYTES: u64 = 1024 * 1024;
/// Bytes that are cut into records at a time.
const READ_BYTES: usize = 64 * 1024;

/// Pieces of objects in their order, in batches.
#[derive(Debug)]
pub(in crate::jobs) struct Batches(Receiver<Result<Vec<Piece>, Stop>>);

impl Batches {
    /// The next batch, which is not empty; `None` after the last one.
    pub(in crate::jobs) async fn next(&mut self) -> Result<Option<Vec<Piece>>, Stop> {
        self.0.recv().await.transpose()
    }
}

/// How records are cut.
#[derive(Clone, Debug)]
struct Cut {
    format: Format,
    contents: Contents,
    compression: InputCompressionType,
    window_log: u32,
    pieces_max: usize,
}

/// What one reader may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::jobs) struct Limits {
    /// Memory of a decoder.
    pub(in crate::jobs) memory_bytes: u64,
    /// Pieces of a batch.
    pub(in crate::jobs) pieces_max: usize,
}

/// Reads listed objects, which have these numbers in the list. So many records of the first one are done.
pub(in crate::jobs) fn read(
    (bucket, source): (&Bucket, &ObjectSource),
    contents: Contents,
    objects: Vec<(u32, Bytes)>,
    done: u64,
    limits: Limits,
) -> Result<Batches, Stop> {
    let listed = objects.into_iter().map(|(number, row)| Some((number, Listed::from_bytes(&row)?)));
    let listed: Option<Vec<(u32, Listed)>> = listed.collect();
    let listed = listed.ok_or_else(|| Stop::Failed {
        code: "DamagedJob",
        message: "what was noted of the objects cannot be read".to_owned(),
    })?;
    let cut = Cut {
        format: format_of(source),
        contents,
        compression: source.compression,
        window_log: window_log(limits.memory_bytes / 2),
        pieces_max: limits.pieces_max,
    };
    let (sender, receiver) = channel(BATCHES);
    let fetch = fetch(bucket.clone(), listed);
    tokio::task::spawn_blocking(move || {
        let mut batch = Batch { pieces: Vec::new(), bytes: 0, cut, sender };
        if let Err(Ended::Stopped(stop)) = objects_of(fetch, &mut batch, done) {
            // After the records before it, and unless the writer has stopped.
            let _ = batch.send();
            let _ = batch.sender.blocking_send(Err(stop));
        }
    });
    Ok(Batches(receiver))
}

fn format_of(source: &ObjectSource) -> Format {
    match source.format {
        InputFormat::DynamodbJson => Format::JsonLines,
        InputFormat::Ion => Format::Ion,
        InputFormat::Csv => Format::Csv(CsvOptions {
            delimiter: source.delimiter.as_deref().and_then(Delimiter::from_text).unwrap_or(Delimiter::COMMA),
            header: source.header.clone(),
            key_types: source
                .definitions
                .iter()
                .map(|attribute| (attribute.name.clone(), attribute.key_type))
                .collect(),
        }),
    }
}

/// Why no more is read.
enum Ended {
    /// The writer has stopped.
    Unwanted,
    Stopped(Stop),
}

/// Pieces that are not sent yet.
struct Batch {
    pieces: Vec<Piece>,
    bytes: u64,
    cut: Cut,
    sender: Sender<Result<Vec<Piece>, Stop>>,
}

impl Batch {
    fn add(&mut self, piece: Piece, bytes: u64) -> Result<(), Ended> {
        self.pieces.push(piece);
        self.bytes += bytes;
        if self.pieces.len() < self.cut.pieces_max && self.bytes < BATCH_BYTES {
            return Ok(());
        }
        self.send()
    }

    fn send(&mut self) -> Result<(), Ended> {
        self.bytes = 0;
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(Ok(pieces)).map_err(|_closed| Ended::Unwanted)
    }
}

/// Reads all objects. Those that the first one had before are passed over.
fn objects_of(mut fetch: Fetch, batch: &mut Batch, mut done: u64) -> Result<(), Ended> {
    while let Some(fetched) = fetch.pieces.blocking_recv() {
        let Fetched::Begin { number, listed, opened } = fetched else { continue };
        let object = Object { number, key: listed.key.as_str().into() };
        let (record, broken) = if let Err(fault) = opened {
            (done, Some(Fault::of(&fault, batch.cut.contents)))
        } else {
            let mut records = Records::resumed(&batch.cut.format, batch.cut.contents, done);
            let broken = one_object(&mut fetch, &object, &mut records, batch)?;
            (records.position().index, broken)
        };
        let broken = match broken {
            None => None,
            Some(Fault::Record(text)) => Some(Broken::Record(text)),
            Some(Fault::Object(text)) => Some(Broken::Object(text)),
            Some(Fault::Stop(stop)) => return Err(Ended::Stopped(stop)),
        };
        fetch.pass(number);
        let read = Read::End { bytes: listed.bytes, broken };
        batch.add(Piece { object: number, key: object.key, record, read }, 0)?;
        done = 0;
    }
    batch.send()
}

/// An object that is read.
struct Object {
    number: u32,
    key: Arc<str>,
}

/// Why the rest of an object is not read.
enum Fault {
    Record(String),
    Object(String),
    Stop(Stop),
}

impl Fault {
    /// What a store says of one object. What is wrong with the bucket ends the job, and so does an object of
    /// a bulk put that is not as it was listed.
    fn of(fault: &ObjectFault, contents: Contents) -> Self {
        let kind = fault.kind();
        let is_changed = matches!(kind, FaultKind::NoSuchKey | FaultKind::Changed);
        if is_changed && contents == Contents::ConditionalPuts {
            return Self::Stop(stop(fault));
        }
        match kind {
            FaultKind::NoSuchKey | FaultKind::Changed | FaultKind::Other => Self::Object(sentence(fault)),
            FaultKind::NoSuchBucket
            | FaultKind::AccessDenied
            | FaultKind::Full
            | FaultKind::EncryptionKey
            | FaultKind::Temporary => Self::Stop(stop(fault)),
        }
    }
}

/// Reads one object. Returns why it was not read to its end.
fn one_object(
    fetch: &mut Fetch,
    object: &Object,
    records: &mut Records,
    batch: &mut Batch,
) -> Result<Option<Fault>, Ended> {
    let mut source = Pieces { receiver: &mut fetch.pieces, piece: Bytes::new(), ended: None, is_lost: false };
    let fault = match inflated(&mut source, batch.cut.compression, batch.cut.window_log) {
        Ok(mut bytes) => cut(&mut bytes, object, records, batch)?,
        Err(error) => Some(Unread::Io(error)),
    };
    if source.is_lost {
        return Err(Ended::Unwanted);
    }
    match (fault, source.ended) {
        // The store's own fault says more than what the decoder makes of it.
        (_, Some(Err(fault))) => Ok(Some(Fault::of(&fault, batch.cut.contents))),
        (None, _) => Ok(None),
        (Some(Unread::Record(text)), _) => Ok(Some(Fault::Record(text))),
        (Some(Unread::Io(error)), _) => {
            Ok(Some(Fault::Object(not_compressed(&error, batch.cut.compression))))
        }
    }
}

/// Why no more of an object's bytes become records.
enum Unread {
    Record(String),
    Io(io::Error),
}

/// Cuts bytes into records. An object that is broken later keeps the records before that.
fn cut(
    bytes: &mut dyn io::Read,
    object: &Object,
    records: &mut Records,
    batch: &mut Batch,
) -> Result<Option<Unread>, Ended> {
    let mut buffer = vec![0; READ_BYTES];
    let mut offset = records.position().offset_bytes;
    let mut hint = None;
    loop {
        let (read, fault) = match bytes.read(&mut buffer) {
            Ok(read) => (read, None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => (0, Some(Unread::Io(error))),
        };
        if fault.is_some() {
            return Ok(fault);
        }
        if read == 0 {
            records.finish();
        } else {
            let bytes = buffer.get(..read).unwrap_or_default();
            hint.get_or_insert_with(|| compression_hint(bytes, batch.cut.compression));
            records.feed(bytes);
        }
        while let Some(Record { position, outcome }) = records.next_record() {
            let read = match outcome {
                Outcome::Put(record) => Read::Record(record),
                Outcome::Invalid(text) => Read::Invalid(text),
                Outcome::Unreadable(text) => {
                    return Ok(Some(Unread::Record(text + hint.as_deref().unwrap_or_default())));
                }
            };
            let end = records.position().offset_bytes;
            let piece =
                Piece { object: object.number, key: Arc::clone(&object.key), record: position.index, read };
            batch.add(piece, end.saturating_sub(offset))?;
            offset = end;
        }
        if read == 0 {
            return Ok(None);
        }
    }
}

/// What helps if an object is compressed that is read as it is. `start` is the beginning of its bytes.
fn compression_hint(start: &[u8], compression: InputCompressionType) -> String {
    let found = recognized(start).filter(|_| compression == InputCompressionType::None);
    found.map_or_else(String::new, |(request, flag)| {
        format!(
            ". The object is compressed: say so with --compression {flag}, or InputCompressionType {request}"
        )
    })
}

fn not_compressed(error: &io::Error, compression: InputCompressionType) -> String {
    let name = compression.name();
    format!("The object cannot be read as {name}: {error}; what follows that place was not read")
}

/// The bytes of one object as they come, for decoders.
struct Pieces<'f> {
    receiver: &'f mut Receiver<Fetched>,
    piece: Bytes,
    /// How the object ended.
    ended: Option<Result<(), ObjectFault>>,
    /// Whether nothing is fetched any more, which says nothing of the object.
    is_lost: bool,
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() && self.ended.is_none() {
            match self.receiver.blocking_recv() {
                Some(Fetched::Piece(piece)) => self.piece = piece,
                Some(Fetched::End(ended)) => self.ended = Some(ended),
                Some(Fetched::Begin { .. }) | None => {
                    self.is_lost = true;
                    return Err(io::Error::other("nothing is fetched any more"));
                }
            }
        }
        match &self.ended {
            Some(Err(_)) => Err(io::Error::other("the object ends early")),
            _ => Ok(&self.piece),
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.piece.advance(bytes);
    }
}

impl io::Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let taken = available.len().min(out.len());
        let (Some(from), Some(to)) = (available.get(..taken), out.get_mut(..taken)) else { return Ok(0) };
        to.copy_from_slice(from);
        self.consume(taken);
        Ok(taken)
    }
}
