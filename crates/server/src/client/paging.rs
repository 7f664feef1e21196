//! The pages of an endpoint's answers: whether the keys between them advance.
//!
//! An endpoint that gives a key again would send pages for ever. It does not know requests.

use keywright_model::json::Json;

use crate::process::failure::Failure;

/// Pages without an element that may follow each other. The service sends some where many items were deleted.
const EMPTY_PAGES_MAX: u32 = 10_000;

/// The pages of one operation.
///
/// Invariant: of the keys since `kept`, none equals it. `kept` is replaced at distances that double, so a
/// cycle of any length is found within three turns, with one key in memory.
#[derive(Debug)]
pub(crate) struct Pages {
    operation: &'static str,
    kept: Option<Json>,
    /// Keys seen since `kept`, and how many of them until it is replaced.
    since: u64,
    distance: u64,
    empty: u32,
}

impl Pages {
    /// The pages of an operation from its beginning, or from after a key.
    pub(crate) const fn new(operation: &'static str, after: Option<Json>) -> Self {
        Self { operation, kept: after, since: 0, distance: 1, empty: 0 }
    }

    /// Notes a page of so many elements, and the key after which the next one begins.
    ///
    /// # Errors
    ///
    /// If the endpoint does not advance.
    pub(crate) fn note(&mut self, elements: usize, next: Option<&Json>) -> Result<(), Failure> {
        let Some(next) = next else { return Ok(()) };
        let operation = self.operation;
        self.empty = if elements == 0 { self.empty + 1 } else { 0 };
        if self.empty > EMPTY_PAGES_MAX {
            return Err(Failure::new(format!(
                "{operation}: the endpoint sent {EMPTY_PAGES_MAX} pages without an element, each with a key for \
                 the next: it does not come to an end"
            )));
        }
        if self.kept.as_ref() == Some(next) {
            return Err(Failure::new(format!(
                "{operation}: the endpoint gave the key {} again as the end of a page: it does not advance",
                crate::process::foreign::inline(&next.compact())
            )));
        }
        self.since += 1;
        if self.since == self.distance {
            self.kept = Some(next.clone());
            (self.since, self.distance) = (0, self.distance.saturating_mul(2));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of pages until the keys are refused.
    fn refused_after(keys: impl Iterator<Item = u64>) -> Option<usize> {
        let mut pages = Pages::new("Scan", None);
        keys.map(|key| pages.note(1, Some(&Json::number(key)))).position(|noted| noted.is_err())
    }

    #[test]
    fn a_key_that_comes_again_is_refused_however_many_are_between() {
        assert_eq!(refused_after(std::iter::repeat(7)), Some(1));
        for length in [2, 3, 10, 1_000] {
            let keys = (0..).map(|number| number % length);
            let after = refused_after(keys).unwrap();
            assert!(after <= usize::try_from(length * 3).unwrap(), "{length}: {after}");
        }
        assert_eq!(refused_after(0..100_000), None);
        let mut resumed = Pages::new("Scan", Some(Json::number(7_u64)));
        assert!(
            resumed.note(1, Some(&Json::number(7_u64))).unwrap_err().to_string().contains("does not advance")
        );
    }

    #[test]
    fn pages_without_elements_end_somewhere() {
        let mut pages = Pages::new("Scan", None);
        let refused =
            (0..u64::from(EMPTY_PAGES_MAX) * 2).find_map(|key| pages.note(0, Some(&Json::number(key))).err());
        assert!(refused.unwrap().to_string().contains("does not come to an end"));
        assert_eq!(Pages::new("Scan", None).note(0, None), Ok(()));
    }
}
