//! The bounds of regions, as PD last named them, by which a scan goes from region to region.
//!
//! TiKV's client sends a scan to all regions of its range at once, each with the whole limit, and cuts what
//! came only then: a page of a table of a hundred regions would be a hundred pages.
//!
//! Bounds only divide a range into parts, and the parts adjoin each other wherever the bounds are. So bounds
//! that are old or wrong make a question larger or smaller, and never an answer wrong. They are asked for
//! again after a minute, so that a region that was split is not one question for long.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::{CallError, Cluster, from_region_order, in_region_order};
use crate::keys::{Span, is_before};
use crate::protocol::GetRegion;

/// How long bounds are used without asking PD again.
const FRESH: Duration = Duration::from_mins(1);
/// Regions whose bounds are kept.
const REGIONS_MAX: usize = 10_000;

/// From which end a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    Start,
    End,
}

/// A part of a range that lies in one region, and what comes after it in the order of reading.
pub(crate) type Part = (Span, Option<Span>);

struct Known {
    end: Vec<u8>,
    asked: Instant,
}

/// The bounds that are known, by the region's first key. They do not overlap.
#[derive(Default)]
pub(crate) struct Regions {
    known: Mutex<BTreeMap<Vec<u8>, Known>>,
}

impl Regions {
    /// The first part of a range, if the bounds of its region are known.
    pub(crate) fn known_part(&self, span: &Span, from: ReadFrom) -> Option<Part> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, region) = match from {
            ReadFrom::Start => known.range(..=span.0.clone()).next_back()?,
            ReadFrom::End if span.1.is_empty() => known.last_key_value()?,
            ReadFrom::End => known.range(..span.1.clone()).next_back()?,
        };
        let holds = match from {
            ReadFrom::Start => is_before(&span.0, &region.end),
            ReadFrom::End => region.end.is_empty() || (!span.1.is_empty() && span.1 <= region.end),
        };
        let is_fresh = region.asked.elapsed() < FRESH;
        (holds && is_fresh).then(|| divide(span, &(start.clone(), region.end.clone()), from))
    }

    /// The first part of a range, by the bounds that PD names.
    pub(crate) async fn part(
        &self,
        cluster: &Cluster,
        span: &Span,
        from: ReadFrom,
    ) -> Result<Part, CallError> {
        let key = match from {
            ReadFrom::Start => in_region_order(&span.0),
            ReadFrom::End => last_before(&span.1),
        };
        let asked = Instant::now();
        let Some(region) = cluster.ask_pd(GetRegion { header: None, key }).await?.region else {
            return Ok((span.clone(), None));
        };
        let bounds = (from_region_order(&region.start), from_region_order(&region.end));
        let part = divide(span, &bounds, from);
        self.note(bounds, asked);
        Ok(part)
    }

    fn note(&self, (start, end): Span, asked: Instant) {
        if !is_before(&start, &end) {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REGIONS_MAX {
            known.clear();
        }
        let before = known.range(..start.clone()).next_back();
        let before = before.filter(|(_, other)| is_before(&start, &other.end));
        let within = known.range(start.clone()..).take_while(|(first, _)| is_before(first, &end));
        let overlapping: Vec<Vec<u8>> =
            before.into_iter().chain(within).map(|(first, _)| first.clone()).collect();
        for first in overlapping {
            known.remove(&first);
        }
        known.insert(start, Known { end, asked });
    }
}

/// Divides a range at the bounds of the region where reading begins.
fn divide(span: &Span, bounds: &Span, from: ReadFrom) -> Part {
    let at = match from {
        ReadFrom::Start => &bounds.1,
        ReadFrom::End => &bounds.0,
    };
    if *at <= span.0 || !is_before(at, &span.1) {
        return (span.clone(), None);
    }
    let (low, high) = ((span.0.clone(), at.clone()), (at.clone(), span.1.clone()));
    match from {
        ReadFrom::Start => (low, Some(high)),
        ReadFrom::End => (high, Some(low)),
    }
}

/// A place in the order of regions below this key, and not below any smaller one; an empty key is after all.
fn last_before(key: &[u8]) -> Vec<u8> {
    if key.is_empty() {
        return vec![u8::MAX; 9];
    }
    let mut place = in_region_order(key);
    if let Some(last) = place.last_mut() {
        *last = last.saturating_sub(1);
    }
    // No key ends with such a byte and goes on.
    place.push(u8::MAX);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: &str, to: &str) -> Span {
        (from.as_bytes().to_vec(), to.as_bytes().to_vec())
    }

    #[test]
    fn a_range_is_divided_at_the_bound_that_reading_meets() {
        use ReadFrom::{End, Start};
        for (asked, bounds, from, part, rest) in [
            (("b", "y"), ("a", "m"), Start, ("b", "m"), Some(("m", "y"))),
            (("b", "y"), ("m", ""), End, ("m", "y"), Some(("b", "m"))),
            (("b", ""), ("a", "m"), Start, ("b", "m"), Some(("m", ""))),
            (("", ""), ("m", ""), End, ("m", ""), Some(("", "m"))),
            // The region holds all that is left.
            (("b", "m"), ("a", "m"), Start, ("b", "m"), None),
            (("b", "m"), ("a", ""), Start, ("b", "m"), None),
            (("m", "y"), ("m", ""), End, ("m", "y"), None),
            // Bounds of a region that does not hold the first key: the question is larger, and goes on.
            (("b", "y"), ("a", "b"), Start, ("b", "y"), None),
            (("b", "y"), ("y", "z"), End, ("b", "y"), None),
        ] {
            let expected = (span(part.0, part.1), rest.map(|(from, to)| span(from, to)));
            let found = divide(&span(asked.0, asked.1), &span(bounds.0, bounds.1), from);
            assert_eq!(found, expected, "{asked:?} {bounds:?}");
        }
    }

    #[test]
    fn bounds_are_used_for_a_minute_and_give_way_to_newer_ones() {
        let regions = Regions::default();
        let now = Instant::now();
        let first = |from, to| regions.known_part(&span(from, to), ReadFrom::Start).map(|(part, _)| part);
        let last = |from, to| regions.known_part(&span(from, to), ReadFrom::End).map(|(part, _)| part);
        assert_eq!(first("b", "y"), None);
        regions.note(span("a", "m"), now);
        regions.note(span("m", ""), now);
        assert_eq!((first("b", "y"), last("b", "y")), (Some(span("b", "m")), Some(span("m", "y"))));
        assert_eq!((first("m", "y"), last("b", "m")), (Some(span("m", "y")), Some(span("b", "m"))));
        assert_eq!((first("A", "y"), last("b", "")), (None, Some(span("m", ""))));
        // Split at `g`, and the part before it asked for.
        regions.note(span("a", "g"), now);
        assert_eq!((first("b", "y"), first("h", "y")), (Some(span("b", "g")), None));
        assert_eq!(last("b", "k"), None, "what was known of `h` is not true any more");
        let Some(old) = now.checked_sub(FRESH) else { return };
        regions.note(span("a", "g"), old);
        assert_eq!(first("b", "y"), None);
    }

    #[test]
    fn the_place_before_a_key_is_in_the_region_that_ends_there() {
        let keys: [&[u8]; 8] =
            [b"a", b"ab", b"ab\0", b"ab\0\0\0\0\0\0", b"abcdefgh", b"abcdefgh\0", b"b", b"c"];
        for (place, key) in keys.iter().enumerate() {
            let before = last_before(key);
            assert!(before < in_region_order(key), "{key:?}");
            for smaller in keys.iter().take(place) {
                assert!(in_region_order(smaller) < before, "{smaller:?} {key:?}");
            }
        }
        assert!(keys.iter().all(|key| in_region_order(key) < last_before(b"")));
    }
}
