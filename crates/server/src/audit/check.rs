//! Whether a file is one of an audit log, and whether it is whole, as `keywright verify` reports it.
//!
//! Records have no checksums: a changed character within one is found in compressed files only, which have
//! them.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::backwards::length;
use super::form::Form;
use crate::limits::AUDIT_LINE_BYTES_MAX;

/// What a file besides the store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It has no record.
    Other,
    /// A file of a log.
    Whole,
    /// The same, with a last line that is torn.
    Torn,
    /// A file of a log, or an encrypted one, that cannot be read as a whole.
    Damaged(String),
}

/// Whether a file that is not encrypted is one of an audit log.
pub(crate) fn is_log(path: &Path) -> bool {
    let first = Form::Plain.read(path).and_then(|lines| next_line(&mut BufReader::new(lines)));
    first.is_ok_and(|line| is_record(&line))
}

/// Reads a file whole.
pub(crate) fn check(path: &Path, form: &Form) -> io::Result<Checked> {
    let mut lines = match form.read(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Ok(Checked::Damaged(error.to_string()));
        }
        opened => BufReader::new(opened?),
    };
    let (mut records, mut first_other, mut is_torn) = (0_u64, None, false);
    for number in 1_u64.. {
        let line = match next_line(&mut lines) {
            Ok(line) if line.is_empty() => break,
            Ok(line) => line,
            // The other kinds of faults are of the disk.
            Err(error) if is_of_content(&error) => {
                first_other.get_or_insert(format!("line {number} cannot be read: {error}"));
                break;
            }
            Err(error) => return Err(error),
        };
        is_torn = line.last() != Some(&b'\n');
        if is_record(&line) {
            records += 1;
        } else if !is_torn {
            first_other.get_or_insert(format!("line {number} is not a record"));
        }
    }
    Ok(match first_other {
        _ if records == 0 => Checked::Other,
        Some(detail) => Checked::Damaged(detail),
        None if is_torn => Checked::Torn,
        None => Checked::Whole,
    })
}

/// The next line with its end, or as much of it as a record may have; empty at the end of the file.
fn next_line(lines: &mut BufReader<Box<dyn Read>>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    lines.take(length(AUDIT_LINE_BYTES_MAX)).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn is_record(line: &[u8]) -> bool {
    let parsed = || serde_json::from_slice::<Value>(line).ok();
    let has = |record: &Value, member: &str| record.get(member).is_some_and(Value::is_string);
    line.starts_with(b"{")
        && parsed().is_some_and(|record| has(&record, "eventVersion") && has(&record, "eventID"))
}

/// Whether an error says what is in a file.
fn is_of_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use keywright_encryption::{Keyring, MasterKey};

    use super::*;

    const RECORD: &str = "{\"eventID\":\"1\",\"eventVersion\":\"1.11\"}\n";

    #[test]
    fn a_log_is_known_by_its_records_and_a_line_that_is_none_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let checked = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            (check(&path, &Form::Plain).unwrap(), is_log(&path))
        };
        assert_eq!(checked(RECORD.repeat(3).as_bytes()), (Checked::Whole, true));
        assert_eq!(checked(format!("{RECORD}{{\"event").as_bytes()), (Checked::Torn, true));
        assert_eq!(checked(b""), (Checked::Other, false));
        assert_eq!(checked(b"format: keywright/1\n"), (Checked::Other, false));
        assert_eq!(checked(b"{\"pk\": \"a\"}\n"), (Checked::Other, false));
        let damaged = |number: u64| Checked::Damaged(format!("line {number} is not a record"));
        assert_eq!(checked(format!("{RECORD}x\n{RECORD}").as_bytes()), (damaged(2), true));
        assert_eq!(checked(format!("x\n{RECORD}").as_bytes()), (damaged(1), false));
        let long = vec![b'x'; 2 * AUDIT_LINE_BYTES_MAX + 7];
        assert_eq!(checked(&long), (Checked::Other, false));
    }

    #[test]
    fn damage_of_encrypted_and_compressed_files_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::create(folder.path(), &MasterKey::random(), None, 1).unwrap();
        let form = Form::Encrypted(keyring);
        let [closed, draft, gz] = ["log", "draft", "log.gz"].map(|name| folder.path().join(name));
        std::fs::write(&closed, RECORD.repeat(1000)).unwrap();
        assert!(form.compress(&closed, &draft, &gz).unwrap());
        assert_eq!(check(&gz, &form).unwrap(), Checked::Whole);
        assert!(!is_log(&gz), "it is encrypted already");
        let bytes = std::fs::read(&gz).unwrap();
        let changed = |place: usize| {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            std::fs::write(&gz, changed).unwrap();
            check(&gz, &form).unwrap()
        };
        assert_eq!(changed(30), Checked::Damaged("the header of its encryption is damaged".to_owned()));
        let Checked::Damaged(detail) = changed(bytes.len() - 6) else { panic!("the checksum is changed") };
        assert!(detail.starts_with("line 1001 cannot be read"), "{detail}");
    }
}
