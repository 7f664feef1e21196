//! Finds the ends of the structs at the top of Ion text, without decoding them: it follows quotes, comments,
//! brackets and binary values, byte by byte.
//!
//! At the top stand version markers, tables of symbols and records; records may be the elements of a list, as
//! in an example of the service's guide.

use super::survey::{DEPTH_MAX, NUMBER_LENGTH_MAX, Survey};
use super::{Kind, Split, Splitter};
use crate::files::record::{End, Step};

/// The splitter's state.
#[derive(Debug, Default)]
pub(super) struct TextSplitter {
    top: Top,
    /// The struct that is open.
    inside: Option<Inside>,
    /// How many bytes of it have been looked at.
    scanned: usize,
    /// Whether the next byte may not stand there.
    is_broken: bool,
}

impl Splitter for TextSplitter {
    fn split(&mut self, pending: &[u8], end: End) -> Split {
        if self.is_broken {
            return Split::of(Step::Broken(AT_TOP.to_owned()));
        }
        for (place, byte) in pending.iter().enumerate().skip(self.scanned) {
            let step = match &mut self.inside {
                Some(inside) => match inside.step(*byte) {
                    Progress::Open => continue,
                    Progress::NotAStruct => Step::Broken(AT_TOP.to_owned()),
                    Progress::Closed => {
                        let survey = inside.survey;
                        *self = Self { top: std::mem::take(&mut self.top), ..Self::default() };
                        return self.top.found(Step::Piece(place + 1), survey);
                    }
                },
                None => match self.top.step(*byte) {
                    Ok(AtTop::Passed) => continue,
                    Ok(AtTop::StructBegins) => {
                        self.inside = Some(Inside::default());
                        // The struct's first bracket has been seen.
                        self.scanned = 1;
                        match place {
                            0 => continue,
                            passed => Step::Skip(passed),
                        }
                    }
                    // Reported at its place, wherever the piece begins.
                    Err(Misplaced) if place > 0 => {
                        self.is_broken = true;
                        Step::Skip(place)
                    }
                    Err(Misplaced) => Step::Broken(AT_TOP.to_owned()),
                },
            };
            return Split::of(step);
        }
        Split::of(self.at_end_of_bytes(pending, end))
    }
}

/// Why a text is refused that has something else at the top.
const AT_TOP: &str =
    "something other than a struct, $ion_1_0 or a table of symbols stands between the records";
const CUT_SHORT: &str = "the object ends within a value";

impl TextSplitter {
    fn at_end_of_bytes(&mut self, pending: &[u8], end: End) -> Step {
        match (&self.inside, end) {
            (Some(_), End::Reached) => Step::Broken(CUT_SHORT.to_owned()),
            (Some(_), End::Open) => {
                self.scanned = pending.len();
                Step::More
            }
            (None, _) if !pending.is_empty() => Step::Skip(pending.len()),
            (None, End::Reached) if !self.top.may_end() => Step::Broken(CUT_SHORT.to_owned()),
            (None, _) => Step::More,
        }
    }
}

const VERSION_MARKER: &[u8] = b"$ion_1_0";
const SYMBOL_TABLE: &[u8] = b"$ion_symbol_table";
const SYMBOL_TABLE_PREFIX: &[u8] = b"$ion_symbol_table::";

/// What stands between the structs.
#[derive(Debug, Default)]
struct Top {
    within: Comment,
    /// The word that is being read, without spaces. Invariant: a prefix of what may stand at the top, or not
    /// longer than that by one byte.
    word: Vec<u8>,
    in_list: bool,
    /// A version marker before the next piece: all symbols are forgotten.
    forgets_symbols: bool,
    /// What the next struct is.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Comment {
    #[default]
    Outside,
    /// After a `/`.
    Slash,
    Line,
    Block,
    /// After a `*` that may end the comment.
    BlockStar,
}

enum AtTop {
    Passed,
    StructBegins,
}

/// A byte that may not stand at the top.
struct Misplaced;

impl Top {
    fn step(&mut self, byte: u8) -> Result<AtTop, Misplaced> {
        self.within = match (self.within, byte) {
            (Comment::Outside, b'{') => {
                self.end_word()?;
                self.kind = match self.word.as_slice() {
                    b"" => Kind::Record,
                    SYMBOL_TABLE_PREFIX => Kind::SymbolTable,
                    _ => return Err(Misplaced),
                };
                self.word.clear();
                return Ok(AtTop::StructBegins);
            }
            (Comment::Outside, _) => self.outside(byte)?,
            (Comment::Slash, b'/') => Comment::Line,
            (Comment::Slash, b'*') => Comment::Block,
            (Comment::Slash, _) => return Err(Misplaced),
            (Comment::Line, b'\n' | b'\r') | (Comment::BlockStar, b'/') => Comment::Outside,
            (Comment::Line, _) => Comment::Line,
            (Comment::Block | Comment::BlockStar, b'*') => Comment::BlockStar,
            (Comment::Block | Comment::BlockStar, _) => Comment::Block,
        };
        Ok(AtTop::Passed)
    }

    fn outside(&mut self, byte: u8) -> Result<Comment, Misplaced> {
        match byte {
            b'/' => {
                self.end_word()?;
                return Ok(Comment::Slash);
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.end_word()?,
            b'[' | b']' | b',' => {
                self.end_word()?;
                if !self.word.is_empty() || self.in_list == (byte == b'[') {
                    return Err(Misplaced);
                }
                self.in_list = byte != b']';
            }
            _ => {
                self.word.push(byte);
                let is_prefix =
                    [VERSION_MARKER, SYMBOL_TABLE_PREFIX].iter().any(|whole| whole.starts_with(&self.word));
                if !is_prefix {
                    return Err(Misplaced);
                }
            }
        }
        Ok(Comment::Outside)
    }

    /// A space, a comment or a bracket: the word is whole, unless it is that of a table of symbols, which may
    /// have spaces between its parts.
    fn end_word(&mut self) -> Result<(), Misplaced> {
        if self.word == VERSION_MARKER {
            self.forgets_symbols = true;
            self.word.clear();
        }
        if self.word.is_empty() || self.word.starts_with(SYMBOL_TABLE) { Ok(()) } else { Err(Misplaced) }
    }

    /// Whether the object may end here.
    fn may_end(&mut self) -> bool {
        matches!(self.within, Comment::Outside | Comment::Line)
            && !self.in_list
            && self.end_word().is_ok()
            && self.word.is_empty()
    }

    fn found(&mut self, step: Step, survey: Survey) -> Split {
        let forgets_symbols = std::mem::take(&mut self.forgets_symbols);
        Split { step, kind: std::mem::take(&mut self.kind), forgets_symbols, survey }
    }
}

/// What is open within a struct.
#[derive(Debug, Default)]
struct Inside {
    within: Within,
    /// Whether `within` is inside double braces.
    in_lob: bool,
    /// Open structs, lists and S-expressions.
    depth: usize,
    number: NumberLength,
    survey: Survey,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    /// After a `{`: of a struct, or the first of two.
    #[default]
    Brace,
    /// Between values, or in one without quotes.
    Plain,
    /// After a `/` that may begin a comment.
    Slash,
    LineComment,
    BlockComment,
    /// After a `*` that may end a comment.
    BlockStar,
    /// After a `"`.
    Text,
    TextEscape,
    /// After a `'`: of a symbol, or the first of three.
    Quote,
    /// After `''`: an empty symbol, or the first two of three.
    TwoQuotes,
    Symbol,
    SymbolEscape,
    LongText,
    LongEscape,
    /// After one quote in a long text.
    LongQuote,
    /// After two quotes in a long text.
    LongTwoQuotes,
    /// In a value in double braces.
    Lob,
    /// After the first `}` that may end it.
    LobBrace,
}

enum Progress {
    Open,
    Closed,
    NotAStruct,
}

impl Inside {
    fn step(&mut self, byte: u8) -> Progress {
        // A byte after one that may begin or end something, and does not.
        let settled = match (self.within, byte) {
            (Within::Brace, b'{')
            | (Within::Slash, b'/' | b'*')
            | (Within::TwoQuotes | Within::LongQuote | Within::LongTwoQuotes, b'\'')
            | (Within::LobBrace, b'}') => None,
            (Within::Brace, _) => {
                self.open();
                Some(Within::Plain)
            }
            (Within::Slash | Within::TwoQuotes, _) => Some(self.around()),
            (Within::LongQuote | Within::LongTwoQuotes, _) => Some(Within::LongText),
            (Within::LobBrace, _) => Some(Within::Lob),
            _ => None,
        };
        self.within = settled.unwrap_or(self.within);
        self.within = match (self.within, byte) {
            (Within::Plain, _) => match self.plain(byte) {
                Some(within) => within,
                None => return Progress::Closed,
            },
            (Within::Brace, _) if self.depth == 0 => return Progress::NotAStruct,
            (Within::Brace, _) => {
                self.in_lob = true;
                Within::Lob
            }
            (within, _) => self.quoted(within, byte),
        };
        Progress::Open
    }

    /// The state after a byte that is not between values.
    fn quoted(&mut self, within: Within, byte: u8) -> Within {
        match (within, byte) {
            (Within::Slash, b'/') => Within::LineComment,
            (Within::LineComment, b'\n' | b'\r') | (Within::BlockStar, b'/') => Within::Plain,
            (Within::BlockComment | Within::BlockStar, b'*') => Within::BlockStar,
            (Within::Slash | Within::BlockStar, _) => Within::BlockComment,
            (Within::Text, b'\\') => Within::TextEscape,
            (Within::Quote | Within::Symbol, b'\\') => Within::SymbolEscape,
            (Within::LongText, b'\\') => Within::LongEscape,
            (Within::Text, b'"') | (Within::Symbol | Within::LongTwoQuotes, b'\'') => self.around(),
            (Within::Quote, b'\'') => Within::TwoQuotes,
            (Within::LongText, b'\'') => Within::LongQuote,
            (Within::LongQuote, _) => Within::LongTwoQuotes,
            (Within::TextEscape, _) | (Within::Lob, b'"') => Within::Text,
            (Within::SymbolEscape | Within::Quote, _) => Within::Symbol,
            (Within::LongEscape | Within::TwoQuotes, _) => Within::LongText,
            (Within::Lob, b'\'') => Within::Quote,
            (Within::Lob, b'}') => Within::LobBrace,
            (Within::LobBrace, _) => {
                self.in_lob = false;
                Within::Plain
            }
            (same, _) => same,
        }
    }

    /// The state after a byte between values; none if it closes the struct.
    fn plain(&mut self, byte: u8) -> Option<Within> {
        self.survey.long_number |= self.number.is_too_long_with(byte);
        match byte {
            b'{' => return Some(Within::Brace),
            b'[' => self.open(),
            b'(' => {
                self.survey.has_sexp = true;
                self.open();
            }
            b'}' | b']' | b')' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return None;
                }
            }
            b',' => self.survey.values += 1,
            b'"' => return Some(Within::Text),
            b'\'' => return Some(Within::Quote),
            b'/' => return Some(Within::Slash),
            _ => {}
        }
        Some(Within::Plain)
    }

    fn open(&mut self) {
        self.depth += 1;
        self.survey.values += 1;
        self.survey.too_deep |= self.depth > DEPTH_MAX;
    }

    /// What surrounds a text.
    const fn around(&self) -> Within {
        if self.in_lob { Within::Lob } else { Within::Plain }
    }
}

/// The length of the word without quotes that is being read, if it is a number.
#[derive(Debug, Default)]
struct NumberLength {
    length: usize,
    is_number: bool,
}

impl NumberLength {
    fn is_too_long_with(&mut self, byte: u8) -> bool {
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'+' | b'-' | b'.' | b'_' | b'$') {
            *self = Self::default();
            return false;
        }
        if self.length == 0 {
            self.is_number = byte.is_ascii_digit() || byte == b'-';
        }
        self.length += 1;
        self.is_number && self.length > NUMBER_LENGTH_MAX
    }
}
