//! A list of tagged sections as bytes. It does not know what a section holds.
//!
//! ```text
//! number of sections (u16), then for each, in ascending order of tags:
//! 1 bit: critical, 15 bits: tag · length (u32) · so many bytes
//! ```

use super::RecordFault;

/// The bit of a stored tag that says: a reader that does not know the section must refuse the table.
const CRITICAL: u16 = 0x8000;

/// One section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section<'b> {
    /// Below 0x8000.
    pub(super) tag: u16,
    pub(super) is_critical: bool,
    pub(super) bytes: &'b [u8],
}

/// Appends the sections, which are in ascending order of their tags.
pub(super) fn write(sections: &[Section<'_>], out: &mut Vec<u8>) {
    assert!(sections.is_sorted_by(|one, next| one.tag < next.tag), "sections ascend, each tag once");
    let count = u16::try_from(sections.len()).expect("there are fewer sections than tags");
    out.extend_from_slice(&count.to_be_bytes());
    for section in sections {
        assert!(section.tag < CRITICAL, "a tag leaves room for the critical bit");
        let length = u32::try_from(section.bytes.len()).expect("a section is smaller than a row may be");
        let mark = if section.is_critical { CRITICAL } else { 0 };
        out.extend_from_slice(&(section.tag | mark).to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(section.bytes);
    }
}

/// The sections of these bytes, which hold nothing else.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Section<'_>>, RecordFault> {
    let malformed = |text: &str| RecordFault::Malformed(text.to_owned());
    let cut_short = || malformed("it is cut short");
    let (count, mut rest) = bytes.split_first_chunk::<2>().ok_or_else(cut_short)?;
    let mut sections: Vec<Section<'_>> = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (mark, after) = rest.split_first_chunk::<2>().ok_or_else(cut_short)?;
        let (length, after) = after.split_first_chunk::<4>().ok_or_else(cut_short)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let (bytes, after) = after.split_at_checked(length).ok_or_else(cut_short)?;
        let mark = u16::from_be_bytes(*mark);
        let section = Section { tag: mark & !CRITICAL, is_critical: mark & CRITICAL != 0, bytes };
        if sections.last().is_some_and(|last| last.tag >= section.tag) {
            return Err(malformed("its sections are out of order"));
        }
        sections.push(section);
        rest = after;
    }
    if rest.is_empty() { Ok(sections) } else { Err(malformed("bytes follow its last section")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::harness::seeds;

    fn written(sections: &[Section<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        write(sections, &mut out);
        out
    }

    #[test]
    fn random_sections_read_back_as_they_were_written_and_no_part_of_them_is_read() {
        for seed in seeds(200) {
            let mut random = fastrand::Rng::with_seed(seed);
            let contents: Vec<Vec<u8>> = (0..random.usize(..8))
                .map(|_| (0..random.usize(..40)).map(|_| random.u8(..)).collect())
                .collect();
            let mut tag = 0;
            let mut sections = Vec::new();
            for bytes in &contents {
                tag += random.u16(1..100);
                sections.push(Section { tag, is_critical: random.bool(), bytes });
            }
            let bytes = written(&sections);
            assert_eq!(read(&bytes).as_ref(), Ok(&sections), "seed {seed}");
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end]).is_err(), "seed {seed}, cut at {end}");
            }
            assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err(), "seed {seed}, a byte more");
        }
    }

    #[test]
    fn sections_out_of_order_or_twice_are_refused() {
        let section = |tag| Section { tag, is_critical: false, bytes: b"" };
        let mut bytes = written(&[section(1), section(2)]);
        let second_tag = bytes.len() - 6;
        for tag in [0_u8, 1] {
            bytes[second_tag + 1] = tag;
            assert_eq!(read(&bytes), Err(RecordFault::Malformed("its sections are out of order".to_owned())));
        }
    }
}
