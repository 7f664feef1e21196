//! Metrics of tables and indexes, per minute, as the namespace `AWS/DynamoDB` has them, and the rows of those
//! that clients report.
//!
//! Requests add to the present minute in memory: one short lock, no allocation once a table was used in the
//! minute, no floating point. A step writes finished minutes to the store (`background::metric_rows`). It
//! knows tables and ids; it does not know what an operation does.

pub(crate) mod client_series;
pub(crate) mod figures;
pub(crate) mod rows;
pub(crate) mod series;
pub(crate) mod tally;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keywright_semantics::capacity::Usage;
use keywright_semantics::throttle::{Direction, Limit};

use self::client_series::ClientSeries;
use self::figures::{Arm, Cell, TableEvents, TableFigures};
use self::rows::SeriesHash;
use self::series::{Naming, Place, Point, Series};
use crate::catalogue::Table;
use crate::support::env::{MINUTE_MS, Namespace};
use crate::support::layout::{IndexId, TableId};

/// Tables of one shard share a lock.
const SHARDS: usize = 16;
/// Finished minutes of tables that one shard keeps while the store takes none. Older ones are dropped.
const CLOSED_MAX: usize = 10_000;

/// Table ids are numbered upwards, so they are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The map takes its control byte from the upper bits.
        self.0 = number ^ number.rotate_left(57);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug, Default)]
struct Shard {
    open: HashMap<TableId, Box<TableFigures>, BuildHasherDefault<IdHasher>>,
    /// Every minute before this one was taken to be written: what comes late counts for this one.
    open_from: u64,
    /// Finished minutes that are not written yet.
    closed: Vec<TableFigures>,
}

impl Shard {
    /// The figures of a table's present minute. A request that began in an earlier minute counts for this
    /// one: finished minutes do not change.
    #[inline]
    fn of(&mut self, table: &Table, minute: u64) -> &mut TableFigures {
        let minute = minute.max(self.open_from);
        let figures = self.open.entry(table.id).or_insert_with(|| begin(table, minute));
        if figures.minute < minute {
            let before = std::mem::replace(figures, begin(table, minute));
            if self.closed.len() >= CLOSED_MAX {
                self.closed.remove(0);
            }
            self.closed.push(*before);
        }
        figures
    }
}

#[cold]
fn begin(table: &Table, minute: u64) -> Box<TableFigures> {
    Box::new(TableFigures {
        minute,
        account: table.account.clone(),
        region: table.region.clone(),
        name: table.name.clone(),
        base: Arm::default(),
        indexes: Vec::new(),
        operations: Vec::new(),
        events: TableEvents::default(),
        replication: Vec::new(),
    })
}

/// The figures of a table or of one of its indexes.
#[inline]
fn arm<'f>(figures: &'f mut TableFigures, table: &Table, index: Option<IndexId>) -> &'f mut Arm {
    match index {
        None => &mut figures.base,
        Some(index) => index_arm(figures, table, index),
    }
}

fn index_arm<'f>(figures: &'f mut TableFigures, table: &Table, index: IndexId) -> &'f mut Arm {
    let place = figures.indexes.iter().position(|(id, ..)| *id == index).unwrap_or_else(|| {
        let named = table.indexes().find(|(_, id, _)| *id == index);
        let name = named.map(|(_, _, schema)| schema.name.clone()).unwrap_or_default();
        figures.indexes.push((index, name, Arm::default()));
        figures.indexes.len() - 1
    });
    let found = figures.indexes.get_mut(place);
    found.map(|(_, _, arm)| arm).expect("the index was found or added")
}

/// Series of no table in the present minute, and points that are not written yet.
#[derive(Debug, Default)]
struct Others {
    open: BTreeMap<Series, (u64, Cell)>,
    /// Every minute before this one was taken to be written.
    open_from: u64,
    /// Finished points: of `open`, or returned by a failed write.
    finished: Vec<Point>,
    /// Accounts and regions whose errors are counted.
    places: HashSet<Place>,
    /// The hour in which each series was last written to the directory.
    listed: HashMap<SeriesHash, u64>,
    /// The last series that the look for old points has passed.
    swept_to: Option<SeriesHash>,
}

/// Accounts and regions of which errors are counted: clients without a key can name any.
const PLACES_MAX: usize = 1_000;
/// Series of which is known that the directory lists them: deleted tables have some too. Beyond that all are
/// forgotten, and written again with their next value.
const LISTED_MAX: usize = 200_000;
/// Finished points that are kept while the store takes none.
const FINISHED_MAX: usize = 200_000;
/// Names that are remembered for a quick look; a power of two.
const HINTS: usize = 64;

/// The work of background steps on metrics: when each is due.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// Every minute before this one is written.
    pub written_minute: AtomicU64,
    /// Alarms have been looked at in this minute.
    pub evaluated_minute: AtomicU64,
    /// Gauges are recorded up to this stretch of five minutes.
    pub gauged: AtomicU64,
    /// When the next look for old points begins.
    pub sweep_ms: AtomicU64,
}

/// What is taken at a time to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// The tables of the shard of this place.
    Tables(usize),
    /// All that belongs to no table.
    Others,
}

/// All metrics of one engine.
#[derive(Debug)]
pub(crate) struct Metrics {
    shards: [Mutex<Shard>; SHARDS],
    /// The id of a table whose name has the hash of the place. It may be any table's.
    hints: [AtomicU64; HINTS],
    others: Mutex<Others>,
    naming: Naming,
    /// The minute in which the last request began or ended: a request reads the clock twice, not for each
    /// figure.
    minute: AtomicU64,
    pub(crate) schedule: Schedule,
    /// Held while finished minutes are written, so that a reader sees each point once.
    pub(crate) writing: tokio::sync::Mutex<()>,
    /// Held by the one change of an alarm under way: changes of one alarm would meet each other.
    pub(crate) changing_alarm: tokio::sync::Mutex<()>,
    /// Held by the one request that reads many points: what it reads is in memory.
    pub(crate) reading: tokio::sync::Mutex<()>,
    /// Held by the one request that reports values: two of them would add to the same rows.
    pub(crate) reporting: tokio::sync::Mutex<ClientSeries>,
}

/// A place among the hints, from the ends and the length of a name.
#[inline]
fn hint_place(name: &str) -> usize {
    let bytes = name.as_bytes();
    let end = |byte: Option<&u8>| byte.copied().map_or(0, usize::from);
    (end(bytes.first()).wrapping_mul(7) ^ end(bytes.last()) ^ (bytes.len() << 3)) % HINTS
}

impl Metrics {
    pub(crate) fn new(naming: Naming) -> Self {
        Self {
            shards: Default::default(),
            hints: std::array::from_fn(|_| AtomicU64::new(0)),
            others: Mutex::default(),
            naming,
            minute: AtomicU64::new(0),
            schedule: Schedule::default(),
            writing: tokio::sync::Mutex::default(),
            changing_alarm: tokio::sync::Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            reporting: tokio::sync::Mutex::default(),
        }
    }

    #[inline]
    fn shard(&self, table: TableId) -> MutexGuard<'_, Shard> {
        let place = usize::try_from(table.0 % 16).unwrap_or_default();
        let shard = self.shards.get(place).expect("every table has a shard");
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn others(&self) -> MutexGuard<'_, Others> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a request begins.
    #[inline]
    pub(crate) fn begin(&self, now_ms: u64) {
        let minute = now_ms / MINUTE_MS;
        // Most requests begin in the minute of the one before: they only read it.
        if self.minute.load(Ordering::Relaxed) < minute {
            self.minute.fetch_max(minute, Ordering::Relaxed);
        }
    }

    /// A request has consumed units of a table, or of one of its global indexes, in the minute in which it or
    /// a later one began. The units of local indexes count for the table.
    #[inline]
    pub(crate) fn consumed(&self, table: &Table, index: Option<IndexId>, usage: Usage) {
        let minute = self.minute.load(Ordering::Relaxed);
        let mut shard = self.shard(table.id);
        arm(shard.of(table, minute), table, index).add_consumed(usage);
    }

    /// An item of a request was refused because a table or index has no units left.
    pub(crate) fn throttled(
        &self,
        table: &Table,
        index: Option<IndexId>,
        limit: Limit,
        direction: Direction,
        now_ms: u64,
    ) {
        let mut shard = self.shard(table.id);
        arm(shard.of(table, now_ms / MINUTE_MS), table, index).add_throttled(limit, direction);
    }

    /// Adds to the figures of a table in the present minute.
    pub(crate) fn add_to(&self, table: &Table, now_ms: u64, add: impl FnOnce(&mut TableFigures)) {
        let mut shard = self.shard(table.id);
        add(shard.of(table, now_ms / MINUTE_MS));
        let hint = self.hints.get(hint_place(&table.name));
        hint.expect("every name has a place").store(table.id.0, Ordering::Relaxed);
    }

    /// As `add_to`, for a table that is known by its name only; gives `add` back if the table was not used
    /// lately in this minute.
    #[inline]
    pub(crate) fn add_to_named<A: FnOnce(&mut TableFigures)>(
        &self,
        namespace: &Namespace,
        name: &str,
        now_ms: u64,
        add: A,
    ) -> Result<(), A> {
        let hint = self.hints.get(hint_place(name)).expect("every name has a place");
        let id = TableId(hint.load(Ordering::Relaxed));
        let mut shard = self.shard(id);
        let is_its = |figures: &&mut Box<TableFigures>| {
            figures.minute >= now_ms / MINUTE_MS
                && figures.name == name
                && figures.account == namespace.account.as_str()
                && figures.region == namespace.region.as_str()
        };
        let Some(figures) = shard.open.get_mut(&id).filter(is_its) else { return Err(add) };
        add(figures);
        Ok(())
    }

    /// Counts an error of an account and region, unless as many others as are counted were there before.
    pub(crate) fn add_user_error(&self, place: &Place, now_ms: u64, value: u64) {
        let mut others = self.others();
        if !others.places.contains(place) {
            if others.places.len() >= PLACES_MAX {
                return;
            }
            others.places.insert(place.clone());
        }
        drop(others);
        self.add(Series::new(place, series::USER_ERRORS, Vec::new()), now_ms, value);
    }

    /// Adds a value to a series of no table.
    pub(crate) fn add(&self, series: Series, now_ms: u64, value: u64) {
        let minute = now_ms / MINUTE_MS;
        let mut others = self.others();
        let minute = minute.max(others.open_from);
        let ended = others.open.get(&series).filter(|(since, _)| *since < minute).copied();
        if let Some((since, cell)) = ended {
            others.open.remove(&series);
            others.finished.push(Point { series: series.clone(), minute: since, cell, histogram: None });
        }
        others.open.entry(series).or_insert((minute, Cell::default())).1.add(value);
    }

    /// The parts in which finished points are taken: those of all tables at once would take many times the
    /// memory of their figures.
    pub(crate) fn parts() -> impl Iterator<Item = Part> + Send {
        (0..SHARDS).map(Part::Tables).chain([Part::Others])
    }

    /// Takes every point of one part of minutes before this one, or of all minutes when the engine stops.
    pub(crate) fn take_finished(&self, part: Part, before_minute: u64) -> Vec<Point> {
        let mut points = Vec::new();
        // Not when the engine stops: then it takes the present minute too.
        let open_from = if before_minute < u64::MAX { before_minute } else { 0 };
        if let Part::Tables(place) = part {
            let shard = self.shards.get(place).expect("a part is one of the shards");
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.open_from = shard.open_from.max(open_from);
            let ended = shard.open.extract_if(|_, figures| figures.minute < before_minute);
            let ended: Vec<TableFigures> = ended.map(|(_, figures)| *figures).collect();
            let mut closed = std::mem::take(&mut shard.closed);
            drop(shard);
            closed.extend(ended);
            for figures in &closed {
                series::points(figures, self.naming, &mut |point| points.push(point));
            }
            return points;
        }
        let mut others = self.others();
        others.open_from = others.open_from.max(open_from);
        points.append(&mut others.finished);
        let ended = others.open.extract_if(.., |_, (minute, _)| *minute < before_minute);
        points.extend(ended.map(|(series, (minute, cell))| Point { series, minute, cell, histogram: None }));
        points
    }

    /// Gives back points that could not be written; the oldest are dropped beyond a bound.
    pub(crate) fn put_back(&self, mut points: Vec<Point>) {
        let mut others = self.others();
        points.append(&mut others.finished);
        let beyond = points.len().saturating_sub(FINISHED_MAX);
        others.finished = points.split_off(beyond);
    }

    /// The values of a series that are not written yet, by minute; `table` is the table of its name. What a
    /// deleted table had in the present minute is seen once it is written.
    ///
    /// Looks at no other table of the present minute: there may be thousands, and a request may ask for
    /// hundreds of series.
    pub(crate) fn unwritten(&self, wanted: &Series, table: Option<TableId>, mut take: impl FnMut(Point)) {
        let mut take_wanted = |point: Point| {
            if point.series == *wanted {
                take(point);
            }
        };
        let is_its = |figures: &&TableFigures| {
            Some(figures.name.as_str()) == wanted.table()
                && figures.account == wanted.place.account
                && figures.region == wanted.place.region
        };
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let open = table.and_then(|table| shard.open.get(&table)).map(|figures| &**figures);
            let its = open.into_iter().chain(&shard.closed).filter(is_its);
            its.for_each(|figures| series::points(figures, self.naming, &mut take_wanted));
        }
        let others = self.others();
        let finished = others.finished.iter().filter(|point| point.series == *wanted).cloned();
        finished.for_each(&mut take);
        if let Some((minute, cell)) = others.open.get(wanted).copied() {
            take(Point { series: wanted.clone(), minute, cell, histogram: None });
        }
    }

    /// Passes every point of an account and region that is not written yet to `take`.
    pub(crate) fn each_unwritten(&self, place: &Place, take: &mut dyn FnMut(Point)) {
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let all = shard.open.values().map(|figures| &**figures).chain(&shard.closed);
            let its =
                all.filter(|figures| figures.account == place.account && figures.region == place.region);
            its.for_each(|figures| series::points(figures, self.naming, take));
        }
        let others = self.others();
        others.finished.iter().filter(|point| point.series.place == *place).cloned().for_each(&mut *take);
        for (series, (minute, cell)) in others.open.iter().filter(|(series, _)| series.place == *place) {
            take(Point { series: series.clone(), minute: *minute, cell: *cell, histogram: None });
        }
    }

    /// Whether the directory has to learn that a series has values in this hour.
    pub(crate) fn is_listed(&self, series: SeriesHash, hour: u64) -> bool {
        self.others().listed.get(&series).is_some_and(|listed| *listed >= hour)
    }

    /// Notes series whose rows in the directory are written.
    pub(crate) fn note_listed(&self, written: impl IntoIterator<Item = (SeriesHash, u64)>) {
        let mut others = self.others();
        if others.listed.len() >= LISTED_MAX {
            others.listed.clear();
        }
        others.listed.extend(written);
    }

    pub(crate) fn swept_to(&self) -> Option<SeriesHash> {
        self.others().swept_to
    }

    pub(crate) fn set_swept_to(&self, series: Option<SeriesHash>) {
        self.others().swept_to = series;
    }

    /// Drops what is known of series that are gone.
    pub(crate) fn forget_listed(&self, series: SeriesHash) {
        self.others().listed.remove(&series);
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::capacity::HalfUnits;

    use super::*;
    use crate::tests::harness::{bench, namespace};

    fn all_finished(metrics: &Metrics, before_minute: u64) -> Vec<Point> {
        Metrics::parts().flat_map(|part| metrics.take_finished(part, before_minute)).collect()
    }

    #[test]
    fn a_minute_adds_up_what_requests_consumed_and_ends_with_the_next() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let index = table.indexes().find(|(_, _, schema)| schema.name == "gsi").map(|(_, id, _)| id);
        let metrics = Metrics::new(Naming::WithTables);
        for halves in [1, 4, 2] {
            metrics.begin(7 * MINUTE_MS);
            metrics.consumed(&table, None, Usage::reading(HalfUnits(halves)));
        }
        metrics.begin(7 * MINUTE_MS);
        metrics.consumed(&table, index, Usage::writing(HalfUnits(2)));
        metrics.throttled(&table, index, Limit::KeyRangeThroughput, Direction::Write, 7 * MINUTE_MS + 2);
        metrics.begin(8 * MINUTE_MS);
        metrics.consumed(&table, None, Usage::reading(HalfUnits(8)));
        let shard = metrics.shard(table.id);
        let before = shard.closed.first().expect("the first minute is over");
        let [read, write] = before.base.consumed;
        assert_eq!((read.sum, read.count, read.min, read.max), (3500, 3, 500, 2000));
        assert!(write.count == 0, "the table was only read");
        let (_, name, arm) = before.indexes.first().expect("the index was written");
        assert_eq!(
            (name.as_str(), arm.consumed[1].sum, arm.throttled),
            ("gsi", 1000, [[0; 4], [0, 0, 0, 1]])
        );
        let now = shard.open.get(&table.id).expect("the second minute is open");
        assert_eq!((now.minute, now.base.consumed[0].sum), (8, 4000));
    }

    #[test]
    fn what_comes_after_its_minute_was_taken_counts_for_the_next_one() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let metrics = Metrics::new(Naming::WithTables);
        let use_one = || metrics.consumed(&table, None, Usage::reading(HalfUnits(2)));
        metrics.begin(7 * MINUTE_MS);
        use_one();
        let sums = |points: Vec<Point>| {
            let consumed =
                points.into_iter().filter(|point| point.series.metric == "ConsumedReadCapacityUnits");
            consumed.map(|point| (point.minute, point.cell.sum)).collect::<Vec<_>>()
        };
        assert_eq!(sums(all_finished(&metrics, 8)), [(7, 1000)]);
        // The clock of this request was read before the step's.
        use_one();
        metrics.begin(8 * MINUTE_MS);
        use_one();
        assert_eq!(sums(all_finished(&metrics, 8)), []);
        assert_eq!(sums(all_finished(&metrics, 9)), [(8, 2000)]);
    }

    #[test]
    fn errors_are_counted_of_so_many_accounts_and_no_more() {
        let metrics = Metrics::new(Naming::WithTables);
        let place = |number: usize| Place { account: format!("{number:012}"), region: "r".to_owned() };
        for number in (0..5 * PLACES_MAX).chain([0]) {
            metrics.add_user_error(&place(number), 7 * MINUTE_MS, 1);
        }
        let points = all_finished(&metrics, 8);
        assert_eq!(points.len(), PLACES_MAX);
        let of_first: Vec<u64> = points
            .iter()
            .filter(|point| point.series.place == place(0))
            .map(|point| point.cell.sum)
            .collect();
        assert_eq!(of_first, [2]);
    }

    #[test]
    fn series_of_deleted_tables_are_not_remembered_without_bound() {
        let metrics = Metrics::new(Naming::WithTables);
        let place = Place { account: "123456789012".to_owned(), region: "r".to_owned() };
        let series = |number: usize| SeriesHash::of(&Series::new(&place, &number.to_string(), Vec::new()));
        for number in 0..LISTED_MAX + 10 {
            metrics.note_listed([(series(number), 7)]);
        }
        assert_eq!(metrics.others().listed.len(), 10);
        assert!(metrics.is_listed(series(LISTED_MAX + 9), 7) && !metrics.is_listed(series(0), 7));
    }

    #[test]
    fn every_size_falls_into_the_class_that_begins_at_or_below_it() {
        for value in (0..5000).chain([1 << 20, (1 << 27) + 12345]) {
            let mut histogram = figures::Histogram::default();
            histogram.add(value);
            let (class, _) = histogram.filled().next().expect("a value has a class");
            let (floor, next) = (figures::Histogram::floor(class), figures::Histogram::floor(class + 1));
            assert!(floor <= value && value < next && next - floor <= (value / 8).max(1), "{value}");
        }
    }
}
