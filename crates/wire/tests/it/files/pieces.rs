//! Where the pieces of an object begin and end changes nothing, and a reader goes on where another stopped.

use keywright_wire::files::{Contents, Format, Records, ion, json_lines};

use super::{in_pieces, records, sample_items, shown, written};

/// Objects of each format with blank lines, comments, invalid items and a last record that does not parse.
fn objects() -> Vec<(Format, Vec<u8>)> {
    // Every third one, so that cutting at each byte takes a second.
    let items = sample_items().into_iter().skip(2).step_by(3);
    let items: Vec<_> = items.filter(|item| item.keys().all(|name| name.len() < 100)).collect();
    let json = written(json_lines::push_item, &items);
    let ion = written(ion::push_item, &items);
    let with = |start: &[u8], end: &[u8], items: &[u8]| [start, items, end].concat();
    vec![
        (Format::JsonLines, with("\u{feff}\r\n{\"Item\":5}\n".as_bytes(), b"\n\n{\"Item\":{}}", &json)),
        (Format::JsonLines, with(b"", b"{\"Item\":{}}\n{\"Item\":\n{\"Item\":{}}\n", &json)),
        (Format::Ion, with("\u{feff}/* {{ */ // {\n {Item:'''a'''}\n".as_bytes(), b"{Item:{}}//", &ion)),
        (Format::Ion, with(b"$ion_1_0[{Item:{a:{{ '''}}''' }}}},", b"{Item:{}}\n]", &ion.replace_markers())),
        (Format::Ion, with(b"", b"{Item:{'\\'':\"\\\"\"}} {Item:5::}", &ion)),
    ]
}

trait ReplaceMarkers {
    fn replace_markers(&self) -> Vec<u8>;
}

impl ReplaceMarkers for Vec<u8> {
    /// Lines as the elements of a list.
    fn replace_markers(&self) -> Vec<u8> {
        String::from_utf8(self.clone()).unwrap().replace("\n$ion_1_0 ", ",\n").replace("$ion_1_0 ", "").into()
    }
}

#[test]
fn pieces_of_any_size_give_the_same_records() {
    for (format, object) in objects() {
        let whole = shown(&records(&format, &object));
        assert!(whole.len() > 8, "{format:?}: {whole:?}");
        for piece_bytes in [1, 2, 3, 7, 64, 1000] {
            assert_eq!(shown(&in_pieces(&format, &object, piece_bytes)), whole, "{format:?} {piece_bytes}");
        }
    }
}

#[test]
fn an_object_cut_anywhere_into_two_pieces_gives_the_same_records() {
    for (format, object) in objects() {
        let whole = shown(&records(&format, &object));
        for cut in 0..object.len() {
            let mut reader = Records::new(&format, Contents::Items);
            let mut found = Vec::new();
            for piece in [&object[..cut], &object[cut..]] {
                reader.feed(piece);
                found.extend(std::iter::from_fn(|| reader.next_record()));
            }
            reader.finish();
            found.extend(std::iter::from_fn(|| reader.next_record()));
            assert_eq!(shown(&found), whole, "{format:?} cut at {cut}");
        }
    }
}

#[test]
fn a_resumed_reader_gives_the_records_that_are_left() {
    for (format, object) in objects() {
        let whole = shown(&records(&format, &object));
        for done in 0..whole.len() {
            let mut reader = Records::resumed(&format, Contents::Items, u64::try_from(done).unwrap());
            let mut found = Vec::new();
            for piece in object.chunks(100) {
                reader.feed(piece);
                found.extend(std::iter::from_fn(|| reader.next_record()));
            }
            reader.finish();
            found.extend(std::iter::from_fn(|| reader.next_record()));
            assert_eq!(shown(&found), whole[done..], "{format:?} after {done}");
        }
    }
}
