//! Counts of requests: how many, how long they took, how they failed, what they consumed.
//!
//! Every request adds to them, so threads add to stripes of their own: nobody waits, and processors do not
//! pass cache lines to each other. A reader adds the stripes up. It does not know in which form figures are
//! shown.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use keywright_engine::Observer;
use keywright_semantics::capacity::Usage;
use keywright_semantics::error::ErrorKind;
use keywright_semantics::throttle::{Direction, Limit};
use keywright_wire::Operation;

/// Upper bounds of the classes of durations, in microseconds. Longer ones are in a last class.
pub(crate) const CLASS_BOUNDS_US: [u64; 16] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000,
];
const CLASSES: usize = CLASS_BOUNDS_US.len() + 1;
/// More stripes than most machines have processors; threads beyond them share.
const STRIPES: usize = 16;
/// All operations, and one place for requests that name none.
const OPERATIONS: usize = Operation::ALL.len() + 1;
const KINDS: usize = ErrorKind::ALL.len();
const LIMITS: usize = Limit::ALL.len();
const DIRECTIONS: usize = Direction::ALL.len();

/// The place of requests that name no operation.
const NO_OPERATION: usize = OPERATIONS - 1;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The stripe of this thread.
    static STRIPE: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES);
}

/// Durations of one operation.
#[derive(Debug)]
struct Durations {
    classes: [AtomicU64; CLASSES],
    sum_us: AtomicU64,
    /// Requests that were not usual enough for the decoder's short way. Those that were need no count.
    long_decodings: AtomicU64,
}

/// The counts of some threads, apart from those of others in memory.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe {
    durations: [Durations; OPERATIONS],
    read_halves: AtomicU64,
    write_halves: AtomicU64,
    conflicts: AtomicU64,
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
}

impl Default for Stripe {
    fn default() -> Self {
        Self {
            durations: std::array::from_fn(|_| Durations {
                classes: std::array::from_fn(|_| AtomicU64::new(0)),
                sum_us: AtomicU64::new(0),
                long_decodings: AtomicU64::new(0),
            }),
            read_halves: AtomicU64::new(0),
            write_halves: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
        }
    }
}

/// Denials by policies: of requests, and of statements in batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Denials {
    /// By statements that deny.
    pub(crate) explicit: u64,
    /// As no statement allows it.
    pub(crate) implicit: u64,
}

impl Denials {
    pub(crate) const fn count(&mut self, is_explicit: bool) {
        let count = if is_explicit { &mut self.explicit } else { &mut self.implicit };
        *count = count.saturating_add(1);
    }
}

/// One finished request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    /// `None` if the request named no operation.
    pub(crate) operation: Option<Operation>,
    pub(crate) error: Option<ErrorKind>,
    pub(crate) denials: Denials,
    pub(crate) took: Duration,
    /// Bytes of the bodies.
    pub(crate) received_bytes: usize,
    pub(crate) sent_bytes: usize,
}

/// All counts since the start.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    stripes: Box<[Stripe]>,
    /// For each operation, its failures by kind.
    errors: Box<[[AtomicU64; KINDS]]>,
    /// Denials that are explicit, and those that are not. They are rare: no stripes.
    denials: [AtomicU64; 2],
    /// Refusals by direction and limit. They are rare: no stripes.
    throttled: [[AtomicU64; LIMITS]; DIRECTIONS],
}

/// Sums over all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The operations that were asked for, in their order.
    pub(crate) operations: Vec<OperationTotals>,
    pub(crate) read_halves: u64,
    pub(crate) write_halves: u64,
    pub(crate) conflicts: u64,
    pub(crate) denials: Denials,
    /// Refusals that occurred, by what was short.
    pub(crate) throttled: Vec<(Direction, Limit, u64)>,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
}

/// The sums of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationTotals {
    /// Its name, or `none` for requests that named no operation.
    pub(crate) name: &'static str,
    /// Requests by class of duration.
    pub(crate) classes: [u64; CLASSES],
    pub(crate) sum_us: u64,
    /// Bodies that the decoder read by its long way.
    pub(crate) long_decodings: u64,
    /// The kinds of errors that occurred, with their numbers.
    pub(crate) errors: Vec<(ErrorKind, u64)>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let no_errors = || std::array::from_fn(|_| AtomicU64::new(0));
        Self {
            stripes: (0..STRIPES).map(|_| Stripe::default()).collect(),
            errors: (0..OPERATIONS).map(|_| no_errors()).collect(),
            denials: std::array::from_fn(|_| AtomicU64::new(0)),
            throttled: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }
}

impl RequestMetrics {
    /// Counts a finished request.
    pub(crate) fn count(&self, finished: &Finished) {
        let operation = finished.operation.map_or(NO_OPERATION, Operation::place);
        if let Some(error) = finished.error
            && let Some(count) = self.errors.get(operation).and_then(|kinds| kinds.get(error.place()))
        {
            add(count, 1);
        }
        if finished.denials != Denials::default() {
            let [explicit, implicit] = &self.denials;
            add(explicit, finished.denials.explicit);
            add(implicit, finished.denials.implicit);
        }
        let Some(stripe) = self.stripe() else { return };
        let us = u64::try_from(finished.took.as_micros()).unwrap_or(u64::MAX);
        if let Some(durations) = stripe.durations.get(operation)
            && let Some(class) = durations.classes.get(class_of(us))
        {
            add(class, 1);
            add(&durations.sum_us, us);
        }
        add(&stripe.received_bytes, u64::try_from(finished.received_bytes).unwrap_or(u64::MAX));
        add(&stripe.sent_bytes, u64::try_from(finished.sent_bytes).unwrap_or(u64::MAX));
    }

    /// Counts a body that the decoder's short way gave up on, or that is of an operation without one.
    pub(crate) fn count_long_decoding(&self, operation: Operation) {
        let durations = self.stripe().and_then(|stripe| stripe.durations.get(operation.place()));
        if let Some(durations) = durations {
            add(&durations.long_decodings, 1);
        }
    }

    fn stripe(&self) -> Option<&Stripe> {
        self.stripes.get(STRIPE.get())
    }

    /// The sums of all threads.
    pub(crate) fn totals(&self) -> Totals {
        let sum = |of: fn(&Stripe) -> &AtomicU64| self.stripes.iter().map(|stripe| read(of(stripe))).sum();
        let [explicit, implicit] = self.denials.each_ref().map(read);
        Totals {
            operations: (0..OPERATIONS).filter_map(|place| self.operation(place)).collect(),
            read_halves: sum(|stripe| &stripe.read_halves),
            write_halves: sum(|stripe| &stripe.write_halves),
            conflicts: sum(|stripe| &stripe.conflicts),
            denials: Denials { explicit, implicit },
            throttled: self.throttled().collect(),
            received_bytes: sum(|stripe| &stripe.received_bytes),
            sent_bytes: sum(|stripe| &stripe.sent_bytes),
        }
    }

    fn throttled(&self) -> impl Iterator<Item = (Direction, Limit, u64)> {
        let of = |(direction, counts)| {
            Limit::ALL.into_iter().zip(counts).map(move |(limit, count)| (direction, limit, read(count)))
        };
        Direction::ALL.into_iter().zip(&self.throttled).flat_map(of).filter(|(_, _, count)| *count > 0)
    }

    /// The sums of one operation; `None` if nobody has asked for it.
    fn operation(&self, place: usize) -> Option<OperationTotals> {
        let mut classes = [0; CLASSES];
        let (mut sum_us, mut long_decodings) = (0, 0);
        for durations in self.stripes.iter().filter_map(|stripe| stripe.durations.get(place)) {
            for (total, class) in classes.iter_mut().zip(&durations.classes) {
                *total += read(class);
            }
            sum_us += read(&durations.sum_us);
            long_decodings += read(&durations.long_decodings);
        }
        if classes.iter().all(|count| *count == 0) {
            return None;
        }
        let kinds = ErrorKind::ALL.into_iter().zip(self.errors.get(place)?);
        let errors = kinds.map(|(kind, count)| (kind, read(count))).filter(|(_, count)| *count > 0).collect();
        let name = Operation::ALL.get(place).map_or("none", |operation| operation.name());
        Some(OperationTotals { name, classes, sum_us, long_decodings, errors })
    }
}

impl Observer for RequestMetrics {
    fn charged(&self, usage: Usage) {
        let Some(stripe) = self.stripe() else { return };
        // Most requests use units of one kind only.
        for (count, units) in [(&stripe.read_halves, usage.read), (&stripe.write_halves, usage.write)] {
            if units.0 > 0 {
                add(count, units.0);
            }
        }
    }

    fn conflicted(&self) {
        if let Some(stripe) = self.stripe() {
            add(&stripe.conflicts, 1);
        }
    }

    fn throttled(&self, limit: Limit, direction: Direction) {
        let limits = self.throttled.get(direction.place());
        if let Some(count) = limits.and_then(|limits| limits.get(limit.place())) {
            add(count, 1);
        }
    }
}

/// The class of a duration.
fn class_of(us: u64) -> usize {
    CLASS_BOUNDS_US.partition_point(|bound| *bound < us)
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use keywright_semantics::capacity::HalfUnits;

    use super::*;

    fn finished(operation: Operation, error: Option<ErrorKind>, us: u64) -> Finished {
        let took = Duration::from_micros(us);
        let (operation, denials) = (Some(operation), Denials { explicit: 1, implicit: 2 });
        Finished { operation, error, denials, took, received_bytes: 3, sent_bytes: 5 }
    }

    #[test]
    fn requests_of_all_threads_are_added_up_by_operation_duration_and_error() {
        let metrics = RequestMetrics::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * STRIPES {
                scope.spawn(|| {
                    metrics.count(&finished(Operation::GetItem, None, 100));
                    metrics.count(&finished(Operation::GetItem, Some(ErrorKind::Validation), 101));
                    metrics.charged(Usage { read: HalfUnits(1), write: HalfUnits(2) });
                    metrics.conflicted();
                    metrics.count_long_decoding(Operation::GetItem);
                });
            }
        });
        let totals = metrics.totals();
        let [get] = totals.operations.as_slice() else { panic!("one operation: {totals:?}") };
        assert_eq!((get.name, get.classes[0], get.classes[1]), ("GetItem", 32, 32));
        assert_eq!((get.sum_us, get.errors.as_slice()), (32 * 201, &[(ErrorKind::Validation, 32)][..]));
        assert_eq!(get.long_decodings, 32);
        assert_eq!((totals.read_halves, totals.write_halves, totals.conflicts), (32, 64, 32));
        assert_eq!((totals.received_bytes, totals.sent_bytes), (64 * 3, 64 * 5));
        assert_eq!(totals.denials, Denials { explicit: 64, implicit: 128 });
    }

    #[test]
    fn a_duration_is_in_the_class_of_the_first_bound_that_it_does_not_exceed() {
        assert_eq!([0, 100, 101, 10_000_000, 10_000_001, u64::MAX].map(class_of), [0, 0, 1, 15, 16, 16]);
    }

    #[test]
    fn requests_without_an_operation_have_a_place_of_their_own() {
        let metrics = RequestMetrics::default();
        metrics.count(&Finished { operation: None, ..finished(Operation::GetItem, None, 1) });
        assert_eq!(metrics.totals().operations[0].name, "none");
    }
}
