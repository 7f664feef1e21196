//! The fault of a text that is not YAML, for everything that `saphyr-parser` reads: where it stands, and
//! which bracket or quotation mark causes it. The parser notices one that is not closed only where the text
//! stops making sense, often lines later.
//!
//! It knows brackets, quotation marks and comments, and nothing else of YAML.

use saphyr_parser::{Event, Marker, ScanError, Span};

use super::At;

/// The most common mistake in text that is not YAML.
const FIX: &str = "close brackets and quotation marks, indent with spaces, and quote texts with `: `, ` #`, `{`, `*` or `&` in them";

pub(super) fn place(marker: &Marker) -> At {
    At { line: marker.line(), column: marker.col() + 1 }
}

/// How far a text has been read. Places are counted in characters.
pub(super) struct Reading<'a> {
    text: &'a str,
    /// The end of what was understood.
    understood: usize,
    /// The beginnings of the collections that are being read, the outermost first.
    open: Vec<usize>,
}

impl<'a> Reading<'a> {
    pub(super) const fn of(text: &'a str) -> Self {
        Self { text, understood: 0, open: Vec::new() }
    }

    pub(super) fn see(&mut self, event: &Event<'_>, span: Span) {
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => self.open.push(span.start.index()),
            Event::SequenceEnd | Event::MappingEnd => drop(self.open.pop()),
            _ => {}
        }
        self.understood = self.understood.max(span.end.index());
    }

    /// Where the text is not YAML, and why.
    pub(super) fn fault(&self, error: &ScanError) -> (At, String) {
        let (stopped, info) = (place(error.marker()), error.info());
        match self.opener(error.marker().index()) {
            None => (stopped, format!("this is not YAML: {info}; {FIX}")),
            Some(Opener { at, mark, last: None }) => {
                let seen = if stopped == at { String::new() } else { format!(" before {stopped}") };
                (at, format!("this is not YAML: the `{mark}` here is not closed{seen}; {FIX}"))
            }
            Some(Opener { at, mark, last: Some(last) }) => {
                let text = "is not closed on its line, and the next one ends the text";
                (at, format!("this is not YAML: the `{mark}` here {text} at {last}; {FIX}"))
            }
        }
    }

    /// The bracket or quotation mark that causes an error at this place. A bracket with a partner further on
    /// is not the cause: then the error stands inside of it.
    fn opener(&self, error: usize) -> Option<Opener> {
        let characters: Vec<(At, char)> = places(self.text).collect();
        let bracket =
            |index: &usize| characters.get(*index).filter(|own| matches!(own.1, '{' | '[')).copied();
        let open = self.open.iter().filter_map(bracket).collect();
        let mut scan = Scan { characters: &characters, index: self.understood, open };
        match scan.to(error) {
            Some(quote) if quote.begin == error => return quote.spans_lines().then(|| quote.opener()),
            Some(quote) if quote.ends_before(error, &characters) && quote.spans_lines() => {
                return Some(quote.opener());
            }
            _ => {}
        }
        let (at, mark) = scan.open.last().copied()?;
        (!scan.closes()).then_some(Opener { at, mark, last: None })
    }
}

/// A bracket or quotation mark that causes an error.
struct Opener {
    at: At,
    mark: char,
    /// The mark that ends the text, lines later.
    last: Option<At>,
}

/// Each character with its place.
fn places(text: &str) -> impl Iterator<Item = (At, char)> {
    let mut at = At { line: 1, column: 0 };
    let mut after_break = false;
    text.chars().map(move |character| {
        if std::mem::replace(&mut after_break, character == '\n') {
            at = At { line: at.line + 1, column: 0 };
        }
        at.column += 1;
        (at, character)
    })
}

/// A quoted text.
struct Quote {
    begin: usize,
    /// After the closing mark; `None` if there is none.
    end: Option<usize>,
    at: At,
    mark: char,
    last: Option<At>,
}

impl Quote {
    /// Whether only blanks stand between it and this place.
    fn ends_before(&self, index: usize, characters: &[(At, char)]) -> bool {
        let rest = self.end.and_then(|end| characters.get(end..index));
        rest.is_some_and(|rest| rest.iter().all(|(_, character)| matches!(character, ' ' | '\t')))
    }

    fn spans_lines(&self) -> bool {
        self.last.is_none_or(|last| last.line > self.at.line)
    }

    const fn opener(&self) -> Opener {
        Opener { at: self.at, mark: self.mark, last: self.last }
    }
}

struct Scan<'a> {
    characters: &'a [(At, char)],
    index: usize,
    /// The brackets that are open, the innermost last.
    open: Vec<(At, char)>,
}

impl Scan<'_> {
    /// Goes on to a place. Returns the last quoted text that begins at the place or before.
    fn to(&mut self, stop: usize) -> Option<Quote> {
        let mut last = None;
        while self.index <= stop {
            let Some((at, character)) = self.character(self.index) else { break };
            match character {
                '"' | '\'' if self.begins_token() => {
                    let quote = self.quote(at, character);
                    self.index = quote.end.unwrap_or(self.characters.len());
                    last = Some(quote);
                    continue;
                }
                _ if self.index == stop => break,
                '#' if self.is_after_blank() => self.skip_line(),
                '{' | '[' if self.begins_token() => self.open.push((at, character)),
                '}' | ']' => drop(self.open.pop()),
                _ => {}
            }
            self.index += 1;
        }
        self.index = self.index.max(stop);
        last
    }

    /// Whether the innermost bracket gets its partner in the rest of the text.
    fn closes(mut self) -> bool {
        let depth = self.open.len();
        while let Some((at, character)) = self.character(self.index) {
            match character {
                '"' | '\'' if self.begins_token() => {
                    self.index = self.quote(at, character).end.unwrap_or(self.characters.len());
                    continue;
                }
                '#' if self.is_after_blank() => self.skip_line(),
                '{' | '[' if self.begins_token() => self.open.push((at, character)),
                '}' | ']' => {
                    let opened = self.open.pop().map(|(_, opened)| opened);
                    if self.open.len() < depth {
                        return matches!((opened, character), (Some('{'), '}') | (Some('['), ']'));
                    }
                }
                _ => {}
            }
            self.index += 1;
        }
        false
    }

    fn character(&self, index: usize) -> Option<(At, char)> {
        self.characters.get(index).copied()
    }

    fn before(&self) -> Option<char> {
        self.character(self.index.checked_sub(1)?).map(|(_, character)| character)
    }

    /// Whether a quoted text or a collection can begin here, and not inside a plain text such as `it's`.
    fn begins_token(&self) -> bool {
        self.before().is_none_or(|before| before.is_whitespace() || matches!(before, '{' | '[' | ',' | ':'))
    }

    fn is_after_blank(&self) -> bool {
        self.before().is_none_or(char::is_whitespace)
    }

    /// Stops in front of the line's end.
    fn skip_line(&mut self) {
        while self.character(self.index + 1).is_some_and(|(_, character)| character != '\n') {
            self.index += 1;
        }
    }

    /// The quoted text that begins here.
    fn quote(&self, at: At, mark: char) -> Quote {
        let mut index = self.index + 1;
        while let Some((last, character)) = self.character(index) {
            let doubled = self.character(index + 1).is_some_and(|(_, next)| next == '\'');
            match character {
                '\\' if mark == '"' => index += 1,
                '\'' if mark == '\'' && doubled => index += 1,
                _ if character == mark => {
                    return Quote { begin: self.index, end: Some(index + 1), at, mark, last: Some(last) };
                }
                _ => {}
            }
            index += 1;
        }
        Quote { begin: self.index, end: None, at, mark, last: None }
    }
}
