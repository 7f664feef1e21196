//! What changes that arrive show of the sender's clock.

use keywright_store::Store;

use crate::catalogue::Table;
use crate::state::{ClockNotice, Engine};
use crate::support::layout::TableId;
use crate::support::version::Version;

/// Notes what changes show of the clock of their sender's region, at the table that they have come to. Of
/// each there is its version, and the one that it replaced; `None` in a pass.
pub(super) fn note<'v, S: Store>(
    engine: &Engine<S>,
    (region, sender): (&str, TableId),
    receiver: &Table,
    changes: impl Iterator<Item = (&'v Version, Option<&'v Version>)>,
) {
    let now_ms = engine.env().now_ms();
    // As the receiver's clock shows it, which a simulation may shift too.
    let shown_ms = now_ms.saturating_add_signed(engine.links().skew_ms(&receiver.region, now_ms));
    if let Some(last_ms) = last_ms(region, changes) {
        let names = (region, receiver.region.as_str(), receiver.name.as_str());
        let ahead_ms = last_ms.saturating_sub(shown_ms);
        engine.shipping().clocks().note((sender, receiver.id), names, (ahead_ms, now_ms));
    }
}

/// The latest time that the clock of a region has given to one of these changes. A change of what another
/// region has written may take its time from there: then it is not later, but for the count within a
/// millisecond.
fn last_ms<'v>(
    region: &str,
    changes: impl Iterator<Item = (&'v Version, Option<&'v Version>)>,
) -> Option<u64> {
    let own = changes.filter(|(version, _)| version.region == region);
    let is_of_clock = |(version, replaced): (&Version, Option<&Version>)| {
        let ms = version.stamp.ms();
        (ms > replaced?.stamp.ms()).then_some(ms)
    };
    own.filter_map(is_of_clock).max()
}

impl<S: Store> Engine<S> {
    /// Clocks of regions that are found to be ahead, or to be so no longer, since the last call.
    pub fn take_clock_notices(&self) -> Vec<ClockNotice> {
        self.shipping().clocks().take_notices()
    }

    /// The most milliseconds by which the clock of a region is known to be ahead of that of another one; zero
    /// below a second.
    pub fn clock_ahead_ms(&self) -> u64 {
        self.shipping().clocks().most_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::stamp::Stamp;

    #[test]
    fn a_time_that_was_taken_from_another_region_says_nothing_of_the_clock() {
        let version = |ms, region: &str| Version { stamp: Stamp::first_of(ms), region: region.to_owned() };
        let taken = Version { stamp: Stamp::first_of(90).plus(2), ..version(0, "a") };
        let own = (version(70, "a"), Some(version(60, "b")));
        let taken = (taken, Some(version(90, "b")));
        let passed = (version(95, "a"), None);
        let foreign = (version(96, "b"), Some(version(1, "a")));
        let new = (version(71, "a"), Some(Version::zero()));
        let last = |changes: &[&(Version, Option<Version>)]| {
            last_ms("a", changes.iter().map(|(version, replaced)| (version, replaced.as_ref())))
        };
        assert_eq!(last(&[&own, &taken, &passed, &foreign]), Some(70));
        assert_eq!(last(&[&taken, &foreign]), None);
        assert_eq!(last(&[&own, &new]), Some(71));
    }
}
