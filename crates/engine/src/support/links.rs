//! The links between the regions of one server, under simulation: which changes of a member arrive at another
//! one now, in what order, and in which commits.
//!
//! It has no clock: times come in. What is drawn follows from the seed, the regions, the table's name and the
//! number of the change on its way, so the same requests replay as the same deliveries. With nothing set, a
//! reader costs one relaxed load. It does not know how rows are read and written (`replication`).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keywright_store::LogPosition;

use super::layout::TableId;
use super::simulation::{Chance, Inaccessible, PairRule, Simulation};

/// How much later a change arrives that was drawn to be overtaken, or to be apart from its commit.
pub(crate) const APART_MS: u64 = 500;
/// Items in one commit at the receiver.
pub(crate) const ITEMS_AT_ONCE: usize = 100;

/// What happens to concurrent writes of a strongly consistent table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StrongRule {
    pub round_trip_ms: u64,
    pub conflict: Chance,
    pub seed: u64,
}

/// From which member to which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route<'a> {
    pub account: &'a str,
    pub table: &'a str,
    pub from: (&'a str, TableId),
    pub to: (&'a str, TableId),
}

impl Route<'_> {
    const fn way(&self) -> (TableId, TableId) {
        (self.from.1, self.to.1)
    }
}

/// A change that was logged, and is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnWay<'a> {
    pub place: LogPosition,
    /// When it was logged.
    pub at_ms: u64,
    /// The item's key within its table.
    pub key: &'a [u8],
}

/// When there is more to deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// At this time, in milliseconds since 1970.
    At(u64),
    /// Until a setting changes.
    Held,
}

/// Changes that arrive at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Their places in the page.
    pub entries: Vec<usize>,
    /// So many entries of the page, from its beginning, have arrived with these.
    pub passed: usize,
}

/// What arrives of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// One commit for each, in this order.
    pub arrivals: Vec<Arrival>,
    /// When there is more of the page to deliver.
    pub rest: Option<Due>,
}

/// Which changes are delivered by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// So many, in the order in which they were written.
    Next(usize),
    /// The first one of the item with this key within its table.
    Item(Vec<u8>),
}

/// How far a way has come, in memory only: what is lost with it is sent again, which does no harm.
#[derive(Debug, Default)]
struct Progress {
    /// Changes that the cursor has passed since the server began.
    passed: u64,
    /// Those that have arrived before others in front of them.
    ahead: BTreeSet<LogPosition>,
}

#[derive(Debug, Default)]
struct State {
    simulation: Arc<Simulation>,
    ways: BTreeMap<(TableId, TableId), Progress>,
}

/// The links of all regions. Clones of the settings of an engine share them.
#[derive(Debug, Default)]
pub struct Links {
    /// Whether there is any rule.
    is_set: AtomicBool,
    /// How often the rules were replaced.
    changes: AtomicU64,
    state: Mutex<State>,
    #[cfg(test)]
    broken: Mutex<Option<Broken>>,
}

/// What only tests do, to see that others notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// What arrives last wins.
    Order,
    /// A change is not versioned above the one that it changes.
    Above,
    /// A sender's place moves before the receiver has the changes.
    Place,
    /// Deletions are forgotten at once.
    Tombstones,
    /// Of two versions with one stamp neither is greater.
    Tie,
    /// The place of a member that is filled, in its source's log, is opened after the pass.
    Scan,
    /// The place of a newcomer in the log of a member that does not fill it is opened at the log's end.
    End,
    /// What was sent is known without regard to commits that have not ended.
    Unfinished,
    /// After a restart stamps begin with the clock.
    Restart,
}

impl Links {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces all that is simulated. `Engine::step` is to be called then: deliveries may be due.
    pub fn set(&self, simulation: Simulation) {
        let mut state = self.state();
        self.is_set.store(simulation.has_rules(), Ordering::Release);
        let simulation = simulation.after(&state.simulation);
        state.simulation = Arc::new(simulation);
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// How often the rules were replaced: what they held may go on then.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// What is simulated at this time, and the seed.
    pub fn simulation(&self, now_ms: u64) -> Simulation {
        self.state().simulation.at(now_ms)
    }

    /// Whether nothing is simulated at this time.
    pub fn is_zero(&self, now_ms: u64) -> bool {
        !self.is_set.load(Ordering::Acquire) || !self.state().simulation.at(now_ms).has_effect()
    }

    /// Why a replica of a table takes no part in replication, and since when.
    pub(crate) fn inaccessible(
        &self,
        table: (&str, &str),
        region: &str,
        now_ms: u64,
    ) -> Option<(Inaccessible, u64)> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        let state = self.state();
        state.simulation.inaccessible(table, region, now_ms).map(|rule| (rule.status, rule.since_ms))
    }

    /// Since when a region is cut off from the others of strongly consistent tables.
    pub(crate) fn isolated_since(&self, region: &str, now_ms: u64) -> Option<u64> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        self.state().simulation.region(region, now_ms).and_then(|rule| rule.isolated_ms)
    }

    /// What happens to concurrent writes of a strongly consistent table, if anything.
    pub(crate) fn strong_rule(&self, table: (&str, &str), now_ms: u64) -> Option<StrongRule> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        let state = self.state();
        let mut rules = state.simulation.rules_of(table, now_ms);
        let rule = rules.find(|rule| rule.round_trip_ms > 0 || rule.conflict > Chance::default())?;
        let (round_trip_ms, conflict) = (rule.round_trip_ms, rule.conflict);
        Some(StrongRule { round_trip_ms, conflict, seed: state.simulation.seed })
    }

    /// What is added to the time in the versions of a region's writes.
    pub(crate) fn skew_ms(&self, region: &str, now_ms: u64) -> i64 {
        if !self.is_set.load(Ordering::Acquire) {
            return 0;
        }
        self.state().simulation.region(region, now_ms).map_or(0, |rule| rule.clock_ms)
    }

    /// Whether a link is cut at this time: neither changes nor the rows of a pass may move.
    pub(crate) fn is_cut(&self, route: &Route<'_>, now_ms: u64) -> bool {
        self.is_set.load(Ordering::Acquire) && is_cut(&self.state().simulation, route, now_ms)
    }

    /// Whether a rule may hold changes back at this time, for a while or until it ends.
    pub(crate) fn holds(&self, route: &Route<'_>, now_ms: u64) -> bool {
        if !self.is_set.load(Ordering::Acquire) {
            return false;
        }
        let state = self.state();
        let rule = state.simulation.pair(route.from.0, route.to.0, now_ms);
        let is_late = rule.is_some_and(|rule| rule.latency_ms > 0 || rule.jitter_ms > 0);
        let is_stepped = state.simulation.is_stepped(route.account, route.table, now_ms);
        is_late || is_stepped || is_cut(&state.simulation, route, now_ms)
    }

    /// For how long what a rule holds is held at most: until one of the rules ends.
    pub(crate) fn hold(&self, now_ms: u64) -> Due {
        until_end(&self.state().simulation, now_ms)
    }

    /// What arrives of a page of changes, which begins after the receiver's place in the sender's log.
    pub(crate) fn plan(&self, route: &Route<'_>, page: &[OnWay<'_>], now_ms: u64) -> Plan {
        let state = self.state();
        let simulation = Arc::clone(&state.simulation);
        let (passed, ahead) = match state.ways.get(&route.way()) {
            Some(progress) => (progress.passed, progress.ahead.clone()),
            None => (0, BTreeSet::new()),
        };
        drop(state);
        if is_cut(&simulation, route, now_ms) || simulation.is_stepped(route.account, route.table, now_ms) {
            let rest = until_end(&simulation, now_ms);
            return Plan { arrivals: Vec::new(), rest: (!page.is_empty()).then_some(rest) };
        }
        let draws = Draws { seed: simulation.seed, route: *route, passed };
        let rule = simulation.pair(route.from.0, route.to.0, now_ms);
        let times = arrival_times(page, rule, &draws);
        let is_due = |entry: &usize| times.get(*entry).is_some_and(|at_ms| *at_ms <= now_ms);
        let mut due: Vec<usize> = (0..page.len())
            .filter(|entry| page.get(*entry).is_some_and(|change| !ahead.contains(&change.place)))
            .filter(is_due)
            .collect();
        due.sort_by_key(|entry| (times.get(*entry).copied(), *entry));
        let twice = |entry: usize| rule.is_some_and(|rule| rule.duplicate.hits(draws.of(entry, "duplicate")));
        let later = times.iter().copied().filter(|at_ms| *at_ms > now_ms).min();
        let end_ms = simulation.at(now_ms).next_end_ms();
        let rest = later.map(|at_ms| Due::At(end_ms.map_or(at_ms, |end_ms| at_ms.min(end_ms))));
        Plan { arrivals: arrivals(page, &due, ahead, twice), rest }
    }

    /// The commits that deliver chosen changes of a page. No rule holds them.
    pub(crate) fn deliver(&self, route: &Route<'_>, page: &[OnWay<'_>], choice: &Choice) -> Vec<Arrival> {
        let state = self.state();
        let ahead = state.ways.get(&route.way()).map(|way| way.ahead.clone()).unwrap_or_default();
        drop(state);
        let left = page.iter().enumerate().filter(|(_, change)| !ahead.contains(&change.place));
        let chosen: Vec<usize> = match choice {
            Choice::Next(count) => left.map(|(entry, _)| entry).take(*count).collect(),
            Choice::Item(key) => {
                left.filter(|(_, change)| change.key == key).map(|(entry, _)| entry).take(1).collect()
            }
        };
        arrivals(page, &chosen, ahead, |_| false)
    }

    /// Notes that an arrival was committed, with the cursor behind what has passed with it. `before` had
    /// passed with the arrival before.
    pub(crate) fn arrived(&self, route: &Route<'_>, page: &[OnWay<'_>], arrival: &Arrival, before: usize) {
        let mut state = self.state();
        let progress = state.ways.entry(route.way()).or_default();
        let moved = arrival.passed.saturating_sub(before);
        progress.passed = progress.passed.saturating_add(u64::try_from(moved).unwrap_or(u64::MAX));
        progress.ahead.extend(arrival.entries.iter().filter_map(|entry| Some(page.get(*entry)?.place)));
        let last = arrival.passed.checked_sub(1).and_then(|entry| page.get(entry));
        if let Some(last) = last {
            progress.ahead.retain(|place| *place > last.place);
        }
    }

    /// Whether versions are compared.
    pub(crate) fn is_compared(&self) -> bool {
        !self.breaks_order()
    }

    /// Whether a change takes a version above the one that it changes.
    pub(crate) fn is_above(&self) -> bool {
        !self.breaks_above()
    }

    /// Forgets the ways of a table that is gone.
    pub(crate) fn forget(&self, table: TableId) {
        self.state().ways.retain(|(sender, receiver), _| *sender != table && *receiver != table);
    }
}

#[cfg(test)]
impl Links {
    pub(crate) fn set_broken(&self, broken: Option<Broken>) {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = broken;
    }

    pub(crate) fn is_broken(&self, what: Broken) -> bool {
        self.broken() == Some(what)
    }

    pub(crate) fn broken(&self) -> Option<Broken> {
        *self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaks_order(&self) -> bool {
        self.is_broken(Broken::Order)
    }

    fn breaks_above(&self) -> bool {
        self.is_broken(Broken::Above)
    }
}

#[cfg(not(test))]
#[expect(clippy::unused_self, reason = "tests look at the value")]
impl Links {
    const fn breaks_order(&self) -> bool {
        false
    }

    const fn breaks_above(&self) -> bool {
        false
    }
}

fn until_end(simulation: &Simulation, now_ms: u64) -> Due {
    simulation.at(now_ms).next_end_ms().map_or(Due::Held, Due::At)
}

fn is_cut(simulation: &Simulation, route: &Route<'_>, now_ms: u64) -> bool {
    let (from, to) = (route.from.0, route.to.0);
    let is_paused = |region: &str| simulation.region(region, now_ms).is_some_and(|rule| rule.pause);
    let is_partitioned = || simulation.pair(from, to, now_ms).is_some_and(|rule| rule.partition);
    let is_inaccessible =
        |region: &str| simulation.inaccessible((route.account, route.table), region, now_ms).is_some();
    let is_any = |is_so: &dyn Fn(&str) -> bool| is_so(from) || is_so(to);
    is_any(&is_paused) || is_any(&is_inaccessible) || is_partitioned()
}

/// What is drawn for the changes of a page.
struct Draws<'a> {
    seed: u64,
    route: Route<'a>,
    /// Changes before the page.
    passed: u64,
}

impl Draws<'_> {
    /// An even draw for an entry of the page, other than the draws for other things.
    fn of(&self, entry: usize, about: &str) -> u64 {
        let Route { account, table, from, to } = self.route;
        let number = self.passed.saturating_add(u64::try_from(entry).unwrap_or(u64::MAX));
        let mut hasher = DefaultHasher::new();
        (self.seed, account, table, from.0, to.0, number, about).hash(&mut hasher);
        hasher.finish()
    }
}

/// When each change of a page arrives. Invariant: never before an earlier one of the same item.
fn arrival_times(page: &[OnWay<'_>], rule: Option<&PairRule>, draws: &Draws<'_>) -> Vec<u64> {
    let Some(rule) = rule else { return vec![0; page.len()] };
    let mut latest: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut first = 0;
    let mut times = Vec::with_capacity(page.len());
    for (entry, change) in page.iter().enumerate() {
        if page.get(first).is_some_and(|begun| begun.place.version != change.place.version) {
            first = entry;
        }
        let jitter_ms = draws.of(first, "jitter") % rule.jitter_ms.saturating_add(1);
        let mut at_ms = change.at_ms.saturating_add(rule.latency_ms).saturating_add(jitter_ms);
        if rule.reorder.hits(draws.of(first, "reorder")) {
            at_ms = at_ms.saturating_add(APART_MS);
        }
        if entry > first && rule.split_transactions.hits(draws.of(entry, "split")) {
            at_ms = at_ms.saturating_add(APART_MS);
        }
        let latest_ms = latest.entry(change.key).or_default();
        *latest_ms = at_ms.max(*latest_ms);
        times.push(*latest_ms);
    }
    times
}

/// How many of these changes are in one commit: more than items, if an item has changed several times.
fn count_at_once(page: &[OnWay<'_>], due: &[usize]) -> usize {
    let mut items = BTreeSet::new();
    let fits = |entry: &&usize| {
        items.extend(page.get(**entry).map(|change| change.key));
        items.len() <= ITEMS_AT_ONCE
    };
    due.iter().take_while(fits).count().max(1)
}

/// Commits of so many items, in this order. A change that arrives twice is in the next commit again.
fn arrivals(
    page: &[OnWay<'_>],
    due: &[usize],
    mut there: BTreeSet<LogPosition>,
    twice: impl Fn(usize) -> bool,
) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    let mut passed = 0;
    let mut rest = due;
    while !rest.is_empty() {
        let (entries, after) = rest.split_at(count_at_once(page, rest));
        rest = after;
        there.extend(entries.iter().filter_map(|entry| Some(page.get(*entry)?.place)));
        passed += page.iter().skip(passed).take_while(|change| there.contains(&change.place)).count();
        arrivals.push(Arrival { entries: entries.to_vec(), passed });
        let again: Vec<usize> = entries.iter().copied().filter(|entry| twice(*entry)).collect();
        if !again.is_empty() {
            arrivals.push(Arrival { entries: again, passed });
        }
    }
    arrivals
}

#[cfg(test)]
mod tests {
    use keywright_store::CommitVersion;

    use super::super::simulation::{Chance, PairRule, RegionRule, Regions, TableRule};
    use super::*;

    const ROUTE: Route<'_> =
        Route { account: "1", table: "T", from: ("a", TableId(1)), to: ("b", TableId(2)) };

    fn chance(millionths: u32) -> Chance {
        Chance::of_millionths(millionths).unwrap()
    }

    /// Changes at 1,000 ms: of each, the version of its commit and its key.
    fn page<'a>(changes: &[(u64, &'a str)]) -> Vec<OnWay<'a>> {
        let mut index = 0;
        let changes = changes.iter().map(|(version, key)| {
            index += 1;
            let place = LogPosition { version: CommitVersion(*version), index };
            OnWay { place, at_ms: 1_000, key: key.as_bytes() }
        });
        changes.collect()
    }

    fn links(rule: PairRule) -> Links {
        let links = Links::default();
        links.set(Simulation { seed: 7, pairs: vec![rule], ..Simulation::default() });
        links
    }

    fn any() -> PairRule {
        PairRule::none(Regions::Any, Regions::Any)
    }

    fn shown(plan: &Plan) -> Vec<(Vec<usize>, usize)> {
        plan.arrivals.iter().map(|arrival| (arrival.entries.clone(), arrival.passed)).collect()
    }

    #[test]
    fn without_rules_all_arrive_at_once_in_order() {
        let links = Links::default();
        let page = page(&[(1, "x"), (2, "y"), (3, "x")]);
        assert!(links.is_zero(0) && links.skew_ms("a", 0) == 0);
        let plan = links.plan(&ROUTE, &page, 0);
        assert_eq!((shown(&plan), plan.rest), (vec![(vec![0, 1, 2], 3)], None));
    }

    #[test]
    fn changes_arrive_after_the_latency_and_a_commit_arrives_whole() {
        let links = links(PairRule { latency_ms: 300, jitter_ms: 700, ..any() });
        let page = page(&[(1, "x"), (1, "y"), (1, "z")]);
        assert_eq!(links.plan(&ROUTE, &page, 1_299).arrivals, []);
        let Some(Due::At(at_ms)) = links.plan(&ROUTE, &page, 1_299).rest else { panic!("something waits") };
        assert!((1_300..=2_000).contains(&at_ms), "{at_ms}");
        assert_eq!(links.plan(&ROUTE, &page, at_ms - 1).arrivals, []);
        assert_eq!(shown(&links.plan(&ROUTE, &page, at_ms)), [(vec![0, 1, 2], 3)]);
    }

    #[test]
    fn what_was_overtaken_arrives_later_and_what_is_ahead_is_not_sent_again() {
        let links = links(PairRule { reorder: chance(500_000), ..any() });
        let keys: Vec<String> = (0..40).map(|key| key.to_string()).collect();
        let changes: Vec<(u64, &str)> = keys.iter().zip(1..).map(|(key, at)| (at, key.as_str())).collect();
        let page = page(&changes);
        let first = links.plan(&ROUTE, &page, 1_000);
        let [arrival] = &*first.arrivals else { panic!("one commit: {first:?}") };
        assert!((5..35).contains(&arrival.entries.len()), "{arrival:?}");
        assert_eq!(first.rest, Some(Due::At(1_000 + APART_MS)));
        links.arrived(&ROUTE, &page, arrival, 0);
        let left = page.get(arrival.passed..).unwrap();
        assert_eq!(links.plan(&ROUTE, left, 1_000).arrivals, [], "the same draws after the cursor moved");
        let second = links.plan(&ROUTE, left, 1_000 + APART_MS);
        let sent: usize = second.arrivals.iter().map(|arrival| arrival.entries.len()).sum();
        assert_eq!(sent + arrival.entries.len(), page.len());
        assert_eq!(second.arrivals.last().unwrap().passed, left.len());
    }

    #[test]
    fn an_item_of_a_transaction_may_arrive_apart_but_changes_of_one_item_keep_their_order() {
        let links = links(PairRule { split_transactions: chance(1_000_000), ..any() });
        let page = page(&[(1, "x"), (1, "y"), (2, "y"), (3, "z")]);
        let plan = links.plan(&ROUTE, &page, 1_000);
        assert_eq!((shown(&plan), plan.rest), (vec![(vec![0, 3], 1)], Some(Due::At(1_500))));
        assert_eq!(shown(&links.plan(&ROUTE, &page, 1_500)), [(vec![0, 3, 1, 2], 4)]);
    }

    #[test]
    fn a_commit_has_a_hundred_items_and_each_of_their_changes() {
        let names: Vec<String> = (0..=ITEMS_AT_ONCE).map(|name| name.to_string()).collect();
        let once = names.iter().map(|name| (1, name.as_str()));
        let often = [(2, "0"); 300].into_iter().chain(once).collect::<Vec<_>>();
        let plan = Links::default().plan(&ROUTE, &page(&often), 1_000);
        let counts: Vec<usize> = plan.arrivals.iter().map(|arrival| arrival.entries.len()).collect();
        assert_eq!(counts, [400, 1]);
    }

    #[test]
    fn a_duplicate_arrives_once_more() {
        let links = links(PairRule { duplicate: chance(1_000_000), ..any() });
        let plan = links.plan(&ROUTE, &page(&[(1, "x"), (2, "y")]), 1_000);
        assert_eq!(shown(&plan), [(vec![0, 1], 2), (vec![0, 1], 2)]);
    }

    #[test]
    fn a_cut_holds_everything_until_its_rule_ends() {
        let page = page(&[(1, "x")]);
        let cut = links(PairRule { partition: true, until_ms: Some(2_000), ..any() });
        assert!(cut.is_cut(&ROUTE, 1_999) && !cut.is_cut(&ROUTE, 2_000) && cut.is_zero(2_000));
        let plan = cut.plan(&ROUTE, &page, 1_000);
        assert_eq!((plan.arrivals, plan.rest), (vec![], Some(Due::At(2_000))));
        assert_eq!(cut.plan(&ROUTE, &page, 2_000).rest, None);
        let pause = RegionRule {
            region: "b".to_owned(),
            pause: true,
            clock_ms: -5,
            isolated_ms: None,
            until_ms: None,
        };
        cut.set(Simulation { regions: vec![pause], ..Simulation::default() });
        assert_eq!(cut.plan(&ROUTE, &page, 2_000).rest, Some(Due::Held));
        assert_eq!([cut.skew_ms("a", 0), cut.skew_ms("b", 0)], [0, -5]);
    }

    #[test]
    fn a_stepped_table_moves_by_what_is_delivered() {
        let links = Links::default();
        let rule = TableRule { step: true, ..TableRule::none("T".to_owned()) };
        links.set(Simulation { tables: vec![rule], ..Simulation::default() });
        let page = page(&[(1, "x"), (2, "y"), (3, "x")]);
        assert_eq!(links.plan(&ROUTE, &page, 9_000), Plan { arrivals: vec![], rest: Some(Due::Held) });
        let ahead = links.deliver(&ROUTE, &page, &Choice::Item(b"y".to_vec()));
        assert_eq!(ahead, [Arrival { entries: vec![1], passed: 0 }]);
        links.arrived(&ROUTE, &page, &ahead[0], 0);
        let next = links.deliver(&ROUTE, &page, &Choice::Next(1));
        assert_eq!(next, [Arrival { entries: vec![0], passed: 2 }]);
        links.arrived(&ROUTE, &page, &next[0], 0);
        assert_eq!(links.deliver(&ROUTE, &page[2..], &Choice::Item(b"y".to_vec())), []);
        assert_eq!(links.deliver(&ROUTE, &page[2..], &Choice::Next(5)).len(), 1);
    }
}
