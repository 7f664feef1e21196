//! The lines of a data file: items of a full export, changes of an increment.

use std::io::Write as _;

use flate2::write::MultiGzDecoder;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_objects::Content;
use keywright_semantics::schema::KeyAttribute;
use keywright_wire::files::{
    Checksummer, Contents, DataFile, DataFormat, Format, Outcome, RECORD_BYTES_MAX, Records, Span,
};

use super::super::writes::{Change, key_of};
use super::chain::Export;
use super::place::failure;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// Compressed bytes that are expanded at once. They can become a thousand times as many.
const PIECE_BYTES: usize = 4096;

/// A data file that is being read.
pub(super) struct Lines<'l> {
    content: Content,
    file: &'l DataFile,
    shown: String,
    keys: &'l [KeyAttribute],
    sum: Option<Checksummer>,
    expanded: MultiGzDecoder<Vec<u8>>,
    /// What is read of the object and not expanded yet.
    piece: bytes::Bytes,
    reader: Reader,
    count: u64,
}

/// How expanded bytes become lines.
enum Reader {
    Items(Box<Records>),
    Changes {
        /// The beginning of a line.
        pending: Vec<u8>,
    },
}

impl<'l> Lines<'l> {
    pub(super) fn new(
        export: &'l Export,
        file: &'l DataFile,
        content: Content,
        shown: String,
        keys: &'l [KeyAttribute],
    ) -> Self {
        let format = match export.summary.format {
            DataFormat::Json => Format::JsonLines,
            DataFormat::Ion => Format::Ion,
        };
        let reader = match export.summary.span {
            Span::Full { .. } => Reader::Items(Box::new(Records::new(&format, Contents::Items))),
            Span::Incremental { .. } => Reader::Changes { pending: Vec::new() },
        };
        Self {
            content,
            file,
            shown,
            keys,
            sum: Some(Checksummer::default()),
            expanded: MultiGzDecoder::new(Vec::new()),
            piece: bytes::Bytes::new(),
            reader,
            count: 0,
        }
    }

    /// The next changes; `None` after the last, once the file is known to be whole.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Change>>, Failure> {
        while self.sum.is_some() {
            if self.piece.is_empty() {
                match self.content.next().await.map_err(|fault| failure(&fault))? {
                    Some(piece) => {
                        if let Some(sum) = &mut self.sum {
                            sum.update(&piece);
                        }
                        self.piece = piece;
                    }
                    None => return self.end().map(Some),
                }
            }
            let part = self.piece.split_to(self.piece.len().min(PIECE_BYTES));
            let expanded = self.expanded.write_all(&part);
            expanded.map_err(|error| self.damaged(&error))?;
            let changes = self.lines(false)?;
            if !changes.is_empty() {
                return Ok(Some(changes));
            }
        }
        Ok(None)
    }

    /// The last changes. Checks that all of the file was read as it was written.
    fn end(&mut self) -> Result<Vec<Change>, Failure> {
        let sum = self.sum.take().map(Checksummer::finish);
        if sum != Some(self.file.checksum) {
            return Err(self.fault(
                "it does not have the sum that the export's list says: it is damaged, or another file",
            ));
        }
        let ended = self.expanded.try_finish();
        ended.map_err(|error| self.damaged(&error))?;
        let changes = self.lines(true)?;
        if self.count != self.file.item_count {
            let text =
                format!("it has {} lines, and the export's list says {}", self.count, self.file.item_count);
            return Err(self.fault(&text));
        }
        Ok(changes)
    }

    /// The lines of what is expanded.
    fn lines(&mut self, is_end: bool) -> Result<Vec<Change>, Failure> {
        let bytes = std::mem::take(self.expanded.get_mut());
        let (found, shown) = match &mut self.reader {
            Reader::Items(records) => (items(records, &bytes, is_end, self.keys), &self.shown),
            Reader::Changes { pending } => (changes(pending, &bytes, is_end), &self.shown),
        };
        let found = found.map_err(|(line, text)| {
            let number = self.count + line + 1;
            Failure::new(format!("{shown}: line {number}: {}", inline(&text)))
        })?;
        self.count += u64::try_from(found.len()).unwrap_or(u64::MAX);
        Ok(found)
    }

    fn damaged(&self, error: &std::io::Error) -> Failure {
        self.fault(&format!("it is no gzip file, or a damaged one: {error}"))
    }

    fn fault(&self, text: &str) -> Failure {
        Failure::new(format!("{}: {text}", self.shown))
    }
}

/// What is wrong with a line of those that were looked at, counted from zero.
type LineFault = (u64, String);

fn items(
    records: &mut Records,
    bytes: &[u8],
    is_end: bool,
    keys: &[KeyAttribute],
) -> Result<Vec<Change>, LineFault> {
    let mut found = Vec::new();
    records.feed(bytes);
    if is_end {
        records.finish();
    }
    while let Some(record) = records.next_record() {
        let line = u64::try_from(found.len()).unwrap_or(u64::MAX);
        match record.outcome {
            Outcome::Put(put) => {
                let key = key_of(keys, &put.item);
                let key = key.ok_or_else(|| (line, "the item lacks the key of the table".to_owned()))?;
                found.push(Change { key, image: Some(put.item) });
            }
            Outcome::Invalid(text) | Outcome::Unreadable(text) => return Err((line, text)),
        }
    }
    Ok(found)
}

fn changes(pending: &mut Vec<u8>, bytes: &[u8], is_end: bool) -> Result<Vec<Change>, LineFault> {
    let mut found = Vec::new();
    pending.extend_from_slice(bytes);
    let whole = if is_end {
        pending.len()
    } else {
        pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
    };
    let lines: Vec<u8> = pending.drain(..whole).collect();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let change = change(line).map_err(|text| (u64::try_from(found.len()).unwrap_or(u64::MAX), text))?;
        found.push(change);
    }
    if pending.len() > RECORD_BYTES_MAX {
        return Err((
            u64::try_from(found.len()).unwrap_or(u64::MAX),
            "it is longer than any item".to_owned(),
        ));
    }
    Ok(found)
}

/// A line of an increment.
fn change(line: &[u8]) -> Result<Change, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let json = Json::parse(text).map_err(|fault| fault.to_string())?;
    let typed = |json: &Json| read_item(json).filter(|read| read.typed).map(|read| read.item);
    let key = json.get("Keys").and_then(typed).ok_or("it has no Keys")?;
    let image = match json.get("NewImage") {
        Some(image) => Some(typed(image).ok_or("its NewImage is no item")?),
        None => None,
    };
    Ok(Change { key, image })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_increment_is_a_put_or_a_delete_wherever_the_bytes_are_cut() {
        let text = b"{\"Keys\":{\"k\":{\"S\":\"a\"}},\"NewImage\":{\"k\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}\n{\"Keys\":{\"k\":{\"S\":\"b\"}}}\n";
        let mut pending = Vec::new();
        let found = changes(&mut pending, text, true).unwrap();
        assert_eq!(found.iter().map(|change| change.image.is_some()).collect::<Vec<_>>(), [true, false]);
        for cut in 0..text.len() {
            let mut pending = Vec::new();
            let mut again = changes(&mut pending, &text[..cut], false).unwrap();
            again.extend(changes(&mut pending, &text[cut..], true).unwrap());
            assert_eq!(again, found, "{cut}");
        }
        assert_eq!(
            changes(&mut Vec::new(), b"{\"NewImage\":{}}\n", false),
            Err((0, "it has no Keys".to_owned()))
        );
    }
}
