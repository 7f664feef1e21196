//! Parsed expressions that are kept by their text, so that a text that comes again is not parsed again.
//!
//! A tree has names, placeholders and places in lists, and no value of a request. All requests of the process
//! share the trees, each process keeps its own. A tree is kept from the second use of its text on, and within
//! its set it makes way for trees that are used more. So a client that sends ever other texts neither fills
//! the memory nor pushes out those that others use. This file does not know placeholders or items.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::syntax::{RawCondition, RawPath, RawUpdate};

/// Sets of trees. The hash of a text chooses its set.
const SETS: usize = 64;
/// Trees of a set.
const SET_TREES_MAX: usize = 32;
/// Memory of the trees of a set: 8 MiB of all sets.
const SET_BYTES_MAX: usize = 128 * 1024;
/// Memory of a tree for each byte of its text, at most: `a=b OR` makes two conditions, which take most.
const BYTES_PER_TEXT_BYTE: usize = 64;
/// Memory of a tree beyond that of its text.
const TREE_BYTES: usize = 256;
/// Hashes of texts that were seen once, for each set.
const SEEN_MAX: usize = 64;
/// From this many uses on they are not counted.
const USES_MAX: u32 = 1 << 20;
/// After so many new trees of a set, each one's uses count half.
const AGE_TREES: u32 = 64;

const _: () = assert!(tree_bytes(1024) <= SET_BYTES_MAX, "texts of a usual length are kept");

/// The expression that a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Language {
    Condition,
    Projection,
    Update,
}

/// The syntax of an expression, after the checks that need no placeholders.
#[derive(Debug)]
pub(super) enum Tree {
    Condition(RawCondition<'static>),
    Projection(Vec<RawPath<'static>>),
    Update(RawUpdate<'static>),
}

/// How often the trees were of use since the process began, and what they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptExpressions {
    /// Expressions whose tree was there.
    pub hits: u64,
    /// Expressions that were parsed.
    pub misses: u64,
    /// Trees that are kept.
    pub trees: usize,
    /// Their memory, at most.
    pub bytes: usize,
}

/// How often the trees of this process were of use, and what they take.
pub fn kept_expressions() -> KeptExpressions {
    KEPT.figures()
}

/// The tree of the text, if it is kept.
pub(super) fn find(language: Language, text: &str) -> Option<Arc<Tree>> {
    KEPT.find(language, text)
}

/// Keeps the tree of a text that was found nowhere, if it was seen before.
pub(super) fn keep(language: Language, text: &str, tree: impl FnOnce() -> Tree) {
    KEPT.keep(language, text, tree);
}

static KEPT: LazyLock<Kept> = LazyLock::new(Kept::default);

const fn tree_bytes(text_bytes: usize) -> usize {
    TREE_BYTES + text_bytes * (1 + BYTES_PER_TEXT_BYTE)
}

struct Kept {
    hashes: RandomState,
    sets: [Mutex<Set>; SETS],
}

impl Default for Kept {
    fn default() -> Self {
        Self { hashes: RandomState::new(), sets: std::array::from_fn(|_| Mutex::default()) }
    }
}

/// Invariant: `bytes` is the sum over `entries`, and at most [`SET_BYTES_MAX`].
#[derive(Default)]
struct Set {
    entries: Vec<Entry>,
    bytes: usize,
    /// Hashes of texts that were parsed and not kept, the oldest at `next_seen`.
    seen: Vec<u64>,
    next_seen: usize,
    until_aged: u32,
    hits: u64,
    misses: u64,
}

struct Entry {
    hash: u64,
    language: Language,
    text: Box<str>,
    tree: Arc<Tree>,
    uses: u32,
}

impl Kept {
    fn hash(&self, language: Language, text: &str) -> u64 {
        self.hashes.hash_one((language, text))
    }

    /// Calls a function with the set of a hash.
    fn with_set<T>(&self, hash: u64, act: impl FnOnce(&mut Set) -> T) -> Option<T> {
        let place = usize::try_from(hash).unwrap_or_default() % SETS;
        let set = self.sets.get(place)?;
        // A set is whole after each call, also where a thread ended within one.
        Some(act(&mut set.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn find(&self, language: Language, text: &str) -> Option<Arc<Tree>> {
        let hash = self.hash(language, text);
        self.with_set(hash, |set| set.find(hash, language, text)).flatten()
    }

    fn keep(&self, language: Language, text: &str, tree: impl FnOnce() -> Tree) {
        if tree_bytes(text.len()) > SET_BYTES_MAX {
            return;
        }
        let hash = self.hash(language, text);
        self.with_set(hash, |set| {
            if set.was_seen(hash) {
                set.insert(Entry { hash, language, text: text.into(), tree: Arc::new(tree()), uses: 1 });
            }
        });
    }

    fn figures(&self) -> KeptExpressions {
        let mut sum = KeptExpressions::default();
        for set in &self.sets {
            let set = set.lock().unwrap_or_else(PoisonError::into_inner);
            sum.hits += set.hits;
            sum.misses += set.misses;
            sum.trees += set.entries.len();
            sum.bytes += set.bytes;
        }
        sum
    }
}

impl Set {
    fn find(&mut self, hash: u64, language: Language, text: &str) -> Option<Arc<Tree>> {
        let is_it =
            |entry: &&mut Entry| entry.hash == hash && entry.language == language && *entry.text == *text;
        let Some(entry) = self.entries.iter_mut().find(is_it) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        entry.uses = (entry.uses + 1).min(USES_MAX);
        Some(Arc::clone(&entry.tree))
    }

    /// Whether a text was seen before. It is from now on.
    fn was_seen(&mut self, hash: u64) -> bool {
        if self.seen.contains(&hash) {
            return true;
        }
        match self.seen.get_mut(self.next_seen) {
            Some(oldest) => *oldest = hash,
            None => self.seen.push(hash),
        }
        self.next_seen = (self.next_seen + 1) % SEEN_MAX;
        false
    }

    /// Takes a tree in, in place of those that are used least.
    fn insert(&mut self, entry: Entry) {
        // Two requests may have parsed it at the same time.
        if self.entries.iter().any(|other| other.hash == entry.hash) {
            return;
        }
        self.age();
        let bytes = tree_bytes(entry.text.len());
        while self.entries.len() >= SET_TREES_MAX || self.bytes + bytes > SET_BYTES_MAX {
            let Some(least) = self.least_used() else { return };
            let removed = self.entries.remove(least);
            self.bytes -= tree_bytes(removed.text.len());
        }
        self.bytes += bytes;
        assert!(self.bytes <= SET_BYTES_MAX, "a set keeps to its memory");
        self.entries.push(entry);
    }

    /// The place of the tree with the fewest uses; of several the oldest.
    fn least_used(&self) -> Option<usize> {
        let places = self.entries.iter().enumerate();
        places.min_by_key(|(_, entry)| entry.uses).map(|(place, _)| place)
    }

    fn age(&mut self) {
        self.until_aged += 1;
        if self.until_aged >= AGE_TREES {
            self.until_aged = 0;
            self.entries.iter_mut().for_each(|entry| entry.uses /= 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::parser;

    fn condition(text: &str) -> Tree {
        Tree::Condition(parser::condition(text).unwrap().into_owned())
    }

    fn use_once(kept: &Kept, text: &str) -> bool {
        if kept.find(Language::Condition, text).is_some() {
            return true;
        }
        kept.keep(Language::Condition, text, || condition(text));
        false
    }

    #[test]
    fn a_tree_is_kept_from_the_second_use_of_its_text_on() {
        let kept = Kept::default();
        let uses = [(); 4].map(|()| use_once(&kept, "a = :a AND size(#b.c[1]) > :b"));
        assert_eq!(uses, [false, false, true, true]);
        assert!(kept.find(Language::Update, "a = :a AND size(#b.c[1]) > :b").is_none());
        assert!(!use_once(&kept, "a = :a"));
        let figures = kept.figures();
        assert_eq!((figures.hits, figures.misses, figures.trees), (2, 4, 1));
    }

    #[test]
    fn a_kept_tree_is_the_one_that_the_text_has() {
        let kept = Kept::default();
        let text = "NOT a.b[7] BETWEEN :a AND :b OR #n IN (:c, size(d)) AND begins_with(e, :f)";
        for _ in 0..2 {
            use_once(&kept, text);
        }
        let tree = kept.find(Language::Condition, text).unwrap();
        let Tree::Condition(found) = &*tree else { panic!("{tree:?}") };
        assert_eq!(found, &parser::condition(text).unwrap());
    }

    #[test]
    fn ever_other_texts_keep_to_the_memory_and_leave_those_in_use() {
        let kept = Kept::default();
        let in_use: Vec<String> = (0..40).map(|number| format!("attribute_exists(a{number})")).collect();
        for _ in 0..10 {
            for text in &in_use {
                use_once(&kept, text);
            }
        }
        for number in 0..6_000 {
            let text = format!("a = :a{number}{}", " AND b = :b".repeat(number % 8));
            use_once(&kept, &text);
            use_once(&kept, &text);
            if number % 100 == 0 {
                for text in &in_use {
                    use_once(&kept, text);
                }
            }
        }
        let figures = kept.figures();
        assert!(
            figures.bytes <= SETS * SET_BYTES_MAX && figures.trees <= SETS * SET_TREES_MAX,
            "{figures:?}"
        );
        let left = in_use.iter().filter(|text| use_once(&kept, text)).count();
        assert_eq!(left, in_use.len(), "those in use stay");
    }

    #[test]
    fn a_text_that_would_take_too_much_is_not_kept() {
        let kept = Kept::default();
        let text = format!("a = :a{}", " OR a = :a".repeat(250));
        let uses = [(); 4].map(|()| use_once(&kept, &text));
        assert_eq!((uses, kept.figures().trees), ([false; 4], 0));
    }
}
