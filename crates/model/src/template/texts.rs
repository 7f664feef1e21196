//! Sets of texts, as patterns of characters, and whether two sets have a text in common.

use std::collections::BTreeSet;

/// The characters that can stand at one place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    Only(char),
    Digits,
    /// The characters of a number as the database writes it.
    Number,
    /// The characters of a time.
    Time,
    Hexadecimal,
    /// The kinds of characters seen in stored values.
    Seen(Kinds),
    /// Anything except the delimiters of the templates.
    Word,
    Any,
}

/// Kinds of characters that occur in values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    lower: bool,
    upper: bool,
    digits: bool,
    others: BTreeSet<char>,
}

/// One place of a text: exactly one character, or any number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    One(Letters),
    Many(Letters),
}

/// The texts of a template.
pub(crate) type Texts = Vec<Place>;

impl Kinds {
    pub(crate) fn of(values: &BTreeSet<&str>) -> Self {
        let mut kinds = Self::default();
        for letter in values.iter().flat_map(|value| value.chars()) {
            if letter.is_ascii_digit() {
                kinds.digits = true;
            } else if letter.is_lowercase() {
                kinds.lower = true;
            } else if letter.is_uppercase() {
                kinds.upper = true;
            } else {
                kinds.others.insert(letter);
            }
        }
        kinds
    }

    fn contains(&self, letter: char) -> bool {
        (self.digits && letter.is_ascii_digit())
            || (self.lower && letter.is_lowercase())
            || (self.upper && letter.is_uppercase())
            || self.others.contains(&letter)
    }

    fn meet(&self, other: &Self) -> bool {
        (self.digits && other.digits)
            || (self.lower && other.lower)
            || (self.upper && other.upper)
            || !self.others.is_disjoint(&other.others)
    }
}

pub(crate) fn literal(text: &str) -> Texts {
    text.chars().map(|letter| Place::One(Letters::Only(letter))).collect()
}

pub(crate) fn several(letters: Letters) -> Texts {
    vec![Place::One(letters.clone()), Place::Many(letters)]
}

/// Whether some text is in both sets. Both are walked in parallel, and each pair of places is visited once.
pub(crate) fn meet(one: &Texts, two: &Texts, delimiters: &BTreeSet<char>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(0, 0)];
    while let Some((ours, theirs)) = open.pop() {
        if !seen.insert((ours, theirs)) {
            continue;
        }
        match (one.get(ours), two.get(theirs)) {
            (None, None) => return true,
            (our_place, their_place) => {
                if let Some(Place::Many(_)) = our_place {
                    open.push((ours + 1, theirs));
                }
                if let Some(Place::Many(_)) = their_place {
                    open.push((ours, theirs + 1));
                }
                open.extend(
                    step(our_place, their_place, delimiters).map(|(us, them)| (ours + us, theirs + them)),
                );
            }
        }
    }
    false
}

/// The positions reachable in both sets after reading one character that matches both.
fn step(one: Option<&Place>, two: Option<&Place>, delimiters: &BTreeSet<char>) -> Option<(usize, usize)> {
    let (one, two) = (one?, two?);
    common(one.letters(), two.letters(), delimiters).then_some((one.moves(), two.moves()))
}

impl Place {
    const fn letters(&self) -> &Letters {
        match self {
            Self::One(letters) | Self::Many(letters) => letters,
        }
    }

    const fn moves(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(_) => 0,
        }
    }
}

fn common(one: &Letters, two: &Letters, delimiters: &BTreeSet<char>) -> bool {
    match (one, two) {
        (Letters::Only(letter), other) | (other, Letters::Only(letter)) => match other {
            Letters::Only(own) => letter == own,
            Letters::Digits => letter.is_ascii_digit() || matches!(letter, '-' | '.'),
            Letters::Number => letter.is_ascii_digit() || ".-+Ee".contains(*letter),
            Letters::Time => letter.is_ascii_digit() || "-:T.Z+".contains(*letter),
            Letters::Hexadecimal => letter.is_ascii_hexdigit() || *letter == '-',
            Letters::Seen(kinds) => kinds.contains(*letter),
            Letters::Word => !delimiters.contains(letter),
            Letters::Any => true,
        },
        (Letters::Seen(kinds), other) | (other, Letters::Seen(kinds)) => match other {
            Letters::Seen(own) => kinds.meet(own),
            Letters::Digits | Letters::Number | Letters::Time => kinds.digits,
            Letters::Hexadecimal => kinds.digits || kinds.lower || kinds.upper,
            Letters::Only(_) | Letters::Word | Letters::Any => true,
        },
        // All other kinds have the digits in common.
        _ => true,
    }
}
