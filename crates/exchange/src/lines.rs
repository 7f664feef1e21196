//! The line of each member of a JSON or YAML document, for messages about it.
//!
//! It reads the text a second time, because the tree of
//! values has no positions: messages name only a few of them.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};

/// The most places that are recorded; messages about larger documents have no lines.
const PLACES_MAX: usize = 200_000;

/// Bytes of the paths that are recorded. A long name is in the paths of all that is below it.
const PATH_BYTES_MAX: usize = 32 << 20;

/// Lines by path, such as `Resources.Orders.Properties.KeySchema[0]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    by_path: BTreeMap<String, usize>,
    path_bytes: usize,
}

/// A collection being read: its path and its next element.
struct Open {
    path: String,
    next: Next,
}

enum Next {
    /// The member whose value comes next; `None` if a name comes next.
    Member(Option<String>),
    Element(usize),
}

impl Lines {
    /// The lines of a text, up to the first syntax error.
    pub fn of(text: &str) -> Self {
        let mut lines = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(text) {
            let Ok((event, span)) = event else { break };
            if lines.by_path.len() >= PLACES_MAX || lines.path_bytes >= PATH_BYTES_MAX {
                break;
            }
            let line = span.start.line();
            match event {
                Event::Scalar(text, ..) => {
                    if let Some(Open { path, next: Next::Member(name @ None) }) = open.last_mut() {
                        lines.record(join(path, &text), line);
                        *name = Some(text.into_owned());
                    } else {
                        lines.place(&mut open, line);
                    }
                }
                Event::Alias(_) => drop(lines.place(&mut open, line)),
                Event::SequenceStart(..) => {
                    let path = lines.place(&mut open, line);
                    open.push(Open { path, next: Next::Element(0) });
                }
                Event::MappingStart(..) => {
                    let path = lines.place(&mut open, line);
                    open.push(Open { path, next: Next::Member(None) });
                }
                Event::SequenceEnd | Event::MappingEnd => drop(open.pop()),
                _ => {}
            }
        }
        assert!(lines.by_path.len() <= PLACES_MAX, "a document has no more places than are recorded");
        lines
    }

    fn record(&mut self, path: String, line: usize) {
        self.path_bytes += path.len();
        self.by_path.insert(path, line);
    }

    /// Records the line of a value and returns its path. The line of a member is that of its name.
    fn place(&mut self, open: &mut [Open], line: usize) -> String {
        let Some(around) = open.last_mut() else { return String::new() };
        match &mut around.next {
            Next::Member(name) => join(&around.path, &name.take().unwrap_or_default()),
            Next::Element(at) => {
                let path = format!("{}[{at}]", around.path);
                *at += 1;
                self.record(path.clone(), line);
                path
            }
        }
    }

    /// The line of the value at a path, or of the nearest enclosing value.
    pub fn line(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            if let Some(line) = self.by_path.get(path) {
                return Some(*line);
            }
            path = path.get(..path.rfind(['.', '['])?)?;
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_have_the_lines_of_their_first_letter() {
        let yaml = "a:\n  b: !Ref X\n  c:\n    - d: 1\n    - d: {e: 2,\n         f: 3}\n";
        let json = "{\"a\":\n  {\"b\": {\"Ref\": \"X\"},\n  \"c\":\n    [{\"d\": 1},\n     {\"d\": {\"e\": 2,\n         \"f\": 3}}]}}\n";
        for (text, offset) in [(yaml, 0), (json, 0)] {
            let lines = Lines::of(text);
            for (path, line) in
                [("a", 1), ("a.b", 2), ("a.c", 3), ("a.c[0]", 4), ("a.c[1].d.f", 6), ("a.b.no", 2)]
            {
                assert_eq!(lines.line(path), Some(line + offset), "{path} in {text}");
            }
            assert_eq!(lines.line("z"), None);
        }
    }
}
