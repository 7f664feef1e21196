//! A fault at a position in a model file.

pub use crate::yaml::At;

/// One fault in a model file, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The field that has to change.
    pub at: At,
    /// A sentence that says what is wrong and what to write instead.
    pub text: String,
}

/// All faults, in file order; never empty when returned as an error.
pub type Faults = Vec<Fault>;

impl Fault {
    /// A fault at a place; its text does not repeat the place.
    pub fn new(at: At, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }

    /// The fault in the style of compilers: `shop.yaml:12:7: …`.
    pub fn in_file(&self, file: &str) -> String {
        if self.at.line == 0 {
            format!("{file}: {}", self.text)
        } else {
            format!("{file}:{}:{}: {}", self.at.line, self.at.column, self.text)
        }
    }
}

/// Faults of one reading that are kept; nobody fixes more at a time, and each has its text.
pub const FAULTS_MAX: usize = 100;

/// Bytes of a fault's text. It repeats names of the file, which may be long.
const TEXT_BYTES_MAX: usize = 4 << 10;

const _: () = assert!(FAULTS_MAX > 0, "a file that cannot be read has a fault");

/// The faults of one reading: the first ones found, and the number of the others.
#[derive(Debug, Default)]
pub(crate) struct Found {
    faults: Faults,
    more: usize,
}

impl Found {
    pub(crate) fn add(&mut self, mut fault: Fault) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        if fault.text.len() > TEXT_BYTES_MAX {
            fault.text.truncate(fault.text.floor_char_boundary(TEXT_BYTES_MAX));
            fault.text.push('…');
        }
        self.faults.push(fault);
        assert!(self.faults.len() <= FAULTS_MAX, "further faults are only counted");
    }

    /// Whether further faults are only counted: their hints need not be made.
    pub(crate) const fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// All faults in the order in which they were found.
    pub(crate) fn in_order(mut self) -> Faults {
        if self.more > 0 {
            let at = self.faults.last().map(|last| last.at).unwrap_or_default();
            self.faults.push(Fault::new(at, format!("and {} more faults: fix these first", self.more)));
        }
        self.faults
    }

    /// All faults in file order, each once.
    pub(crate) fn sorted(mut self) -> Faults {
        self.faults.sort();
        self.faults.dedup();
        self.in_order()
    }
}
