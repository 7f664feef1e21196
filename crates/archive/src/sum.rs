//! SHA-256 sums: of chunks, and of manifests.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

const DIGITS: usize = 64;

/// A SHA-256 sum. Its text is 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sum([u8; 32]);

impl Sum {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut summing = Summing::default();
        summing.add(bytes);
        summing.finish()
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What is no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSum;

impl FromStr for Sum {
    type Err = NoSum;

    fn from_str(text: &str) -> Result<Self, NoSum> {
        if text.len() != DIGITS || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NoSum);
        }
        let mut sum = [0; 32];
        for (byte, at) in sum.iter_mut().zip((0..DIGITS).step_by(2)) {
            let digits = text.get(at..at + 2).ok_or(NoSum)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoSum)?;
        }
        Ok(Self(sum))
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|NoSum| D::Error::custom("a SHA-256 sum has 64 lower-case hexadecimal digits"))
    }
}

/// A sum in the making.
#[derive(Clone, Default)]
pub(crate) struct Summing(Sha256);

impl Summing {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Sum {
        Sum(self.0.finalize().into())
    }
}
