//! The capacity that target tracking wants, and whether it may be taken now. Pure, in whole numbers.
//!
//! Sources: the user guide of Application Auto Scaling on target tracking and cooldowns. How the service
//! computes the desired capacity is not published.

use crate::monitoring::document::TimeMs;

/// The least and the greatest capacity of a target. Invariant: `min <= max`, kept by `new`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

impl Bounds {
    /// Bounds that do not cross.
    pub const fn new(min: u64, max: u64) -> Option<Self> {
        if min <= max { Some(Self { min, max }) } else { None }
    }

    /// The nearest capacity within the bounds.
    pub fn hold(self, capacity: u64) -> u64 {
        capacity.clamp(self.min, self.max)
    }
}

/// Whether capacity is raised or lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Raised.
    Out,
    /// Lowered.
    In,
}

/// What was consumed, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumption {
    /// Thousandths of units.
    pub thousandths: u64,
    /// Seconds in which they were consumed; more than none.
    pub seconds: u64,
}

/// Thousandths of a percent of the provisioned capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u64);

/// The least capacity at which the consumption is no more than this share of it, within the bounds.
pub fn desired(consumed: Consumption, target: Share, bounds: Bounds) -> u64 {
    // thousandths / 1000 / seconds / (share / 100 000)
    let divisor = u128::from(consumed.seconds) * u128::from(target.0);
    assert!(divisor > 0, "a share of nothing is never the target");
    let units = (u128::from(consumed.thousandths) * 100).div_ceil(divisor);
    bounds.hold(u64::try_from(units).unwrap_or(u64::MAX))
}

/// The last change of capacity that a policy has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// When.
    pub at: TimeMs,
    /// The capacity before.
    pub from: u64,
    /// The capacity after.
    pub to: u64,
}

/// How long a policy waits after a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cooldowns {
    /// Seconds after a change until capacity is lowered.
    pub in_s: u64,
    /// Seconds after a raise until capacity is raised again by as much or less.
    pub out_s: u64,
}

/// Why an alarm changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotScaled {
    /// Capacity is at the greatest that is allowed, or above.
    AtMax(u64),
    /// Capacity is at the least that is allowed, or below.
    AtMin(u64),
    /// Capacity is what is wanted.
    AtDesired(u64),
}

impl NotScaled {
    /// The reason's code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::AtMax(_) => "AlreadyAtMaxCapacity",
            Self::AtMin(_) => "AlreadyAtMinCapacity",
            Self::AtDesired(_) => "AlreadyAtDesiredCapacity",
        }
    }
}

/// What an alarm leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The capacity becomes this.
    Scale(u64),
    /// Nothing is to change.
    Stay(NotScaled),
    /// A cooldown has not ended.
    Wait,
}

/// A capacity that an alarm found too small or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The capacity now.
    pub capacity: u64,
    /// The capacity that is wanted, within the bounds.
    pub desired: u64,
    /// The bounds.
    pub bounds: Bounds,
    /// The policy's last change, if it made one.
    pub last: Option<LastChange>,
    /// The time.
    pub now: TimeMs,
}

fn is_over(last: LastChange, cooldown_s: u64, now: TimeMs) -> bool {
    let wait_ms = i64::try_from(cooldown_s.saturating_mul(1000)).unwrap_or(i64::MAX);
    now.0 >= last.at.0.saturating_add(wait_ms)
}

/// Decides what an alarm leads to.
pub fn decide(way: Way, situation: Situation, cooldowns: Cooldowns) -> Decision {
    let Situation { capacity, desired, bounds, last, now } = situation;
    match way {
        Way::Out if capacity >= bounds.max => Decision::Stay(NotScaled::AtMax(bounds.max)),
        Way::In if capacity <= bounds.min => Decision::Stay(NotScaled::AtMin(bounds.min)),
        Way::Out if desired <= capacity => Decision::Stay(NotScaled::AtDesired(capacity)),
        Way::In if desired >= capacity => Decision::Stay(NotScaled::AtDesired(capacity)),
        Way::Out => {
            // Another raise is allowed at once if it is larger than the last one.
            let waits = last.is_some_and(|last| {
                last.to > last.from
                    && !is_over(last, cooldowns.out_s, now)
                    && desired - capacity <= last.to - last.from
            });
            if waits { Decision::Wait } else { Decision::Scale(desired) }
        }
        Way::In => {
            let waits = last.is_some_and(|last| !is_over(last, cooldowns.in_s, now));
            if waits { Decision::Wait } else { Decision::Scale(desired) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Share = Share(70_000);

    fn bounds() -> Bounds {
        Bounds::new(5, 1000).expect("bounds in order")
    }

    #[test]
    fn desired_capacity_is_the_least_that_keeps_the_target() {
        for (units_a_minute, expected) in [(0, 5), (210, 5), (211, 6), (270, 7), (4200, 100), (90_000, 1000)]
        {
            let consumed = Consumption { thousandths: units_a_minute * 1000, seconds: 60 };
            assert_eq!(desired(consumed, TARGET, bounds()), expected, "{units_a_minute}");
        }
    }

    fn at(seconds: i64, capacity: u64, desired: u64, last: Option<LastChange>) -> Situation {
        Situation { capacity, desired, bounds: bounds(), last, now: TimeMs(seconds * 1000) }
    }

    #[test]
    fn raises_wait_for_their_cooldown_unless_they_are_larger() {
        let last = Some(LastChange { at: TimeMs(0), from: 10, to: 20 });
        let cooldowns = Cooldowns { in_s: 300, out_s: 60 };
        let out = |situation| decide(Way::Out, situation, cooldowns);
        assert_eq!(out(at(59, 20, 30, last)), Decision::Wait);
        assert_eq!(out(at(59, 20, 31, last)), Decision::Scale(31));
        assert_eq!(out(at(60, 20, 21, last)), Decision::Scale(21));
        let lowered = Some(LastChange { at: TimeMs(0), from: 20, to: 10 });
        assert_eq!(out(at(1, 10, 11, lowered)), Decision::Scale(11), "a scale-in delays no scale-out");
        assert_eq!(out(at(60, 1000, 1000, last)), Decision::Stay(NotScaled::AtMax(1000)));
        assert_eq!(out(at(60, 20, 20, last)), Decision::Stay(NotScaled::AtDesired(20)));
    }

    #[test]
    fn scale_ins_wait_for_their_cooldown_after_any_change() {
        let cooldowns = Cooldowns { in_s: 300, out_s: 0 };
        let lower = |situation| decide(Way::In, situation, cooldowns);
        for last in [(10, 20), (20, 10)] {
            let last = Some(LastChange { at: TimeMs(0), from: last.0, to: last.1 });
            assert_eq!(lower(at(299, 20, 6, last)), Decision::Wait);
            assert_eq!(lower(at(300, 20, 6, last)), Decision::Scale(6));
        }
        assert_eq!(lower(at(0, 20, 6, None)), Decision::Scale(6));
        assert_eq!(lower(at(0, 3, 5, None)), Decision::Stay(NotScaled::AtMin(5)));
        assert_eq!(lower(at(0, 2000, 1000, None)), Decision::Scale(1000));
    }
}
